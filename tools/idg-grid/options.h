// SPDX-License-Identifier: GPL-3.0-or-later
// The command line of idg-grid.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/idg/settings.h"
#include "kernels/weighting/image_weights.h"
#include "libcore/cli/imaging_options.h"
#include "libcore/core/stokes.h"
#include "libcore/io/imaging_source.h"

namespace apsyn::idg_grid {

struct Options {
  std::vector<std::string> inputs;
  ImagingOptions imaging;
  bool psf_only = false, no_psf = false;
  std::size_t psf_size = 0;  ///< 0 = that of the image
  int bitpix = -32;
};

inline void declare(Tool& tool, Options& options) {
  tool.add_inputs(options.inputs, "Measurement Sets, or one visibility stream", 0);
  add_imaging_options(tool, options.imaging, options.inputs);
  auto* psf_only = tool.app().add_flag("--psf-only", options.psf_only, "write NAME-psf.fits only");
  tool.app().add_flag("--no-psf", options.no_psf, "write NAME-dirty.fits only")->excludes(psf_only);
  tool.app()
      .add_option(
          "--psf-size", options.psf_size,
          "width and height of the PSF in pixels (default: those of the image); twice the image lets clean "
          "reach everywhere")
      ->type_name("N")
      ->excludes("--no-psf");
  tool.app()
      .add_option("--bitpix", options.bitpix, "-32 or -64: float32 (default) or float64 pixels")
      ->type_name("N")
      ->check(CLI::IsMember({-32, -64}));
}

inline ImagingSelection selection_of(const ImagingOptions& options) {
  return {.column = options.column,
          .fields = options.fields,
          .spws = options.spws,
          .first_interval = options.first_interval,
          .n_intervals = options.n_intervals,
          .first_channel = options.first_channel,
          .n_channels = options.n_channels,
          .planes = options.planes,
          .correlations = !options.aterms.empty(),
          .centre = options.centre};
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

inline void check_options(Tool& tool, const Options& options) {
  const ImagingOptions& imaging = options.imaging;
  if (imaging.n_x == 0 || imaging.n_y == 0) throw UsageError("--size is missing: for example --size 1024");
  if (!(imaging.cell_rad > 0))
    throw UsageError("--scale is missing or not positive: for example --scale 10asec");
  if (options.psf_size != 0 && options.psf_size < std::max(imaging.n_x, imaging.n_y))
    throw UsageError("--psf-size: {}: smaller than the image: leave it out, or give twice the image's size",
                     options.psf_size);
  const std::string& output = tool.common().output;
  if (output.empty() && !tool.common().dry_run)
    throw UsageError("-o NAME is missing: it becomes NAME-dirty.fits and NAME-psf.fits");
  if (output == "-" && ((!options.psf_only && !options.no_psf) || imaging.channels_out > 1 ||
                        !imaging.more_centres.empty() || !imaging.aterms.empty()))
    throw UsageError("-o -: standard output takes one image: use --no-psf or --psf-only");
}

}  // namespace apsyn::idg_grid
