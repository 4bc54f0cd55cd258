// SPDX-License-Identifier: GPL-3.0-or-later
// The X stage for Hopper. A is read from shared memory into registers, where its one's complement costs one
// instruction per four samples; B stays in shared memory. Half h of a block of 64 samples is one group of
// four wgmma:
//   Re += ar.br, Im += ai.br, Re += ai.bi, Im += (~ar).bi
#include <algorithm>

#include "kernels/common/cuda_check.h"
#include "kernels/correlate/x_stage_kernels.cuh"
#include "kernels/correlate/x_stage_ptx.cuh"

namespace apsyn::x_stage {
namespace {

// 128x128 tiles: one producer and two consumer warpgroups of 64 rows each, one block per SM.
constexpr int kTile = 128, kStages = 6, kThreads = 384;
constexpr int kOperandBytes = kTile * kRowBytes, kStageBytes = 2 * kOperandBytes;
constexpr int kSharedBytes = kStages * kStageBytes + 1024;

// One 64x64 tile: one producer and three consumer warpgroups that share the time blocks, one channel per
// block.
constexpr int kSmallTile = 64, kSmallConsumers = 3, kSmallStages = 22,
              kSmallThreads = 128 * (kSmallConsumers + 1);
constexpr int kSmallStageBytes = kSmallTile * kRowBytes;
constexpr int kSmallSharedBytes = kSmallStages * kSmallStageBytes + kSmallTile * kSmallTile * 8 + 1024;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
using namespace ptx;

// wgmma wants to know that a warp's number is the same in all its lanes.
__device__ __forceinline__ int uniform(int value) {
  return __shfl_sync(~0u, value, 0);
}

/// Stages of the ring that bulk copies fill.
template <int kCount>
struct Ring {
  int stage = 0;
  std::uint32_t phase = 0;
  __device__ void advance() {
    if (++stage == kCount) {
      stage = 0;
      phase ^= 1;
    }
  }
};

/// sum_t im of the column `row` of a tile of rows.
__device__ __forceinline__ int add_imaginary(const std::uint8_t* rows, int row, int sum) {
#pragma unroll
  for (int chunk = 4; chunk < 8; ++chunk)
    sum = add_bytes(*reinterpret_cast<const int4*>(rows + row * kRowBytes + ((chunk ^ (row & 7)) << 4)), sum);
  return sum;
}

/// A lane's view of 64 rows of A as wgmma fragments.
struct RowFragments {
  std::uint32_t offset;
  int swizzle, high;
  __device__ RowFragments(int first_row, int lane) {
    const int row = first_row + (lane & 15);
    offset = row * kRowBytes;
    swizzle = row & 7;
    high = lane >> 4;
  }
  __device__ void load(std::uint32_t (&fragment)[4], std::uint32_t tile, int chunk) const {
    load_matrices(fragment, tile + offset + (((chunk + high) ^ swizzle) << 4));
  }
};

/// One half block: four wgmma in one group. The registers of A stay untouched until the group has retired,
/// which the wait for the group after it ensures.
template <int kHalf, int kSize>
__device__ __forceinline__ void cross(int (&re)[kSize], int (&im)[kSize], const RowFragments& rows,
                                      std::uint32_t a, std::uint64_t b) {
  std::uint32_t ar[4], ai[4], not_ar[4];
  rows.load(ar, a, 2 * kHalf);
  rows.load(ai, a, 4 + 2 * kHalf);
#pragma unroll
  for (int i = 0; i < 4; ++i) not_ar[i] = ~ar[i];
  wgmma_fence();
  wgmma_s8(re, ar, b + 2 * kHalf);
  wgmma_s8(im, ai, b + 2 * kHalf);
  wgmma_s8(re, ai, b + 4 + 2 * kHalf);
  wgmma_s8(im, not_ar, b + 4 + 2 * kHalf);
  wgmma_commit();
}

/// A lane's accumulators and the cells of a tile that they stand for: rows row and row + 8, columns in pairs.
template <int kColumns>
struct Accumulators {
  static constexpr int kSize = kColumns / 2;
  int re[kSize], im[kSize];

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < kSize; ++i) re[i] = im[i] = 0;
  }
  /// Calls visit(cell, i): the int4 at `cell` of the tile belongs to re[i], im[i], re[i + 1], im[i + 1].
  template <class Visit>
  __device__ static void for_each(int row, int lane, Visit visit) {
#pragma unroll
    for (int j = 0; j < kColumns / 8; ++j) {
      const int column = (lane & 3) * 2 + 8 * j;
      visit(row * kColumns + column, column, 4 * j);
      visit((row + 8) * kColumns + column, column, 4 * j + 2);
    }
  }
  /// All loads are in flight at once, straight into the accumulators: adding at the end instead costs a third
  /// of the speed at 1024 samples.
  __device__ void load(const int2* tile, int row, int lane) {
    for_each(row, lane, [&](int cell, int, int i) {
      const int4 v = *reinterpret_cast<const int4*>(tile + cell);
      re[i] = v.x, im[i] = v.y, re[i + 1] = v.z, im[i + 1] = v.w;
    });
  }
};
#endif

/// What becomes of the sums that are there already.
enum class Sums { overwrite, accumulate };

template <Sums kSums>
__global__ void __launch_bounds__(kThreads, 1) cross_128(Task task) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ std::uint8_t dynamic_shared[];
  auto* tiles = reinterpret_cast<std::uint8_t*>((reinterpret_cast<std::uintptr_t>(dynamic_shared) + 1023) &
                                                ~std::uintptr_t(1023));
  __shared__ alignas(8) std::uint64_t full_barriers[kStages], empty_barriers[kStages];
  __shared__ alignas(8) std::uint64_t sum_full_barriers[2], sum_empty_barriers[2];
  __shared__ int column_sums[2][kTile];  // alternate between tiles
  const int warpgroup = uniform(threadIdx.x >> 7), warp = uniform(threadIdx.x >> 5), lane = threadIdx.x & 31;
  const std::uint32_t ring_base = shared_address(tiles);
  const std::uint32_t full = shared_address(full_barriers), empty = shared_address(empty_barriers);
  const std::uint32_t sum_full = shared_address(sum_full_barriers),
                      sum_empty = shared_address(sum_empty_barriers);
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      barrier_init(full + 8 * s, 1);
      barrier_init(empty + 8 * s, 256 + 64);  // consumers and column-sum warps
    }
    for (int s = 0; s < 2; ++s) {
      barrier_init(sum_full + 8 * s, 64);
      barrier_init(sum_empty + 8 * s, 256);
    }
    barrier_fence_init();
  }
  __syncthreads();

  const int n_items = task.n_pairs * task.n_chan;
  Ring<kStages> ring;
  if (warpgroup == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (warp == 0) {
      if (lane != 0) return;
      const std::size_t block_stride = std::size_t(task.n_input_padded) * kRowBytes;
      for (int item = blockIdx.x; item < n_items; item += gridDim.x) {
        const TilePair pair = task.pairs[item % task.n_pairs];
        const std::int8_t* block = task.samples + block_stride * task.n_blocks * (item / task.n_pairs);
        const bool diagonal = pair.row == pair.column;  // then one operand serves as both
        for (int b = 0; b < task.n_blocks; ++b, block += block_stride, ring.advance()) {
          barrier_wait(empty + 8 * ring.stage, ring.phase ^ 1);
          const std::uint32_t target = ring_base + ring.stage * kStageBytes, barrier = full + 8 * ring.stage;
          barrier_expect(barrier, diagonal ? kOperandBytes : kStageBytes);
          bulk_copy(target + kOperandBytes, block + std::size_t(pair.column) * kOperandBytes, kOperandBytes,
                    barrier);
          if (!diagonal)
            bulk_copy(target, block + std::size_t(pair.row) * kOperandBytes, kOperandBytes, barrier);
        }
      }
    } else if (warp < 3) {
      const int column = threadIdx.x - 32;  // and column + 64
      std::uint32_t n = 0;
      for (int item = blockIdx.x; item < n_items; item += gridDim.x, ++n) {
        int sum_low = 0, sum_high = 0;
        for (int b = 0; b < task.n_blocks; ++b, ring.advance()) {
          barrier_wait(full + 8 * ring.stage, ring.phase);
          const std::uint8_t* rows = tiles + ring.stage * kStageBytes + kOperandBytes;
          sum_low = add_imaginary(rows, column, sum_low);
          sum_high = add_imaginary(rows, column + 64, sum_high);
          barrier_arrive(empty + 8 * ring.stage);
        }
        barrier_wait(sum_empty + 8 * (n & 1), ((n >> 1) & 1) ^ 1);
        column_sums[n & 1][column] = sum_low;
        column_sums[n & 1][column + 64] = sum_high;
        barrier_arrive(sum_full + 8 * (n & 1));
      }
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  const int first_row = (warpgroup - 1) * 64 + (warp & 3) * 16;
  const RowFragments rows(first_row, lane);
  std::uint32_t n = 0;
  for (int item = blockIdx.x; item < n_items; item += gridDim.x, ++n) {
    const TilePair pair = task.pairs[item % task.n_pairs];
    const std::uint32_t a_offset = pair.row == pair.column ? kOperandBytes : 0;
    int2* tile = task.sums + std::size_t(item) * kTile * kTile;
    const int row = first_row + (lane >> 2);
    Accumulators<kTile> sums;
    if constexpr (kSums == Sums::accumulate)
      sums.load(tile, row, lane);
    else
      sums.clear();
    int previous = -1;
    for (int b = 0; b < task.n_blocks; ++b, ring.advance()) {
      barrier_wait(full + 8 * ring.stage, ring.phase);
      const std::uint32_t stage = ring_base + ring.stage * kStageBytes;
      const std::uint64_t b_rows = wgmma_descriptor(stage + kOperandBytes);
      cross<0>(sums.re, sums.im, rows, stage + a_offset, b_rows);
      wgmma_wait<1>();
      if (previous >= 0) barrier_arrive(empty + 8 * previous);
      cross<1>(sums.re, sums.im, rows, stage + a_offset, b_rows);
      wgmma_wait<1>();
      previous = ring.stage;
    }
    wgmma_wait<0>();
    barrier_arrive(empty + 8 * previous);
    barrier_wait(sum_full + 8 * (n & 1), (n >> 1) & 1);
    const int* column_sum = column_sums[n & 1];
    sums.for_each(row, lane, [&](int cell, int column, int i) {
      *reinterpret_cast<int4*>(tile + cell) =
          make_int4(sums.re[i], sums.im[i] + column_sum[column], sums.re[i + 1],
                    sums.im[i + 1] + column_sum[column + 1]);
    });
    barrier_arrive(sum_empty + 8 * (n & 1));
  }
#endif
}

__global__ void __launch_bounds__(kSmallThreads, 1) cross_64(Task task) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ std::uint8_t dynamic_shared[];
  auto* tiles = reinterpret_cast<std::uint8_t*>((reinterpret_cast<std::uintptr_t>(dynamic_shared) + 1023) &
                                                ~std::uintptr_t(1023));
  auto* partial = reinterpret_cast<int2*>(tiles + kSmallStages * kSmallStageBytes);  // [row][column]
  __shared__ alignas(8) std::uint64_t full_barriers[kSmallStages], empty_barriers[kSmallStages];
  __shared__ int column_sums[kSmallTile];
  const int warpgroup = uniform(threadIdx.x >> 7), warp = uniform(threadIdx.x >> 5), lane = threadIdx.x & 31;
  const std::uint32_t ring_base = shared_address(tiles);
  const std::uint32_t full = shared_address(full_barriers), empty = shared_address(empty_barriers);
  if (threadIdx.x == 0) {
    for (int s = 0; s < kSmallStages; ++s) {
      barrier_init(full + 8 * s, 1);
      barrier_init(empty + 8 * s, 128 + 32);  // one consumer and the column-sum warp
    }
    barrier_fence_init();
  }
  __syncthreads();

  const std::size_t block_stride = std::size_t(task.n_input_padded) * kRowBytes;
  Ring<kSmallStages> ring;
  std::uint32_t first_block = 0;  // counted over all channels of this block
  for (int chan = blockIdx.x; chan < task.n_chan; chan += gridDim.x, first_block += task.n_blocks) {
    Accumulators<kSmallTile> sums;
    sums.clear();
    if (warpgroup == 0) {
      if (warp == 0 && lane == 0) {
        const std::int8_t* block = task.samples + block_stride * task.n_blocks * chan;
        for (int b = 0; b < task.n_blocks; ++b, block += block_stride, ring.advance()) {
          barrier_wait(empty + 8 * ring.stage, ring.phase ^ 1);
          barrier_expect(full + 8 * ring.stage, kSmallStageBytes);
          bulk_copy(ring_base + ring.stage * kSmallStageBytes, block, kSmallStageBytes,
                    full + 8 * ring.stage);
        }
      } else if (warp == 1) {
        int sum_low = 0, sum_high = 0;
        for (int b = 0; b < task.n_blocks; ++b, ring.advance()) {
          barrier_wait(full + 8 * ring.stage, ring.phase);
          const std::uint8_t* rows = tiles + ring.stage * kSmallStageBytes;
          sum_low = add_imaginary(rows, lane, sum_low);
          sum_high = add_imaginary(rows, lane + 32, sum_high);
          barrier_arrive(empty + 8 * ring.stage);
        }
        column_sums[lane] = sum_low;
        column_sums[lane + 32] = sum_high;
      }
    } else {
      const RowFragments rows((warp & 3) * 16, lane);
      int previous = -1;
      for (int b = warpgroup - 1; b < task.n_blocks; b += kSmallConsumers) {
        const std::uint32_t turn = first_block + b, stage = turn % kSmallStages;
        barrier_wait(full + 8 * stage, (turn / kSmallStages) & 1);
        const std::uint32_t tile = ring_base + stage * kSmallStageBytes;
        const std::uint64_t b_rows = wgmma_descriptor(tile);
        cross<0>(sums.re, sums.im, rows, tile, b_rows);
        wgmma_wait<1>();
        if (previous >= 0) barrier_arrive(empty + 8 * previous);
        cross<1>(sums.re, sums.im, rows, tile, b_rows);
        wgmma_wait<1>();
        previous = static_cast<int>(stage);
      }
      wgmma_wait<0>();
      if (previous >= 0) barrier_arrive(empty + 8 * previous);
    }
    // The consumers' sums meet in shared memory, one after the other.
    const int row = (warp & 3) * 16 + (lane >> 2);
    for (int consumer = 0; consumer < kSmallConsumers; ++consumer) {
      if (warpgroup == consumer + 1) {
        sums.for_each(row, lane, [&](int cell, int, int i) {
          auto* target = reinterpret_cast<int4*>(partial + cell);
          int4 value = make_int4(sums.re[i], sums.im[i], sums.re[i + 1], sums.im[i + 1]);
          if (consumer > 0) {
            const int4 before = *target;
            value.x += before.x, value.y += before.y, value.z += before.z, value.w += before.w;
          }
          *target = value;
        });
      }
      __syncthreads();
    }
    int2* out = task.sums + std::size_t(chan) * kSmallTile * kSmallTile;
    for (int cell = threadIdx.x; cell < kSmallTile * kSmallTile; cell += kSmallThreads) {
      int2 value = partial[cell];
      value.y += column_sums[cell % kSmallTile];
      if (task.accumulate) {
        value.x += out[cell].x;
        value.y += out[cell].y;
      }
      out[cell] = value;
    }
    __syncthreads();
  }
#endif
}

}  // namespace

void launch_wgmma_128(const Task& task, int n_sm, cudaStream_t stream) {
  const auto kernel = task.accumulate ? cross_128<Sums::accumulate> : cross_128<Sums::overwrite>;
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes),
             "asking for shared memory");
  const int n_blocks = std::min(n_sm, task.n_pairs * task.n_chan);
  kernel<<<n_blocks, kThreads, kSharedBytes, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching the X stage (wgmma, 128x128)");
}

void launch_wgmma_64(const Task& task, int n_sm, cudaStream_t stream) {
  cuda_check(cudaFuncSetAttribute(cross_64, cudaFuncAttributeMaxDynamicSharedMemorySize, kSmallSharedBytes),
             "asking for shared memory");
  cross_64<<<std::min(n_sm, task.n_chan), kSmallThreads, kSmallSharedBytes, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching the X stage (wgmma, 64x64)");
}

}  // namespace apsyn::x_stage
