// SPDX-License-Identifier: GPL-3.0-or-later
// Photometry of known sources in a restored image: near each expected position a Gaussian of known shape is
// fitted for its peak and its position.
//
// The shape of a source is the restoring beam convolved with the source's own Gaussian: covariances C add.
// With d = (x - x0, y - y0) in pixels the model is
//   f(x, y) = A exp(-d^T C^-1 d / 2),     flux = A sqrt(det C / det C_beam)
// (Jy per beam to Jy). A, x0 and y0 minimise the squared residuals over the pixels with d^T C^-1 d < 4 ln 2,
// which are those inside the full width at half maximum around the brightest pixel near the expected place:
// Gauss-Newton steps, halved while they do not improve. The fits of the other sources are subtracted, in
// several sweeps, so that overlapping sources do not pull each other.
#pragma once

#include <vector>

#include "libcore/base/view.h"
#include "libcore/image/image.h"

namespace apsyn {

/// Symmetric 2 x 2 matrix in square pixels, axes x and y of the image.
struct PixelCovariance {
  double xx = 0, xy = 0, yy = 0;
};

/// Of an elliptical Gaussian; x grows to the west.
PixelCovariance pixel_covariance(const RestoringBeam& shape, double cell_rad);

struct ExpectedSource {
  double x = 0, y = 0;   ///< pixel, from 0
  PixelCovariance size;  ///< zero for a point
};

enum class FitState { found, outside, failed };

struct MeasuredSource {
  FitState state = FitState::outside;
  double x = 0, y = 0;
  double peak = 0;  ///< image units
  double flux = 0;  ///< peak times the area of the source in beams
};

/// `image` is [y][x]; NaN pixels are left out. `outside`: no finite pixel within the beam; `failed`: the fit
/// left the search radius (the beam's half width at half maximum plus one pixel, around the brightest pixel)
/// or the peak is not positive. Throws std::invalid_argument for a beam without area.
std::vector<MeasuredSource> measure_sources(View<const double, 2> image, const PixelCovariance& beam,
                                            const std::vector<ExpectedSource>& sources);

/// 1.4826 times the median absolute deviation from the median of the finite pixels: the RMS of Gaussian
/// noise, hardly touched by sources. NaN when there is no finite pixel.
double robust_rms(View<const double, 2> image);

}  // namespace apsyn
