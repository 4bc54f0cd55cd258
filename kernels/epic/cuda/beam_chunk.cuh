// SPDX-License-Identifier: GPL-3.0-or-later
// Operands of kernels/common/cuda/beams/products.cuh, 16 antennas at a time.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/beams/products.cuh"

namespace apsyn::epic_cuda {

constexpr int kChunk = 16;  // antennas of 16 bytes
constexpr int kBlockChunks = beam_products::kBlockAntennas / kChunk;

struct alignas(16) Chunk {
  std::int8_t value[kChunk];
};

/// The place of a part (half 0 or 1) of a chunk's antennas in a row.
__device__ __forceinline__ Chunk* chunk_of(std::int8_t* rows, int row, int half, int chunk) {
  return reinterpret_cast<Chunk*>(rows + row * beam_products::kRowBytes +
                                  beam_products::row_offset(row, half, chunk % kBlockChunks * kChunk));
}
__device__ __forceinline__ const Chunk* chunk_of(const std::int8_t* rows, int row, int half, int chunk) {
  return chunk_of(const_cast<std::int8_t*>(rows), row, half, chunk);
}

}  // namespace apsyn::epic_cuda
