// SPDX-License-Identifier: GPL-3.0-or-later
// Gains that differ between directions: V_pq = sum_d g_pd conj(g_qd) M_pq,d, both hands alike. Of a baseline
// and a block of channels the sums
//   a_d = sum w V conj(M_d),  C_de = sum w M_d conj(M_e),  R = sum w |V|^2,  N
// over the parallel hands determine chi^2 of any gains: with m_d = g_pd conj(g_qd),
//   chi^2 = R - 2 Re sum_d conj(m_d) a_d + sum_d,e m_d C_de conj(m_e).
// Gains of all directions that are known already are to be divided out of the data (weights times |g_p
// g_q|^2).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/calibrate/calibrate.h"

namespace apsyn {

/// Rows of one slot. Samples count, and rows are reversed, as in add_samples().
struct DirectionSamples {
  View<const std::uint32_t, 2> station;     ///< [row][p, q]
  View<const std::complex<float>, 3> data;  ///< [row][chan][product]
  View<const float, 3> weight;              ///< [row][chan][product]; cross hands are not looked at
  /// [direction] [row][chan][product]: as many products as data, or 1: I of each hand, or 2: the parallel
  /// hands of four.
  std::span<const View<const std::complex<float>, 3>> model;
};

struct DirectionLayout {
  std::size_t n_antennas = 0, n_directions = 0;
  std::size_t n_products = 0;        ///< of the data: 1, 2 or 4
  std::vector<std::uint32_t> block;  ///< [chan] its block; kNoBlock = left out
  std::size_t n_blocks = 0;
  std::size_t n_baselines() const { return n_antennas * (n_antennas - 1) / 2; }
  std::size_t n_groups() const { return (n_blocks + kLanes - 1) / kLanes; }
  /// a_d, C_de, R, N: n_directions as elements of a model (accumulate/sum_components.h).
  std::size_t n_components() const { return 2 * n_directions + n_directions * n_directions + 2; }
  std::uint64_t bytes() const {
    return std::uint64_t{n_groups()} * n_baselines() * n_components() * kLanes * sizeof(float);
  }
  /// Throws std::invalid_argument.
  void check() const;
};

class DirectionSums {
 public:
  explicit DirectionSums(const DirectionLayout& layout);
  const DirectionLayout& layout() const { return layout_; }
  void clear() { sums_.fill(0); }
  View<float, 4> sums() { return sums_; }  ///< [group][baseline][component][lane]; a lane is a block
  View<const float, 4> sums() const { return sums_; }

 private:
  DirectionLayout layout_;
  Buffer<float, 4> sums_;
};

/// Bits do not depend on n_threads. Throws std::invalid_argument where shapes disagree or a station is out of
/// range.
void add_direction_samples(const DirectionSamples& samples, DirectionSums& sums, unsigned n_threads);

/// What solve_directions() allocates at most beside its solutions: chi^2 and the sums of one direction, and
/// gains, twice where both starts are compared; a solver's copy of these sums; the joint equations.
std::uint64_t direction_solver_bytes(const DirectionLayout& layout, CalibrationTerm term);

/// Solutions of all directions, [direction], for the terms tec, tec_delay, scalar_phase and scalar_gain.
/// chi^2, noise and samples are those of all directions together, in each solution the same. `n_sweeps` over
/// the directions, brightest first, each with the others' models taken out of its sums; then, of terms that
/// span channels, joint Gauss-Newton steps in all antennas and directions. `start`, [direction] of the former
/// slot, may be empty: two sweeps from there come first. Of terms that span channels nothing else is tried if
/// the noise that they leave is at most that of the former slot, to five of its errors; otherwise there is a
/// start from nothing, too, and the smaller chi^2 wins. Weights are not robust. freq_hz [block].
std::vector<SlotSolutions> solve_directions(const DirectionSums& sums, std::span<const double> freq_hz,
                                            const SolveSettings& settings,
                                            std::span<const SlotSolutions> start = {},
                                            std::size_t n_sweeps = 6);

}  // namespace apsyn
