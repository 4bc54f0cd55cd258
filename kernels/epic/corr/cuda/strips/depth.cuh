// SPDX-License-Identifier: GPL-3.0-or-later
// Pairs onto strips by kernels that hold w (depth_kernels.h): no orders, so that a block has its strip once.
// Sums of cells are integers of 32 bits, whose order does not matter: pairs stand in a strip's list in any
// order, and all warps add to all cells at once.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/epic/corr/cuda/strips/strips.cuh"
#include "kernels/epic/corr/depth_axis.h"

namespace apsyn::epic_cuda {

/// Taps of a pair: [term][axis][kPairTaps], along y the even ones first. Terms other than the first are
/// multiplied by -2 pi i h.
__host__ __device__ constexpr std::size_t depth_taps(int n_term) {
  return std::size_t(n_term) * 2 * kPairTaps;
}
/// Entries that a pair may have, in the two strips that a kernel reaches as (a, b), and as (b, a).
constexpr int kDepthEntries = 4;

struct DepthPairTask {
  CellShape shape;
  int n_channel = 0;
  const double* hz = nullptr;                      ///< [channel]
  const double* uvw_s = nullptr;                   ///< [ant][3]
  const std::uint8_t* outlier_antennas = nullptr;  ///< [ant] 1 = its pairs are on no grid
  double cell = 0;                                 ///< as PlaceTask
  int n_term = 1;
  DepthAxis x, y;
  const double* inverse = nullptr;  ///< as PlaceTask
  int n_inverse = 0;
  double inverse_scale = 0;
  PairPlace* places = nullptr;      ///< [channel][pair], without along_x and along_y
  float2* taps = nullptr;           ///< [channel][pair][depth_taps]
  float* peaks = nullptr;           ///< [channel][pair] that no weight of a cell is above
  std::uint32_t* counts = nullptr;  ///< [image][strip] entries; 0 before
  std::uint32_t* begins = nullptr;  ///< [image][strip] first entry, and the end of the image's
  std::uint32_t* next = nullptr;    ///< [image][strip] entry to be filled
  StripEntry* entries = nullptr;    ///< [image][kDepthEntries n_grid_pair]
  __host__ __device__ int n_begin() const { return shape.n_strip() + 1; }
};
/// places, taps, peaks and entries.
void launch_depth_pairs(const DepthPairTask& task, cudaStream_t stream);

struct DepthColumnTask {
  CellShape cells;
  StripShape shape;
  int n_image = 0;      ///< that are transformed together
  int first_image = 0;  ///< of those that have lists and values
  int n_term = 1;
  const std::uint32_t* begins = nullptr;
  const StripEntry* entries = nullptr;
  const float2* taps = nullptr;
  const float* peaks = nullptr;
  const float2* values = nullptr;               ///< [image][pair on the grid][4]
  const float2* turns = nullptr;                ///< of the passes
  const std::uint16_t* row_of_place = nullptr;  ///< as StripColumnTask
  float2* columns = nullptr;                    ///< [image of these][product][n_row][whole strips] im, re
};
void launch_depth_columns(const DepthColumnTask& task, cudaStream_t stream);
/// Their rows, by factors of columns [bin] and of rows [wanted row], to an image of nx columns and ny rows
/// that is sky everywhere, or to sites [image][product][n_y][n_x], in which the wanted rows are around row 0.
struct DepthRowTask {
  CellShape cells;
  StripShape shape;
  int n_image = 0;
  const float2* columns = nullptr;              ///< as DepthColumnTask
  const float2* turns = nullptr;                ///< of the passes
  const std::uint16_t* first_of_bin = nullptr;  ///< as StripRowTask
  const float *of_column = nullptr, *of_row = nullptr;
  int nx = 0, ny = 0;
  OrderTarget target;  ///< planes
  float* images = nullptr;
  int first_bin_y = 0;  ///< of the first wanted row
};
void launch_depth_rows(const DepthRowTask& task, cudaStream_t stream);
/// Shared memory of a block beside its cells.
std::size_t depth_list_bytes();

}  // namespace apsyn::epic_cuda
