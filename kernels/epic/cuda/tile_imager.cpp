// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/cuda/tile_imager.cuh"

#include <algorithm>

namespace apsyn::epic_cuda {

void TileImager::image(ColumnKind kind, int n, int first_channel, int n_channel, const FillColumns& fill,
                       cudaStream_t stream) {
  const WeightTask all = sky_.weights(first_channel, n_channel);
  if (all.n_pixel == 0) return;
  const int n_ant = padded_ants(all.n_ant), n_tiles = (n + tile_length(kind) - 1) / tile_length(kind);
  const std::size_t row = std::size_t(n_ant) * 2;
  const std::size_t columns = n_tiles * row * kTileColumns, weights = row * kTilePixels;
  const auto fitting = [](std::size_t each, int most) {
    return static_cast<int>(std::clamp<std::size_t>(kChunkBytes / (each * sizeof(float)), 1, most));
  };
  constexpr int kMaxBlocks = 65535;  // along the second axis of a launch
  const int n_pixel_tiles = std::min(kMaxBlocks, fitting(weights, all.n_pixel_tiles));
  const int n_together = std::min(fitting(columns, n_channel), fitting(weights * n_pixel_tiles, n_channel));
  columns_.reserve(columns * n_together);
  weights_.reserve(weights * n_pixel_tiles * n_together);
  for (int first = 0; first < n_channel; first += n_together) {
    const int channel = first_channel + first, n_part = std::min(n_together, n_channel - first);
    fill(channel, n_part, columns_.data());
    for (int tile = 0; tile < all.n_pixel_tiles; tile += n_pixel_tiles) {
      WeightTask task = sky_.weights(channel, n_part);
      task.first_tile = tile;
      task.n_pixel_tiles = std::min(n_pixel_tiles, all.n_pixel_tiles - tile);
      launch_weights(task, weights_.data(), stream);
      TileProduct product;
      product.columns = columns_.data();
      product.weights = weights_.data();
      product.n_channel = n_part;
      product.n_pixel_tiles = task.n_pixel_tiles;
      product.n_tiles = n_tiles;
      product.n_ant = n_ant;
      product.sums = sky_.sums(channel) + std::size_t(tile) * kTilePixels * 4;
      product.n_stride = sky_.n_stride();
      launch_tile_product(product, kind, stream);
    }
  }
}

}  // namespace apsyn::epic_cuda
