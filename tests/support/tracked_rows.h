// SPDX-License-Identifier: GPL-3.0-or-later
// Rows whose baselines turn so slowly that they lie on tracks, and these tracks as a device finds them.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <random>
#include <vector>

#include "kernels/idg/cuda/tasks.h"
#include "kernels/idg/tracks/node_counts.h"
#include "tests/support/array_rows.h"
#include "tests/support/device_rows.h"

namespace apsyn::support {

inline constexpr std::size_t n_data_planes = 4;

/// A turning array whose channels leave gaps, with data of noise; what has weight 0 is NaN.
struct Observation : ArrayRows {
  Buffer<std::complex<float>, 3> data;
  Buffer<double, 1> path;
  double max_w_lambda = 0;

  Observation(std::size_t n_station, std::size_t n_time, std::size_t n_chan, bool flagged, bool rising)
      : ArrayRows(observe_array(n_station, n_time, n_chan)) {
    const std::size_t n_row = uvw_m.extent(0);
    std::mt19937_64 random(21);
    std::normal_distribution<float> normal;
    for (std::size_t c = 0; c < n_chan; ++c)
      wavenumber(c) = 0.5 + 0.002 * static_cast<double>(rising ? c + c / 3 : 2 * n_chan - c - c / 3);
    data.resize({n_row, n_chan, n_data_planes});
    weight.resize({n_row, n_chan, n_data_planes});
    path.resize({n_row});
    const std::size_t n_base = n_station * (n_station - 1) / 2;
    for (std::size_t row = 0; row < n_row; ++row) {
      // The array turns so slowly that rows lie a few to a cell.
      const double turn = 1e-4 * static_cast<double>(row / n_base);
      const double u = uvw_m(row % n_base, 0), v = uvw_m(row % n_base, 1);
      uvw_m(row, 0) = u * std::cos(turn) - v * std::sin(turn);
      uvw_m(row, 1) = u * std::sin(turn) + v * std::cos(turn);
      uvw_m(row, 2) = uvw_m(row % n_base, 2) + 0.2 * uvw_m(row, 1);
      path(row) = 0.3 * std::sin(static_cast<double>(row));
      for (std::size_t c = 0; c < n_chan; ++c) {
        max_w_lambda = std::max(max_w_lambda, std::abs(uvw_m(row, 2)) * wavenumber(c));
        const bool all = random() % 20 != 0 || !flagged;
        for (std::size_t p = 0; p < n_data_planes; ++p) {
          weight(row, c, p) = all && (random() % 8 != 0 || !flagged) ? 0.5f + static_cast<float>(p) / 4 : 0;
          data(row, c, p) = {normal(random), normal(random)};
          if (weight(row, c, p) == 0) data(row, c, p) = NAN;
        }
      }
    }
  }
  double folded_m(std::size_t row, int axis) const {
    return uvw_m(row, static_cast<std::size_t>(axis)) * (uvw_m(row, 2) < 0 ? -1 : 1);
  }
  GridBlock grid_block(bool with_path) const {
    GridBlock result = block(false);
    result.data = data;
    if (with_path) result.path_m = path;
    return result;
  }
  std::complex<double> value(std::size_t row, std::size_t c, std::size_t plane, bool with_path) const {
    const double own = weight(row, c, plane < n_data_planes ? plane : 0);
    if (own == 0 || plane == n_data_planes) return own;
    const double turns = with_path ? path(row) * wavenumber(c) : 0;
    return own * std::complex<double>(data(row, c, plane)) * std::polar(1.0, -2 * std::acos(-1.0) * turns);
  }
};

inline IdgPlan plan_for(const Observation& o, double accuracy) {
  IdgSettings settings;
  settings.subgrid = 32;
  settings.accuracy = accuracy;
  const double n = static_cast<double>(o.uvw_m.extent(0) * o.wavenumber.size());
  return make_idg_plan({400, 300, 2e-4}, settings,
                       {.max_w_lambda = o.max_w_lambda, .n_visibilities = n, .device = Device::Kind::cuda});
}

struct Tracks : CutBlock {
  idg_cuda::TrackFinder finder{stream.get()};
  idg_cuda::DeviceTracks tracks;

  void find(const IdgPlan& plan, const GridBlock& block, double error) {
    BOOST_REQUIRE(cut(plan, block, {0, plan.n_layers}));
    finder.find(node_limits(plan, error), rows.cut_input(), tables, tracks);
    cuda_check(cudaStreamSynchronize(stream.get()), "finding tracks");
  }
};

/// Where n rows lie along the chord from the first to the last, in [-1, 1].
template <class Uvw>
std::vector<double> along_chord(std::size_t n, const Uvw& uvw) {
  std::vector<double> t(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    double along = 0, all = 0;
    for (int axis = 0; axis < 3; ++axis) {
      const double chord = uvw(static_cast<std::uint32_t>(n) - 1, axis) - uvw(0, axis);
      along += chord * (uvw(i, axis) - uvw(0, axis));
      all += chord * chord;
    }
    t[i] = all > 0 ? 2 * along / all - 1 : 0;
  }
  return t;
}

/// Lagrange's polynomial of node k of n, by its definition.
inline double lagrange(std::uint32_t k, std::uint32_t n, double t) {
  auto node = [n](std::uint32_t i) { return -std::cos(std::acos(-1.0) * (i + 0.5) / n); };
  double share = 1;
  for (std::uint32_t j = 0; j < n; ++j)
    if (j != k) share *= (t - node(j)) / (node(k) - node(j));
  return share;
}

}  // namespace apsyn::support
