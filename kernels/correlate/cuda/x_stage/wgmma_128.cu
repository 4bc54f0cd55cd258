// SPDX-License-Identifier: GPL-3.0-or-later
// The X stage for Hopper in tiles of 128x128 inputs: a warp that copies, two that sum B's columns (or three
// that unpack 4-bit samples), and two consumer warpgroups of 64 rows each; one block of threads per SM, which
// takes one tile after the other. A is read from shared memory into registers, where its one's complement
// costs one instruction per four samples; B stays in shared memory. Half h of a block of 64 samples is one
// group of four wgmma:
//   Re += ar.br, Im += ai.br, Re += ai.bi, Im += (~ar).bi
// On the diagonal one operand serves as both, and the lower consumer leaves out the quadrant i > j, in a loop
// of its own: accumulators of two sizes in one loop serialise wgmma.
#include <algorithm>

#include "kernels/common/cuda/check.h"
#include "kernels/correlate/cuda/x_stage/operands.cuh"

namespace apsyn::x_stage {
namespace {

constexpr int kThreads = 384;

/// How existing sums are treated.
enum class Sums { overwrite, accumulate };

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
using namespace ptx;

constexpr int kTile = kTileInputs, kConsumerThreads = 256;

/// One half block: four wgmma in one group. The registers of A stay untouched until the group has retired,
/// which the wait for the group after it ensures.
template <int kHalf, int kColumns, Bits kBits>
__device__ __forceinline__ void cross(Accumulators<kColumns>& sums, const RowFragments<kBits>& rows,
                                      std::uint32_t a, std::uint64_t b) {
  std::uint32_t ar[4], ai[4], not_ar[4];
  rows.load(ar, ai, not_ar, a, kHalf);
  wgmma_fence();
  wgmma_s8(sums.re, ar, b + 2 * kHalf);
  wgmma_s8(sums.im, ai, b + 2 * kHalf);
  wgmma_s8(sums.re, ai, b + 4 + 2 * kHalf);
  wgmma_s8(sums.im, not_ar, b + 4 + 2 * kHalf);
  wgmma_commit();
}

/// A consumer's work for one tile: the last kColumns of its columns.
template <Sums kSums, int kColumns, Bits kBits>
__device__ __forceinline__ void take_tile(const RowFragments<kBits>& rows, std::uint32_t ring_base,
                                          int a_offset, int n_blocks, const Barriers& barriers,
                                          Ring<Stage<kBits>::kStages>& ring, std::uint32_t turn,
                                          const int* column_sum, int2* tile, int first_row, int lane) {
  using S = Stage<kBits>;
  constexpr int kFirstColumn = kTile - kColumns;
  Accumulators<kColumns> sums;
  if constexpr (kSums == Sums::accumulate) {
    // all loads are in flight at once, straight into the accumulators: adding at the end instead costs a
    // third of the speed at 1024 samples
    sums.for_each(first_row, lane, [&](int row, int column, int i) {
      const int4 v = *reinterpret_cast<const int4*>(tile + row * kTile + kFirstColumn + column);
      sums.re[i] = v.x, sums.im[i] = v.y, sums.re[i + 1] = v.z, sums.im[i + 1] = v.w;
    });
  } else {
    sums.clear();
  }
  int previous = -1;
  for (int b = 0; b < n_blocks; ++b, ring.advance()) {
    barrier_wait(barriers.full + 8 * ring.stage, ring.phase);
    if constexpr (kBits == Bits::four) barrier_wait(barriers.ready + 8 * ring.stage, ring.phase);
    const std::uint32_t stage = ring_base + ring.stage * S::kBytes;
    const std::uint64_t b_rows = swizzled_descriptor(stage + S::kPlanes + kFirstColumn * kRowBytes);
    cross<0>(sums, rows, stage + a_offset, b_rows);
    wgmma_wait<1>();
    if (previous >= 0) barrier_arrive(barriers.empty + 8 * previous);
    cross<1>(sums, rows, stage + a_offset, b_rows);
    wgmma_wait<1>();
    previous = ring.stage;
  }
  wgmma_wait<0>();
  barrier_arrive(barriers.empty + 8 * previous);
  barrier_wait(barriers.sum_full + 8 * (turn & 1), (turn >> 1) & 1);
  column_sum += (turn & 1) * kTile + kFirstColumn;
  sums.for_each(first_row, lane, [&](int row, int column, int i) {
    *reinterpret_cast<int4*>(tile + row * kTile + kFirstColumn + column) = make_int4(
        sums.re[i], sums.im[i] + column_sum[column], sums.re[i + 1], sums.im[i + 1] + column_sum[column + 1]);
  });
  barrier_arrive(barriers.sum_empty + 8 * (turn & 1));
}

/// The copies of all tiles' blocks into the ring, by one thread.
template <Bits kBits>
__device__ __forceinline__ void copy_blocks(const Task& task, std::uint32_t ring_base,
                                            const Barriers& barriers) {
  using S = Stage<kBits>;
  Ring<S::kStages> ring;
  for (int item = blockIdx.x; item < task.n_pairs * task.n_chan; item += gridDim.x) {
    const Item taken = item_of(item, task.n_pairs, gridDim.x);
    const TilePair pair = task.pairs[taken.pair];
    const std::int8_t* block = task.samples + task.chan_stride * taken.chan;
    const bool diagonal = pair.row == pair.column;
    for (int b = 0; b < task.n_blocks; ++b, block += task.block_stride, ring.advance()) {
      barrier_wait(barriers.empty + 8 * ring.stage, ring.phase ^ 1);
      const std::uint32_t stage = ring_base + ring.stage * S::kBytes, full = barriers.full + 8 * ring.stage;
      barrier_expect(full, diagonal ? S::kOperandBytes : 2 * S::kOperandBytes);
      bulk_copy(stage + S::kB, block + std::size_t(pair.column) * S::kOperandBytes, S::kOperandBytes, full);
      if (!diagonal)
        bulk_copy(stage + S::kA, block + std::size_t(pair.row) * S::kOperandBytes, S::kOperandBytes, full);
    }
  }
}

/// 64 threads sum two columns each.
__device__ __forceinline__ void sum_columns(const Task& task, const std::uint8_t* stages, int thread,
                                            const Barriers& barriers, int (*column_sums)[kTile]) {
  using S = Stage<Bits::eight>;
  Ring<S::kStages> ring;
  std::uint32_t turn = 0;
  for (int item = blockIdx.x; item < task.n_pairs * task.n_chan; item += gridDim.x, ++turn) {
    int sum_low = 0, sum_high = 0;
    for (int b = 0; b < task.n_blocks; ++b, ring.advance()) {
      barrier_wait(barriers.full + 8 * ring.stage, ring.phase);
      const std::uint8_t* stage = stages + ring.stage * S::kBytes;
      sum_low = add_column(stage, thread, sum_low);
      sum_high = add_column(stage, thread + 64, sum_high);
      barrier_arrive(barriers.empty + 8 * ring.stage);
    }
    barrier_wait(barriers.sum_empty + 8 * (turn & 1), ((turn >> 1) & 1) ^ 1);
    column_sums[turn & 1][thread] = sum_low;
    column_sums[turn & 1][thread + 64] = sum_high;
    barrier_arrive(barriers.sum_full + 8 * (turn & 1));
  }
}

/// Three warps write the planes of 4-bit samples and sum their columns. They take turns at blocks, so that
/// each has three times as long to wait for memory.
__device__ __forceinline__ void unpack_blocks(const Task& task, std::uint32_t ring_base, int thread,
                                              const Barriers& barriers, int (*column_sums)[kTile]) {
  using S = Stage<Bits::four>;
  constexpr int kWarps = S::kColumnThreads / 32;
  const int warp = uniform(thread >> 5), lane = thread & 31;
  const auto meet = [] { asm volatile("bar.sync 1, %0;" ::"n"(S::kColumnThreads) : "memory"); };
  int until_mine = warp;
  Ring<S::kStages> ring;
  std::uint32_t turn = 0;
  for (int item = blockIdx.x; item < task.n_pairs * task.n_chan; item += gridDim.x, ++turn) {
    int sums[4] = {};
    for (int b = 0; b < task.n_blocks; ++b, ring.advance()) {
      if (until_mine-- > 0) continue;
      until_mine = kWarps - 1;
      barrier_wait(barriers.full + 8 * ring.stage, ring.phase);
      const std::uint32_t stage = ring_base + ring.stage * S::kBytes;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int row = lane + 32 * k;
        sums[k] = unpack_row(stage + S::kB + row * (kRowBytes / 2), stage + S::kPlanes + row * kRowBytes, row,
                             sums[k]);
      }
      async_proxy_fence();
      barrier_arrive(barriers.ready + 8 * ring.stage);  // consumers free the stage for both
    }
    barrier_wait(barriers.sum_empty + 8 * (turn & 1), ((turn >> 1) & 1) ^ 1);
    for (int part = 0; part < kWarps; ++part) {  // the warps' sums meet one after the other
      if (warp == part)
        for (int k = 0; k < 4; ++k) {
          int& sum = column_sums[turn & 1][lane + 32 * k];
          sum = S::kColumnSumScale * sums[k] + (part > 0 ? sum : 0);
        }
      meet();
    }
    barrier_arrive(barriers.sum_full + 8 * (turn & 1));
  }
}
#endif

template <Sums kSums, Bits kBits>
__global__ void __launch_bounds__(kThreads, 1) cross_128(Task task) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using S = Stage<kBits>;
  constexpr int kStages = S::kStages;
  extern __shared__ std::uint8_t dynamic_shared[];
  std::uint8_t* stages = aligned_tiles(dynamic_shared);
  __shared__ alignas(8) std::uint64_t full_barriers[kStages], ready_barriers[kStages],
      empty_barriers[kStages];
  __shared__ alignas(8) std::uint64_t sum_full_barriers[2], sum_empty_barriers[2];
  __shared__ int column_sums[2][kTile];  // alternate between tiles
  const int warpgroup = uniform(threadIdx.x >> 7), warp = uniform(threadIdx.x >> 5), lane = threadIdx.x & 31;
  const std::uint32_t ring_base = shared_address(stages);
  const Barriers barriers{shared_address(full_barriers), shared_address(ready_barriers),
                          shared_address(empty_barriers), shared_address(sum_full_barriers),
                          shared_address(sum_empty_barriers)};
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      barrier_init(barriers.full + 8 * s, 1);
      barrier_init(barriers.ready + 8 * s, 32);
      barrier_init(barriers.empty + 8 * s, kConsumerThreads + (kBits == Bits::eight ? S::kColumnThreads : 0));
    }
    for (int s = 0; s < 2; ++s) {
      barrier_init(barriers.sum_full + 8 * s, S::kColumnThreads);
      barrier_init(barriers.sum_empty + 8 * s, kConsumerThreads);
    }
    barrier_fence_init();
  }
  __syncthreads();

  const int n_items = task.n_pairs * task.n_chan;
  Ring<kStages> ring;
  if (warpgroup == 0) {
    fewer_registers<S::kHelperRegisters>();
    const int column_thread = threadIdx.x - 32;
    if (warp == 0) {
      if (lane == 0) copy_blocks<kBits>(task, ring_base, barriers);
    } else if (column_thread < S::kColumnThreads) {
      if constexpr (kBits == Bits::four)
        unpack_blocks(task, ring_base, column_thread, barriers, column_sums);
      else
        sum_columns(task, stages, column_thread, barriers, column_sums);
    }
    return;
  }
  more_registers<S::kConsumerRegisters>();
  const int first_row = (warpgroup - 1) * 64 + (warp & 3) * 16, row_of_lane = first_row + (lane >> 2);
  const RowFragments<kBits> rows(first_row, lane);
  std::uint32_t n = 0;
  for (int item = blockIdx.x; item < n_items; item += gridDim.x, ++n) {
    const Item taken = item_of(item, task.n_pairs, gridDim.x);
    const TilePair pair = task.pairs[taken.pair];
    int2* tile = task.sums + (std::size_t(taken.chan) * task.n_pairs + taken.pair) * kTile * kTile;
    const bool diagonal = pair.row == pair.column;
    if (diagonal && warpgroup == 2)
      take_tile<kSums, kTile / 2>(rows, ring_base, S::kB, task.n_blocks, barriers, ring, n, column_sums[0],
                                  tile, row_of_lane, lane);
    else
      take_tile<kSums, kTile>(rows, ring_base, diagonal ? S::kB : S::kA, task.n_blocks, barriers, ring, n,
                              column_sums[0], tile, row_of_lane, lane);
  }
#endif
}

template <Bits kBits>
void launch(const Task& task, int n_sm, cudaStream_t stream) {
  constexpr int kSharedBytes = Stage<kBits>::kStages * Stage<kBits>::kBytes + 1024;
  const auto kernel =
      task.accumulate ? cross_128<Sums::accumulate, kBits> : cross_128<Sums::overwrite, kBits>;
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes),
             "asking for shared memory");
  const int n_blocks = std::min(n_sm, task.n_pairs * task.n_chan);
  kernel<<<n_blocks, kThreads, kSharedBytes, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching the X stage (wgmma, 128x128)");
}

}  // namespace

void launch_wgmma_128(const Task& task, Bits bits, int n_sm, cudaStream_t stream) {
  if (bits == Bits::four)
    launch<Bits::four>(task, n_sm, stream);
  else
    launch<Bits::eight>(task, n_sm, stream);
}

}  // namespace apsyn::x_stage
