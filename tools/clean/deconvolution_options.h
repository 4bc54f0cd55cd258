// SPDX-License-Identifier: GPL-3.0-or-later
// Options that say how to deconvolve and restore, the same for images and for Measurement Sets.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "kernels/clean/deconvolve.h"
#include "libcore/cli/tool.h"
#include "libcore/image/image.h"
#include "libcore/system/device.h"

namespace apsyn::clean {

struct DeconvolutionOptions {
  DeconvolutionSettings settings;
  FluxUnit threshold_unit = FluxUnit::jansky;  ///< that --threshold is given in
  std::string algorithm = "clark";
  std::string mask, beam_size, primary_beam;
  std::vector<double> scales;
  std::size_t spectral_pol = 0, spectral_log_pol = 0;
  bool no_negative = false, stop_negative = false, resume = false;
  bool circular_beam = false, source_list = false;
  CLI::Option *n_iter = nullptr, *cycle_gain = nullptr, *border = nullptr;

  bool restores() const { return beam_size != "none"; }
};

void declare_deconvolution(Tool& tool, DeconvolutionOptions& options);

/// Moves texts and flags into `settings`. UsageError when they contradict each other.
void check_deconvolution(const Tool& tool, DeconvolutionOptions& options);

/// A threshold in Jy means nothing to images in adu, nor the other way round: its number is taken as it is.
void warn_of_threshold_unit(const DeconvolutionOptions& options, FluxUnit images);

/// Whether --clean-border is on the command line.
bool border_given(const DeconvolutionOptions& options);

void warn_of_sub_images(const DeconvolutionOptions& options, const Device& device);

/// The beam that --beam-size gives, if it does.
std::optional<RestoringBeam> given_beam(const DeconvolutionOptions& options);

}  // namespace apsyn::clean
