// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/track_nodes.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <tuple>

#include "kernels/common/matrix_product.h"

namespace apsyn {
namespace {

constexpr double pi = std::numbers::pi;

double node_of(std::size_t k, std::size_t n) {
  return -std::cos(pi * (static_cast<double>(k) + 0.5) / static_cast<double>(n));
}

std::array<double, 3> less(const std::array<double, 3>& a, const std::array<double, 3>& b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
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

double dot(const std::array<double, 3>& a, const std::array<double, 3>& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

}  // namespace

template <class T>
TrackNodes<T>::TrackNodes(const IdgPlan& plan, double error)
    : plan_(plan), error_(error), counts_(plan, error) {}

/// By baseline and channels, the rest in its order.
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

/// Rows from run `first` on of the same baseline, channels and sign.
template <class T>
std::size_t TrackNodes<T>::rows_along(const GridBlock& block, std::size_t first) const {
  auto along = [&](const VisibilityRun& run) {
    return key(block, run) == key(block, runs_[first]) &&
           (block.uvw_m(run.row, 2) < 0) == (block.uvw_m(runs_[first].row, 2) < 0);
  };
  std::size_t n = 1;
  while (first + n < runs_.size() && n < most_track_rows && along(runs_[first + n])) ++n;
  return n;
}

/// Into how many tracks rows are best divided; 0: they stay as they are. In vectors of multiply-adds, a
/// place costs about as many as two hundred shares in one do.
template <class T>
std::size_t TrackNodes<T>::best_pieces(double turn, std::size_t n_rows, std::size_t n_chan) const {
  constexpr double place = 200, share = 1, make_share = 15, fit = 400;
  const auto rows = static_cast<double>(n_rows), channels = static_cast<double>(n_chan);
  double least = rows * channels * place;
  std::size_t best = 0;
  for (std::size_t pieces = 1; 4 * pieces <= n_rows; ++pieces) {
    const std::size_t n = counts_.straight(turn / static_cast<double>(pieces));
    if (n > most_track_nodes) continue;
    const auto nodes = static_cast<double>(padded(n));
    const double cost = static_cast<double>(pieces * n) * channels * place +
                        rows * (nodes * (channels * share + make_share) + fit);
    if (cost >= least) continue;
    least = cost;
    best = pieces;
  }
  return best;
}

/// Where the rows lie between the first and the last, and the curve through them at the nodes.
template <class T>
bool TrackNodes<T>::fit(double wavenumber, const Track& track) {
  const Place &first = rows_[track.first], chord = less(rows_[track.first + track.n - 1], first);
  const double length2 = dot(chord, chord);
  const std::size_t n_all = track.n + track.n_nodes;
  rest_.resize(n_all);
  basis_.resize(n_all * bend_powers);
  Place* at_node = nodes_.data() + track.first_node;
  for (std::size_t i = 0; i < n_all; ++i) {
    double t = 0;
    if (i >= track.n)
      t = node_of(i - track.n, track.n_nodes);
    else if (length2 > 0)
      t = 2 * dot(less(rows_[track.first + i], first), chord) / length2 - 1;
    if (!(std::abs(t) <= 1 + 1e-9)) return false;
    const Place line{first[0] + (t + 1) / 2 * chord[0], first[1] + (t + 1) / 2 * chord[1],
                     first[2] + (t + 1) / 2 * chord[2]};
    if (i < track.n) {
      t_[track.first + i] = t;
      rest_[i] = less(rows_[track.first + i], line);
    } else {
      at_node[i - track.n] = line;
    }
    double power = 1 - t * t;
    for (std::size_t p = 0; p < bend_powers; ++p, power *= t) basis_[i * bend_powers + p] = power;
  }
  // Least squares by orthogonal polynomials; the nodes follow.
  bends_ = {};
  const Place none{};
  for (std::size_t p = 0; p < bend_powers; ++p) {
    double norm = 0, own = 0;
    for (std::size_t i = 0; i < track.n; ++i) own += std::pow(basis_[i * bend_powers + p], 2);
    for (std::size_t before = 0; before < p; ++before) {
      double sum = 0, square = 0;
      for (std::size_t i = 0; i < track.n; ++i) {
        sum += basis_[i * bend_powers + p] * basis_[i * bend_powers + before];
        square += std::pow(basis_[i * bend_powers + before], 2);
      }
      if (square == 0) continue;
      for (std::size_t i = 0; i < n_all; ++i)
        basis_[i * bend_powers + p] -= sum / square * basis_[i * bend_powers + before];
    }
    Place factor{};
    for (std::size_t i = 0; i < track.n; ++i) {
      const double value = basis_[i * bend_powers + p];
      norm += value * value;
      for (std::size_t axis = 0; axis < 3; ++axis) factor[axis] += value * rest_[i][axis];
    }
    if (!(norm > 1e-12 * own)) {
      for (std::size_t i = 0; i < n_all; ++i) basis_[i * bend_powers + p] = 0;
      continue;
    }
    for (double& part : factor) part /= norm;
    bends_[p] = 2 * counts_.turn(wavenumber, none, factor);
    for (std::size_t i = 0; i < n_all; ++i)
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const double value = basis_[i * bend_powers + p] * factor[axis];
        if (i < track.n)
          rest_[i][axis] -= value;
        else
          at_node[i - track.n][axis] += value;
      }
  }
  return std::all_of(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(track.n),
                     [&](const Place& rest) { return 2 * counts_.turn(wavenumber, none, rest) <= error_; });
}

template <class T>
bool TrackNodes<T>::place_nodes(double wavenumber, Track& track) {
  const double z = counts_.turn(wavenumber, rows_[track.first], rows_[track.first + track.n - 1]);
  track.first_node = nodes_.size();
  track.n_nodes = 0;
  // Again only where the curve of the first fit, which is that of any other, takes more nodes.
  for (std::size_t n = counts_.straight(z); n > track.n_nodes; n = counts_.bent(z, bends_)) {
    track.n_nodes = n;
    const bool few = n <= most_track_nodes && 2 * n <= track.n;
    nodes_.resize(track.first_node + (few ? n : 0));
    if (few && fit(wavenumber, track)) continue;
    nodes_.resize(track.first_node);
    return false;
  }
  return true;
}

/// Where a baseline leaves the subgrid and comes back, nodes may lie outside. Beyond the outermost rows they
/// are allowed as much as rows next to each other bend.
template <class T>
bool TrackNodes<T>::among_rows(const Track& track) const {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    double least = rows_[track.first][axis], most = least;
    for (std::size_t i = track.first; i < track.first + track.n; ++i) {
      least = std::min(least, rows_[i][axis]);
      most = std::max(most, rows_[i][axis]);
    }
    const double beyond = 1e-3 * (most - least) + 1e-9 * std::abs(most);
    for (std::size_t k = track.first_node; k < track.first_node + track.n_nodes; ++k)
      if (nodes_[k][axis] < least - beyond || nodes_[k][axis] > most + beyond) return false;
  }
  return true;
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
  nodes_.clear();
  t_.resize(runs_.size());
  n_places_ = 0;
  reach_ = {};
  for (std::size_t first = 0; first < runs_.size();) {
    const std::size_t n = rows_along(block, first), n_chan = runs_[first].n_channels;
    const double* channels = block.wavenumber.data() + runs_[first].first_channel;
    const auto [least, largest] = std::minmax_element(channels, channels + n_chan);
    const Wavenumbers k{*least, *largest};
    // The phases of paths turn visibilities of their own.
    const std::size_t pieces =
        block.path_m.size() != 0
            ? 0
            : best_pieces(counts_.turn(k.largest, rows_[first], rows_[first + n - 1]), n, n_chan);
    const std::size_t n_tracks = std::max<std::size_t>(1, pieces);
    for (std::size_t piece = 0; piece < n_tracks; ++piece) {
      Track track;
      track.first = first + n * piece / n_tracks;
      track.n = first + n * (piece + 1) / n_tracks - track.first;
      if (pieces == 0 || !place_nodes(k.largest, track)) track.n_nodes = 0;
      for (std::size_t i = track.first; i < track.first + track.n; ++i) extend_reach(task, rows_[i], k);
      if (track.n_nodes > 0 && !among_rows(track)) {
        nodes_.resize(track.first_node);
        track.n_nodes = 0;
      }
      for (std::size_t i = 0; i < track.n_nodes; ++i) extend_reach(task, nodes_[track.first_node + i], k);
      n_places_ += (track.n_nodes > 0 ? track.n_nodes : track.n) * n_chan;
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

/// The barycentric form (Berrut and Trefethen 2004).
template <class T>
const T* TrackNodes<T>::shares(const Track& track) {
  const std::size_t stride = padded_nodes(track), n = track.n_nodes;
  shares_.assign(padded_rows(track) * stride, 0);
  std::array<double, most_track_nodes> node, weight, part;
  for (std::size_t k = 0; k < n; ++k) {
    node[k] = node_of(k, n);
    weight[k] =
        (k % 2 == 0 ? 1 : -1) * std::sin(pi * (static_cast<double>(k) + 0.5) / static_cast<double>(n));
  }
  for (std::size_t i = 0; i < track.n; ++i) {
    const double t = t_[track.first + i];
    double sum = 0;
    for (std::size_t k = 0; k < n; ++k) {
      const double distance = t - node[k];
      part[k] = weight[k] / (distance == 0 ? 1e-100 : distance);
      sum += part[k];
    }
    const double scale = 1 / sum;
    for (std::size_t k = 0; k < n; ++k) shares_[i * stride + k] = static_cast<T>(part[k] * scale);
  }
  return shares_.data();
}

template class TrackNodes<float>;
template class TrackNodes<double>;

}  // namespace apsyn
