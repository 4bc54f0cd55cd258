// SPDX-License-Identifier: GPL-3.0-or-later
// Jones matrices at the times and frequencies of data from the tables of solutions.
//
// Nearest takes the solution whose interval (channel) holds the time (frequency), or else ends nearest to it.
// Linear interpolates between the two centres around it: amplitude and phase, or the complex numbers where
// the phase steps by more than 60 degrees; delays and TEC as they are. It does not bridge gaps (neighbours
// that are more than half an interval apart), and takes the nearest where the other neighbour is flagged.
//
// Outside of the solutions, before the first, after the last and in gaps, the nearest holds up to one of its
// intervals (widths) from its edge; what lies farther away is flagged.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/base/view.h"
#include "libcore/solutions/solutions.h"

namespace apsyn {

enum class Interpolation { nearest, linear };
/// "nearest" or "linear"; UsageError.
Interpolation parse_interpolation(std::string_view text);

/// Where a call of evaluate() was outside of the solutions; of several tables the worst.
struct SolutionReach {
  bool time_outside = false;       ///< the nearest solution in time was taken, or all is flagged
  bool time_beyond = false;        ///< farther than an interval: all is flagged
  std::size_t n_chan_outside = 0;  ///< channels likewise
  std::size_t n_chan_beyond = 0;
};

class SolutionEvaluator {
 public:
  /// For data with these antennas, in their order: matched by name, or by number where the solutions have no
  /// names. Keeps a reference to the solutions. DataError as check_solutions; when no antenna of the data is
  /// among the solutions; when the solutions only count antennas, and not as many.
  SolutionEvaluator(const Solutions& solutions, const std::vector<std::string>& antenna_names,
                    Interpolation interpolation);

  /// Antennas of the data without solutions: their data are flagged.
  const std::vector<std::size_t>& missing_antennas() const { return missing_; }
  std::size_t n_antennas() const { return antenna_.size(); }
  bool is_diagonal() const { return diagonal_; }

  /// Matrices jones [antenna][chan][XX XY YX YY] of the whole chain at one time, and flagged [antenna][chan]:
  /// 1 where any factor is missing, flagged, NaN, or zero or singular so that data cannot be divided by it;
  /// the matrix is unity there. `direction`: an index of Solutions::directions, or nothing for the tables of
  /// the whole field only. Any thread. A direction that a table of patches lacks is flagged.
  SolutionReach evaluate(double time_mjd_s, std::span<const double> freq_hz,
                         std::optional<std::size_t> direction, View<std::complex<double>, 3> jones,
                         View<std::uint8_t, 2> flagged) const;
  /// The same of a diagonal chain, gains [antenna][chan][2]. Call it only when is_diagonal().
  SolutionReach evaluate_diagonal(double time_mjd_s, std::span<const double> freq_hz,
                                  std::optional<std::size_t> direction, View<std::complex<double>, 3> gains,
                                  View<std::uint8_t, 2> flagged) const;

  /// With Interpolation::nearest equal numbers mean equal results of evaluate(), and numbers rise with time;
  /// takes any finite time.
  std::int64_t slot_of(double time_mjd_s) const;

 private:
  template <std::size_t kElements>
  SolutionReach evaluate_as(double time_mjd_s, std::span<const double> freq_hz,
                            std::optional<std::size_t> direction, View<std::complex<double>, 3> out,
                            View<std::uint8_t, 2> flagged) const;

  const Solutions& solutions_;
  Interpolation interpolation_;
  bool diagonal_ = true;
  std::vector<std::optional<std::size_t>> antenna_;  ///< of the data -> of the solutions
  std::vector<std::size_t> missing_;
};

}  // namespace apsyn
