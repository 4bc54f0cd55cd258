// SPDX-License-Identifier: GPL-3.0-or-later
// Pairs onto fine cells by tensor cores (pair_orders.h). A grid of half a plane, columns 0 .. n_x / 2, is cut
// into tiles of 8 x 4 cells, and each tile has a list of the pairs (a, b) and (b, a) that touch it: nothing
// is written twice, and sums have an order. A list is sorted by orders, the most first. For a tile,
//   cells[y, x][order, product] = sum over pairs (phi_y phi_x) (c_k J_k V)
// is a product of matrices [32 cells x pairs] and [pairs x 8 n_order], both made in registers of halves of 16
// bits: a number is high + low, of 22 bits.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/epic/pair_columns.cuh"

namespace apsyn::epic_cuda {

constexpr int kPairTaps = 8;                   ///< PairOrders::kTaps
constexpr int kCellTileX = 8, kCellTileY = 4;  ///< cells of a tile
constexpr int kOrderGroup = 8;                 ///< orders that are summed at a time
/// What a tile reads of a pair's place, in words of halves high | low << 16: values of the kernel along x and
/// y, and c_k J_k, whole groups of orders.
constexpr int kTapsXAt = 0, kTapsYAt = kPairTaps, kOrdersAt = 2 * kPairTaps;

struct CellShape {
  int n_x = 0, n_y = 0, width = 0, n_order = 1;
  int n_ant = 0, n_product = 1;
  int n_column = 0;  ///< columns 0 .. n_column - 1 of half a plane, behind which no pair reaches
  __host__ __device__ int n_tile_x() const { return (n_column + kCellTileX - 1) / kCellTileX; }
  __host__ __device__ int n_tile() const { return n_tile_x() * ((n_y + kCellTileY - 1) / kCellTileY); }
  __host__ __device__ std::size_t n_pair() const { return std::size_t(n_ant) * (n_ant - 1) / 2; }
  __host__ __device__ int n_group() const { return (n_order + kOrderGroup - 1) / kOrderGroup; }
  __host__ __device__ int record_words() const { return kOrdersAt + kOrderGroup * n_group(); }
  /// Of a channel: [order][product][row][column].
  __host__ __device__ std::size_t n_cell() const { return std::size_t(n_order) * n_product * n_y * n_column; }
};

struct __align__(8) PairPlace {
  std::uint16_t x, y;     ///< first cell
  std::uint32_t n_order;  ///< 0 = on no grid
};

/// Of n_channel channels; pairs a < b, row-major.
struct PlaceTask {
  CellShape shape;
  int n_channel = 0;
  const double* hz = nullptr;           ///< [channel]
  const double* uvw_s = nullptr;        ///< [ant][3]
  const std::uint8_t* apart = nullptr;  ///< [ant] 1 = its pairs are on no grid
  double cell = 0, n_half = 0;          ///< of pixels, as direction cosines
  const float* taps = nullptr;          ///< [power][tap]
  int n_power = 0;
  double error = 0;                  ///< of the orders that a pair leaves out
  PairPlace* places = nullptr;       ///< [channel][pair]
  std::uint32_t* records = nullptr;  ///< [channel][pair][record_words()]
  std::uint32_t* counts = nullptr;   ///< [channel][pair] tiles that it touches, twice if as (a, b) and (b, a)
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
  /// The pair, where it touches no cell.
  __device__ __forceinline__ static std::uint32_t none(std::uint32_t bits) {
    return of(PairCode{bits}.pair(), false, kPairTaps, 0).bits;
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
/// First pair of antenna a.
__host__ __device__ constexpr std::size_t pair_row(int n_ant, int a) {
  return std::size_t(a) * n_ant - std::size_t(a) * (a + 1) / 2;
}

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

/// factors [channel][input] = gains exp(2 pi i hz delay).
struct TurnTask {
  const double *hz = nullptr, *delays_s = nullptr;  ///< [channel]; [ant]
  const double2* gains = nullptr;                   ///< [channel][input]
  int n_channel = 0, n_ant = 0, n_pol = 1;
  double2* factors = nullptr;
};
void launch_turn_factors(const TurnTask& task, cudaStream_t stream);

/// values [channel][pair][XX, YY, (XY + YX) / 2, (XY - YX) / 2i] of one or two polarisations, largest
/// [channel] = bits of the largest part; zeroes it first.
void launch_pair_values(const PairTask& task, float2* values, std::uint32_t* largest, cudaStream_t stream);

struct GatherTask {
  CellShape shape;
  int first_channel = 0, n_channel = 0;  ///< of those that have lists and values
  const std::uint32_t *begins = nullptr, *codes = nullptr;
  const std::uint16_t* counts = nullptr;
  const std::uint32_t* records = nullptr;
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
