// SPDX-License-Identifier: GPL-3.0-or-later
// Diagonal gains from sums: all lanes of a group at once, by alternating directions (StefCal, Salvini &
// Wijnholds 2014): with all other antennas known, chi^2 is least at
//   g_p = sum_q A_pq g_q / sum_q S_pq |g_q|^2,
// for |g| = 1 at the phase of the numerator. Every second step takes the mean with the former gains, which
// the common amplitude needs: alone, it would change sides for ever.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/calibrate/sums.h"
#include "libcore/base/view.h"

namespace apsyn {

/// Lanes of gains to be solved, each for itself.
struct DiagonalProblem {
  std::size_t n_antennas = 0, n_lanes = 0;
  Buffer<float, 4> sums;  ///< [group][baseline][A re, A im, S][kLanes]; zero of antennas that are not active
  Buffer<std::uint8_t, 2> active;  ///< [lane][antenna]
  std::size_t n_groups() const { return (n_lanes + kLanes - 1) / kLanes; }
};

/// Sums of diagonal kind to a problem with one lane for each of theirs, or with those of n_merged hands added
/// up. All antennas are active. `memory` becomes that of the problem's sums.
DiagonalProblem make_problem(const CalibrationSums& sums, std::size_t n_merged, unsigned n_threads,
                             Buffer<float, 4> memory = {});
/// Takes an antenna's baselines out of a lane.
void leave_out(DiagonalProblem& problem, std::size_t lane, std::size_t antenna);

struct DiagonalSettings {
  bool unit = false;  ///< |g| = 1
  double tolerance = 1e-6;
  std::size_t max_iterations = 200;
};

struct DiagonalGains {
  Buffer<std::complex<double>, 2> gain;     ///< [lane][antenna]; 0 of antennas that are not active
  Buffer<double, 2> information;            ///< [lane][antenna] sum_q S_pq |g_q|^2
  Buffer<double, 2> signal;                 ///< [lane][antenna] |sum_q A_pq g_q|
  std::vector<std::uint32_t> n_iterations;  ///< [lane]
  std::vector<std::uint8_t> converged;      ///< [lane]
  void resize(std::size_t n_lanes, std::size_t n_antennas);
};

/// Solves the lanes of a group, from the gains in `gains` where a lane has any (any is not 0), otherwise from
/// the phases on the baselines of its best connected antenna.
void solve_group(const DiagonalProblem& problem, std::size_t group, const DiagonalSettings& settings,
                 DiagonalGains& gains);

/// For lanes that have not converged: Gauss-Newton steps in log amplitudes and phases, which the real weights
/// S |g_p g_q|^2 keep apart. Returns whether these converged.
bool polish_gains(const DiagonalProblem& problem, std::size_t lane, const DiagonalSettings& settings,
                  DiagonalGains& gains);

/// RMS errors of the gains' real part (of |g| = 1: of the phase in rad) for noise 1, from the inverse of the
/// Fisher matrix with the phase of antenna `reference` fixed, [antenna]; infinite where the data do not
/// determine the gain.
std::vector<double> fisher_errors(const DiagonalProblem& problem, std::size_t lane,
                                  const DiagonalSettings& settings, const DiagonalGains& gains,
                                  std::size_t reference);

}  // namespace apsyn
