// SPDX-License-Identifier: GPL-3.0-or-later
// How many Chebyshev nodes a track needs. For a pixel whose phase turns by 2 z along a straight track, n
// nodes leave an error of 2 J_n(z) <= 2 (z / 2)^n / n!; bent tracks need more nodes.
#pragma once

#include <array>
#include <cstddef>

#include "kernels/idg/idg.h"
#include "kernels/idg/tracks/node_series.h"
#include "kernels/idg/tracks/track_fit.h"

namespace apsyn {

constexpr std::size_t max_track_nodes = 48;
constexpr std::size_t bend_powers = idg::kCurvePowers;

class NodeCounts {
 public:
  using Place = std::array<double, 3>;  ///< u, v, w in metres
  /// Phase at the corner of the padded field, in radians, of the factors of t^2, t^3 ...
  using Bends = std::array<double, bend_powers>;

  /// `error`: RMS over the image, relative to the visibilities.
  NodeCounts(const IdgPlan& plan, double error);
  /// z at the corner of the padded field between two places; no other pixel has a larger one.
  double turn(double wavenumber, const Place& from, const Place& to) const;
  /// Number of nodes for a straight track; more than max_track_nodes if that many do not suffice.
  std::size_t straight(double turn) const {
    return idg::straight_nodes<max_track_nodes>(turn, max_turn_.data());
  }
  std::size_t bent(double turn, const Bends& bends) const {
    return idg::bent_nodes<max_track_nodes>(turn, bends.data(), max_term_.data());
  }

  /// Phase at the corner of the padded field, in radians for each wavelength along u, v, w.
  const Place& phase() const { return phase_; }
  /// [n], as node_series.h takes them; nothing at n = 0.
  using Table = std::array<double, max_track_nodes + 1>;
  const Table& max_turn() const { return max_turn_; }
  const Table& max_term() const { return max_term_; }

 private:
  Place phase_;
  Table max_turn_{}, max_term_{};
};

// NodeCounts as tables that devices take (track_fit.h).

/// Error that nodes of tracks may add on a GPU; 0: no nodes are used, which is so in double precision and
/// with a kernel in w (it is no phase).
double node_error(const IdgPlan& plan);
/// Limits for an additional error of `error`, RMS over the image relative to the visibilities.
idg::NodeLimits node_limits(const IdgPlan& plan, double error);

}  // namespace apsyn
