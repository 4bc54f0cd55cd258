// SPDX-License-Identifier: GPL-3.0-or-later
// search-transients: filterbank, PSRFITS file or images in time -> table (and pictures) of dispersed pulses.
#include <chrono>

#include "libcore/files/output.h"
#include "libcore/plot/figure_file.h"
#include "libcore/streams/detect.h"
#include "libcore/streams/open_samples.h"
#include "libcore/system/parallel.h"
#include "libcore/system/program_memory.h"
#include "tools/search-transients/images/search.h"
#include "tools/search-transients/results.h"

using namespace apsyn;

namespace {

/// Cuts the input into blocks; a rest shorter than half a block joins the last one.
class BlockReader {
 public:
  BlockReader(SampleReader& reader, std::size_t block) : reader_(reader), block_(block) {
    next_.n_time = reader_.read(block_, next_.bytes);
    if (next_.n_time < 2 * kStatisticPieces)
      throw FailureError("{}: no usable data: {} samples, at least {} are needed", reader_.name(),
                         next_.n_time, 2 * kStatisticPieces);
  }
  bool read(RawBlock& block) {
    if (next_.n_time == 0) return false;
    std::swap(block, next_);
    next_.n_time = block.n_time < block_ ? 0 : reader_.read(block_, next_.bytes);
    if (2 * next_.n_time < block_) {
      block.bytes.insert(block.bytes.end(), next_.bytes.begin(),
                         next_.bytes.begin() +
                             static_cast<std::ptrdiff_t>(next_.n_time * reader_.input().bytes_per_sample()));
      block.n_time += next_.n_time;
      next_.n_time = 0;
    }
    block.last = next_.n_time == 0;
    return true;
  }

 private:
  SampleReader& reader_;
  std::size_t block_;
  RawBlock next_;
};

void report(const Tool& tool, const TransientSearch& search, const SearchPlan& plan, double data_s,
            double work_s, std::size_t n_candidate) {
  const ExciseReport& r = search.report();
  const auto percent = [](std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  };
  log_info(
      "taken out: {:.3g} % of channels, {:.3g} % of times; {:.3g} % of values clipped, {:.3g} % not finite",
      percent(r.n_bad_channel_blocks, r.n_channel_blocks), percent(r.n_bad_time, r.n_time),
      percent(r.n_clipped, r.n_value), percent(r.n_not_finite, r.n_value));
  log_info("{} candidate{} above {} in {} of data", n_candidate, n_candidate == 1 ? "" : "s", plan.threshold,
           format_duration(data_s));
  log_verbose("{} trials, {:.4g} million trial samples/s, {:.3g} times as fast as recorded, {} threads",
              plan.dm.size(), search.trial_samples() / std::max(work_s, 1e-9) * 1e-6,
              data_s / std::max(work_s, 1e-9), tool.common().threads);
}

void search_samples(Tool& tool, const SearchOptions& options) {
  keep_little_freed_memory(128 << 10);
  if (options.inputs.size() > 1)
    throw UsageError("{}: a filterbank is searched by itself: give no other input", options.inputs[1]);
  if (!options.cutouts.empty())
    throw UsageError("--cutouts {}: are of images, and the input is a filterbank: --plot draws its pulses",
                     options.cutouts);
  const CommonOptions& common = tool.common();
  const std::string output = common.output.empty() ? "-" : common.output;
  if (output != "-") check_output(output, common.overwrite);
  if (!options.plot.empty()) check_figure_output(options.plot, common.overwrite);
  if (options.plot == "-" && output == "-")
    throw UsageError("--plot -: standard output has the candidates: give them a file with -o");
  const Device device = tool.device(CudaSupport::available);

  tool.stage("plan");
  const std::unique_ptr<SampleReader> opened = open_samples(options.inputs.at(0));
  SampleReader& reader = *opened;
  const FilterbankHeader& header = reader.header();
  const SearchPlan plan = make_plan(tool, options, reader, device);
  tool.report_plan(describe(plan, reader));
  if (common.dry_run) return;

  tool.stage("search");
  const auto begin = std::chrono::steady_clock::now();
  BlockReader blocks(reader, plan.block);
  TransientSearch search(plan, reader.input(), device, common.threads, !options.plot.empty());
  CandidateTable table(tool, output, parse_table_format(options.format));
  CandidateGallery gallery;
  std::size_t n_candidate = 0;
  const auto n_known = reader.n_samples().value_or(0);
  Progress progress(tool, "searching", static_cast<double>(n_known) * header.sample_s, "s of data");
  const auto take_block = [&](RawBlock& block) {
    search.push(block);
    progress.update(static_cast<double>(search.samples_cleaned()) * header.sample_s);
    for (FoundCandidate& found : search.take()) {
      table.write(plan, header, found.candidate);
      ++n_candidate;
      if (!options.plot.empty()) gallery.add(plan, header.sample_s, std::move(found));
    }
    table.flush();
  };
  const bool beside = search.measures_beside_cleaning();
  run_pipeline<RawBlock>(
      1, [] { return RawBlock(); }, [&](RawBlock& block) { return blocks.read(block); },
      [&](RawBlock& block) {
        search.measure(block);
        if (!beside) take_block(block);
      },
      [&](RawBlock& block) {
        if (beside) take_block(block);
      });
  const double data_s = static_cast<double>(reader.samples_read()) * header.sample_s;
  const double work_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (search.report().n_bad_channel_blocks == search.report().n_channel_blocks)
    throw FailureError("{}: no usable data: every channel is constant, not finite or taken out",
                       reader.name());

  tool.stage("write");
  if (!options.plot.empty()) {
    const std::vector<std::string> provenance = tool.provenance();
    write_figure(options.plot, draw_transient_figure(gallery.figure(plan, reader, data_s)),
                 {"apsyn " + provenance[0], provenance[1]}, common.overwrite);
  }
  table.commit();
  report(tool, search, plan, data_s, work_s, n_candidate);
  tool.report_rate(data_s, "s of data");
}

/// Whether the input is images. What cannot be looked at, as pipes with a name, and what is nothing that is
/// known are left to the readers of samples.
bool has_images(const SearchOptions& options) {
  try {
    const InputKind kind = detect_input(options.inputs.at(0));
    return kind == InputKind::image || kind == InputKind::image_stream;
  } catch (const DataError&) {
    return false;
  } catch (const UsageError&) {
    return false;
  }
}

void run(Tool& tool, const SearchOptions& options) {
  if (has_images(options))
    search_images(tool, options);
  else
    search_samples(tool, options);
}

}  // namespace

int main(int argc, char** argv) {
  Tool tool("search-transients", "find dispersed pulses in a filterbank or in images");
  SearchOptions options;
  declare(tool, options);
  return tool.run(argc, argv, [&] { run(tool, options); });
}
