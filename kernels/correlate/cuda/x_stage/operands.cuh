// SPDX-License-Identifier: GPL-3.0-or-later
// A stage of the 128x128 kernel for Hopper, and how its operands A and B come out of it. For sm_90a only.
//
// Stage of 8-bit samples:  A 16 KB | B 16 KB, rows as they stand in memory.
// Stage of 4-bit samples:  planes of B 16 KB | A 8 KB | B 8 KB. A byte (re << 4 | im) gives 16 re and 16 im,
// as int8, by one shift and two masks; of A in registers, of B by the column-sum warps, which write rows
// [16 re | 16 im] as 8-bit samples have them. All products are 256 times the samples', exactly.
//
// One's complements, -x = ~x + 1, serve as negatives even for the lowest value; of 16 x the complement that
// keeps the low bits 0 is 16 ~x = -16 x - 16. The 1 is corrected by the sum over t of B's imaginary parts.
#pragma once

#include "kernels/common/cuda/sm90/mma.cuh"
#include "kernels/correlate/cuda/x_stage/wgmma.cuh"

namespace apsyn::x_stage {

constexpr int kTileInputs = 128, kPlaneBytes = kTileInputs * kRowBytes;

template <Bits kBits>
struct Stage;

template <>
struct Stage<Bits::eight> {
  static constexpr int kOperandBytes = kPlaneBytes;
  static constexpr int kA = 0, kB = kOperandBytes, kPlanes = kB, kBytes = 2 * kOperandBytes;
  static constexpr int kColumnSumScale = 1;
  static constexpr int kColumnThreads = 64, kStages = 6, kHelperRegisters = 40, kConsumerRegisters = 232;
};
template <>
struct Stage<Bits::four> {
  static constexpr int kOperandBytes = kPlaneBytes / 2;
  static constexpr int kPlanes = 0, kA = kPlaneBytes, kB = kA + kOperandBytes, kBytes = 2 * kPlaneBytes;
  static constexpr int kColumnSumScale = 16;  // the sum is of 16 im
  static constexpr int kColumnThreads = 96, kStages = 7, kHelperRegisters = 56, kConsumerRegisters = 224;
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

/// A lane's view of 64 rows of A as wgmma fragments of 32 spectra.
template <Bits kBits>
struct RowFragments;

template <>
struct RowFragments<Bits::eight> {
  std::uint32_t offset;
  int swizzle, high;
  __device__ RowFragments(int first_row, int lane) {
    const int row = first_row + (lane & 15);
    offset = row * kRowBytes;
    swizzle = row & 7;
    high = lane >> 4;
  }
  __device__ void load(std::uint32_t (&re)[4], std::uint32_t (&im)[4], std::uint32_t (&not_re)[4],
                       std::uint32_t a, int half) const {
    ptx::load_matrices(re, a + offset + (((2 * half + high) ^ swizzle) << 4));
    ptx::load_matrices(im, a + offset + (((4 + 2 * half + high) ^ swizzle) << 4));
#pragma unroll
    for (int i = 0; i < 4; ++i) not_re[i] = ~re[i];
  }
};

template <>
struct RowFragments<Bits::four> {
  std::uint32_t offset;
  int swizzle, high;
  __device__ RowFragments(int first_row, int lane) {
    const int row = first_row + (lane & 15);
    offset = row * (kRowBytes / 2);
    swizzle = row >> 1 & 3;
    high = lane >> 4;
  }
  __device__ void load(std::uint32_t (&re)[4], std::uint32_t (&im)[4], std::uint32_t (&not_re)[4],
                       std::uint32_t a, int half) const {
    std::uint32_t packed[4];
    ptx::load_matrices(packed, a + offset + (((2 * half + high) ^ swizzle) << 4));
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      re[i] = packed[i] & 0xF0F0F0F0u;
      im[i] = packed[i] << 4 & 0xF0F0F0F0u;
      not_re[i] = ~packed[i] & 0xF0F0F0F0u;
    }
  }
};

/// Adds the imaginary parts of a column of B to `sum`.
__device__ __forceinline__ int add_column(const std::uint8_t* stage, int column, int sum) {
  const std::uint8_t* row = stage + Stage<Bits::eight>::kB + column * kRowBytes;
#pragma unroll
  for (int chunk = 4; chunk < 8; ++chunk)
    sum = add_bytes(*reinterpret_cast<const int4*>(row + ((chunk ^ (column & 7)) << 4)), sum);
  return sum;
}

/// Barriers of the ring's stages (copied, B's planes written, free again) and of the column sums' two turns.
struct Barriers {
  std::uint32_t full, ready, empty, sum_full, sum_empty;
};

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

}  // namespace apsyn::x_stage
