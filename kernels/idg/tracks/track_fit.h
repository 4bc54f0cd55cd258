// SPDX-License-Identifier: GPL-3.0-or-later
// How track_nodes.h's nodes are found on a device: a thread fits a curve to the rows of a track,
//
//   uvw(t) = first + (t + 1) / 2 chord + sum_p factor_p (1 - t^2) t^p,    t in [-1, 1] along the chord,
//
// by least squares, and counts the nodes that it takes. The functions allocate no memory and run on host and
// device.
#pragma once

#include "kernels/idg/tracks/node_series.h"

namespace apsyn::idg {

/// Limits of a track on a GPU, where the sums for nodes are kept in registers.
constexpr std::uint32_t kMaxTrackNodes = 24, kMaxTrackRows = 256;
/// Fraction of the wanted accuracy that nodes may use up, an RMS over the image.
constexpr double kNodeShare = 0.1;

/// NodeCounts (node_counts.h) of a plan.
struct NodeLimits {
  double phase[3];                      ///< of the padded field's corner, radians a wavelength along u, v, w
  double per_u, per_v;                  ///< uv cells a wavelength
  double error;                         ///< error that nodes may add
  double max_turn[kMaxTrackNodes + 1];  ///< [n] that n nodes serve where a track is straight
  double max_term[kMaxTrackNodes + 1];  ///< [n] the coefficient of T_n / 2 then

  APSYN_CUT double phase_of(double wavenumber, const double* metres) const {
    return wavenumber *
           (phase[0] * fabs(metres[0]) + phase[1] * fabs(metres[1]) + phase[2] * fabs(metres[2]));
  }
  /// More than kMaxTrackNodes where these do not suffice.
  APSYN_CUT std::uint32_t straight(double turn) const {
    return straight_nodes<kMaxTrackNodes>(turn, max_turn);
  }
  APSYN_CUT std::uint32_t bent(double turn, const double* bends) const {
    return bent_nodes<kMaxTrackNodes>(turn, bends, max_term);
  }
};

struct TrackCurve {
  double first[3], chord[3], factor[kCurvePowers][3];

  APSYN_CUT double at(double t, int axis) const {
    double bend = factor[kCurvePowers - 1][axis];
    for (int p = kCurvePowers - 2; p >= 0; --p) bend = bend * t + factor[p][axis];
    return first[axis] + (t + 1) / 2 * chord[axis] + (1 - t * t) * bend;
  }
};

/// The number of tracks into which rows are best divided; 0: they are gridded as they are. The constants are
/// rough costs in cycles of an SM: of gridding a place, of adding a visibility to a node, and of each track.
APSYN_CUT std::uint32_t best_pieces(const NodeLimits& limits, double turn, std::uint32_t n_rows,
                                    std::uint32_t n_channels) {
  constexpr double place = 70, share = 0.2, track = 500;
  const double rows = n_rows, channels = n_channels;
  double least = rows * channels * place;
  std::uint32_t best = 0;
  for (std::uint32_t pieces = (n_rows + kMaxTrackRows - 1) / kMaxTrackRows; 4 * pieces <= n_rows; ++pieces) {
    // Curves mostly need one node more.
    const std::uint32_t n = limits.straight(turn / pieces) + 1;
    if (n > kMaxTrackNodes) continue;
    const double cost =
        double(pieces) * n * channels * place + rows * n * (channels + 1) * share + pieces * track;
    // Once a node is not worth its track, more of them are not either.
    if (cost < least)
      least = cost, best = pieces;
    else if (best != 0)
      break;
  }
  return best;
}

/// Sums of the least squares: of products of two powers, and of powers and rests.
struct CurveSums {
  double product[kCurvePowers][kCurvePowers] = {}, rest[kCurvePowers][3] = {};

  template <class Lanes>
  APSYN_CUT void join(const Lanes& lanes) {
    for (int p = 0; p < kCurvePowers; ++p) {
      for (int q = 0; q <= p; ++q) product[p][q] = lanes.sum(product[p][q]);
      for (int axis = 0; axis < 3; ++axis) rest[p][axis] = lanes.sum(rest[p][axis]);
    }
  }
  APSYN_CUT void add(double t, const double* of_row) {
    double basis[kCurvePowers];
    basis[0] = 1 - t * t;
    for (int p = 1; p < kCurvePowers; ++p) basis[p] = basis[p - 1] * t;
    for (int p = 0; p < kCurvePowers; ++p) {
      for (int q = 0; q <= p; ++q) product[p][q] += basis[p] * basis[q];
      for (int axis = 0; axis < 3; ++axis) rest[p][axis] += basis[p] * of_row[axis];
    }
  }
  /// By L D L^T; powers that the rows do not tell apart from those before take no part.
  APSYN_CUT void solve(double (&factor)[kCurvePowers][3]) const {
    double l[kCurvePowers][kCurvePowers] = {}, inverse[kCurvePowers] = {}, y[kCurvePowers][3];
    for (int p = 0; p < kCurvePowers; ++p) {
      double own = product[p][p];
      for (int q = 0; q < p; ++q) {
        double sum = product[p][q];
        for (int r = 0; r < q; ++r) sum -= l[p][r] * l[q][r];
        l[p][q] = sum * inverse[q];  // times the root of D
        own -= l[p][q] * l[p][q];
      }
      const bool counts = own > 1e-10 * product[p][p];
      l[p][p] = counts ? sqrt(own) : 0;
      inverse[p] = counts ? 1 / l[p][p] : 0;
    }
    for (int axis = 0; axis < 3; ++axis) {
      for (int p = 0; p < kCurvePowers; ++p) {
        double sum = rest[p][axis];
        for (int q = 0; q < p; ++q) sum -= l[p][q] * y[q][axis];
        y[p][axis] = sum * inverse[p];
      }
      for (int p = kCurvePowers - 1; p >= 0; --p) {
        double sum = y[p][axis];
        for (int q = p + 1; q < kCurvePowers; ++q) sum -= l[q][p] * factor[q][axis];
        factor[p][axis] = sum * inverse[p];
      }
    }
  }
};

/// Fits a track alone; a GPU's lanes share its rows.
struct OneLane {
  static constexpr std::uint32_t n = 1, index = 0;
  static double sum(double value) { return value; }
  static double least(double value) { return value; }
  static double most(double value) { return value; }
  static bool all(bool value) { return value; }
};

/// Rows::uvw(i, metres) gives row i's u, v, w, folded. set_t(i, t) takes where it lies. Returns the number of
/// nodes, or 0: the rows are no such track, or one that nodes do not make shorter. wavenumber: the largest.
template <class Lanes, class Rows, class SetT>
APSYN_CUT std::uint32_t fit_track(const Lanes& lanes, const NodeLimits& limits, double wavenumber,
                                  const Rows& rows, std::uint32_t n_rows, TrackCurve& curve,
                                  const SetT& set_t) {
  double last[3], least[3], most[3];
  rows.uvw(0, curve.first);
  rows.uvw(n_rows - 1, last);
  double length2 = 0;
  for (int axis = 0; axis < 3; ++axis) {
    curve.chord[axis] = last[axis] - curve.first[axis];
    length2 += curve.chord[axis] * curve.chord[axis];
    least[axis] = lesser(curve.first[axis], last[axis]);
    most[axis] = greater(curve.first[axis], last[axis]);
    for (int p = 0; p < kCurvePowers; ++p) curve.factor[p][axis] = 0;
  }
  auto place = [&](const double* row) {
    double along = 0;
    for (int axis = 0; axis < 3; ++axis) along += (row[axis] - curve.first[axis]) * curve.chord[axis];
    return length2 > 0 ? 2 * along / length2 - 1 : 0.0;
  };
  CurveSums sums;
  double row[3], rest[3];
  bool fits = true;
  for (std::uint32_t i = lanes.index; i < n_rows; i += Lanes::n) {
    rows.uvw(i, row);
    const double t = place(row);
    fits = fits && fabs(t) <= 1 + 1e-9;
    set_t(i, t);
    for (int axis = 0; axis < 3; ++axis) {
      least[axis] = lesser(least[axis], row[axis]);
      most[axis] = greater(most[axis], row[axis]);
      rest[axis] = row[axis] - curve.first[axis] - (t + 1) / 2 * curve.chord[axis];
    }
    sums.add(t, rest);
  }
  if (!lanes.all(fits)) return 0;
  sums.join(lanes);
  for (int axis = 0; axis < 3; ++axis) {
    least[axis] = lanes.least(least[axis]);
    most[axis] = lanes.most(most[axis]);
  }
  sums.solve(curve.factor);
  double bends[kCurvePowers], of_power[kCurvePowers];
  for (int p = 0; p < kCurvePowers; ++p) of_power[p] = limits.phase_of(wavenumber, curve.factor[p]);
  for (int p = 0; p < kCurvePowers; ++p)
    bends[p] = of_power[p] + (p + 2 < kCurvePowers ? of_power[p + 2] : 0);
  const std::uint32_t n = limits.bent(limits.phase_of(wavenumber, curve.chord) / 2 + of_power[1], bends);
  if (n > kMaxTrackNodes || 4 * n > 3 * n_rows) return 0;
  for (std::uint32_t i = lanes.index; i < n_rows; i += Lanes::n) {
    rows.uvw(i, row);
    const double t = place(row);
    for (int axis = 0; axis < 3; ++axis) rest[axis] = row[axis] - curve.at(t, axis);
    fits = fits && limits.phase_of(wavenumber, rest) <= limits.error;
  }
  // A curve between bad rows could leave the subgrid.
  for (std::uint32_t k = lanes.index; k < n; k += Lanes::n)
    for (int axis = 0; axis < 3; ++axis) {
      const double beyond = 1e-3 * (most[axis] - least[axis]) + 1e-9 * fabs(most[axis]);
      const double at = curve.at(chebyshev_node(k, n), axis);
      fits = fits && at >= least[axis] - beyond && at <= most[axis] + beyond;
    }
  return lanes.all(fits) ? n : 0;
}

}  // namespace apsyn::idg
