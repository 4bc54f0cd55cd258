// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/tracks/node_placer.h"

#include <algorithm>
#include <cmath>

#include "kernels/idg/tracks/node_series.h"
#include "libcore/array/array_layout.h"

namespace apsyn {
namespace {

using Place = NodeCounts::Place;

/// Whether the nodes lie among the rows: they may lie outside where a baseline leaves the subgrid and comes
/// back. The tolerance beyond the outermost rows allows for the curvature between neighbouring rows.
bool among_rows(std::span<const Place> rows, std::span<const Place> nodes) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    double least = rows[0][axis], most = least;
    for (const Place& row : rows) {
      least = std::min(least, row[axis]);
      most = std::max(most, row[axis]);
    }
    const double beyond = 1e-3 * (most - least) + 1e-9 * std::abs(most);
    for (const Place& node : nodes)
      if (node[axis] < least - beyond || node[axis] > most + beyond) return false;
  }
  return true;
}

}  // namespace

/// Where the rows lie between the first and the last, and the curve through them at the nodes.
bool NodePlacer::fit(const NodeCounts& counts, double wavenumber, std::span<const Place> rows,
                     std::span<double> t_of, std::span<Place> nodes) {
  const Place &first = rows.front(), chord = rows.back() - first;
  const double length2 = dot(chord, chord);
  const std::size_t n_rows = rows.size(), n_all = n_rows + nodes.size();
  rest_.resize(n_all);
  basis_.resize(n_all * bend_powers);
  for (std::size_t i = 0; i < n_all; ++i) {
    double t = 0;
    if (i >= n_rows)
      t = idg::chebyshev_node(i - n_rows, nodes.size());
    else if (length2 > 0)
      t = 2 * dot(rows[i] - first, chord) / length2 - 1;
    if (!(std::abs(t) <= 1 + 1e-9)) return false;
    const Place line{first[0] + (t + 1) / 2 * chord[0], first[1] + (t + 1) / 2 * chord[1],
                     first[2] + (t + 1) / 2 * chord[2]};
    if (i < n_rows) {
      t_of[i] = t;
      rest_[i] = rows[i] - line;
    } else {
      nodes[i - n_rows] = line;
    }
    double power = 1 - t * t;
    for (std::size_t p = 0; p < bend_powers; ++p, power *= t) basis_[i * bend_powers + p] = power;
  }
  // Least squares by orthogonal polynomials; the nodes follow.
  bends_ = {};
  const Place none{};
  for (std::size_t p = 0; p < bend_powers; ++p) {
    double norm = 0, own = 0;
    for (std::size_t i = 0; i < n_rows; ++i) own += std::pow(basis_[i * bend_powers + p], 2);
    for (std::size_t before = 0; before < p; ++before) {
      double sum = 0, square = 0;
      for (std::size_t i = 0; i < n_rows; ++i) {
        sum += basis_[i * bend_powers + p] * basis_[i * bend_powers + before];
        square += std::pow(basis_[i * bend_powers + before], 2);
      }
      if (square == 0) continue;
      for (std::size_t i = 0; i < n_all; ++i)
        basis_[i * bend_powers + p] -= sum / square * basis_[i * bend_powers + before];
    }
    Place factor{};
    for (std::size_t i = 0; i < n_rows; ++i) {
      const double value = basis_[i * bend_powers + p];
      norm += value * value;
      for (std::size_t axis = 0; axis < 3; ++axis) factor[axis] += value * rest_[i][axis];
    }
    if (!(norm > 1e-12 * own)) {
      for (std::size_t i = 0; i < n_all; ++i) basis_[i * bend_powers + p] = 0;
      continue;
    }
    for (double& part : factor) part /= norm;
    bends_[p] = 2 * counts.turn(wavenumber, none, factor);
    for (std::size_t i = 0; i < n_all; ++i)
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const double value = basis_[i * bend_powers + p] * factor[axis];
        if (i < n_rows)
          rest_[i][axis] -= value;
        else
          nodes[i - n_rows][axis] += value;
      }
  }
  return std::all_of(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(n_rows),
                     [&](const Place& rest) { return 2 * counts.turn(wavenumber, none, rest) <= error_; });
}

std::size_t NodePlacer::place_nodes(const NodeCounts& counts, double wavenumber, std::span<const Place> rows,
                                    std::span<double> t, std::vector<Place>& nodes) {
  const double z = counts.turn(wavenumber, rows.front(), rows.back());
  const std::size_t before = nodes.size();
  std::size_t n_nodes = 0;
  // A second fit is needed only if the curve of the first, which any other fit would give as well, needs more
  // nodes.
  for (std::size_t n = counts.straight(z); n > n_nodes; n = counts.bent(z, bends_)) {
    n_nodes = n;
    const bool few = n <= max_track_nodes && 2 * n <= rows.size();
    nodes.resize(before + (few ? n : 0));
    if (few && fit(counts, wavenumber, rows, t, std::span(nodes).subspan(before))) continue;
    nodes.resize(before);
    return 0;
  }
  if (among_rows(rows, std::span(nodes).subspan(before))) return n_nodes;
  nodes.resize(before);
  return 0;
}

}  // namespace apsyn
