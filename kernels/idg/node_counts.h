// SPDX-License-Identifier: GPL-3.0-or-later
// How many Chebyshev nodes a track takes. For a pixel whose phase turns by 2 z along a straight one n nodes
// leave an error of 2 J_n(z) <= 2 (z / 2)^n / n!; what bends takes more.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "kernels/idg/idg.h"

namespace apsyn {

constexpr std::size_t most_track_nodes = 48;
/// Powers of t, from t^2 on, of the curves that are fitted to tracks.
constexpr std::size_t bend_powers = 4;

class NodeCounts {
 public:
  using Place = std::array<double, 3>;  ///< u, v, w in metres
  /// Phase at the corner of the padded field, in radians, of the factors of t^2, t^3 ...
  using Bends = std::array<double, bend_powers>;

  /// `error`: RMS over the image, relative to the visibilities.
  NodeCounts(const IdgPlan& plan, double error);
  /// z of the corner of the padded field between two places; at most that of the rest.
  double turn(double wavenumber, const Place& from, const Place& to) const;
  /// More than most_track_nodes where these do not suffice.
  std::size_t straight(double turn) const;
  std::size_t bent(double turn, const Bends& bends) const;

 private:
  Place phase_;                    ///< of the padded field's corner, radians a wavelength along u, v, w
  std::vector<double> most_turn_;  ///< [n - 1] that n nodes serve
};

}  // namespace apsyn
