// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/options.h"

#include <algorithm>

#include "libcore/base/error.h"
#include "libcore/visibility/visibility.h"

namespace apsyn::imaging {

ImagingSelection selection_of(const ImagingOptions& options, unsigned n_threads) {
  if (options.adjoint_aterms && options.aterms.empty())
    throw UsageError("--aterm-mode adjoint: there are no A-terms: give --aterms or --primary-beam");
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

WeightSettings weight_settings(const ImagingOptions& options) {
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

std::vector<PlaneRecipe> planes_of(const Options& options, const ImagingInfo& info) {
  if (!options.imaging.aterms.empty())
    return parse_planes(options.imaging.planes, {Product::XX, Product::XY, Product::YX, Product::YY});
  std::vector<PlaneRecipe> planes;
  for (const std::string& name : info.planes) planes.push_back({name, {}, {}});
  return planes;
}

std::size_t gridded_n_x(const Options& options) {
  return std::max(options.imaging.n_x, options.psf_size);
}

std::size_t gridded_n_y(const Options& options) {
  return std::max(options.imaging.n_y, options.psf_size);
}

}  // namespace apsyn::imaging
