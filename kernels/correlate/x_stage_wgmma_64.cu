// SPDX-License-Identifier: GPL-3.0-or-later
// The X stage for Hopper and up to 64 inputs: one 64x64 tile, a channel per block of threads. Both operands
// are the same rows in shared memory, and three products serve:
//   Re = ar.br + ai.bi,   P = ai.br,   Im = P - P^T.
// Memory bounds it: a channel's samples are read once.
#include <algorithm>

#include "kernels/common/cuda_check.h"
#include "kernels/correlate/x_stage_wgmma.cuh"

namespace apsyn::x_stage {
namespace {

constexpr int kTile = 64, kBlockBytes = kTile * kRowBytes;
constexpr int kSumStride = kTile + 1;  // spreads columns over the banks

// Two consumer warpgroups share a channel's blocks of 64 spectra; one more warp copies.
constexpr int kConsumers = 2, kConsumerThreads = 128 * kConsumers, kThreads = kConsumerThreads + 32;
constexpr int kStages = 12;
constexpr int kSharedBytes = kStages * kBlockBytes + 2 * kTile * kSumStride * int(sizeof(int)) + 1024;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
using namespace ptx;

__device__ __forceinline__ void consumers_meet() {
  asm volatile("bar.sync 1, %0;" ::"n"(kConsumerThreads) : "memory");
}

/// The products of one block of 64 spectra.
__device__ __forceinline__ void cross(int (&re)[32], int (&p)[32], std::uint32_t tile) {
  const std::uint64_t rows = wgmma_descriptor(tile);
  wgmma_fence();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const std::uint64_t real = rows + 2 * half, imaginary = rows + 4 + 2 * half;
    wgmma_s8(re, real, real);
    wgmma_s8(p, imaginary, real);
    wgmma_s8(re, imaginary, imaginary);
  }
  wgmma_commit();
}
#endif

__global__ void __launch_bounds__(kThreads, 1) cross_64(Task task) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ std::uint8_t dynamic_shared[];
  std::uint8_t* tiles = aligned_tiles(dynamic_shared);
  auto* re_sums = reinterpret_cast<int*>(tiles + kStages * kBlockBytes);  // [row][column]
  int* p_sums = re_sums + kTile * kSumStride;
  __shared__ alignas(8) std::uint64_t full_barriers[kStages], empty_barriers[kStages];
  const int warp = uniform(threadIdx.x >> 5), lane = threadIdx.x & 31;
  const std::uint32_t ring_base = shared_address(tiles);
  const std::uint32_t full = shared_address(full_barriers), empty = shared_address(empty_barriers);
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      barrier_init(full + 8 * s, 1);
      barrier_init(empty + 8 * s, 128);
    }
    barrier_fence_init();
  }
  __syncthreads();

  if (warp == 4 * kConsumers) {
    if (lane != 0) return;
    Ring<kStages> ring;
    for (int chan = blockIdx.x; chan < task.n_chan; chan += gridDim.x) {
      const std::int8_t* block = task.samples + task.chan_stride * chan;
      for (int b = 0; b < task.n_blocks; ++b, block += kBlockBytes, ring.advance()) {
        barrier_wait(empty + 8 * ring.stage, ring.phase ^ 1);
        barrier_expect(full + 8 * ring.stage, kBlockBytes);
        bulk_copy(ring_base + ring.stage * kBlockBytes, block, kBlockBytes, full + 8 * ring.stage);
      }
    }
    return;
  }
  const int consumer = warp >> 2;
  std::uint32_t first_block = 0;  // counted over all channels that this block of threads takes
  for (int chan = blockIdx.x; chan < task.n_chan; chan += gridDim.x, first_block += task.n_blocks) {
    Accumulators<kTile> sums;  // im holds P
    sums.clear();
    int previous = -1;
    for (int b = consumer; b < task.n_blocks; b += kConsumers) {
      const std::uint32_t stage = (first_block + b) % kStages;
      barrier_wait(full + 8 * stage, ((first_block + b) / kStages) & 1);
      cross(sums.re, sums.im, ring_base + stage * kBlockBytes);
      wgmma_wait<1>();
      if (previous >= 0) barrier_arrive(empty + 8 * previous);
      previous = static_cast<int>(stage);
    }
    wgmma_wait<0>();
    if (previous >= 0) barrier_arrive(empty + 8 * previous);

    const int first_row = (warp & 3) * 16 + (lane >> 2);
#pragma unroll
    for (int turn = 0; turn < kConsumers; ++turn) {  // the consumers' sums meet one after the other
      if (consumer == turn)
        sums.for_each(first_row, lane, [&](int row, int column, int i) {
          for (int k = 0; k < 2; ++k) {
            const int cell = row * kSumStride + column + k;
            re_sums[cell] = sums.re[i + k] + (turn > 0 ? re_sums[cell] : 0);
            p_sums[cell] = sums.im[i + k] + (turn > 0 ? p_sums[cell] : 0);
          }
        });
      consumers_meet();
    }
    int2* out = task.sums + std::size_t(chan) * kTile * kTile;
    for (int cell = threadIdx.x; cell < kTile * kTile; cell += kConsumerThreads) {
      const int row = cell / kTile, column = cell % kTile, here = row * kSumStride + column;
      int2 value = make_int2(re_sums[here], p_sums[here] - p_sums[column * kSumStride + row]);
      if (task.accumulate) {
        value.x += out[cell].x;
        value.y += out[cell].y;
      }
      out[cell] = value;
    }
    consumers_meet();
  }
#endif
}

}  // namespace

void launch_wgmma_64(const Task& task, int n_sm, cudaStream_t stream) {
  cuda_check(cudaFuncSetAttribute(cross_64, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes),
             "asking for shared memory");
  cross_64<<<std::min(n_sm, task.n_chan), kThreads, kSharedBytes, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching the X stage (wgmma, 64x64)");
}

}  // namespace apsyn::x_stage
