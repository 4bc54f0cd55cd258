// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of one baseline lie on a smooth track, which short integrations sample more densely than the field
// needs: the phase factors of its pixels, as functions of the place t on the track, are known everywhere when
// they are known at a few Chebyshev nodes t_k. So instead of the rows' visibilities V_i their sums
//
//   V_k = sum_i L_k(t_i) V_i,        L_k Lagrange's polynomials of the nodes,
//
// are gridded at the u, v, w of the nodes, with the same channels; and predictions at the nodes make those of
// the rows, V_i = sum_k L_k(t_i) V_k. node_counts.h says how many nodes that takes.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "kernels/idg/idg.h"
#include "kernels/idg/node_counts.h"
#include "kernels/idg/partition.h"

namespace apsyn {

constexpr std::size_t most_track_rows = 128;
/// Channels whose values fit into the caches with all rows of a track.
constexpr std::size_t track_channels = 32;
/// Share of the wanted accuracy that nodes take, an RMS like the spread kernel's.
constexpr double track_share = 0.15;

/// Runs [first, first + n) of TrackNodes::runs(), all of the same channels.
struct Track {
  std::size_t first = 0, n = 0;
  std::size_t first_node = 0, n_nodes = 0;  ///< none: the rows are gridded as they are
};

/// One thread's memory.
template <class T>
class TrackNodes {
 public:
  /// `error`: RMS over the image, relative to the visibilities.
  TrackNodes(const IdgPlan& plan, double error);

  /// Divides a task's visibilities into tracks, each with nodes if these are cheaper.
  void find(const GridBlock& block, const Partition& partition, const SubgridTask& task);
  const std::vector<Track>& tracks() const { return tracks_; }
  const std::vector<VisibilityRun>& runs() const { return runs_; }
  /// u, v, w of runs and nodes in metres, folded.
  const std::array<double, 3>& row(std::size_t run) const { return rows_[run]; }
  const std::array<double, 3>& node(std::size_t i) const { return nodes_[i]; }
  /// Nodes, and rows on tracks without, times their channels.
  std::size_t n_places() const { return n_places_; }
  /// Largest distance of rows and nodes from the task's middle along u (axis 0) or v (axis 1), in uv cells.
  double reach(std::size_t axis) const { return reach_[axis]; }

  /// L_k(t_i) [row][node] of a track with nodes, both made up with zeros to multiples of matrix_product_rows:
  /// so many nodes are padded_nodes(). Valid until the next call.
  const T* shares(const Track& track);
  static std::size_t padded_nodes(const Track& track);
  static std::size_t padded_rows(const Track& track);

 private:
  using Place = NodeCounts::Place;
  struct Wavenumbers {
    double least, largest;
  };
  void sort_runs(const GridBlock& block, const Partition& partition, const SubgridTask& task);
  std::size_t rows_along(const GridBlock& block, std::size_t first) const;
  std::size_t best_pieces(double turn, std::size_t n_rows, std::size_t n_chan) const;
  bool place_nodes(double wavenumber, Track& track);
  bool fit(double wavenumber, const Track& track);
  bool among_rows(const Track& track) const;
  void extend_reach(const SubgridTask& task, const Place& at, const Wavenumbers& k);

  IdgPlan plan_;
  double error_;
  NodeCounts counts_;
  std::vector<Track> tracks_;
  std::vector<VisibilityRun> runs_;
  std::vector<Place> rows_;  ///< [run] metres, folded
  std::vector<double> t_;    ///< [run] along its track, in [-1, 1]
  std::vector<Place> nodes_;
  std::size_t n_places_ = 0;
  std::array<double, 2> reach_{};
  std::vector<Place> rest_;    ///< what fit() has not explained
  std::vector<double> basis_;  ///< [row, then node][power]
  NodeCounts::Bends bends_{};  ///< that fit() found
  std::vector<T> shares_;
};

}  // namespace apsyn
