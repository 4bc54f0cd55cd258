// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/idg-grid/options.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <string>

#include "libcore/base/error.h"
#include "libcore/cli/imaging_options.h"

namespace apsyn::idg_grid {

void declare(Tool& tool, Options& options) {
  tool.add_inputs(options.inputs, "Measurement Sets, or one visibility stream", 0);
  add_imaging_options(tool, options.imaging, options.inputs);
  tool.heading(headings::kAterms);
  add_primary_beam_option(tool, options.imaging);
  tool.heading(headings::kImage);
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
      .add_option("--psf-interval", options.psf_interval,
                  "with --intervals-out: make one PSF, of interval K, for all of them")
      ->type_name("K")
      ->excludes("--no-psf")
      ->excludes(psf_only);
  tool.app().add_flag("--time-cube", options.time_cube,
                      "write the intervals of --intervals-out as one file with an axis TIME");
  tool.heading(headings::kInputOutput);
  tool.app()
      .add_option("--bitpix", options.bitpix, "-32 or -64: float32 (default) or float64 pixels")
      ->type_name("N")
      ->check(CLI::IsMember({-32, -64}));
}

void check_options(Tool& tool, const Options& options) {
  const ImagingOptions& imaging = options.imaging;
  if (imaging.n_x == 0 || imaging.n_y == 0) throw UsageError("--size is missing: for example --size 1024");
  if (!(imaging.cell_rad > 0))
    throw UsageError("--scale is missing or not positive: for example --scale 10asec");
  if (options.psf_size != 0 && options.psf_size < std::max(imaging.n_x, imaging.n_y))
    throw UsageError("--psf-size: {}: smaller than the image: leave it out, or give twice the image's size",
                     options.psf_size);
  if (options.time_cube && imaging.intervals_out == 1)
    throw UsageError("--time-cube: there is one interval: ask for several with --intervals-out");
  if (options.time_cube && options.bitpix == -64)
    throw UsageError("--time-cube: cubes are of float32: leave out --bitpix -64, or --time-cube");
  if (options.psf_interval && *options.psf_interval >= imaging.intervals_out)
    throw UsageError("--psf-interval {}: --intervals-out has {}, counted from 0", *options.psf_interval,
                     imaging.intervals_out);
  if (options.psf_interval && (imaging.intervals_out == 1 || imaging.channels_out > 1))
    throw UsageError("--psf-interval: goes with --intervals-out, and with one part of the band: {}",
                     imaging.intervals_out == 1 ? "ask for several intervals" : "leave out --channels-out");
  const std::string& output = tool.common().output;
  if (output.empty() && !tool.common().dry_run)
    throw UsageError("-o NAME is missing: it becomes NAME-dirty.fits and NAME-psf.fits");
  if (output == "-" &&
      ((!options.psf_only && !options.no_psf) || imaging.channels_out > 1 || imaging.intervals_out > 1 ||
       !imaging.more_centres.empty() || (!imaging.aterms.empty() && !options.psf_only)))
    throw UsageError(
        "-o -: standard output takes one image: use --no-psf or --psf-only, and no --channels-out, "
        "--intervals-out, second --shift or --aterms, which has an average beam beside");
}

}  // namespace apsyn::idg_grid
