// SPDX-License-Identifier: GPL-3.0-or-later
// Options of an imager, and the settings that follow from them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "kernels/weighting/image_weights.h"
#include "libcore/cli/imaging_options.h"
#include "libcore/imaging/source.h"
#include "libcore/visibility/imaging.h"
#include "libcore/visibility/stokes.h"

namespace apsyn::imaging {

struct Options {
  std::vector<std::string> inputs;
  ImagingOptions imaging;
  bool psf_only = false, no_psf = false;
  std::size_t psf_size = 0;  ///< 0 = that of the image
  int bitpix = -32;
  std::optional<std::size_t> psf_interval;  ///< whose PSF is made alone
  bool time_cube = false;                   ///< intervals along an axis TIME of one file
};

ImagingSelection selection_of(const ImagingOptions& options, unsigned n_threads);

WeightSettings weight_settings(const ImagingOptions& options);

/// The planes of the images. With A-terms all four correlations are read, and the planes are computed from
/// them.
std::vector<PlaneRecipe> planes_of(const Options& options, const ImagingInfo& info);

/// All planes are gridded in one size, the larger of image and PSF; the dirty image is cut from it.
std::size_t gridded_n_x(const Options& options);
std::size_t gridded_n_y(const Options& options);

}  // namespace apsyn::imaging
