// SPDX-License-Identifier: GPL-3.0-or-later
// The X stage for Hopper and up to 64 inputs: one 64x64 tile, a channel per block of threads. Both operands
// are the same rows in shared memory, and three products serve:
//   Re = ar.br + ai.bi,   P = ai.br,   Im = P - P^T.
// Memory bounds it: a channel's samples are read once. Four more warps turn 4-bit samples into rows [16 re |
// 16 im] of int8, so that their sums are 256 times the samples'.
#include <algorithm>

#include "kernels/common/cuda/check.h"
#include "kernels/correlate/cuda/x_stage/wgmma.cuh"

namespace apsyn::x_stage {
namespace {

constexpr int kTile = 64, kPlaneBytes = kTile * kRowBytes;
constexpr int kSumStride = kTile + 1;  // spreads columns over the banks

// Two consumer warpgroups share a channel's blocks of 64 spectra; one more warp copies. The unpackers of
// 4-bit samples are two pairs of warps, which take turns at blocks.
constexpr int kConsumers = 2, kConsumerThreads = 128 * kConsumers, kUnpackers = 2;

template <Bits kBits>
struct Shape {
  static constexpr int kPackedBytes = kBits == Bits::four ? kPlaneBytes / 2 : 0;
  static constexpr int kStageBytes = kPlaneBytes + kPackedBytes;  // rows of int8, then what they come from
  static constexpr int kCopied = kBits == Bits::four ? kPackedBytes : kPlaneBytes;
  static constexpr int kCopiedAt = kBits == Bits::four ? kPlaneBytes : 0;
  static constexpr int kStages = kBits == Bits::four ? 15 : 12;
  static constexpr int kThreads = kConsumerThreads + 32 + (kBits == Bits::four ? 64 * kUnpackers : 0);
  static constexpr int kSharedBytes =
      kStages * kStageBytes + 2 * kTile * kSumStride * int(sizeof(int)) + 1024;
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
using namespace ptx;

__device__ __forceinline__ void consumers_meet() {
  asm volatile("bar.sync 1, %0;" ::"n"(kConsumerThreads) : "memory");
}

/// The products of one block of 64 spectra.
__device__ __forceinline__ void cross(int (&re)[32], int (&p)[32], std::uint32_t tile) {
  const std::uint64_t rows = swizzled_descriptor(tile);
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

template <Bits kBits>
__global__ void __launch_bounds__(Shape<kBits>::kThreads, 1) cross_64(Task task) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using S = Shape<kBits>;
  constexpr int kStages = S::kStages;
  extern __shared__ std::uint8_t dynamic_shared[];
  std::uint8_t* stages = aligned_tiles(dynamic_shared);
  auto* re_sums = reinterpret_cast<int*>(stages + kStages * S::kStageBytes);  // [row][column]
  int* p_sums = re_sums + kTile * kSumStride;
  __shared__ alignas(8) std::uint64_t full_barriers[kStages], ready_barriers[kStages],
      empty_barriers[kStages];
  const int warp = uniform(threadIdx.x >> 5), lane = threadIdx.x & 31;
  const std::uint32_t ring_base = shared_address(stages);
  const std::uint32_t full = shared_address(full_barriers), ready = shared_address(ready_barriers),
                      empty = shared_address(empty_barriers);
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      barrier_init(full + 8 * s, 1);
      barrier_init(ready + 8 * s, kTile);
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
      for (int b = 0; b < task.n_blocks; ++b, block += S::kCopied, ring.advance()) {
        barrier_wait(empty + 8 * ring.stage, ring.phase ^ 1);
        barrier_expect(full + 8 * ring.stage, S::kCopied);
        bulk_copy(ring_base + ring.stage * S::kStageBytes + S::kCopiedAt, block, S::kCopied,
                  full + 8 * ring.stage);
      }
    }
    return;
  }
  if constexpr (kBits == Bits::four) {
    if (warp > 4 * kConsumers) {
      const int unpacker = (warp - 4 * kConsumers - 1) >> 1, row = (threadIdx.x - 32) % kTile;
      std::uint32_t first_block = 0;
      for (int chan = blockIdx.x; chan < task.n_chan; chan += gridDim.x, first_block += task.n_blocks)
        for (int b = unpacker; b < task.n_blocks; b += kUnpackers) {
          const std::uint32_t stage = (first_block + b) % kStages;
          const std::uint32_t rows = ring_base + stage * S::kStageBytes;
          barrier_wait(full + 8 * stage, ((first_block + b) / kStages) & 1);
          unpack_row(rows + S::kCopiedAt + row * (kRowBytes / 2), rows + row * kRowBytes, row, 0);
          async_proxy_fence();
          barrier_arrive(ready + 8 * stage);
        }
      return;
    }
  }
  const int consumer = warp >> 2;
  std::uint32_t first_block = 0;  // counted over all channels that this block of threads takes
  for (int chan = blockIdx.x; chan < task.n_chan; chan += gridDim.x, first_block += task.n_blocks) {
    Accumulators<kTile> sums;  // im holds P
    sums.clear();
    int previous = -1;
    for (int b = consumer; b < task.n_blocks; b += kConsumers) {
      const std::uint32_t stage = (first_block + b) % kStages;
      barrier_wait((kBits == Bits::four ? ready : full) + 8 * stage, ((first_block + b) / kStages) & 1);
      cross(sums.re, sums.im, ring_base + stage * S::kStageBytes);
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

template <Bits kBits>
void launch(const Task& task, int n_sm, cudaStream_t stream) {
  using S = Shape<kBits>;
  cuda_check(
      cudaFuncSetAttribute(cross_64<kBits>, cudaFuncAttributeMaxDynamicSharedMemorySize, S::kSharedBytes),
      "asking for shared memory");
  cross_64<kBits><<<std::min(n_sm, task.n_chan), S::kThreads, S::kSharedBytes, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching the X stage (wgmma, 64x64)");
}

}  // namespace

void launch_wgmma_64(const Task& task, Bits bits, int n_sm, cudaStream_t stream) {
  if (bits == Bits::four)
    launch<Bits::four>(task, n_sm, stream);
  else
    launch<Bits::eight>(task, n_sm, stream);
}

}  // namespace apsyn::x_stage
