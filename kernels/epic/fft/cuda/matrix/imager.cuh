// SPDX-License-Identifier: GPL-3.0-or-later
// What a block of the second kernel of fft/cuda/matrix/matrix.cuh does with a spectrum.
#pragma once

#include "kernels/common/cuda/halves.cuh"
#include "kernels/common/cuda/sm90/async_copy.cuh"
#include "kernels/common/cuda/sm90/mma.cuh"
#include "kernels/common/cuda/sm90/shared_memory.cuh"
#include "kernels/epic/fft/cuda/matrix/matrix.cuh"

namespace apsyn::epic_fft {

/// sum (or, of the first, nothing) + a b, of high and low parts all but low times low.
template <int kParts>
__device__ __forceinline__ void add_product(float (&sum)[4], bool first, const std::uint32_t (&a)[kParts][4],
                                            uint2 high, uint2 low) {
  if (first)
    ptx::mma_f16_alone(sum, a[0], high.x, high.y);
  else
    ptx::mma_f16(sum, a[0], high.x, high.y);
  if constexpr (kParts == 2) {
    ptx::mma_f16(sum, a[1], high.x, high.y);
    ptx::mma_f16(sum, a[0], low.x, low.y);
  }
}

template <int kStepsY, int kStepsX, int kRows, int kN, int kParts, int kBuffers>
struct GridImager {
  static constexpr MatrixSize kSize{kStepsY, kStepsX, kRows, kN, kParts};
  static constexpr int kGridWords = grid_words(kSize), kColumnWords = column_words(kSize);
  static constexpr int kWarpColumns = warp_columns(kSize);
  static constexpr int kTableWords = column_table_words(kSize) / warp_columns(kSize);
  static constexpr bool kTableShared = column_table_shared(kSize);
  static constexpr int kPlaneWords = 128 * kStepsX * kStepsY;

  const ImageGridsTask& task;
  char* shared;
  int warp, lane;

  __device__ __forceinline__ std::uint32_t* grid(int t) const {
    return reinterpret_cast<std::uint32_t*>(shared) + t % kBuffers * kGridWords;
  }
  __device__ __forceinline__ uint4* row_table() const {
    return reinterpret_cast<uint4*>(grid(0) + kBuffers * kGridWords);
  }
  __device__ __forceinline__ uint4* columns(int t) const {
    return row_table() + row_table_words(kSize) / 4 + t % kBuffers * (kColumnWords / 4);
  }
  /// [part][m > 0, m < 0][16 rows m][pol][x even, odd][16 columns x][re, im] left operands
  __device__ __forceinline__ static int column_operand(int part, int sign, int row, int pol, int odd,
                                                       int step, int component) {
    return ((((((part * 2 + sign) * kRows + row) * 2 + pol) * 2 + odd) * kStepsX + step) * 2 + component) *
           32;
  }

  __device__ __forceinline__ void load_row_table(const uint4* from) const {
#pragma unroll 1
    for (int i = threadIdx.x; i < row_table_words(kSize) / 4; i += kMatrixThreads) row_table()[i] = from[i];
  }
  __device__ __forceinline__ void load_grid(const std::uint32_t* from, int t) const {
#pragma unroll 2
    for (int i = threadIdx.x; i < kGridWords / 4; i += kMatrixThreads)
      ptx::copy_16(ptx::shared_address(grid(t) + 4 * i), from + 4 * i);
  }

  __device__ __forceinline__ static void to_array(uint4 from, std::uint32_t (&to)[4]) {
    to[0] = from.x, to[1] = from.y, to[2] = from.z, to[3] = from.w;
  }

  /// Columns of cells of spectrum t -> F. A warp takes 16 columns x at a time, and all rows m where that
  /// deals as well.
  __device__ __forceinline__ void transform_columns(int t) const {
    constexpr int kTogether = kStepsX % 2 == 0 ? kRows : 1, kApart = kRows / kTogether;
#pragma unroll 1
    for (int item = warp; item < 4 * kApart * kStepsX; item += kMatrixWarps) {
      const int first_row = item % kApart, column = item / kApart;
      const int pol = column % 2, odd = column / 2 % 2, step_x = column / 4;
      float sums[kTogether][2][2][2][4];  // y even, odd; re, im; 8 columns x each
#pragma unroll
      for (int odd_y = 0; odd_y < 2; ++odd_y)
#pragma unroll
        for (int step = 0; step < kStepsY; ++step) {
          std::uint32_t a[kTogether][kParts][4];
#pragma unroll
          for (int row = 0; row < kTogether; ++row)
#pragma unroll
            for (int part = 0; part < kParts; ++part)
              to_array(
                  row_table()[(((part * 2 + odd_y) * kRows + first_row + row) * kStepsY + step) * 32 + lane],
                  a[row][part]);
#pragma unroll
          for (int component = 0; component < 2; ++component)
#pragma unroll
            for (int half = 0; half < 2; ++half) {
              uint2 b[kParts];
#pragma unroll
              for (int part = 0; part < kParts; ++part) {
                const std::uint32_t* from =
                    grid(t) + ((((part * 2 + odd_y) * 2 + odd) * 2 + pol) * 2 + component) * kPlaneWords +
                    ((2 * step_x + half) * 2 * kStepsY + 2 * step) * 32 + lane;
                b[part] = make_uint2(from[0], from[32]);
              }
#pragma unroll
              for (int row = 0; row < kTogether; ++row)
                add_product<kParts>(sums[row][odd_y][component][half], step == 0, a[row], b[0],
                                    b[kParts - 1]);
            }
        }
#pragma unroll
      for (int row = 0; row < kTogether; ++row)
        store_columns(t, sums[row], [&](int part, int sign, int component) {
          return column_operand(part, sign, first_row + row, pol, odd, step_x, component);
        });
    }
  }

  /// sums [y even, odd][re, im][8 columns x each] -> F of m > 0, even - i odd, and of m < 0, even + i odd.
  template <class Place>
  __device__ __forceinline__ void store_columns(int t, const float (&sums)[2][2][2][4],
                                                const Place& place) const {
#pragma unroll
    for (int sign = 0; sign < 2; ++sign)
#pragma unroll
      for (int component = 0; component < 2; ++component) {
        std::uint32_t out[kParts][4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float value[2];
#pragma unroll
          for (int j = 0; j < 2; ++j) {
            const int at = i % 2 * 2 + j;
            const float even = sums[0][component][i / 2][at], of_odd = sums[1][1 - component][i / 2][at];
            value[j] = (component == 0) == (sign == 0) ? even + of_odd : even - of_odd;
          }
          const Halves<kParts> rounded(value[0], value[1]);
#pragma unroll
          for (int part = 0; part < kParts; ++part) out[part][i] = rounded.part[part];
        }
#pragma unroll
        for (int part = 0; part < kParts; ++part)
          columns(t)[place(part, sign, component) + lane] =
              make_uint4(out[part][0], out[part][1], out[part][2], out[part][3]);
      }
  }

  /// Right operands of a warp: kept in its registers, or in shared memory where they are too many.
  struct ColumnTable {
    uint2 kept[kTableShared ? 1 : kTableWords / 64];
  };
  /// The table that all warps share.
  __device__ __forceinline__ uint2* shared_table() const {
    return reinterpret_cast<uint2*>(columns(0) + kBuffers * (kColumnWords / 4));
  }
  /// The lane's first one of its warp.
  __device__ __forceinline__ int first_operand() const {
    return warp % kWarpColumns * (kTableWords / 2) + lane;
  }
  __device__ __forceinline__ ColumnTable load_column_table(const uint2* from) const {
    ColumnTable table{};
    if constexpr (kTableShared) {
#pragma unroll 1
      for (int i = threadIdx.x; i < column_table_words(kSize) / 2; i += kMatrixThreads)
        shared_table()[i] = from[i];
    } else {
#pragma unroll
      for (int i = 0; i < kTableWords / 64; ++i) table.kept[i] = from[first_operand() + i * 32];
    }
    return table;
  }
  __device__ __forceinline__ uint2 operand(const ColumnTable& table, int part, int odd, int step,
                                           int n) const {
    const int which = ((part * 2 + odd) * kStepsX + step) * kN + n;
    if constexpr (kTableShared)
      return shared_table()[first_operand() + which * 32];
    else
      return table.kept[which];
  }

  __device__ __forceinline__ static void add_products(float* to, float2 x, float2 y) {
    to[0] = fmaf(x.x, x.x, fmaf(x.y, x.y, to[0]));
    to[1] = fmaf(y.x, y.x, fmaf(y.y, y.y, to[1]));
    to[2] = fmaf(x.x, y.x, fmaf(x.y, y.y, to[2]));
    to[3] = fmaf(x.y, y.x, fmaf(-x.x, y.y, to[3]));
  }

  /// Rows of F of spectrum t -> products of E.
  __device__ __forceinline__ void multiply(int t, const ColumnTable& table, float* sums) const {
    const int row = warp / kWarpColumns;
#pragma unroll
    for (int sign = 0; sign < 2; ++sign) {
      float field[2][2][2][kN][4];  // pol; x even, odd; re, im
#pragma unroll
      for (int odd = 0; odd < 2; ++odd)
#pragma unroll
        for (int step = 0; step < kStepsX; ++step) {
          uint2 b[kParts][kN];
#pragma unroll
          for (int part = 0; part < kParts; ++part)
#pragma unroll
            for (int n = 0; n < kN; ++n) b[part][n] = operand(table, part, odd, step, n);
#pragma unroll
          for (int pol = 0; pol < 2; ++pol)
#pragma unroll
            for (int component = 0; component < 2; ++component) {
              std::uint32_t a[kParts][4];
#pragma unroll
              for (int part = 0; part < kParts; ++part)
                to_array(columns(t)[column_operand(part, sign, row, pol, odd, step, component) + lane],
                         a[part]);
#pragma unroll
              for (int n = 0; n < kN; ++n)
                add_product<kParts>(field[pol][odd][component][n], step == 0, a, b[0][n], b[kParts - 1][n]);
            }
        }
#pragma unroll
      for (int n = 0; n < kN; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float2 e[2][2];  // l > 0, l < 0; pol
#pragma unroll
          for (int pol = 0; pol < 2; ++pol) {
            const float2 even{field[pol][0][0][n][i], field[pol][0][1][n][i]};
            const float2 odd{field[pol][1][0][n][i], field[pol][1][1][n][i]};
            e[0][pol] = make_float2(even.x + odd.y, even.y - odd.x);
            e[1][pol] = make_float2(even.x - odd.y, even.y + odd.x);
          }
#pragma unroll
          for (int side = 0; side < 2; ++side)
            add_products(sums + (((sign * 2 + side) * kN + n) * 4 + i) * 4, e[side][0], e[side][1]);
        }
    }
  }
};

}  // namespace apsyn::epic_fft
