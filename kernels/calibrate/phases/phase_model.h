// SPDX-License-Identifier: GPL-3.0-or-later
// Phases over frequency that one or two numbers of an antenna make, and the search for these numbers.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "kernels/calibrate/calibrate.h"
#include "kernels/common/math/fft.h"

namespace apsyn {

/// Products of complex numbers; std::complex checks its own for infinities, which takes longer than the
/// product.
inline std::complex<double> times(std::complex<double> a, std::complex<double> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
inline std::complex<double> times_conj(std::complex<double> a, std::complex<double> b) {
  return times(a, {b.real(), -b.imag()});
}

/// The numbers of an antenna: of a delay (delay, phase at the mean frequency), of TEC (TEC), of both (TEC,
/// delay).
using Numbers = std::array<double, 2>;

/// What a term's phases are made of, and where its numbers are looked for.
class PhaseModel {
 public:
  PhaseModel(CalibrationTerm term, std::span<const double> freq_hz, const SolveSettings& settings);

  std::size_t n_numbers() const { return n_numbers_; }
  /// The channel's phase is the product of its slopes and the numbers.
  const Numbers& slope(std::size_t c) const { return slope_[c]; }
  /// Whether the second number is a phase, the best one of any delay.
  bool has_phase() const { return term_ == CalibrationTerm::delay; }
  double mean_hz() const { return mean_hz_; }
  double phase(std::size_t c, const Numbers& x) const { return slope_[c][0] * x[0] + slope_[c][1] * x[1]; }
  /// Independent trials of the search.
  double n_trials() const;

  /// Re sum_c u_c exp(-i phi_c), of a delay with its best phase, which x gets.
  double objective(const std::vector<std::complex<double>>& u, Numbers& x) const;
  /// The numbers of the greatest objective.
  Numbers search(const std::vector<std::complex<double>>& u) const;
  /// The same, unless they are those of the grid next to x: then x. Of TEC with delay, the search is among
  /// the maxima next to x, to which noise leads.
  Numbers search_beyond(const std::vector<std::complex<double>>& u, const Numbers& x) const;

 private:
  using Complex = std::complex<double>;

  double grid_step() const;
  Numbers search_grid(const std::vector<Complex>& u) const;
  Numbers search_tec(const std::vector<Complex>& u) const;
  Numbers search_delay(const std::vector<Complex>& u) const;
  /// The best ones of a grid in TEC and delay by modulus, from which the phase itself chooses: it turns once
  /// while the delay changes by the period of the carrier.
  Numbers search_both(const std::vector<Complex>& u) const;
  /// Spectrum over delays of phasors from which a TEC is taken out, [bin].
  void transform(const std::vector<Complex>& u, double tec, Buffer<Complex, 1>& bins) const;
  double delay_of(std::size_t bin) const;
  /// A few Gauss-Newton steps of one antenna against known others: what is left is for the steps of all.
  Numbers refine(const std::vector<Complex>& u, Numbers x) const;

  CalibrationTerm term_;
  std::vector<double> freq_hz_;
  std::vector<Numbers> slope_;  ///< [chan]
  std::size_t n_numbers_ = 1, n_bins_ = 0;
  double low_hz_ = 0, span_hz_ = 0, mean_hz_ = 0, spacing_hz_ = 0, bin_hz_ = 0;
  double max_tec_ = 0, tec_step_ = 0, max_delay_s_ = 0;
  /// Of the grid in TEC, -n_tec_ .. n_tec_ steps: what turns a channel's phasor to its first step, and from
  /// one step to the next, [re, im][chan].
  long n_tec_ = 0;
  std::vector<double> tec_first_, tec_turn_;
  std::unique_ptr<ComplexFft<double>> fft_;
};

}  // namespace apsyn
