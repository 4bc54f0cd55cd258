// SPDX-License-Identifier: GPL-3.0-or-later
// The plane on which the `fft` imager grids its antennas, and the image that a transform of it shows.
//
// With rows u, v, w of `axes` in east, north, up and s = l u + m v + n w, an antenna's phase is
// r.s = u l + v m + w (n - 1) + w: its last term is a constant, the one before it is small when the plane
// fits the array. An array that lies in the plane of the image's own axes is gridded there, and the
// transform's pixels are the image's. Otherwise the plane is the array's own, fixed to the ground, and shows
// the sky in a projection about its own normal, which resample.h turns into the image's.
#pragma once

#include <array>
#include <optional>

#include "kernels/epic/epic.h"

namespace apsyn {

struct GridAxis {
  std::size_t n = 0;  ///< cells, and pixels of the transform; a product of 2, 3 and 5
  double cell = 0;    ///< of a pixel, as a direction cosine
  double half = 0;    ///< largest |direction cosine| in the image
  /// Size of a grid cell, in wavelengths.
  double spacing() const { return 1 / (static_cast<double>(n) * cell); }
  /// `half` as a frequency along the grid, in turns per cell: kernels have to be accurate up to here.
  double edge() const { return half * spacing(); }
};

struct FftGrid {
  Mat3 axes{};  ///< rows u, v, w in east, north, up
  Vec3 origin_m{};
  bool resampled = false;
  GridAxis x, y;

  /// u, v, w of an antenna, metres.
  Vec3 place(const Vec3& enu_m) const { return multiply(axes, enu_m - origin_m); }
};

/// Plans the grid. UsageError when the array needs a larger grid than can be transformed.
FftGrid plan_fft_grid(const EpicPlan& plan, const EpicGeometry& geometry);
/// Whether plan_fft_grid() would succeed.
bool fits_fft_grid(const EpicPlan& plan, const EpicGeometry& geometry);

/// An antenna so far from the others that without it the grid would have at most half as many cells.
struct FftOutlier {
  std::size_t ant = 0;
  FftGrid without;
};
/// No value on level ground, where cells beyond the grid's end wrap around to its beginning.
std::optional<FftOutlier> fft_outlier(const EpicPlan& plan, const EpicGeometry& geometry);

/// Extent of the antennas in use, in cells along x and y, at a frequency.
std::array<double, 2> spanned_cells(const EpicPlan& plan, const EpicGeometry& geometry, const FftGrid& grid,
                                    double freq_hz);

/// Whether a grid planned for another geometry can still be used: the array is the same, and no pixel moves
/// by more than a thousandth of a pixel.
bool serves(const FftGrid& grid, const EpicPlan& plan, const EpicGeometry& planned_for,
            const EpicGeometry& geometry);

/// The smallest product of powers of 2, 3 and 5 that is at least n.
std::size_t smooth_length(std::size_t n);

}  // namespace apsyn
