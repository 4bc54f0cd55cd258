// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/clean/image_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <numeric>

#include "kernels/clean/deconvolve.h"
#include "libcore/base/error.h"
#include "libcore/base/units.h"
#include "libcore/files/output.h"
#include "libcore/formats/fits/image.h"
#include "libcore/system/program_memory.h"

namespace apsyn::clean {
namespace {

/// --primary-beam for all parts, or NAME-beam.fits beside each NAME-dirty.fits.
std::vector<std::string> find_primary_beams(const ChannelSets& files, const DeconvolutionOptions& options) {
  if (!options.primary_beam.empty())
    return std::vector<std::string>(files.parts.size(), options.primary_beam);
  const std::string ending = "-dirty.fits";
  std::vector<std::string> beams;
  for (const ImageSet& set : files.parts) {
    if (!set.dirty.ends_with(ending)) return {};
    beams.push_back(set.dirty.substr(0, set.dirty.size() - ending.size()) + "-beam.fits");
    if (!std::filesystem::exists(beams.back())) return {};
    // A dirty image over the beam already, as of idg-grid, has nothing to be corrected.
    for (const auto& [key, value] : read_fits_keywords(set.dirty))
      if (key == "PBCOR" && value != 0) return {};
  }
  return beams;
}

/// What the program takes by itself when it reads no visibilities.
constexpr std::uint64_t kImageProgramBytes = 34'000'000;

/// Memory for the stacks, the files' own arrays and the deconvolver.
std::uint64_t needed_bytes(const ImagePlan& plan, const DeconvolutionOptions& options, std::string& shapes) {
  std::uint64_t bytes = kImageProgramBytes + cuda_program_bytes(), mean_bytes = 0;
  PlaneShape shape;
  double beam_pixels = 0;  // of the last part, whose is the narrowest
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
          const std::size_t n_plane = axes[2] * axes[3], n_last = axes[2] == 1 ? n_plane : axes[3];
          // Frequencies come before the polarisations, in images that are made here.
          shape = {options.settings.join_polarizations ? n_last : 1, axes[1], axes[0]};
          beam_pixels = read_fits_beam_pixels(*paths[i]);
          n_group += n_plane / shape.n_pol;
        } else {
          psf_ny = axes[1];
          psf_nx = axes[0];
        }
      }
      shapes +=
          fmt::format("{}{}: {}, {}", shapes.empty() ? "" : "\n", i == 0 ? "image" : "psf", *paths[i], text);
    }
    // Residual and model in float64 and float32; the PSF the same.
    bytes += n_pixels[0] * 24 + n_pixels[1] * 12;
    if (plan.start.size() > 1) mean_bytes = std::max(mean_bytes, 16 * n_pixels[0]);
  }
  if (psf_ny > 0 && shape.ny > 0)
    bytes += Deconvolver::memory(options.settings, std::max<std::size_t>(1, n_group), shape, psf_ny, psf_nx,
                                 0.9 * beam_pixels)
                 .cycle_bytes;
  return bytes + mean_bytes;
}

}  // namespace

std::vector<ImageSet> ImagePlan::outputs() const {
  std::vector<ImageSet> all = files.parts;
  if (!files.mean.model.empty()) all.push_back(files.mean);
  return all;
}

std::string beam_corrected(const std::string& path) {
  return path.substr(0, path.size() - std::string(".fits").size()) + "-pb.fits";
}

std::vector<std::string> output_files(const ImageSet& set, const ImagePlan& plan,
                                      const DeconvolutionOptions& options) {
  std::vector<std::string> paths{set.model, set.residual};
  if (options.restores()) paths.push_back(set.image);
  if (plan.beam.empty()) return paths;
  paths.push_back(beam_corrected(set.model));
  if (options.restores()) paths.push_back(beam_corrected(set.image));
  return paths;
}

ImagePlan plan_images(Tool& tool, const std::vector<std::string>& inputs,
                      const DeconvolutionOptions& options) {
  ImagePlan plan;
  plan.files = find_channel_sets(inputs, tool.common().output);
  plan.overwrite = tool.common().overwrite || options.resume;
  plan.beam = find_primary_beams(plan.files, options);
  for (const ImageSet& set : plan.files.parts) {
    // An earlier run leaves a blank group out, without residual and model: so it will be again.
    const bool left_out = plan.files.parts.size() > 1 && !std::filesystem::exists(set.residual) &&
                          !std::filesystem::exists(set.model);
    plan.start.push_back(options.resume && !left_out ? set.residual : set.dirty);
  }
  std::string outputs;
  for (const ImageSet& set : plan.outputs())
    for (const std::string& path : output_files(set, plan, options)) {
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
  if (bytes > tool.common().max_memory_bytes)
    throw FailureError("{}: {}", plan.start[0],
                       memory_shortage(tool.common().max_memory_bytes, static_cast<double>(bytes),
                                       "cleaning this needs", "allow more"));
  if (tool.common().dry_run) {
    tool.print(shapes);
    tool.print("outputs:" + outputs);
    tool.print(fmt::format("{} with gain {}, {} components at most", options.algorithm, options.settings.gain,
                           options.settings.max_iterations));
    tool.print(fmt::format("memory: {}", format_bytes(static_cast<double>(bytes))));
  }
  return plan;
}

}  // namespace apsyn::clean
