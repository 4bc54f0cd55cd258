// SPDX-License-Identifier: GPL-3.0-or-later
// Preparations of the `fft` imagers on all devices, and the autocorrelations that they subtract at the end.
#pragma once

#include <complex>
#include <vector>

#include "kernels/epic/fft/finish.h"

namespace apsyn {

/// Sums of a pixel: 1 of one polarisation, 2 XX YY, 4 XX YY Re XY Im XY.
std::size_t fft_values(const EpicPlan& plan);
/// Index of the first polarisation in use; 1 if only the power of the second is wanted.
inline std::size_t fft_first_pol(const EpicPlan& plan) {
  return fft_values(plan) == 1 && !plan.first ? 1 : 0;
}

/// UsageError for a plan that `fft` cannot image; std::logic_error for one that contradicts itself.
void check_fft_plan(const EpicPlan& plan);

/// Relative RMS error with which kernels of the plan's width represent the apertures at the highest channel,
/// for the worst kind of antenna; 0 without apertures.
double aperture_misfit(const EpicPlan& plan, const EpicGeometry& geometry);
inline constexpr double kMaxMisfit = 0.01;
/// UsageError when that is more than kMaxMisfit.
void check_apertures(const EpicPlan& plan, const EpicGeometry& geometry);

/// Everything that is recomputed when the antennas move on the grid.
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

/// Upper bound on any cell, and on any sum of cells with phases, relative to the largest sample: the case of
/// all antennas in phase.
double grid_gain(const EpicPlan& plan, const GridLists& lists, std::size_t channel);

/// Lags of the antennas' own power in an image channel; `powers` [channel][ant * fft_values + value].
PackedLags fft_auto_lags(const EpicPlan& plan, const FftGridded& gridded, View<const double, 2> powers,
                         std::size_t image);

}  // namespace apsyn
