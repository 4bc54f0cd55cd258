// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/clean/image_mode.h"

#include <cmath>
#include <utility>

#include "kernels/clean/clean.h"
#include "kernels/clean/clean_image.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/formats/fits/image.h"
#include "libcore/formats/fits/image_set.h"
#include "libcore/sky/regions.h"
#include "libcore/system/device.h"
#include "libcore/system/parallel.h"
#include "tools/clean/region_mask.h"
#include "tools/clean/source_list.h"
#include "tools/imaging/images.h"

namespace apsyn::clean {
namespace {

bool any_data(const Image& image) {
  for (std::size_t freq = 0; freq < image.pixels.extent(1); ++freq)
    if (has_data(image, freq)) return true;
  return false;
}

/// Planes that are searched together must all have data.
void check_joined_planes(const Image& image, const std::string& name) {
  for (std::size_t stokes = 0; stokes < image.pixels.extent(0); ++stokes) {
    const View<const double, 3> planes = image.pixels.view()[stokes];
    if (std::none_of(planes.begin(), planes.end(), [](double value) { return std::isfinite(value); }))
      throw DataError("{}: every pixel of {} is blank: it cannot be joined with the others", name,
                      image.info.stokes[stokes]);
  }
}

Image read_primary_beam(const std::string& path, const Image& image, const std::string& name) {
  for (const auto& [key, value] : image.info.keywords)
    if (key == "PBCOR" && value != 0)
      throw UsageError("{}: is over the primary beam already (PBCOR): leave out --primary-beam", name);
  Image beam = read_fits_image(path);
  check_same_sky(image, name, beam, path);
  if (beam.pixels.extent(0) > 1)
    throw DataError("{}: {} Stokes planes: a beam has one", path, beam.pixels.extent(0));
  if (!(imaging::beam_peak(View<const double, 2>(beam.pixels.data(), {beam.pixels.size(), 1})) > 0))
    throw DataError("{}: no pixel is above 0: not a beam", path);
  return beam;
}

/// Parts without data are left out of `plan`.
CleanImages read_images(Tool& tool, ImagePlan& plan, const DeconvolutionOptions& options) {
  CleanImages images;
  ImagePlan used = plan;
  for (auto* list : {&used.start, &used.beam}) list->clear();
  used.files.parts.clear();
  for (std::size_t part = 0; part < plan.start.size(); ++part) {
    const ImageSet& files = plan.files.parts[part];
    const std::string& name = plan.start[part];
    Image residual = read_fits_image(name);
    if (!any_data(residual)) {
      if (plan.start.size() > 1) log_warning("{}: no usable data: left out", name);
      continue;
    }
    if (options.settings.join_polarizations) check_joined_planes(residual, name);
    Image psf = read_fits_image(files.psf);
    const bool first = images.residual.empty();
    if (!first) check_same_sky(images.residual[0], images.names[0], residual, name);
    if (!first && unit_of_image(residual.info.unit) != unit_of_image(images.residual[0].info.unit))
      log_warning("{}: is in {}, and {} in {}: what they have in common means nothing", name,
                  residual.info.unit, images.names[0], images.residual[0].info.unit);
    if (!first && psf.pixels.shape() != images.psf[0].pixels.shape())
      throw DataError("{}: has another shape than {}: joined PSFs have one", files.psf,
                      used.files.parts[0].psf);
    if (!(residual.info.freq_hz > 0) && options.settings.spectral_fit != SpectralFit::none)
      throw DataError("{}: no frequency: spectra cannot be fitted", name);
    check_psf_fits(residual, name, psf, files.psf);
    prepare_psf(psf, files.psf, residual);
    Image model = options.resume ? read_fits_image(files.model) : empty_model(residual);
    if (options.resume) check_same_sky(residual, name, model, files.model);
    if (!plan.beam.empty()) {
      images.beam.push_back(read_primary_beam(plan.beam[part], residual, name));
      used.beam.push_back(plan.beam[part]);
    }
    for (const std::string& line : tool.provenance()) {
      residual.info.history.push_back(line);
      model.info.history.push_back(line);
    }
    images.residual.push_back(std::move(residual));
    images.model.push_back(std::move(model));
    images.psf.push_back(std::move(psf));
    images.names.push_back(name);
    used.start.push_back(name);
    used.files.parts.push_back(files);
  }
  if (images.residual.empty()) throw FailureError("{}: no usable data: every pixel is blank", plan.start[0]);
  images.groups = groups_of(images.residual);
  if (std::none_of(images.groups.begin(), images.groups.end(),
                   [](const DeconvolutionGroup& group) { return group.weight > 0; }))
    throw FailureError("{}: no usable data: its weight (WSCIMGWG) is 0", plan.start[0]);
  plan = std::move(used);
  return images;
}

/// "I", "XX, channel 3", "joined I Q U V", "I, 4 joined channels".
std::string label(const SetReport& set, const std::vector<std::string>& stokes, std::size_t n_group) {
  std::string text = stokes[set.first_pol];
  for (std::size_t p = 1; p < set.n_pols; ++p) text += " " + stokes[set.first_pol + p];
  if (set.n_groups > 1) return fmt::format("{}, {} joined channels", text, set.n_groups);
  return n_group > 1 ? fmt::format("{}, channel {}", text, set.first_group) : text;
}

void report_set(const SetReport& set, const std::string& name, FluxUnit unit) {
  const std::string result =
      fmt::format("peak residual {:.4g} {unit}, noise {:.4g} {unit}, flux in model {:.6g} {unit}",
                  set.peak_jy, set.noise_jy, set.model_flux_jy, fmt::arg("unit", name_of(unit)));
  if (set.stop == CleanStop::cycle || set.stop == CleanStop::auto_mask)
    return log_verbose("{}: {} components; {}; {}", name, set.n_total, describe_stop(set, unit), result);
  log_info("{}: {} components; stopped: {}; {}", name, set.n_total, describe_stop(set, unit), result);
  if (const std::string excess = describe_excess(set, unit); !excess.empty())
    log_warning("{}: cleaning ended above its threshold: {}: {}", name, excess, describe_stop(set, unit));
  if (set.stop == CleanStop::divergence)
    log_warning(
        "{}: CLEAN diverged: use a PSF of twice the image's size, a mask, a lower --gain or fewer iterations",
        name);
}

/// A PSF no larger than the image leaves sidelobes on the far side, and a component there removes what it
/// explains on its own half alone: at an edge they can feed on each other without an end.
void warn_of_small_psf(const PlaneShape& image, View<const float, 4> psf, const std::string& name,
                       const DeconvolutionOptions& options) {
  const bool wider = psf.extent(3) > image.nx, higher = psf.extent(2) > image.ny;
  if (border_given(options) || (wider && higher)) return;
  log_warning(
      "{}: a PSF of {} x {} pixels for an image of {} x {}: in {} it reaches half an image away, and the "
      "edges may diverge: make it of twice the image's size (idg-grid --psf-size), or leave the edges out "
      "(--clean-border 5)",
      name, psf.extent(3), psf.extent(2), image.nx, image.ny,
      wider    ? "height"
      : higher ? "width"
               : "both axes");
}

/// What one part, or the mean of all, is written from. `beam` of the stations, or null.
struct PartImages {
  Image& residual;  ///< becomes the restored image
  const Image& model;
  const Image* beam;
  RestoringBeam restoring;
};

void write_images(Tool& tool, const ImageSet& files, const PartImages& part,
                  const DeconvolutionOptions& options, bool overwrite) {
  tool.stage("write");
  auto write = [&](const std::string& path, const Image& image) {
    write_fits_image(path, image, FitsPixel::float32, overwrite, tool.common().threads);
  };
  part.residual.info.beam.reset();
  if (options.restores()) part.residual.info.beam = part.restoring;
  parallel_for(std::min(2u, tool.common().threads), 2, [&](std::size_t i, unsigned) {
    if (i == 0)
      write(files.model, part.model);
    else
      write(files.residual, part.residual);
  });
  if (part.beam != nullptr)
    write(beam_corrected(files.model), corrected_image(part.model, *part.beam, imaging::model_over_beam));
  if (!options.restores()) return;
  tool.stage("restore");
  restore_planes(part.residual, part.model, part.restoring, tool.common().threads);
  tool.stage("write");
  write(files.image, part.residual);
  if (part.beam != nullptr)
    write(beam_corrected(files.image), corrected_image(part.residual, *part.beam, imaging::over_beam));
}

}  // namespace

void find_beams(CleanImages& images, const DeconvolutionOptions& options) {
  const auto given = given_beam(options);
  auto fit_to_psf = [&](std::size_t part) {
    return part < images.psf.size() ? fit_largest_beam(images.psf[part])
                                    : fit_largest_beam(mean_image(images.psf, images.groups));
  };
  auto fit = [&](std::size_t part) {
    if (given) return *given;
    return options.circular_beam ? circular(fit_to_psf(part)) : fit_to_psf(part);
  };
  images.restoring = fit_band(images.psf.size(), fit, [&](std::size_t part) { return images.names[part]; });
  for (std::size_t part = 0; part < images.psf.size(); ++part)
    report_beam(images.psf.size() == 1 ? "" : fmt::format("group {}", part), images.restoring.parts[part],
                given.has_value());
}

std::size_t deconvolve(Tool& tool, const ImagePlan& plan, DeconvolutionOptions& options,
                       CleanImages& images) {
  const std::size_t n_freq = images.residual[0].pixels.extent(1);
  const Buffer<float, 4> psf = stack_planes(images.psf, n_freq);
  Buffer<float, 4> residual = stack_planes(images.residual, n_freq),
                   model = stack_planes(images.model, n_freq);
  const std::vector<DeconvolutionGroup>& groups = images.groups;
  const ImageInfo& info = images.residual[0].info;
  const PlaneShape shape{residual.extent(1), residual.extent(2), residual.extent(3)};
  warn_of_threshold_unit(options, unit_of_image(info.unit));
  DeconvolutionSettings& settings = options.settings;
  double beam_pixels = 0;
  if (settings.algorithm == CleanAlgorithm::multiscale || settings.local_rms_beams > 0) {
    const RestoringBeam beam =
        images.restoring.parts.empty() ? fit_largest_beam(images.psf[0]) : images.restoring.parts[0];
    beam_pixels = std::sqrt(beam.major_rad * beam.minor_rad) / info.cell_rad;
  }
  Progress progress(tool, "clean", static_cast<double>(settings.max_iterations), "components");
  settings.progress = [&](std::size_t n, double) { progress.update(static_cast<double>(n)); };
  // Cycles serve to measure the noise again: the residual needs no correction between them.
  if (settings.auto_threshold_sigma == 0 && settings.auto_mask_sigma == 0) settings.cycle_gain = 1;
  warn_of_small_psf(shape, psf, plan.files.parts[0].psf, options);
  Deconvolver deconvolver(settings, psf, groups, shape, beam_pixels);
  if (!options.mask.empty()) {
    auto read_image_mask = [&] {
      const Image mask = read_fits_image(options.mask);
      check_same_sky(images.residual[0], plan.start[0], mask, options.mask);
      return allowed_by(mask);
    };
    deconvolver.set_mask(is_region_text(options.mask)
                             ? read_region_mask(options.mask, info, shape.nx, shape.ny)
                             : read_image_mask());
  }
  std::size_t n_components = 0;
  bool cleaning = true;
  while (cleaning) {
    const CycleReport cycle = deconvolver.minor_cycle(residual, model);
    for (const SetReport& set : cycle.sets)
      report_set(set, label(set, info.stokes, groups.size()), unit_of_image(info.unit));
    n_components += cycle.n_components;
    cleaning = cycle.unfinished;
  }
  unstack_planes(residual, images.residual);
  unstack_planes(model, images.model);
  if (!plan.source_list.empty())
    write_source_list(plan.source_list, deconvolver.components(), info, shape, groups, settings,
                      plan.overwrite);
  return n_components;
}

void write_mean(Tool& tool, const ImagePlan& plan, const DeconvolutionOptions& options,
                const CleanImages& images) {
  Image residual = mean_image(images.residual, images.groups), beam;
  const Image model = mean_image(images.model, images.groups);
  if (!images.beam.empty()) beam = mean_image(images.beam, images.groups);
  write_images(tool, plan.files.mean,
               {residual, model, images.beam.empty() ? nullptr : &beam, images.restoring.mean}, options,
               plan.overwrite);
}

void clean_images(Tool& tool, const std::vector<std::string>& inputs, DeconvolutionOptions& options) {
  ImagePlan plan = plan_images(tool, inputs, options);
  if (tool.common().dry_run) return;
  options.settings.device = tool.device(CudaSupport::available);
  warn_of_sub_images(options, options.settings.device);
  tool.stage("read");
  CleanImages images = read_images(tool, plan, options);
  tool.stage("beam");
  if (options.restores()) find_beams(images, options);
  tool.stage("clean");
  tool.report_rate(static_cast<double>(deconvolve(tool, plan, options, images)), "components");

  if (!plan.files.mean.model.empty()) write_mean(tool, plan, options, images);
  for (std::size_t part = 0; part < images.residual.size(); ++part)
    write_images(
        tool, plan.files.parts[part],
        {images.residual[part], images.model[part], images.beam.empty() ? nullptr : &images.beam[part],
         options.restores() ? images.restoring.parts[part] : RestoringBeam{}},
        options, plan.overwrite);
  std::string written;
  for (const ImageSet& set : plan.outputs())
    for (const std::string& path : output_files(set, plan, options)) written += " " + path;
  log_info("wrote{}", written);
}

}  // namespace apsyn::clean
