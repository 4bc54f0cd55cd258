// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>

#include "kernels/epic/pair_imager.h"
#include "kernels/epic/pair_spread.h"

namespace apsyn {

double direct_pairs_s(const EpicPlan& plan, std::size_t n_pixel) {
  const auto n_ant = static_cast<double>(plan.n_ant);
  return 1e-11 * 4 * n_ant * n_ant * static_cast<double>(plan.n_plane() * n_pixel * plan.n_average);
}

double grid_pairs_s(const EpicPlan& plan, const PairGridShape& shape, std::size_t n_pixel) {
  const auto n_ant = static_cast<double>(plan.n_ant), planes = static_cast<double>(plan.n_plane());
  const double cells = static_cast<double>(shape.cells_x * shape.cells_y);
  const double n_pair = n_ant * (n_ant - 1) / 2 * static_cast<double>(plan.n_average);
  const auto width = static_cast<double>(shape.width);
  const double spread = n_pair * (2e-8 + 1e-10 * width * width * planes);
  const double transform = std::ceil(planes / 2) * cells * (1e-9 * std::log2(cells) + 3e-9);
  return static_cast<double>(shape.n_node) *
         (spread + transform + 2e-9 * planes * static_cast<double>(n_pixel));
}

std::uint64_t pair_imager_bytes(const EpicPlan& plan, std::size_t n_pixel) {
  // a channel's pairs, places and taps, and images of up to 32 nodes; for each thread a grid twice the image
  const std::uint64_t n_pair = std::uint64_t{plan.n_ant} * (plan.n_ant - 1) / 2;
  const std::uint64_t channel = n_pair * (2 * plan.n_plane() + 2 * kPairTaps + 1) * sizeof(float);
  const std::uint64_t images = std::uint64_t{32} * n_pixel * plan.n_plane() * sizeof(float);
  const std::uint64_t grid = std::uint64_t{4} * plan.nx * plan.ny * 2 * (plan.n_plane() + 1) * sizeof(float);
  return std::max<std::uint64_t>(kPairBatchBytes, channel * plan.n_average + images) + plan.n_threads * grid;
}

}  // namespace apsyn
