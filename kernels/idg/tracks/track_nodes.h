// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of one baseline lie on a smooth track, which short integrations sample more densely than the field
// needs: the phase factors of its pixels, as functions of the place t on the track, are known everywhere when
// they are known at a few Chebyshev nodes t_k. So instead of the rows' visibilities V_i their sums
//
//   V_k = sum_i L_k(t_i) V_i,        L_k Lagrange's polynomials of the nodes,
//
// are gridded at the u, v, w of the nodes, with the same channels; and rows are predicted from the nodes by
// V_i = sum_k L_k(t_i) V_k. node_counts.h says how many nodes are needed. Channels are replaced by nodes
// independently of rows (channel_nodes.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/idg/idg.h"
#include "kernels/idg/partition/partition.h"
#include "kernels/idg/tracks/channel_nodes.h"
#include "kernels/idg/tracks/channel_product.h"
#include "kernels/idg/tracks/node_counts.h"
#include "kernels/idg/tracks/node_placer.h"

namespace apsyn {

constexpr std::size_t max_track_rows = 128;
/// Fraction of the wanted accuracy that nodes of tracks and of channels may use up together, an RMS like the
/// spread kernel's.
constexpr double track_share = 0.15;

/// What a place that nodes of channels save would cost, in vectors of multiply-adds, chosen as those in
/// track_nodes.cpp. Where predictions are interpolated neighbouring channels share their cells, which nodes
/// do not.
constexpr double gridded_channel_cost = 200, predicted_channel_cost = 30;

/// Rows whose channels become nodes, or nodes channels, together.
constexpr std::size_t channel_rows_at_once = 8;

/// Numbers that a thread keeps for the tracks of a task: lines with line_values real values to a place, rows
/// with row_values, and the shares of rows and of channels in nodes.
constexpr std::uint64_t track_values(std::size_t line_values, std::size_t row_values) {
  return max_track_nodes * product_values(max_band_columns, line_values) +
         max_track_rows * (product_values(max_band_columns, row_values) + max_track_nodes) +
         channel_rows_at_once * product_values(max_band_channels, row_values) + channel_nodes_values;
}

/// Runs [first, first + n) of TrackNodes::runs(), all of the same channels.
struct Track {
  std::size_t first = 0, n = 0;
  std::size_t first_node = 0, n_nodes = 0;  ///< none: the rows are gridded as they are
  std::size_t first_band = 0, n_bands = 0;  ///< of the channels
  bool has_channel_nodes = false;           ///< in any of the bands
  std::size_t n_lines() const { return n_nodes > 0 ? n_nodes : n; }
};

/// One thread's memory.
template <class T>
class TrackNodes {
 public:
  /// `error`: RMS over the image, relative to the visibilities.
  TrackNodes(const IdgPlan& plan, double error, double channel_place_cost = gridded_channel_cost);

  /// Divides a task's visibilities into tracks and bands, each with nodes if these are cheaper.
  void find(const GridBlock& block, const Partition& partition, const SubgridTask& task);
  const std::vector<Track>& tracks() const { return tracks_; }
  std::span<const Band> bands(const Track& track) const {
    return std::span(bands_).subspan(track.first_band, track.n_bands);
  }
  const std::vector<VisibilityRun>& runs() const { return runs_; }
  /// u, v, w of a run in metres, folded.
  const std::array<double, 3>& row(std::size_t run) const { return rows_[run]; }
  /// The track's node i, or row i where it has none.
  const std::array<double, 3>& line(const Track& track, std::size_t i) const {
    return track.n_nodes > 0 ? nodes_[track.first_node + i] : rows_[track.first + i];
  }
  /// Number of places to grid: nodes (or rows of tracks without nodes) times channel nodes (or channels of
  /// bands without nodes).
  std::size_t n_places() const { return n_places_; }
  /// Largest distance of rows and nodes from the task's middle along u (axis 0) or v (axis 1), in uv cells.
  double reach(std::size_t axis) const { return reach_[axis]; }

  /// L_k(t_i) [row][node] of a track with nodes, padded with zeros to padded_rows() x padded_nodes(),
  /// multiples of matrix_product_rows. Valid until the next call.
  const T* shares(const Track& track);
  static std::size_t padded_nodes(const Track& track);
  static std::size_t padded_rows(const Track& track);
  /// The table of a band with nodes, valid until the next call.
  const ChannelTable<T>& channels(const GridBlock& block, const Band& band) {
    return channel_nodes_.table({block.wavenumber.data() + band.first, band.n}, band.n_nodes);
  }

 private:
  using Place = NodeCounts::Place;
  struct Wavenumbers {
    double least, largest;
  };
  void sort_runs(const GridBlock& block, const Partition& partition, const SubgridTask& task);
  std::size_t rows_along(const GridBlock& block, std::size_t first) const;
  std::size_t best_pieces(double turn, std::size_t n_rows, std::size_t n_columns) const;
  void list_bands(const GridBlock& block, std::size_t first_run, std::size_t n_rows);
  void choose_bands(Track& track);
  void extend_reach(const SubgridTask& task, const Place& at, const Wavenumbers& k);

  IdgPlan plan_;
  double channel_place_cost_;
  NodeCounts counts_, channel_counts_;
  NodePlacer curve_;
  ChannelNodes<T> channel_nodes_;
  std::vector<Track> tracks_;
  std::vector<Band> bands_;
  std::vector<VisibilityRun> runs_;
  std::vector<Place> rows_;  ///< [run] metres, folded
  std::vector<double> t_;    ///< [run] along its track, in [-1, 1]
  std::vector<Place> nodes_;
  std::vector<Band> possible_bands_;  ///< of the rows being divided, with what nodes they would need
  std::size_t n_places_ = 0;
  std::array<double, 2> reach_{};
  std::vector<T> shares_;
};

}  // namespace apsyn
