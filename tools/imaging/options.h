// SPDX-License-Identifier: GPL-3.0-or-later
// What an imager is told, and what follows from it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/idg/settings.h"
#include "kernels/weighting/image_weights.h"
#include "libcore/cli/imaging_options.h"
#include "libcore/imaging/source.h"
#include "libcore/visibility/stokes.h"

namespace apsyn::imaging {

struct Options {
  std::vector<std::string> inputs;
  ImagingOptions imaging;
  bool psf_only = false, no_psf = false;
  std::size_t psf_size = 0;  ///< 0 = that of the image
  int bitpix = -32;
};

inline ImagingSelection selection_of(const ImagingOptions& options, unsigned n_threads) {
  return {.column = options.column,
          .name_other_columns = !options.column_given,
          .fields = options.fields,
          .spws = options.spws,
          .field_names = options.field_names,
          .first_interval = options.first_interval,
          .n_intervals = options.n_intervals,
          .first_channel = options.first_channel,
          .n_channels = options.n_channels,
          .planes = options.planes,
          .correlations = !options.aterms.empty(),
          .centre = options.centre,
          .n_threads = n_threads};
}

inline WeightSettings weight_settings(const ImagingOptions& options) {
  WeightSettings settings;
  settings.mode = options.weight == "briggs"    ? WeightMode::briggs
                  : options.weight == "uniform" ? WeightMode::uniform
                                                : WeightMode::natural;
  settings.robustness = options.robustness;
  settings.rank_filter_level = options.rank_filter;
  settings.taper_gaussian_rad = options.taper_gaussian_rad;
  settings.min_uv_lambda = options.min_uv_lambda;
  if (options.max_uv_lambda > 0) settings.max_uv_lambda = options.max_uv_lambda;
  settings.inner_tukey_lambda = options.inner_tukey_lambda;
  settings.outer_tukey_lambda = options.outer_tukey_lambda;
  return settings;
}

/// The planes of the images. With A-terms the source gives all correlations, which planes are then made of.
inline std::vector<PlaneRecipe> planes_of(const Options& options, const ImagingInfo& info) {
  if (!options.imaging.aterms.empty())
    return parse_planes(options.imaging.planes, {Product::XX, Product::XY, Product::YX, Product::YY});
  std::vector<PlaneRecipe> planes;
  for (const std::string& name : info.planes) planes.push_back({name, {}, {}});
  return planes;
}

/// The gridder makes all planes in one size: that of the larger one; the dirty image is cut out of it.
inline std::size_t gridded_n_x(const Options& options) {
  return std::max(options.imaging.n_x, options.psf_size);
}
inline std::size_t gridded_n_y(const Options& options) {
  return std::max(options.imaging.n_y, options.psf_size);
}

}  // namespace apsyn::imaging
