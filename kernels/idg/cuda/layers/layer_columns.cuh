// SPDX-License-Identifier: GPL-3.0-or-later
// Columns of layers whose rows are transformed already, into the image: transforms along v of the columns
// that the image shows, w screens, and the sum over layers, without a stop in device memory.
//
// The image's column x stands at l = (n_x/2 - x) cell, index (n_x/2 - x) mod n_u of a row's transform; its
// row y at m = (y - n_y/2) cell, index (y - n_y/2) mod n_v of a column's.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "kernels/idg/cuda/grid/kernels.cuh"

namespace apsyn::idg_cuda {

/// Grids and images that launch_columns() serves on the current device, in single precision.
bool has_columns(int n_u, int n_v, int n_y);
/// ColumnsTask::turns for grids and images of this size.
std::vector<float2> column_turns(int n_u, int n_v, int n_y);
struct ColumnsTask {
  ScreenTask<float> screen;  ///< whose layers [plane][v][u] are transformed along u
  /// [v / kGridTile] of each layer: 0 where rows are empty, whatever stands there.
  const std::uint8_t* strip_used[ScreenTask<float>::kMaxLayers];
  const float2* turns;  ///< column_turns()
};
void launch_columns(const ColumnsTask& task, cudaStream_t stream);

}  // namespace apsyn::idg_cuda
