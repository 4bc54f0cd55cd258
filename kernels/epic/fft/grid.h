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
  double half = 0;    ///< largest |direction cosine| that is looked at
  /// Of a grid cell, in wavelengths.
  double spacing() const { return 1 / (static_cast<double>(n) * cell); }
  /// The same as a frequency along the grid, turns per cell: kernels have to be good up to here.
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

/// UsageError when the array needs a larger grid than can be transformed.
FftGrid plan_fft_grid(const EpicPlan& plan, const EpicGeometry& geometry);
/// Whether it does not.
bool fits_fft_grid(const EpicPlan& plan, const EpicGeometry& geometry);

/// An antenna so far from the others that without it the grid would have half as many cells at most.
struct FftOutlier {
  std::size_t ant = 0;
  FftGrid without;
};
/// None on level ground, where cells beyond the grid's end fold onto its beginning.
std::optional<FftOutlier> fft_outlier(const EpicPlan& plan, const EpicGeometry& geometry);

/// From end to end of the antennas that are used, in cells along x and y at a frequency.
std::array<double, 2> spanned_cells(const EpicPlan& plan, const EpicGeometry& geometry, const FftGrid& grid,
                                    double freq_hz);

/// Whether a grid planned for another geometry still serves: the same array, and axes that move no pixel by
/// more than a thousandth of one.
bool serves(const FftGrid& grid, const EpicPlan& plan, const EpicGeometry& planned_for,
            const EpicGeometry& geometry);

/// The least product of 2, 3 and 5 that is not below n.
std::size_t smooth_length(std::size_t n);

}  // namespace apsyn
