// SPDX-License-Identifier: GPL-3.0-or-later
// Sums of pairs on the device as the matrices of pair_products.h.
#pragma once

#include <cuda_runtime.h>

#include "kernels/common/cuda/tile_sums.cuh"
#include "kernels/epic/cuda/tile_product.cuh"

namespace apsyn::epic_cuda {

struct PairTask {
  const double2* sums = nullptr;  ///< [channel][pair of inputs i <= j, row-major]; null: in tiles
  x_stage::TileSums tiles;
  int first_tile_channel = 0;       ///< the first channel of these
  const double2* factor = nullptr;  ///< g [channel][input]
  const float* weights = nullptr;   ///< of pairs of antennas [channel][pair a < b, row-major]; null = 1
  int n_channel = 0, n_ant = 0, n_pol = 1;
  bool total = false;  ///< launch_pair_values(): (XX + YY) / 2 for XX, and nothing else
};
/// Columns of tile_product.cuh's pairs_4 (XX, YY, Re XY, Im XY) for two polarisations, pairs_1 for one: the
/// upper triangle, what fills up is 0.
void launch_pair_columns(const PairTask& task, float* columns, cudaStream_t stream);

/// powers [channel][ant][XX, YY, Re XY, Im XY] = an antenna's own sums, without g.
void launch_own_sums(const PairTask& task, double* powers, cudaStream_t stream);

}  // namespace apsyn::epic_cuda
