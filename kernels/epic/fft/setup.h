// SPDX-License-Identifier: GPL-3.0-or-later
// What the `fft` imagers of all devices prepare, and what they subtract in the end.
#pragma once

#include <complex>
#include <vector>

#include "kernels/epic/fft/finish.h"

namespace apsyn {

/// Sums of a pixel: 1 of one polarisation, 2 XX YY, 4 XX YY Re XY Im XY.
std::size_t fft_values(const EpicPlan& plan);
/// The first polarisation that is used: the second alone when only its power is wanted.
inline std::size_t fft_first_pol(const EpicPlan& plan) {
  return fft_values(plan) == 1 && !plan.first ? 1 : 0;
}

/// UsageError for what `fft` cannot image; std::logic_error for a plan that contradicts itself.
void check_fft_plan(const EpicPlan& plan);

/// What kernels of the plan's cells leave of the apertures at the highest channel, RMS over RMS, of the worst
/// kind; 0 without apertures.
double aperture_misfit(const EpicPlan& plan, const EpicGeometry& geometry);
inline constexpr double kMaxMisfit = 0.01;
/// UsageError when that is more than kMaxMisfit.
void check_apertures(const EpicPlan& plan, const EpicGeometry& geometry);

/// What is made anew when the antennas move on the grid.
struct FftGridded {
  FftGridded(const EpicPlan& plan, const EpicGeometry& geometry);

  FftGrid grid;
  KernelFit kernel;
  LaneFft fft_x, fft_y;
  FftFinish finish;
  std::vector<GridLists> lists;  ///< [channel]
};

/// [channel][ant * n_pol + pol]: calibration, delays, and the part of w that is the same for all directions;
/// 0 for flagged antennas.
Buffer<std::complex<float>, 2> fft_factors(const EpicPlan& plan, const EpicGeometry& geometry,
                                           const FftGrid& grid);

/// No cell, and no sum of cells turned by phases, exceeds so many times the largest sample: all antennas in
/// phase.
double grid_gain(const EpicPlan& plan, const GridLists& lists, std::size_t channel);

/// What each antenna left of itself in an image channel; `powers` [channel][ant * fft_values + value].
PackedLags fft_auto_lags(const EpicPlan& plan, const FftGridded& gridded, View<const double, 2> powers,
                         std::size_t image);

}  // namespace apsyn
