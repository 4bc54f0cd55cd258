// SPDX-License-Identifier: GPL-3.0-or-later
// Gains of antennas from sums over visibilities (sums.h), which have all that the equation V_pq = J_p M_pq
// J_q^H needs: no solver sees the samples again.
//
// The way: CalibrationSums of each time cell, add_samples(), and for each term of a chain and each of its
// slots solve_slot(), whose solution becomes gains by gains_of(), which multiply_gains() joins to those that
// are known for the next term.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/calibrate/sums.h"
#include "libcore/base/view.h"

namespace apsyn {

/// What is solved for. Values of a slot: [block][antenna][value].
enum class CalibrationTerm {
  gain,          ///< complex g of each parallel hand
  phase,         ///< |g| = 1 of each
  amplitude,     ///< real g > 0 of each: the modulus of the complex gain, so that phases do not matter
  scalar_gain,   ///< complex g, one for both hands
  scalar_phase,  ///< |g| = 1, one for both hands
  jones,         ///< 2x2, row by row; jones sums
  leakage,       ///< 2x2 with a diagonal of ones; jones sums
  delay,         ///< exp(+2 pi i nu tau) of each hand: tau in s. The phase's constant is fitted besides
  tec,           ///< exp(-i kTecPhase TEC / nu), one for both hands: TECU
  tec_delay      ///< both of these, one for both hands: TECU, s
};

/// Radian hertz per TECU: phase = -kTecPhase TEC / nu.
inline constexpr double kTecPhase = 8.44797245e9;

/// Whether the term needs jones sums; all others need diagonal ones.
bool needs_jones_sums(CalibrationTerm term);
/// Whether it is one number per antenna for all channels (delay, tec, tec_delay). Then the slot's blocks
/// should be single channels or narrow blocks: n_blocks >= 2 (delay, tec_delay: 3).
bool spans_channels(CalibrationTerm term);
/// Values of an antenna and block: 1 of one product or a term for both hands, 2 of each hand, 2 of tec_delay,
/// 4 of 2x2.
std::size_t n_values(CalibrationTerm term, std::size_t n_polarisations);

/// Why a solution is not to be used.
enum class FlagReason : std::uint8_t {
  none,
  no_data,        ///< no sample with weight > 0
  few_baselines,  ///< fewer than min_baselines with antennas that have a solution
  low_snr,        ///< below min_snr
  outlier,        ///< an amplitude far from the antenna's others: find_outliers()
  swapped,        ///< parallel hands show nothing, cross hands what parallel hands of others do
  diverged,       ///< not converged and not finite, or larger than any start
  excluded        ///< by the caller
};
/// "low S/N" and so on, for reports.
std::string_view to_string(FlagReason reason);

struct SolveSettings {
  CalibrationTerm term = CalibrationTerm::gain;
  std::size_t reference = 0;  ///< antenna of phase 0 (jones: of a Hermitian J): best_connected() chooses one
  double tolerance = 1e-6;    ///< largest RMS change of an iteration, relative
  std::size_t max_iterations = 200;
  double min_snr = 3;             ///< of a solution; 0 = any
  std::size_t min_baselines = 4;  ///< of an antenna; fewer only where there are fewer antennas
  double robust_nu = 0;           ///< degrees of freedom of Student's t for robust weights; 0 = none
  std::size_t robust_rounds = 4;
  /// Errors from the inverse of the Fisher matrix, for which antennas' solutions depend on each other;
  /// otherwise those of an antenna with all others known, which are a few per cent smaller for arrays of many
  /// antennas.
  bool exact_errors = false;
  double max_delay_s = 0;   ///< range of the search; 0 = 1 / (2 spacing of the channels)
  double max_tec_tecu = 0;  ///< range of the search about 0; 0 = 0.5 (differences between stations)
  unsigned n_threads = 1;   ///< change no bit
};

/// The solution of one slot. Arrays [block][antenna][value] have one block for terms that span channels.
struct SlotSolutions {
  CalibrationTerm term = CalibrationTerm::gain;
  std::size_t n_blocks = 0, n_antennas = 0, n_values = 0;
  /// The antenna taken: another one where that of the settings has no solution at all. Blocks in which it has
  /// none take their phases from the antenna with the most signal there.
  std::size_t reference = 0;
  Buffer<std::complex<double>, 3> value;  ///< gains; delays in s and TEC in TECU are real. NaN where flagged
  Buffer<double, 3> sigma;  ///< error of the value: RMS of its real part (delay, tec: of the number)
  Buffer<float, 3> snr;  ///< of a gain |g| / its complex RMS error; of a phase, delay, tec that of the phasor
  Buffer<float, 3> weight;       ///< 1 / sigma^2, 0 = flagged
  Buffer<FlagReason, 3> reason;  ///< none where weight > 0
  Buffer<double, 2> phase_rad;   ///< [antenna][value] delay: the phase's constant, which the gain leaves out
  /// Of each block (one for terms that span channels) and hand [block][polarisation]; jones: one hand.
  Buffer<double, 2> chi2_before;  ///< without gains
  Buffer<double, 2> chi2_after;
  Buffer<double, 2> n_samples;  ///< with weight > 0, on baselines of antennas with solutions
  Buffer<double, 2> noise;      ///< RMS |V - model| sqrt(w): 1 where weights are inverse complex variances
  Buffer<std::uint32_t, 2> n_iterations;
  Buffer<std::uint8_t, 2> converged;
  /// [step][baseline] of robust solutions, otherwise empty.
  Buffer<float, 2> row_weight;
  std::size_t n_flagged() const;
};

/// Solutions that are to be left out, by (block, antenna, value): what is not `none` here gets no solution,
/// with this reason. Empty = none. The antenna's hand is then left out of the others' equations.
using ExcludedSolutions = View<const FlagReason, 3>;

/// What solve_slot() takes for the sums of a slot, for the caller of many slots to keep: new memory of a
/// gigabyte takes as long as solving. Between calls its contents mean nothing.
struct SlotMemory {
  CalibrationSums combined;
  Buffer<float, 4> problem;
};

/// Solves one slot of a term. freq_hz [block of the slot] is needed by terms that span channels. `start`,
/// from the former slot of the same term, may be null. Solutions without data, with few baselines or below
/// min_snr, and swapped receptors where cross hands are monitored, are flagged, left out and the rest is
/// solved again. Never throws for the want of data: flags all. std::invalid_argument: sums of the wrong kind,
/// shapes that disagree, a reference out of range. `reused`, unless null, gives and keeps the memory.
SlotSolutions solve_slot(const SlotCells& slot, std::span<const double> freq_hz,
                         const SolveSettings& settings, ExcludedSolutions excluded = {},
                         const SlotSolutions* start = nullptr, SlotMemory* reused = nullptr);

/// Amplitudes beyond n_mad median absolute deviations (scaled to a standard deviation, with their error) from
/// the median of all slots and blocks of the antenna's hand, of those with at least 8 values; gain,
/// amplitude, scalar_gain and the diagonal of jones. For each slot FlagReason::outlier where there is one, to
/// solve it again with these as `excluded`; empty where a slot has none.
std::vector<Buffer<FlagReason, 3>> find_outliers(std::span<const SlotSolutions> slots, unsigned n_threads,
                                                 double n_mad = 5);

/// The solution as gains in the blocks of cells: block [block of the cells] and freq_hz [block of the cells]
/// (terms that span channels). Flagged: NaN.
KnownGains gains_of(const SlotSolutions& solution, std::span<const std::uint32_t> block,
                    std::span<const double> freq_hz);

/// known becomes nearer * known (matrices where either is 2x2), `nearer` to the receiver; empty known becomes
/// a copy.
void multiply_gains(const KnownGains& nearer, KnownGains& known);

}  // namespace apsyn
