// SPDX-License-Identifier: GPL-3.0-or-later
// The X stage for Ampere and newer: mma.sync on 64x64 tiles, four warps of 32x32 each, cp.async in four
// stages.
#include "kernels/common/cuda/check.h"
#include "kernels/common/cuda/sm90/async_copy.cuh"
#include "kernels/common/cuda/sm90/mma.cuh"
#include "kernels/common/cuda/sm90/shared_memory.cuh"
#include "kernels/correlate/cuda/x_stage/kernels.cuh"

namespace apsyn::x_stage {
namespace {

constexpr int kTile = 64, kThreads = 128, kStages = 4;
constexpr int kOperandBytes = kTile * kRowBytes, kStageBytes = 2 * kOperandBytes;
constexpr int kSharedBytes = kStages * kStageBytes + 1024;

__global__ void __launch_bounds__(kThreads, 3) cross_64_mma(Task task) {
  extern __shared__ std::uint8_t dynamic_shared[];
  const std::uint32_t ring = (ptx::shared_address(dynamic_shared) + 1023) & ~1023u;
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
  const TilePair pair = task.pairs[blockIdx.x % task.n_pairs];
  const std::int8_t* channel = task.samples + task.chan_stride * (blockIdx.x / task.n_pairs);
  auto load = [&](int block) {
    if (block < task.n_blocks) {
      const std::uint32_t target = ring + (block % kStages) * kStageBytes;
      const std::int8_t* rows = channel + task.block_stride * block;
      for (int chunk = threadIdx.x; chunk < kOperandBytes / 16; chunk += kThreads) {
        ptx::copy_16(target + chunk * 16, rows + std::size_t(pair.row) * kOperandBytes + chunk * 16);
        ptx::copy_16(target + kOperandBytes + chunk * 16,
                     rows + std::size_t(pair.column) * kOperandBytes + chunk * 16);
      }
    }
    ptx::commit_copies();  // empty groups keep the count of pending ones constant
  };
  for (int block = 0; block < kStages - 1; ++block) load(block);

  const int first_row = (warp >> 1) * 32, first_column = (warp & 1) * 32;
  int re[2][4][4] = {}, im[2][4][4] = {}, column_sum[4] = {};
  for (int block = 0; block < task.n_blocks; ++block) {
    ptx::wait_for_copies<kStages - 2>();
    __syncthreads();
    load(block + kStages - 1);
    const std::uint32_t a = ring + (block % kStages) * kStageBytes, b = a + kOperandBytes;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      std::uint32_t ar[2][4], ai[2][4];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int row = first_row + i * 16 + (lane & 15), high = lane >> 4;
        ptx::load_matrices(ar[i], a + row * kRowBytes + (((2 * half + high) ^ (row & 7)) << 4));
        ptx::load_matrices(ai[i], a + row * kRowBytes + (((4 + 2 * half + high) ^ (row & 7)) << 4));
      }
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        // Four matrices of 8 columns x 16 samples: re low, re high, im low, im high.
        const int row = first_column + j * 8 + (lane & 7), matrix = lane >> 3;
        const int chunk = 2 * half + (matrix & 1) + 4 * (matrix >> 1);
        std::uint32_t br_bi[4];
        ptx::load_matrices(br_bi, b + row * kRowBytes + ((chunk ^ (row & 7)) << 4));
        // This lane's share of sum_t im of column lane / 4.
        column_sum[j] = __dp4a(static_cast<int>(br_bi[2]), 0x01010101, column_sum[j]);
        column_sum[j] = __dp4a(static_cast<int>(br_bi[3]), 0x01010101, column_sum[j]);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const std::uint32_t not_ar[4] = {~ar[i][0], ~ar[i][1], ~ar[i][2], ~ar[i][3]};
          ptx::mma_s8(re[i][j], ar[i], br_bi[0], br_bi[1]);
          ptx::mma_s8(im[i][j], ai[i], br_bi[0], br_bi[1]);
          ptx::mma_s8(re[i][j], ai[i], br_bi[2], br_bi[3]);
          ptx::mma_s8(im[i][j], not_ar, br_bi[2], br_bi[3]);
        }
      }
    }
  }
  int2* out = task.sums + std::size_t(blockIdx.x) * kTile * kTile;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    int sum = column_sum[j];
    sum += __shfl_xor_sync(~0u, sum, 1);
    sum += __shfl_xor_sync(~0u, sum, 2);
    const int s0 = __shfl_sync(~0u, sum, (lane & 3) * 8), s1 = __shfl_sync(~0u, sum, (lane & 3) * 8 + 4);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int row = first_row + i * 16 + (lane >> 2) + 8 * h,
                  column = first_column + j * 8 + (lane & 3) * 2;
        auto* target = reinterpret_cast<int4*>(out + row * kTile + column);
        int4 value =
            make_int4(re[i][j][2 * h], im[i][j][2 * h] + s0, re[i][j][2 * h + 1], im[i][j][2 * h + 1] + s1);
        if (task.accumulate) {
          const int4 before = *target;
          value.x += before.x;
          value.y += before.y;
          value.z += before.z;
          value.w += before.w;
        }
        *target = value;
      }
    }
  }
}

}  // namespace

void launch_mma_64(const Task& task, cudaStream_t stream) {
  cuda_check(cudaFuncSetAttribute(cross_64_mma, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes),
             "asking for shared memory");
  cross_64_mma<<<task.n_pairs * task.n_chan, kThreads, kSharedBytes, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching the X stage (mma, 64x64)");
}

}  // namespace apsyn::x_stage
