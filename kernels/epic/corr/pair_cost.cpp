// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>

#include "kernels/epic/corr/cpu/spread.h"
#include "kernels/epic/corr/pair_imager.h"
#include "kernels/epic/dft/cpu/tile.h"

namespace apsyn {

namespace {

// Measured on one Zen 4 core with AVX-512 (bench_epic).
constexpr double kMultiplied_s = 3.8e-11;  ///< direct: a complex product of a pair's matrix and a weight
constexpr double kWeight_s = 2.5e-9;       ///< direct: a weight
constexpr double kPrepared_s = 4e-8;       ///< grid: a pair, once
constexpr double kTurned_s = 5e-9;         ///< grid: a pair, of each node
constexpr double kSpread_s = 1.2e-10;      ///< grid: a matrix onto a cell
constexpr double kCell_s = 8e-9;           ///< grid: a cell of a transform of two images
constexpr double kInterpolated_s = 4e-8;   ///< grid: a pixel between sites, of two images

}  // namespace

double direct_pairs_s(const EpicPlan& plan, std::size_t n_pixel) {
  // triangles stand in tiles of 16 columns
  const auto n_ant = static_cast<double>(plan.n_ant), planes = static_cast<double>(plan.n_plane());
  const double weights = n_ant * static_cast<double>(n_pixel * plan.n_average);
  return weights * (kWeight_s + kMultiplied_s * planes * (n_ant + static_cast<double>(kDftLanes)));
}

double grid_pairs_s(const EpicPlan& plan, const PairGridShape& shape) {
  const auto n_ant = static_cast<double>(plan.n_ant), planes = static_cast<double>(plan.n_plane());
  const double n_pair = n_ant * (n_ant - 1) / 2 * static_cast<double>(plan.n_average);
  const double spread = kTurned_s + kSpread_s * static_cast<double>(shape.width * shape.width) * planes;
  const double transform =
      std::ceil(planes / 2) * (static_cast<double>(shape.cells_x * shape.cells_y) * kCell_s +
                               static_cast<double>(shape.n_interpolated) * kInterpolated_s);
  return n_pair * kPrepared_s + static_cast<double>(shape.n_node) * (n_pair * spread + transform);
}

namespace {

/// Memory of the image channels that are imaged together.
std::uint64_t batch_bytes(const EpicPlan& plan, std::uint64_t image_channel_bytes) {
  return std::max(image_channel_bytes,
                  std::min<std::uint64_t>(kPairBatchBytes, image_channel_bytes * plan.n_image_channel()));
}

}  // namespace

std::uint64_t direct_pairs_bytes(const EpicPlan& plan) {
  // Tiles of pairs: two numbers for each plane, and for what stands beside the triangle of pairs in them.
  const std::uint64_t tile_antennas = 2 * kDftLanes;
  const std::uint64_t n_pair = std::uint64_t{plan.n_ant} * (plan.n_ant - 1 + tile_antennas) / 2;
  return batch_bytes(plan, n_pair * 2 * plan.n_plane() * sizeof(float) * plan.n_average);
}

std::uint64_t grid_pairs_bytes(const EpicPlan& plan, const PairGridShape& shape, std::size_t n_pixel) {
  // A channel's pairs, places and taps, and the images of all nodes; for each thread grids and sites; factors
  // and places of pixels.
  const std::uint64_t n_pair = std::uint64_t{plan.n_ant} * (plan.n_ant - 1) / 2;
  const std::uint64_t channel = n_pair * (2 * plan.n_plane() + 2 * kPairTaps + 1) * sizeof(float);
  const std::uint64_t images = std::uint64_t{shape.n_node} * n_pixel * plan.n_plane() * sizeof(float);
  const std::uint64_t planes = plan.n_plane() + 1 + (shape.n_interpolated > 0 ? 1 : 0);
  const std::uint64_t grid = std::uint64_t{shape.cells_x} * shape.cells_y * 2 * planes * sizeof(float);
  const std::uint64_t tables = std::uint64_t{shape.n_node} * n_pixel * sizeof(float) +
                               n_pixel * sizeof(std::uint32_t) + shape.n_interpolated * 2 * sizeof(double);
  return batch_bytes(plan, channel * plan.n_average + images) + plan.n_threads * grid + tables;
}

}  // namespace apsyn
