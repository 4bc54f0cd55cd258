// SPDX-License-Identifier: GPL-3.0-or-later
// The X stage for Hopper in tiles of 128x128 inputs. A is read from shared memory into registers, where its
// one's complement costs one instruction per four samples; B stays in shared memory. Half h of a block of 64
// samples is one group of four wgmma:
//   Re += ar.br, Im += ai.br, Re += ai.bi, Im += (~ar).bi
#include <algorithm>

#include "kernels/common/cuda_check.h"
#include "kernels/correlate/x_stage_wgmma.cuh"

namespace apsyn::x_stage {
namespace {

// 128x128 tiles: one producer and two consumer warpgroups of 64 rows each, one block per SM.
constexpr int kTile = 128, kStages = 6, kThreads = 384;
constexpr int kOperandBytes = kTile * kRowBytes, kStageBytes = 2 * kOperandBytes;
constexpr int kSharedBytes = kStages * kStageBytes + 1024;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
using namespace ptx;

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

/// All loads are in flight at once, straight into the accumulators: adding at the end instead costs a third
/// of the speed at 1024 samples.
__device__ __forceinline__ void load(Accumulators<kTile>& sums, const int2* tile, int first_row, int lane) {
  sums.for_each(first_row, lane, [&](int row, int column, int i) {
    const int4 v = *reinterpret_cast<const int4*>(tile + row * kTile + column);
    sums.re[i] = v.x, sums.im[i] = v.y, sums.re[i + 1] = v.z, sums.im[i + 1] = v.w;
  });
}
#endif

/// What becomes of the sums that are there already.
enum class Sums { overwrite, accumulate };

template <Sums kSums>
__global__ void __launch_bounds__(kThreads, 1) cross_128(Task task) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ std::uint8_t dynamic_shared[];
  std::uint8_t* tiles = aligned_tiles(dynamic_shared);
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
      for (int item = blockIdx.x; item < n_items; item += gridDim.x) {
        const TilePair pair = task.pairs[item % task.n_pairs];
        const std::int8_t* block = task.samples + task.chan_stride * (item / task.n_pairs);
        const bool diagonal = pair.row == pair.column;  // then one operand serves as both
        for (int b = 0; b < task.n_blocks; ++b, block += task.block_stride, ring.advance()) {
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
      load(sums, tile, row, lane);
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
    sums.for_each(row, lane, [&](int r, int column, int i) {
      *reinterpret_cast<int4*>(tile + r * kTile + column) =
          make_int4(sums.re[i], sums.im[i] + column_sum[column], sums.re[i + 1],
                    sums.im[i + 1] + column_sum[column + 1]);
    });
    barrier_arrive(sum_empty + 8 * (n & 1));
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

}  // namespace apsyn::x_stage
