// SPDX-License-Identifier: GPL-3.0-or-later
// The transform of a strip's columns in shared memory, for kernels.
#pragma once

#include "kernels/epic/corr/cuda/strips/known_passes.cuh"
#include "kernels/epic/corr/cuda/strips/strips.cuh"

namespace apsyn::epic_cuda {

struct ColumnTransform {
  const CellShape& shape;
  const StripShape& passes;
  const float2* turns;
  const std::uint16_t* row_of_place;
  float2* cells;
  float2* to;  // of the strip's first column in the first row

  /// All passes, of all threads of a block; first(cell) is what the transform takes of a cell of the grid.
  template <class First>
  __device__ __forceinline__ void run(Passes<>, const First& first) const {
    for (int i = 0; i < passes.n_pass_y; ++i) {
      with_pass_radix(passes.pass_y[i].radix, [&]<int kRadix>() {
        this->template one<kRadix, 0>(i, i + 1 == passes.n_pass_y, first);
      });
      __syncthreads();
    }
  }
  template <class First, int... kRadices>
  __device__ __forceinline__ void run(Passes<kRadices...>, const First& first) const {
    known<0, Passes<kRadices...>::kLength, First, kRadices...>(first);
  }

 private:
  template <int kPass, int kPart, class First, int kRadix, int... kRest>
  __device__ __forceinline__ void known(const First& first) const {
    one<kRadix, kPart>(kPass, sizeof...(kRest) == 0, first);
    __syncthreads();
    if constexpr (sizeof...(kRest) > 0) known<kPass + 1, kPart / kRadix, First, kRest...>(first);
  }

  template <int kRadix, int kPart, class First>
  __device__ __forceinline__ void one(int i, bool last, const First& first) const {
    const PassAt<kRadix, kPart> pass{passes.pass_y[i]};
    const int pitch = shape.n_strip() * kStripColumns;
    for (int item = threadIdx.x; item < shape.n_y / kRadix * kStripColumns; item += blockDim.x) {
      const int column = item % kStripColumns;
      int k = item / kStripColumns;
      const int part = pass.part_of(k), row = part * pass.part() + k;
      float2* at = cells + row * kStripColumns + column;
      float2 x[kRadix];
#pragma unroll
      for (int q = 0; q < kRadix; ++q) {
        x[q] = at[q * pass.span() * kStripColumns];
        if (i == 0) x[q] = first(x[q]);
      }
      radix::Transform<kRadix>::run(x);
      if (last) {
#pragma unroll
        for (int q = 0; q < kRadix; ++q) {
          const int wanted = __ldg(row_of_place + row + q);  // span 1
          if (wanted != kNotWanted) to[std::size_t(wanted) * pitch + column] = x[q];
        }
        continue;
      }
      pass.turn(turns, k, x);
#pragma unroll
      for (int q = 0; q < kRadix; ++q) at[q * pass.span() * kStripColumns] = x[q];
    }
  }
};

}  // namespace apsyn::epic_cuda
