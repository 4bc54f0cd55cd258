// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of layers on the device: those that hold something are transformed, and cleared before the next pass.
// Observations of a few hours fill a tenth to a half of a layer's rows. For host code with CUDA only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "kernels/common/cuda/fft.h"
#include "kernels/common/cuda/transfer.h"
#include "kernels/idg/cuda/layers/grid_tiles.cuh"

namespace apsyn::idg_cuda {

class LayerRows {
 public:
  /// Layers are [plane] of `shape`, which has rows.
  LayerRows(const GridShape& shape, std::size_t n_planes, cudaStream_t stream);

  /// Leaves n_layers empty layers at `grids`. `fresh`: the memory is uninitialised; otherwise it holds what
  /// earlier passes left.
  void clear(float2* grids, std::size_t n_layers, bool fresh);
  /// [layer][v / kGridTile] on the device, for the adder to set.
  std::uint8_t* strip_used() { return strip_used_.data(); }
  const std::uint8_t* strip_used(std::size_t layer) const { return strip_used_.data() + layer * n_strips_; }
  /// Transforms along u, exponent -1, all rows of the layers of clear() that are used.
  void transform(float2* grids);

 private:
  void read_runs();

  GridShape shape_;
  std::size_t n_planes_, n_strips_, n_layers_ = 0;
  bool passing_ = false;  ///< between clear() and transform(): runs_ are not what is used
  cudaStream_t stream_;
  Upload<std::uint8_t> strip_used_;
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> runs_;  ///< [layer] first and last + 1 row
  std::deque<CudaFft1d> plans_;                                         ///< of kBatches
};

}  // namespace apsyn::idg_cuda
