// SPDX-License-Identifier: GPL-3.0-or-later
// Images in, model, residual and restored images out: of one image, or of all channel groups together.
#pragma once

#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "kernels/clean/clean_image.h"
#include "libcore/cli/tool.h"
#include "libcore/core/constants.h"
#include "libcore/core/output.h"
#include "libcore/io/fits_image.h"
#include "libcore/io/image_set.h"
#include "tools/clean/deconvolution_options.h"
#include "tools/clean/source_list.h"

namespace apsyn::clean {

struct ImagePlan {
  ChannelSets files;
  std::vector<std::string> start;  ///< [part] the image that cleaning begins with
  std::string source_list;         ///< empty: none
  bool overwrite = false;

  /// The parts and, when there are several, their mean.
  std::vector<ImageSet> outputs() const {
    std::vector<ImageSet> all = files.parts;
    if (!files.mean.model.empty()) all.push_back(files.mean);
    return all;
  }
};

/// Everything in memory.
struct CleanImages {
  std::vector<Image> residual, model, psf;  ///< [part]
  std::vector<RestoringBeam> beam;          ///< [part]
};

inline std::vector<std::string> output_files(const ImageSet& set, const DeconvolutionOptions& options) {
  std::vector<std::string> paths{set.model, set.residual};
  if (options.restores()) paths.push_back(set.image);
  return paths;
}

/// Memory for the stacks, the files' own arrays and the deconvolver.
inline std::uint64_t needed_bytes(const ImagePlan& plan, const DeconvolutionOptions& options,
                                  std::string& shapes) {
  std::uint64_t bytes = 0;
  PlaneShape shape;
  std::size_t n_group = 0, psf_ny = 0, psf_nx = 0;
  for (std::size_t part = 0; part < plan.start.size(); ++part) {
    std::uint64_t n_pixels[2] = {0, 0};
    const std::string* paths[2] = {&plan.start[part], &plan.files.parts[part].psf};
    for (int i = 0; i < 2; ++i) {
      std::string text = "of unknown size";
      if (*paths[i] != "-") {
        std::vector<std::size_t> axes = read_fits_shape(*paths[i]);
        n_pixels[i] = std::accumulate(axes.begin(), axes.end(), std::uint64_t{1}, std::multiplies<>());
        text = fmt::format("{} pixels", fmt::join(axes, " x "));
        axes.resize(4, 1);
        if (i == 0) {
          shape = {1, axes[1], axes[0]};
          n_group += axes[2] * axes[3];
        } else {
          psf_ny = axes[1];
          psf_nx = axes[0];
        }
      }
      shapes +=
          fmt::format("{}{}: {}, {}", shapes.empty() ? "" : "\n", i == 0 ? "image" : "psf", *paths[i], text);
    }
    // Residual and model in float64 and float32, the mean of the parts and a file's bytes; the PSF the same.
    bytes += n_pixels[0] * 32 + n_pixels[1] * 16;
  }
  if (psf_ny > 0 && shape.ny > 0)
    bytes +=
        Deconvolver::memory_bytes(options.settings, std::max<std::size_t>(1, n_group), shape, psf_ny, psf_nx);
  return bytes;
}

inline ImagePlan plan_images(Tool& tool, const std::vector<std::string>& inputs,
                             const DeconvolutionOptions& options) {
  ImagePlan plan;
  plan.files = find_channel_sets(inputs, tool.common().output);
  plan.overwrite = tool.common().overwrite || options.go_on;
  for (const ImageSet& set : plan.files.parts) plan.start.push_back(options.go_on ? set.residual : set.dirty);
  std::string outputs;
  for (const ImageSet& set : plan.outputs())
    for (const std::string& path : output_files(set, options)) {
      check_output(path, plan.overwrite);
      outputs += " " + path;
    }
  if (options.source_list) {
    const std::string model = plan.outputs().back().model;
    const std::string name = model.substr(0, model.size() - std::string("-model.fits").size());
    plan.source_list =
        (plan.files.mean.model.empty() ? name : name.substr(0, name.size() - 4)) + "-sources.txt";
    check_output(plan.source_list, plan.overwrite);
    outputs += " " + plan.source_list;
  }
  std::string shapes;
  const std::uint64_t bytes = needed_bytes(plan, options, shapes);
  if (tool.common().dry_run) {
    tool.print(shapes);
    tool.print("outputs:" + outputs);
    tool.print(fmt::format("{} with gain {}, {} components at most", options.algorithm, options.settings.gain,
                           options.settings.max_iterations));
    tool.print(fmt::format("memory: {}", format_bytes(static_cast<double>(bytes))));
  } else if (bytes > tool.common().max_memory_bytes) {
    throw FailureError("{}: needs {} of memory, {} are allowed: raise --max-memory", plan.start[0],
                       format_bytes(static_cast<double>(bytes)),
                       format_bytes(static_cast<double>(tool.common().max_memory_bytes)));
  }
  return plan;
}

inline CleanImages read_images(Tool& tool, const ImagePlan& plan, const DeconvolutionOptions& options) {
  CleanImages images;
  bool any_data = false;
  for (std::size_t part = 0; part < plan.start.size(); ++part) {
    const ImageSet& files = plan.files.parts[part];
    Image residual = read_fits_image(plan.start[part]), psf = read_fits_image(files.psf);
    if (part > 0) check_same_sky(images.residual[0], plan.start[0], residual, plan.start[part]);
    if (part > 0 && psf.pixels.shape() != images.psf[0].pixels.shape())
      throw DataError("{}: has another shape than {}: joined PSFs have one", files.psf,
                      plan.files.parts[0].psf);
    any_data |= std::any_of(residual.pixels.begin(), residual.pixels.end(),
                            [](double value) { return std::isfinite(value); });
    if (!(residual.info.freq_hz > 0) && options.settings.spectral_fit != SpectralFit::none)
      throw DataError("{}: no frequency: spectra cannot be fitted", plan.start[part]);
    check_psf_fits(residual, plan.start[part], psf, files.psf);
    prepare_psf(psf, files.psf);
    Image model = options.go_on ? read_fits_image(files.model) : empty_model(residual);
    if (options.go_on) check_same_sky(residual, plan.start[part], model, files.model);
    for (const std::string& line : tool.provenance()) {
      residual.info.history.push_back(line);
      model.info.history.push_back(line);
    }
    images.residual.push_back(std::move(residual));
    images.model.push_back(std::move(model));
    images.psf.push_back(std::move(psf));
  }
  if (!any_data) throw FailureError("{}: no usable data: every pixel is blank", plan.start[0]);
  return images;
}

inline void find_beams(CleanImages& images, const DeconvolutionOptions& options) {
  const auto given = given_beam(options);
  for (std::size_t part = 0; part < images.psf.size(); ++part) {
    RestoringBeam beam = given ? *given : fit_largest_beam(images.psf[part]);
    if (options.circular_beam) beam = circular(beam);
    log_info("{}{} beam: {} x {}, position angle {:.2f} deg",
             images.psf.size() == 1 ? "" : fmt::format("group {}: ", part), given ? "given" : "fitted",
             format_angle(beam.major_rad), format_angle(beam.minor_rad),
             beam.position_angle_rad / kRadPerDeg);
    images.beam.push_back(beam);
  }
}

/// "I", "XX, channel 3", "joined I Q U V", "I, 4 joined channels".
inline std::string label(const SetReport& set, const std::vector<std::string>& stokes, std::size_t n_group) {
  std::string text = stokes[set.first_pol];
  for (std::size_t p = 1; p < set.n_pols; ++p) text += " " + stokes[set.first_pol + p];
  if (set.n_groups > 1) return fmt::format("{}, {} joined channels", text, set.n_groups);
  return n_group > 1 ? fmt::format("{}, channel {}", text, set.first_group) : text;
}

inline void report_set(const SetReport& set, const std::string& name) {
  const std::string result = fmt::format("peak residual {:.4g} Jy, noise {:.4g} Jy, flux in model {:.6g} Jy",
                                         set.peak_jy, set.noise_jy, set.model_flux_jy);
  if (set.stop == CleanStop::cycle || set.stop == CleanStop::auto_mask)
    return log_verbose("{}: {} components; {}; {}", name, set.n_total, describe_stop(set), result);
  log_info("{}: {} components; stopped: {}; {}", name, set.n_total, describe_stop(set), result);
  if (set.stop == CleanStop::divergence)
    log_warning(
        "{}: CLEAN diverged: use a PSF of twice the image's size, a mask, a lower --gain or fewer iterations",
        name);
}

/// Cycle after cycle until every set of planes is done. Returns the number of components.
inline std::size_t deconvolve(Tool& tool, const ImagePlan& plan, DeconvolutionOptions& options,
                              CleanImages& images) {
  const std::size_t n_freq = images.residual[0].pixels.extent(1);
  const Buffer<float, 4> psf = stack_planes(images.psf, n_freq);
  Buffer<float, 4> residual = stack_planes(images.residual, n_freq),
                   model = stack_planes(images.model, n_freq);
  const std::vector<DeconvolutionGroup> groups = groups_of(images.residual);
  const ImageInfo& info = images.residual[0].info;
  const PlaneShape shape{residual.extent(1), residual.extent(2), residual.extent(3)};
  DeconvolutionSettings& settings = options.settings;
  double beam_pixels = 0;
  if (settings.algorithm == CleanAlgorithm::multiscale || settings.local_rms_beams > 0) {
    const RestoringBeam beam = images.beam.empty() ? fit_largest_beam(images.psf[0]) : images.beam[0];
    beam_pixels = std::sqrt(beam.major_rad * beam.minor_rad) / info.cell_rad;
  }
  Progress progress(tool, "clean", static_cast<double>(settings.max_iterations), "components");
  settings.progress = [&](std::size_t n, double) { progress.update(static_cast<double>(n)); };
  // Cycles serve to measure the noise again: the residual needs no correction between them.
  if (settings.auto_threshold_sigma == 0 && settings.auto_mask_sigma == 0) settings.cycle_gain = 1;
  Deconvolver deconvolver(settings, psf, groups, shape, beam_pixels);
  if (!options.mask.empty()) {
    const Image mask = read_fits_image(options.mask);
    check_same_sky(images.residual[0], plan.start[0], mask, options.mask);
    deconvolver.set_mask(allowed_by(mask));
  }
  std::size_t n_components = 0;
  bool go_on = true;
  while (go_on) {
    const CycleReport cycle = deconvolver.minor_cycle(residual, model);
    for (const SetReport& set : cycle.sets) report_set(set, label(set, info.stokes, groups.size()));
    n_components += cycle.n_components;
    go_on = cycle.go_on;
  }
  unstack_planes(residual, images.residual);
  unstack_planes(model, images.model);
  if (!plan.source_list.empty())
    write_source_list(plan.source_list, deconvolver.components(), info, shape, groups, settings,
                      plan.overwrite);
  return n_components;
}

inline void write_images(Tool& tool, const ImageSet& files, Image& residual, const Image& model,
                         const RestoringBeam& beam, const DeconvolutionOptions& options, bool overwrite) {
  tool.stage("write");
  residual.info.beam.reset();
  if (options.restores()) residual.info.beam = beam;
  write_fits_image(files.model, model, FitsPixel::float32, overwrite);
  write_fits_image(files.residual, residual, FitsPixel::float32, overwrite);
  if (!options.restores()) return;
  tool.stage("restore");
  restore_planes(residual, model, beam, tool.common().threads);
  tool.stage("write");
  write_fits_image(files.image, residual, FitsPixel::float32, overwrite);
}

inline void clean_images(Tool& tool, const std::vector<std::string>& inputs, DeconvolutionOptions& options) {
  const ImagePlan plan = plan_images(tool, inputs, options);
  if (tool.common().dry_run) return;
  tool.device(CudaSupport::none);
  tool.stage("read");
  CleanImages images = read_images(tool, plan, options);
  tool.stage("beam");
  if (options.restores()) find_beams(images, options);
  tool.stage("clean");
  tool.report_rate(static_cast<double>(deconvolve(tool, plan, options, images)), "components");

  RestoringBeam mean_beam;
  if (!plan.files.mean.model.empty()) {
    Image residual = mean_image(images.residual), model = mean_image(images.model);
    if (options.restores())
      mean_beam = given_beam(options).value_or(fit_largest_beam(mean_image(images.psf)));
    if (options.circular_beam) mean_beam = circular(mean_beam);
    write_images(tool, plan.files.mean, residual, model, mean_beam, options, plan.overwrite);
  }
  for (std::size_t part = 0; part < images.residual.size(); ++part)
    write_images(tool, plan.files.parts[part], images.residual[part], images.model[part],
                 options.restores() ? images.beam[part] : mean_beam, options, plan.overwrite);
  std::string written;
  for (const ImageSet& set : plan.outputs())
    for (const std::string& path : output_files(set, options)) written += " " + path;
  log_info("wrote{}", written);
}

}  // namespace apsyn::clean
