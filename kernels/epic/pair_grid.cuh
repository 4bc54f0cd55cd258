// SPDX-License-Identifier: GPL-3.0-or-later
// Pairs onto fine cells by tensor cores (pair_orders.h). A grid of half a plane, columns 0 .. n_x / 2, is cut
// into tiles of 8 x 4 cells, and each tile has a list of the pairs (a, b) and (b, a) that touch it: nothing
// is written twice, and sums have an order. A list is sorted by orders, the most first. For a tile,
//   cells[y, x][order, product] = sum over pairs (phi_y phi_x) (c_k J_k V)
// is a product of matrices [32 cells x pairs] and [pairs x 8 n_order], both made in registers, in two halves
// of 16 bits each: 22 bits of the largest pair.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/epic/pair_columns.cuh"

namespace apsyn::epic_cuda {

constexpr int kPairTaps = 8;                   ///< PairOrders::kTaps
constexpr int kCellTileX = 8, kCellTileY = 4;  ///< cells of a tile
constexpr int kOrderGroup = 12;                ///< orders that are summed at a time

struct CellShape {
  int n_x = 0, n_y = 0, width = 0, n_order = 1;
  int n_ant = 0, n_product = 1;
  __host__ __device__ int n_column() const { return n_x / 2 + 1; }
  __host__ __device__ int n_tile_x() const { return (n_column() + kCellTileX - 1) / kCellTileX; }
  __host__ __device__ int n_tile() const { return n_tile_x() * ((n_y + kCellTileY - 1) / kCellTileY); }
  __host__ __device__ std::size_t n_pair() const { return std::size_t(n_ant) * (n_ant - 1) / 2; }
  /// Floats of a pair's orders.
  __host__ __device__ int order_stride() const { return (n_order + 3) / 4 * 4; }
  /// Of a channel: [order][product][row][column].
  __host__ __device__ std::size_t n_cell() const {
    return std::size_t(n_order) * n_product * n_y * n_column();
  }
};

struct __align__(8) PairPlace {
  std::uint16_t x, y;  ///< first cell
  std::uint32_t n_order;
};

struct __align__(16) PairTapsXY {
  float x[kPairTaps], y[kPairTaps];
};

/// Of n_channel channels; pairs a < b, row-major.
struct PlaceTask {
  CellShape shape;
  int n_channel = 0;
  const double* hz = nullptr;     ///< [channel]
  const double* uvw_s = nullptr;  ///< [ant][3]
  double cell = 0, n_half = 0;    ///< of pixels, as direction cosines
  const float* taps = nullptr;    ///< [power][tap]
  int n_power = 0;
  double error = 0;                 ///< of the orders that a pair leaves out
  PairPlace* places = nullptr;      ///< [channel][pair]
  PairTapsXY* pair_taps = nullptr;  ///< [channel][pair]
  float* orders = nullptr;          ///< [channel][pair][order_stride()] c_k J_k
  std::uint32_t* counts = nullptr;  ///< [channel][pair] tiles that it touches, twice if as (a, b) and (b, a)
};
void launch_place_pairs(const PlaceTask& task, cudaStream_t stream);

/// A pair as a tile sees it: the tap that its cell (x, y) takes is tap_x + x of (a, b), tap_x - x of (b, a).
struct PairCode {
  std::uint32_t bits;
  __device__ __forceinline__ static PairCode of(std::uint32_t pair, bool mirrored, int tap_x, int tap_y) {
    const int shift_x = mirrored ? 0 : kCellTileX - 1, shift_y = mirrored ? 0 : kCellTileY - 1;
    return {pair << 9 | (mirrored ? 256u : 0u) |
            static_cast<std::uint32_t>((tap_y + shift_y) << 4 | (tap_x + shift_x))};
  }
  __device__ __forceinline__ std::uint32_t pair() const { return bits >> 9; }
  __device__ __forceinline__ bool mirrored() const { return (bits & 256) != 0; }
  __device__ __forceinline__ int tap_x() const {
    return static_cast<int>(bits & 15) - (mirrored() ? 0 : kCellTileX - 1);
  }
  __device__ __forceinline__ int tap_y() const {
    return static_cast<int>(bits >> 4 & 15) - (mirrored() ? 0 : kCellTileY - 1);
  }
};
constexpr std::size_t kMostGridAnts = 4096;  ///< whose pairs PairCode numbers

struct ListTask {
  CellShape shape;
  int n_channel = 0;
  const PairPlace* places = nullptr;
  const std::uint32_t* ends = nullptr;  ///< [channel][pair] running sums of the counts
  std::uint64_t* keys = nullptr;        ///< [entry] to be sorted by their lower half
  std::uint32_t n_entry = 0;
  std::uint32_t* codes = nullptr;   ///< [entry] PairCode of the sorted keys
  std::uint16_t* counts = nullptr;  ///< [entry] orders
  std::uint32_t* begins = nullptr;  ///< [channel][tile], and the end
};
/// Bits of keys that count.
inline std::uint64_t list_keys(const CellShape& shape, int n_channel) {
  return std::uint64_t(n_channel) * shape.n_tile() * (shape.n_order + 1);
}
void launch_list_keys(const ListTask& task, cudaStream_t stream);
void launch_lists(const ListTask& task, cudaStream_t stream);

/// values [channel][pair][XX, YY, (XY + YX) / 2, (XY - YX) / 2i] of one or two polarisations, largest
/// [channel] = bits of the largest part; zeroes it first.
void launch_pair_values(const PairTask& task, float2* values, std::uint32_t* largest, cudaStream_t stream);

struct GatherTask {
  CellShape shape;
  int first_channel = 0, n_channel = 0;  ///< of those that have lists and values
  const std::uint32_t *begins = nullptr, *codes = nullptr;
  const std::uint16_t* counts = nullptr;
  const PairTapsXY* pair_taps = nullptr;
  const float* orders = nullptr;
  const float2* values = nullptr;  ///< [channel][pair][4]
  const std::uint32_t* largest = nullptr;
  float2* cells = nullptr;  ///< [channel of these][n_cell()]
};
void launch_gather_pairs(const GatherTask& task, cudaStream_t stream);

struct OrderTask {
  CellShape shape;
  int n_channel = 0, n_pixel = 0;
  const float* images = nullptr;         ///< [channel][order][product][n_y][n_x]
  const float* factors = nullptr;        ///< [order][pixel]
  const std::uint32_t* cells = nullptr;  ///< [pixel]
  double* sums = nullptr;                ///< [channel][n_stride][4] +=
  std::size_t n_stride = 0;
};
void launch_sum_orders(const OrderTask& task, cudaStream_t stream);

}  // namespace apsyn::epic_cuda
