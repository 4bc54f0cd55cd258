// SPDX-License-Identifier: GPL-3.0-or-later
// The restoring beam: an elliptical Gaussian fitted to the PSF's main lobe, and the image restored with it.
#pragma once

#include <string_view>

#include "libcore/base/view.h"
#include "libcore/image/image.h"

namespace apsyn {

struct CellSize {
  double x_rad = 0, y_rad = 0;
};

/// Least-squares fit (Levenberg-Marquardt, float64) of exp(-4 ln 2 q), q = a l^2 + 2 b l m + c m^2, to the
/// pixels of the PSF [y][x] that are connected to its centre (ny/2, nx/2) and at least 0.3 of the peak: three
/// parameters, height and position fixed at the peak. When the lobe has fewer than 9 pixels the 3 x 3 around
/// the centre are added. The angle lies in (-pi/2, pi/2]. Throws FailureError when the lobe is narrower than
/// about one cell or leaves the array, so that there is nothing to fit.
RestoringBeam fit_beam(View<const double, 2> psf, const CellSize& cell);

/// "12asec" (a circle) or "12asec,10asec,30deg" (major and minor axis, FWHM, and position angle). UsageError.
RestoringBeam parse_restoring_beam(std::string_view text);

/// image += model (*) Gaussian of height 1, both [y][x]; a model pixel of 1 Jy becomes a peak of 1 Jy/beam.
/// The Gaussian is evaluated in float64 at the offsets between pixel centres and cut where it is below
/// 2^-60. Pixels of the image that are NaN stay NaN. Same result for any number of threads.
void restore(View<double, 2> image, View<const double, 2> model, const RestoringBeam& beam,
             const CellSize& cell, unsigned n_threads);

}  // namespace apsyn
