// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/tracks/track_nodes.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "kernels/common/math/matrix_product.h"
#include "kernels/idg/tracks/lagrange_shares.h"

namespace apsyn {
namespace {

/// Costs in vectors of multiply-adds, chosen by the speed of a Zen 4 core (tests/bench/README.md): of a
/// place, of a share in it, ...
constexpr double place_cost = 200, share_cost = 1, make_share_cost = 15, fit_cost = 400;
/// ... and of a channel's share in a node of its band, and of a row's in one band.
constexpr double channel_cost = 0.6, band_cost = 60;

/// Whether a row's nodes are cheaper than its channels.
bool pays(const Band& band, double column_cost) {
  const auto n = static_cast<double>(band.n), nodes = static_cast<double>(band.n_nodes);
  return band.n_nodes > 0 && (n - nodes) * column_cost > n * nodes * channel_cost + band_cost;
}

/// Baseline and channels.
auto key(const GridBlock& block, const VisibilityRun& run) {
  const bool one = block.station.size() == 0;
  return std::tuple(one ? 0 : block.station(run.row, 0), one ? 0 : block.station(run.row, 1),
                    run.first_channel, run.n_channels);
}

std::size_t padded(std::size_t n) {
  return (n + matrix_product_rows - 1) / matrix_product_rows * matrix_product_rows;
}

}  // namespace

/// A smaller error for channels costs half a node; a smaller error for tracks costs more if there is only one
/// channel.
template <class T>
TrackNodes<T>::TrackNodes(const IdgPlan& plan, double error, double channel_place_cost)
    : plan_(plan),
      channel_place_cost_(channel_place_cost),
      counts_(plan, 0.95 * error),
      channel_counts_(plan, 0.3 * error),
      curve_(error) {}

/// Sorts by baseline and channels; otherwise the order is kept.
template <class T>
void TrackNodes<T>::sort_runs(const GridBlock& block, const Partition& partition, const SubgridTask& task) {
  const auto first = partition.runs.begin() + static_cast<std::ptrdiff_t>(task.first_run);
  runs_.assign(first, first + static_cast<std::ptrdiff_t>(task.n_runs));
  auto before = [&](const VisibilityRun& a, const VisibilityRun& b) { return key(block, a) < key(block, b); };
  if (!std::is_sorted(runs_.begin(), runs_.end(), before))
    std::stable_sort(runs_.begin(), runs_.end(), before);
  rows_.resize(runs_.size());
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const double* uvw = &block.uvw_m(runs_[i].row, 0);
    const double sign = uvw[2] < 0 ? -1 : 1;
    rows_[i] = {sign * uvw[0], sign * uvw[1], sign * uvw[2]};
  }
}

/// Number of rows, from run `first` on, with the same baseline, channels and sign of w.
template <class T>
std::size_t TrackNodes<T>::rows_along(const GridBlock& block, std::size_t first) const {
  auto along = [&](const VisibilityRun& run) {
    return key(block, run) == key(block, runs_[first]) &&
           (block.uvw_m(run.row, 2) < 0) == (block.uvw_m(runs_[first].row, 2) < 0);
  };
  std::size_t n = 1;
  while (first + n < runs_.size() && n < max_track_rows && along(runs_[first + n])) ++n;
  return n;
}

/// The number of tracks into which rows are best divided; 0: rows are gridded as they are.
template <class T>
std::size_t TrackNodes<T>::best_pieces(double turn, std::size_t n_rows, std::size_t n_columns) const {
  const auto rows = static_cast<double>(n_rows), columns = static_cast<double>(n_columns);
  double least = rows * columns * place_cost;
  std::size_t best = 0;
  for (std::size_t pieces = 1; 4 * pieces <= n_rows; ++pieces) {
    const std::size_t n = counts_.straight(turn / static_cast<double>(pieces));
    if (n > max_track_nodes) continue;
    const auto nodes = static_cast<double>(padded(n));
    const double cost = static_cast<double>(pieces * n) * columns * place_cost +
                        rows * (nodes * (columns * share_cost + make_share_cost) + fit_cost);
    if (cost >= least) continue;
    least = cost;
    best = pieces;
  }
  return best;
}

/// Fills possible_bands_ for rows with the same channels.
template <class T>
void TrackNodes<T>::list_bands(const GridBlock& block, std::size_t first_run, std::size_t n_rows) {
  const Place none{};
  double turn = 0;  // for a step of 1 in wavenumber
  for (std::size_t i = first_run; i < first_run + n_rows; ++i)
    turn = std::max(turn, counts_.turn(1, none, rows_[i]));
  const VisibilityRun& run = runs_[first_run];
  const double* wavenumber = block.wavenumber.data();
  const std::size_t n_bands = (run.n_channels + max_band_channels - 1) / max_band_channels;
  possible_bands_.clear();
  for (std::size_t i = 0; i < n_bands; ++i) {
    Band band;
    band.first = run.first_channel + run.n_channels * i / n_bands;
    band.n = run.first_channel + run.n_channels * (i + 1) / n_bands - band.first;
    const auto [least, largest] =
        std::minmax_element(wavenumber + band.first, wavenumber + band.first + band.n);
    // The phases of paths turn visibilities of their own.
    if (band.n > 1 && block.path_m.size() == 0)
      band.n_nodes = channel_counts_.straight(turn * (*largest - *least));
    if (band.n_nodes > max_band_columns || !pays(band, channel_place_cost_)) band.n_nodes = 0;
    possible_bands_.push_back(band);
  }
}

/// Chooses the bands that are cheaper with their nodes. The others are no larger than a track's rows allow.
template <class T>
void TrackNodes<T>::choose_bands(Track& track) {
  const auto rows = static_cast<double>(track.n), lines = static_cast<double>(track.n_lines());
  const double column_cost =
      lines / rows * channel_place_cost_ + share_cost * static_cast<double>(padded(track.n_nodes));
  track.first_band = bands_.size();
  for (const Band& band : possible_bands_) {
    if (pays(band, column_cost)) {
      bands_.push_back(band);
      track.has_channel_nodes = true;
      n_places_ += track.n_lines() * band.n_nodes;
      continue;
    }
    for (std::size_t chan = 0; chan < band.n; chan += max_band_columns)
      bands_.push_back({band.first + chan, std::min(max_band_columns, band.n - chan), 0});
    n_places_ += track.n_lines() * band.n;
  }
  track.n_bands = bands_.size() - track.first_band;
}

template <class T>
void TrackNodes<T>::extend_reach(const SubgridTask& task, const Place& at, const Wavenumbers& k) {
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const double cells =
        static_cast<double>(axis == 0 ? plan_.n_u : plan_.n_v) * plan_.image.cell_rad * at[axis];
    const auto centre = static_cast<double>(axis == 0 ? task.centre_u : task.centre_v);
    reach_[axis] =
        std::max({reach_[axis], std::abs(cells * k.least - centre), std::abs(cells * k.largest - centre)});
  }
}

template <class T>
void TrackNodes<T>::find(const GridBlock& block, const Partition& partition, const SubgridTask& task) {
  sort_runs(block, partition, task);
  tracks_.clear();
  bands_.clear();
  nodes_.clear();
  t_.resize(runs_.size());
  n_places_ = 0;
  reach_ = {};
  for (std::size_t first = 0; first < runs_.size();) {
    const std::size_t n = rows_along(block, first), n_chan = runs_[first].n_channels;
    const double* channels = block.wavenumber.data() + runs_[first].first_channel;
    const auto [least, largest] = std::minmax_element(channels, channels + n_chan);
    const Wavenumbers k{*least, *largest};
    list_bands(block, first, n);
    std::size_t n_columns = 0;
    for (const Band& band : possible_bands_) n_columns += band.n_columns();
    // The phases of paths turn visibilities of their own.
    const std::size_t pieces =
        block.path_m.size() != 0
            ? 0
            : best_pieces(counts_.turn(k.largest, rows_[first], rows_[first + n - 1]), n, n_columns);
    const std::size_t n_tracks = std::max<std::size_t>(1, pieces);
    for (std::size_t piece = 0; piece < n_tracks; ++piece) {
      Track track;
      track.first = first + n * piece / n_tracks;
      track.n = first + n * (piece + 1) / n_tracks - track.first;
      track.first_node = nodes_.size();
      if (pieces > 0)
        track.n_nodes = curve_.place_nodes(counts_, k.largest, std::span(rows_).subspan(track.first, track.n),
                                           std::span(t_).subspan(track.first, track.n), nodes_);
      for (std::size_t i = track.first; i < track.first + track.n; ++i) extend_reach(task, rows_[i], k);
      for (std::size_t i = 0; i < track.n_nodes; ++i) extend_reach(task, nodes_[track.first_node + i], k);
      choose_bands(track);
      tracks_.push_back(track);
    }
    first += n;
  }
}

template <class T>
std::size_t TrackNodes<T>::padded_nodes(const Track& track) {
  return padded(track.n_nodes);
}

template <class T>
std::size_t TrackNodes<T>::padded_rows(const Track& track) {
  return padded(track.n);
}

template <class T>
const T* TrackNodes<T>::shares(const Track& track) {
  const std::size_t stride = padded_nodes(track);
  shares_.assign(padded_rows(track) * stride, 0);
  LagrangeShares shares(track.n_nodes);
  for (std::size_t i = 0; i < track.n; ++i) shares.at(t_[track.first + i], shares_.data() + i * stride);
  return shares_.data();
}

template class TrackNodes<float>;
template class TrackNodes<double>;

}  // namespace apsyn
