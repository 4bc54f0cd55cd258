// SPDX-License-Identifier: GPL-3.0-or-later
// What an imager is told, and what follows from it.
#pragma once

#include <cstddef>
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
};

ImagingSelection selection_of(const ImagingOptions& options, unsigned n_threads);

WeightSettings weight_settings(const ImagingOptions& options);

/// The planes of the images. With A-terms the source gives all correlations, which planes are then made of.
std::vector<PlaneRecipe> planes_of(const Options& options, const ImagingInfo& info);

/// The gridder makes all planes in one size: that of the larger one; the dirty image is cut out of it.
std::size_t gridded_n_x(const Options& options);
std::size_t gridded_n_y(const Options& options);

}  // namespace apsyn::imaging
