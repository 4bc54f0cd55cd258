// SPDX-License-Identifier: GPL-3.0-or-later
// CLEAN of one plane (Hogbom 1974, A&AS 15, 417): find the highest |residual|, subtract gain times that value
// times the PSF centred there, repeat.
//
// The result is Hogbom's, not an approximation of it, but the subtraction is lazy. The image is divided into
// tiles; each keeps its highest |residual| from when it was last brought up to date, plus the sum over the
// components that it has not yet subtracted of |flux| max|PSF| over the offsets that lead from the component
// to the tile: a bound of what it can hold now. Only tiles whose bound reaches the highest value known are
// brought up to date, and components at the same pixel are merged first. At the end every tile subtracts
// everything. Values differ from a literal loop by the rounding of those sums only (float64, about 1e-16 of
// the peak).
//
// The PSF counts as zero outside its array: with a PSF of the image's size, sources more than half an image
// apart do not see each other's sidelobes; a PSF of twice the size (2 N - 1) covers every pair.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "libcore/core/view.h"

namespace apsyn {

struct CleanComponent {
  std::size_t x = 0, y = 0;
  double flux_jy = 0;
};

enum class NegativeComponents {
  allow,  ///< search |residual|
  skip,   ///< search positive residuals only
  stop    ///< search |residual| and end at the first negative peak
};

enum class CleanStop {
  iterations,
  threshold,
  noise,
  negative,
  divergence,
  nothing_left,
  cycle,     ///< the peak has fallen by the cycle's share: another major cycle
  auto_mask  ///< clean enough for the automatic mask, which holds from the next cycle on
};

struct CleanOptions {
  double gain = 0.1;  ///< (0, 1]
  std::size_t max_iterations = 0;
  double threshold_jy = 0;     ///< ends when the peak is not above it
  double threshold_sigma = 0;  ///< the same in units of the residual's robust_sigma; 0 = not used
  double cycle_gain = 0.8;  ///< with threshold_sigma: noise is measured anew when the peak fell by this share
  NegativeComponents negative = NegativeComponents::allow;
  unsigned n_threads = 1;
  std::function<void(std::size_t n_iterations)> progress;  ///< called now and then; may be empty
};

struct CleanResult {
  std::vector<CleanComponent> components;  ///< in the order found
  CleanStop stop = CleanStop::iterations;
  double peak_jy = 0;       ///< signed residual at the highest searched pixel
  double threshold_jy = 0;  ///< that was in force at the end
};

/// Cleans `residual` [y][x] in place, NaN where there is no sky. `psf` [y][x] is finite, its peak of 1 at
/// (ny/2, nx/2), any size. `searchable` [y][x] is non-zero where components may lie; pixels that are not
/// finite are never searched. Same result for any number of threads. Stops at CleanStop::divergence when the
/// peak has grown to twice the first one. Throws std::invalid_argument on shapes or options out of range.
CleanResult clean_hogbom(View<double, 2> residual, View<const double, 2> psf,
                         View<const std::uint8_t, 2> searchable, const CleanOptions& options);

/// Standard deviation of a Gaussian from the median of |x - median(x)| over the finite values: 1.4826 MAD. 0
/// when there are none.
double robust_sigma(View<const double, 2> image);

}  // namespace apsyn
