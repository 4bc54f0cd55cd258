// SPDX-License-Identifier: GPL-3.0-or-later
// What the solvers of one slot share.
#pragma once

#include <complex>
#include <span>

#include "kernels/calibrate/calibrate.h"
#include "kernels/calibrate/sums.h"

namespace apsyn {

/// A term's solution and the gains that it stands for, with all that the data determine (the constant of a
/// delay's phase included), from which robust weights are computed: [block of the slot][antenna][hand or
/// 2x2], 0 where there is none.
struct SolvedSlot {
  SlotSolutions solution;
  Buffer<std::complex<double>, 3> fitted;
};

/// All arrays of the solution, flagged as no_data.
SlotSolutions empty_solution(CalibrationTerm term, std::size_t n_blocks, std::size_t n_antennas,
                             std::size_t n_values, std::size_t n_fits);

/// The noise of samples of weight 1, from chi^2 of n samples and as many real unknowns; more than the
/// rounding of the sums, which `power`, R, tells.
double noise_of(double chi2, double n_samples, double n_unknowns, double power);

/// Gains, phases and amplitudes from diagonal sums. `slot` has the cells for swapped receptors, row_weight
/// [step][baseline] their weights (empty: 1).
SolvedSlot solve_diagonal_term(const SlotCells& slot, const CalibrationSums& sums,
                               View<const float, 2> row_weight, const SolveSettings& settings,
                               ExcludedSolutions excluded, const SlotSolutions* start, SlotMemory& memory);
/// jones and leakage from jones sums.
SolvedSlot solve_jones_term(const CalibrationSums& sums, const SolveSettings& settings,
                            ExcludedSolutions excluded, const SlotSolutions* start);
/// delay, tec and tec_delay from diagonal sums, channel by channel.
SolvedSlot solve_channel_term(const CalibrationSums& sums, std::span<const double> freq_hz,
                              const SolveSettings& settings, ExcludedSolutions excluded,
                              const SlotSolutions* start, SlotMemory& memory);

}  // namespace apsyn
