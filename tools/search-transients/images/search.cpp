// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/search-transients/images/search.h"

#include <chrono>
#include <deque>
#include <memory>
#include <utility>

#include "libcore/files/output.h"
#include "libcore/plot/figure_file.h"
#include "libcore/system/parallel.h"
#include "tools/search-transients/images/outputs.h"
#include "tools/search-transients/results.h"

namespace apsyn {
namespace {

/// Fewer tell no noise.
constexpr std::uint64_t kMinImages = 16;
/// A storm of interference must not fill the disk.
constexpr std::size_t kMaxCutouts = 1000;

struct RawImage {
  std::vector<float> planes;
  SkyDirection centre;
  const float* prepared = nullptr;    ///< the memory that `preparation` is about
  std::shared_ptr<void> preparation;  ///< ends before the memory does
};

/// Where the centre of images is, as far back as candidates may be.
class CentreTrack {
 public:
  void add(std::int64_t frame, const SkyDirection& centre, std::int64_t oldest) {
    if (centres_.empty() || centres_.back().second.ra_rad != centre.ra_rad ||
        centres_.back().second.dec_rad != centre.dec_rad)
      centres_.emplace_back(frame, centre);
    while (centres_.size() > 1 && centres_[1].first < oldest) centres_.pop_front();
  }
  SkyDirection at(std::int64_t frame) const {
    SkyDirection centre = centres_.front().second;
    for (const auto& [from, later] : centres_)
      if (from <= frame) centre = later;
    return centre;
  }

 private:
  std::deque<std::pair<std::int64_t, SkyDirection>> centres_;  ///< from a frame on
};

void check_outputs(const Tool& tool, const SearchOptions& options, const std::string& output) {
  const bool overwrite = tool.common().overwrite;
  if (output != "-") check_output(output, overwrite);
  if (!options.plot.empty()) check_figure_output(options.plot, overwrite);
  if (options.plot == "-" && output == "-")
    throw UsageError("--plot -: standard output has the candidates: give them a file with -o");
  if (options.cutouts.empty()) return;
  const std::string first = numbered_output("--cutouts", options.cutouts, 0);
  check_output(first + ".fits", overwrite);
  check_figure_output(first + ".png", overwrite);
}

void report(Tool& tool, const ImageSearch& search, const ImagesPlan& plan, const ImageSeriesInfo& info,
            double work_s, std::size_t n_candidate) {
  const FrameReport& frames = search.frames();
  const auto percent = [&](std::uint64_t part) {
    return frames.n_all == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(frames.n_all);
  };
  const double data_s = static_cast<double>(search.searched()) * info.step_s,
               images = static_cast<double>(search.searched()) * static_cast<double>(info.n_chan);
  log_info("left out: {:.3g} % of images are missing, {:.3g} % bright all over", percent(frames.n_missing),
           percent(frames.n_bright));
  if (search.n_dropped() > 0)
    log_warning("{} hits in storms of interference are left out, of which the brightest are in the table",
                search.n_dropped());
  log_info("{} candidate{} above {} in {} of data", n_candidate, n_candidate == 1 ? "" : "s",
           plan.search.threshold, format_duration(data_s));
  log_verbose(
      "beam: {:.3g} pixels; {} trials, {:.4g} images/s, {:.4g} million pixels x trials/s, {:.3g} times as "
      "fast as "
      "recorded, {} threads",
      search.beam_pixels(), plan.dm.size(), images / std::max(work_s, 1e-9),
      search.trial_pixels() / std::max(work_s, 1e-9) * 1e-6, data_s / std::max(work_s, 1e-9),
      tool.common().threads);
  tool.report_rate(images, "images");
}

}  // namespace

void search_images(Tool& tool, const SearchOptions& options) {
  const std::string output = tool.common().output.empty() ? "-" : tool.common().output;
  check_outputs(tool, options, output);
  tool.stage("plan");
  const std::unique_ptr<ImageSource> source =
      open_images(options.inputs, options.intensity, tool.common().threads);
  const ImageSeriesInfo& info = source->info();
  if (!info.image.time) throw DataError("{}: its images have no time", info.name);
  const Device device = choose_device(tool, options, info);
  const ImagesPlan plan = plan_images(tool, options, info, device);
  tool.report_plan(describe(plan, info));
  if (tool.common().dry_run) return;
  if (info.n_images && *info.n_images < kMinImages)
    throw FailureError("{}: no usable data: {} images, at least {} are needed", info.name, *info.n_images,
                       kMinImages);

  tool.stage("search");
  const auto begin = std::chrono::steady_clock::now();
  ImageSearch search(plan.search);
  TableLines table(tool, output);
  table.write(kImageTableHeader);
  const ImageContext context{plan, info};
  ImageGallery gallery;
  CentreTrack centres;
  std::uint64_t n_image = 0;
  std::size_t n_candidate = 0;
  Progress progress(tool, "searching", static_cast<double>(info.n_images.value_or(0)) * info.step_s,
                    "s of data");
  const auto take = [&] {
    for (const ImageCandidate& candidate : search.take()) {
      const SkyDirection centre = centres.at(candidate.hit.begin);
      table.write(table_line(context, candidate, centre));
      if (!options.cutouts.empty() && n_candidate < kMaxCutouts)
        write_cutout(tool, context, candidate, centre,
                     numbered_output("--cutouts", options.cutouts, n_candidate));
      if (!options.plot.empty()) gallery.add(context, candidate);
      ++n_candidate;
    }
    table.flush();
  };
  const std::int64_t kept = static_cast<std::int64_t>(plan.search.kept_frames()) + search.reach();
  run_pipeline<RawImage>(
      1, [] { return RawImage(); }, [&](RawImage& image) { return source->read(image.planes, image.centre); },
      [&](RawImage& image) {
        const auto frame = static_cast<std::int64_t>(n_image++);
        centres.add(frame, image.centre, frame - kept);
        if (!image.planes.empty() && image.planes.data() != image.prepared) {
          image.preparation = search.prepare(image.planes);
          image.prepared = image.planes.data();
        }
        const std::int64_t before = search.searched();
        search.push(image.planes);
        if (search.searched() == before) return;
        take();
        progress.update(static_cast<double>(search.searched()) * info.step_s);
      },
      [](RawImage&) {});
  if (n_image < kMinImages)
    throw FailureError("{}: no usable data: {} images, at least {} are needed", info.name, n_image,
                       kMinImages);
  search.end();
  take();
  const double work_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  tool.part_of_stage("images", search.curve_seconds().frames);
  tool.part_of_stage("levels", search.curve_seconds().levels);
  tool.part_of_stage("trials", search.scan_seconds());
  const FrameReport& frames = search.frames();
  if (frames.n_missing + frames.n_bright == frames.n_all)
    throw FailureError("{}: no usable data: every image is blank, constant or taken out", info.name);

  tool.stage("write");
  if (n_candidate > kMaxCutouts && !options.cutouts.empty())
    log_warning("--cutouts {}: of the first {} of {} candidates only", options.cutouts, kMaxCutouts,
                n_candidate);
  if (!options.plot.empty()) {
    const std::vector<std::string> provenance = tool.provenance();
    const double data_s = static_cast<double>(n_image) * info.step_s;
    write_figure(options.plot, draw_transient_figure(gallery.figure(context, data_s)),
                 {"apsyn " + provenance[0], provenance[1]}, tool.common().overwrite);
  }
  table.commit();
  report(tool, search, plan, info, work_s, n_candidate);
}

}  // namespace apsyn
