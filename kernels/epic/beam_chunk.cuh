// SPDX-License-Identifier: GPL-3.0-or-later
// Operands of beam_sums.cuh, 16 antennas at a time.
#pragma once

#include <cstdint>

#include "kernels/common/beam_sums.cuh"

namespace apsyn::epic_cuda {

constexpr int kChunk = 16;  // antennas of 16 bytes
constexpr int kBlockChunks = beam_sums::kBlockAntennas / kChunk;

struct alignas(16) Chunk {
  std::int8_t value[kChunk];
};

/// The place of a part (half 0 or 1) of a chunk's antennas in a row.
__device__ __forceinline__ Chunk* chunk_of(std::int8_t* rows, int row, int half, int chunk) {
  return reinterpret_cast<Chunk*>(rows + row * beam_sums::kRowBytes +
                                  beam_sums::row_offset(row, half, chunk % kBlockChunks * kChunk));
}
__device__ __forceinline__ const Chunk* chunk_of(const std::int8_t* rows, int row, int half, int chunk) {
  return chunk_of(const_cast<std::int8_t*>(rows), row, half, chunk);
}

/// value = 2^shift high + low, low of either sign and at most half a unit of high.
struct Limbs {
  std::int8_t high, low;
  __device__ Limbs(int value, int shift) {
    const int top = (value + (1 << shift >> 1)) >> shift;
    high = static_cast<std::int8_t>(top);
    low = static_cast<std::int8_t>(value - (top << shift));
  }
};

}  // namespace apsyn::epic_cuda
