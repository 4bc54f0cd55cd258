// SPDX-License-Identifier: GPL-3.0-or-later
// The smooth curve on which the rows of a track lie: its chord plus polynomials.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/idg/tracks/node_counts.h"

namespace apsyn {

/// One thread's memory.
class NodePlacer {
 public:
  using Place = NodeCounts::Place;
  /// `error`: how far rows may lie off the curve, as phase in radians at the corner of the padded field.
  explicit NodePlacer(double error) : error_(error) {}

  /// Appends to `nodes` the nodes that represent the rows at wavenumbers up to the given one, and sets `t` to
  /// where the rows lie among them, in [-1, 1]. Returns the number of nodes; 0 when too many would be needed
  /// or no curve fits.
  std::size_t place_nodes(const NodeCounts& counts, double wavenumber, std::span<const Place> rows,
                          std::span<double> t, std::vector<Place>& nodes);

 private:
  bool fit(const NodeCounts& counts, double wavenumber, std::span<const Place> rows, std::span<double> t,
           std::span<Place> nodes);

  double error_;
  std::vector<Place> rest_;    ///< what fit() has not explained
  std::vector<double> basis_;  ///< [row, then node][power]
  NodeCounts::Bends bends_{};  ///< that fit() found
};

}  // namespace apsyn
