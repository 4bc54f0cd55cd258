// SPDX-License-Identifier: GPL-3.0-or-later
// Pairs to images by grids so large that few of their cells have pairs, and of which neither a grid nor its
// transform is kept whole. A block has a strip of 8 columns in shared memory: it adds the strip's pairs,
// order after order, transforms the columns, and of those only the wanted rows go to memory (columns.cu). Two
// rows are then the real and the imaginary part of a transform, whose orders add up in registers (rows.cu).
// Forward transforms of (im, re) are backward ones of (re, im).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/epic/corr/cuda/grid.cuh"
#include "kernels/epic/corr/cuda/transform_passes.cuh"

namespace apsyn::epic_cuda {

/// A pair as a strip sees it.
struct __align__(8) StripEntry {
  std::uint32_t code;  ///< PairCode, with as many orders as it has, or kManyOrders
  std::int16_t
      column;         ///< cell of its kernel that is on the strip's first column; negative: before the first
  std::uint16_t row;  ///< that its kernel begins at
};
constexpr int kManyOrders = 127;
/// Of an entry: the kernel along x, and along y.
constexpr int kEntryTaps = 2 * kPairTaps;

/// Lists the pairs of strips.
struct StripListTask {
  CellShape shape;
  int n_image = 0;
  const PairPlace* places = nullptr;  ///< [channel][pair]
  const float* taps = nullptr;        ///< [power][tap]
  int n_power = 0;
  const std::uint32_t* ends = nullptr;    ///< [channel][pair] running sums of the strips that they reach
  std::uint64_t* keys = nullptr;          ///< [entry] to be sorted by their lower half: strip and row
  const std::uint64_t* sorted = nullptr;  ///< [entry]
  std::uint32_t n_entry = 0;
  std::uint32_t* begins = nullptr;  ///< [image][strip] first entry, and the end
  StripEntry* entries = nullptr;    ///< [entry]
  float* entry_taps = nullptr;      ///< [entry][kEntryTaps]
  __host__ __device__ int n_list() const { return n_image * shape.n_strip(); }
  __host__ __device__ std::uint32_t n_key() const {
    return static_cast<std::uint32_t>(n_list()) * static_cast<std::uint32_t>(shape.n_y);
  }
};
void launch_strip_keys(const StripListTask& task, cudaStream_t stream);
void launch_strip_entries(const StripListTask& task, cudaStream_t stream);

/// Turns of a pass stand in the order [q - 1][k], in which threads of a warp want them.
struct StripShape {
  int n_pass_y = 0, n_pass_x = 0;
  TransformPass pass_y[kMaxTransformPasses], pass_x[kMaxTransformPasses];
  int n_row = 0;             ///< wanted, even
  int n_column_threads = 0;  ///< of a block of columns
  int column_bytes = 0;      ///< of shared memory
};
constexpr int kMaxColumnThreads = 768, kMaxRowThreads = 768;
constexpr int kLastRowRadix = 8;  ///< of the passes along rows, a butterfly a thread
/// Values between parts of the first pass along rows: neither the parts of the second pass nor the last one's
/// values meet in a bank.
constexpr int kRowPad = 9;

struct StripColumnTask {
  CellShape cells;
  StripShape shape;
  int n_image = 0;      ///< that are transformed together
  int first_image = 0;  ///< of those that have lists and values
  const std::uint32_t* begins = nullptr;
  const StripEntry* entries = nullptr;
  const float* entry_taps = nullptr;
  const std::uint32_t* orders = nullptr;        ///< as PlaceTask
  const float2* values = nullptr;               ///< [image][pair on the grid][4]
  const float2* turns = nullptr;                ///< of the passes
  const std::uint16_t* row_of_place = nullptr;  ///< [place along a column], 0xFFFF = not wanted
  float2* columns = nullptr;  ///< [image of these][order][product][n_row][whole strips] im, re
};
void launch_strip_columns(const StripColumnTask& task, cudaStream_t stream);

struct StripRowTask {
  CellShape cells;
  StripShape shape;
  int n_image = 0;
  const float2* columns = nullptr;              ///< as StripColumnTask
  const float2* turns = nullptr;                ///< of the passes
  const std::uint16_t* first_of_bin = nullptr;  ///< [bin < n_x / 8] slot of the first value of its last pass
  /// Orders added up: T_k over the kernel's transform [order][pair of rows][bin / (n_x / 8)][bin % (n_x /
  /// 8)] and the pixels of the two rows [pair of rows][the same], kNoPixel without sky.
  const float2* factors = nullptr;
  const uint2* pixels = nullptr;
  OrderTarget target;
  /// Or into images [image][order][product][n_y][n_x], in which the wanted rows are around row 0: each order
  /// for itself, or, with factors, the sum of the even ones and that of the odd ones.
  float* images = nullptr;
  int first_bin_y = 0;  ///< of the first wanted row
};
void launch_strip_rows(const StripRowTask& task, cudaStream_t stream);

/// Factors of the sites of a lattice (pair_lattice.h), as those of StripRowTask: T_k of even orders, T_k / t
/// of odd ones.
struct SiteFactorTask {
  CellShape cells;
  StripShape shape;
  int n_site_x = 0, n_site_y = 0;
  double pitch = 0, slope_u = 0, slope_v = 0, n_middle = 0, n_half = 0;
  const float *of_column = nullptr, *of_row = nullptr;  ///< as PairOrders
  int first_bin_y = 0;
  float2* factors = nullptr;
};
void launch_site_factors(const SiteFactorTask& task, cudaStream_t stream);

}  // namespace apsyn::epic_cuda
