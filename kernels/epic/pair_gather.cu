// SPDX-License-Identifier: GPL-3.0-or-later
#include <cuda_fp16.h>

#include <algorithm>

#include "kernels/common/device_launch.cuh"
#include "kernels/epic/pair_grid.cuh"

namespace apsyn::epic_cuda {
namespace {

constexpr int kGatherWarps = 4;  ///< of a tile: they take its batches of pairs in turn
constexpr int kBatchPairs = 16;
constexpr int kStages = 3;      ///< batches in shared memory: one that is added, and those on their way
constexpr int kPairChunks = 9;  ///< of 16 bytes: kernel along x, along y, values, orders of a group
constexpr int kPairFloats = 4 * kPairChunks;
constexpr int kValuesAt = 16, kOrdersAt = 24;  ///< in a pair's floats
constexpr int kLaneChunks = (kBatchPairs * kPairChunks + 31) / 32;
constexpr int kTileSums = 2 * kOrderGroup * 4;  ///< of a lane
constexpr int kStageFloats = kBatchPairs * kPairFloats;
/// Stages of all warps, or sums of all warps but the first.
constexpr int kSharedFloats =
    std::max(kGatherWarps * kStages * kStageFloats, (kGatherWarps - 1) * kTileSums * 32);

/// Two numbers in 22 bits each: high + low.
struct Halves {
  std::uint32_t high, low;
  __device__ __forceinline__ Halves(float first, float second) {
    const __half2 rounded = __floats2half2_rn(first, second);
    const float2 back = __half22float2(rounded);
    const __half2 rest = __floats2half2_rn(first - back.x, second - back.y);
    high = reinterpret_cast<const std::uint32_t&>(rounded);
    low = reinterpret_cast<const std::uint32_t&>(rest);
  }
};

/// sum[16 x 8] += a[16 x 16] b[16 x 8] of halves.
__device__ __forceinline__ void multiply_add(float (&sum)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                             std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, "
      "{%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ void copy_chunk(float* to, const float* from) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
}
__device__ __forceinline__ void end_of_stage() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
/// Until no more than so many stages are on their way.
template <int kLeft>
__device__ __forceinline__ void wait_for_stage() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

/// Of 8 x 4 cells; lane 4 g + t has rows of column g in its left operands, part
/// g of the four products in its right ones, and of the sums column g, product
/// t. Four pairs of each batch are its own: 2 t, 2 t + 1, 2 t + 8, 2 t + 9.
struct Gather {
  const GatherTask& task;
  const CellShape& shape;
  const float *taps, *orders,
      *values;  // of the channel, orders from the group's first on
  float scale;
  int x, y;  // the lane's column, the tile's first row
  int lane, g, t;
  std::uint32_t end;
  float sums[2][kOrderGroup][4] = {};

  /// The code of pair lane % 16 of a batch; one past the end is any.
  __device__ __forceinline__ std::uint32_t code(std::uint32_t begin) const {
    return task.codes[min(begin + lane % kBatchPairs, end - 1)];
  }

  /// Pairs of a batch on their way to [pair][kPairFloats].
  __device__ __forceinline__ void fetch(std::uint32_t code, float* stage) const {
#pragma unroll
    for (int i = 0; i < kLaneChunks; ++i) {
      const int at = lane + 32 * i, which = at / kPairChunks, chunk = at % kPairChunks;
      const std::uint32_t pair = PairCode{__shfl_sync(~0u, code, which % kBatchPairs)}.pair();
      if (which >= kBatchPairs) continue;
      const float* from = chunk < 4   ? taps + std::size_t(pair) * 16 + 4 * chunk
                          : chunk < 6 ? values + std::size_t(pair) * 8 + 4 * (chunk - 4)
                                      : orders + std::size_t(pair) * shape.order_stride() + 4 * (chunk - 6);
      copy_chunk(stage + which * kPairFloats + 4 * chunk, from);
    }
  }

  __device__ __forceinline__ static float tap(const float* taps, int at) {
    const float value = taps[at & (kPairTaps - 1)];
    return static_cast<unsigned>(at) < unsigned{kPairTaps} ? value : 0.0f;
  }

  __device__ __forceinline__ void add(std::uint32_t begin, std::uint32_t codes, const float* stage,
                                      int n_here) {
    float of_x[4], of_y[4][4], even[4], odd[4];
    const float* of_pair[4];
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      const int which = 2 * t + q % 2 + q / 2 * 8;
      const PairCode code{__shfl_sync(~0u, codes, which)};
      const bool mirrored = code.mirrored();
      const int step = mirrored ? -1 : 1, tap_y = code.tap_y();
      const float* pair = stage + which * kPairFloats;
      const float value_x = tap(pair, code.tap_x() + step * g);
      of_x[q] = begin + which < end ? value_x : 0.0f;
#pragma unroll
      for (int row = 0; row < 4; ++row) of_y[q][row] = tap(pair + kPairTaps, tap_y + step * row);
      // (b, a) has the conjugate, and the opposite w: odd orders change sign
      const float value = scale * pair[kValuesAt + g];
      even[q] = mirrored && g % 2 == 1 ? -value : value;
      odd[q] = mirrored ? -even[q] : even[q];
      of_pair[q] = pair + kOrdersAt;
    }
    std::uint32_t high[2][4], low[2][4];
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = 2 * half + i % 2, q = i / 2 * 2;
        const Halves both(of_x[q] * of_y[q][row], of_x[q + 1] * of_y[q + 1][row]);
        high[half][i] = both.high;
        low[half][i] = both.low;
      }
#pragma unroll
    for (int four = 0; four < kOrderGroup; four += 4) {
      if (four >= n_here) break;
      float4 factor[4];
#pragma unroll
      for (int q = 0; q < 4; ++q) factor[q] = *reinterpret_cast<const float4*>(of_pair[q] + four);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (four + i >= n_here) break;
        const auto part = [&](int q) {
          const float of_order = i == 0   ? factor[q].x
                                 : i == 1 ? factor[q].y
                                 : i == 2 ? factor[q].z
                                          : factor[q].w;
          return of_order * (i % 2 == 0 ? even[q] : odd[q]);
        };
        const Halves front(part(0), part(1)), back(part(2), part(3));
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          float(&to)[4] = sums[half][four + i];
          multiply_add(to, high[half], front.high, back.high);
          multiply_add(to, low[half], front.high, back.high);
          multiply_add(to, high[half], front.low, back.low);
        }
      }
    }
  }

  /// (-i)^order times the sums.
  __device__ __forceinline__ static float2 turned(float2 sum, int order) {
    switch (order % 4) {
      case 0:
        return sum;
      case 1:
        return make_float2(sum.y, -sum.x);
      case 2:
        return make_float2(-sum.x, -sum.y);
      default:
        return make_float2(-sum.y, sum.x);
    }
  }

  __device__ __forceinline__ void store(int first_order, float unit, float2* cells) const {
    if (x >= shape.n_column() || t >= shape.n_product) return;
#pragma unroll
    for (int k = 0; k < kOrderGroup; ++k) {
      const int order = first_order + k;
      if (order >= shape.n_order) break;
      float2* to = cells + (std::size_t(order) * shape.n_product + t) * shape.n_y * shape.n_column() + x;
#pragma unroll
      for (int row = 0; row < 4; ++row) {
        const float* sum = sums[row / 2][k] + row % 2 * 2;
        if (y + row < shape.n_y)
          to[std::size_t(y + row) * shape.n_column()] =
              turned(make_float2(unit * sum[0], unit * sum[1]), order);
      }
    }
  }
};

/// A block for each tile; blockIdx.y counts groups of orders.
__global__ __launch_bounds__(32 * kGatherWarps,
                             3) void gather_pairs(const __grid_constant__ GatherTask task) {
  __shared__ __align__(16) float shared[kSharedFloats];
  const CellShape& shape = task.shape;
  const int tile = blockIdx.x, warp = threadIdx.x / 32;
  const std::size_t channel = task.first_channel + blockIdx.z, first_pair = channel * shape.n_pair();
  const int first_order = blockIdx.y * kOrderGroup;
  const float unit = __uint_as_float(task.largest[channel]);
  Gather gather{task,
                shape,
                reinterpret_cast<const float*>(task.pair_taps + first_pair),
                task.orders + first_pair * shape.order_stride() + first_order,
                reinterpret_cast<const float*>(task.values + 4 * first_pair),
                unit > 0 ? 1 / unit : 0.0f};
  gather.lane = threadIdx.x % 32;
  gather.g = gather.lane / 4;
  gather.t = gather.lane % 4;
  gather.x = tile % shape.n_tile_x() * kCellTileX + gather.g;
  gather.y = tile / shape.n_tile_x() * kCellTileY;
  const std::uint32_t* begins = task.begins + channel * shape.n_tile() + tile;
  gather.end = begins[1];
  float* stages = shared + warp * kStages * kStageFloats;
  constexpr std::uint32_t kStep = kGatherWarps * kBatchPairs;
  std::uint32_t begin = begins[0] + warp * kBatchPairs;
  // orders of a batch are those of its first pair, which has the most; 0 behind the last
  const auto orders_at = [&](std::uint32_t at) {
    return at < gather.end ? task.counts[at] - first_order : 0;
  };
  std::uint32_t codes[kStages] = {};
  int n_orders[kStages] = {};
#pragma unroll
  for (int i = 0; i + 1 < kStages; ++i) {
    n_orders[i] = orders_at(begin + i * kStep);
    if (n_orders[i] > 0) {
      codes[i] = gather.code(begin + i * kStep);
      gather.fetch(codes[i], stages + i * kStageFloats);
    }
    end_of_stage();
  }
  for (int stage = 0; n_orders[0] > 0; begin += kStep) {
    wait_for_stage<kStages - 2>();
    __syncwarp();
    const int next = stage == 0 ? kStages - 1 : stage - 1;
    n_orders[kStages - 1] = orders_at(begin + (kStages - 1) * kStep);
    if (n_orders[kStages - 1] > 0) {
      codes[kStages - 1] = gather.code(begin + (kStages - 1) * kStep);
      gather.fetch(codes[kStages - 1], stages + next * kStageFloats);
    }
    end_of_stage();
    gather.add(begin, codes[0], stages + stage * kStageFloats, n_orders[0]);
    __syncwarp();
#pragma unroll
    for (int i = 0; i + 1 < kStages; ++i) {
      codes[i] = codes[i + 1];
      n_orders[i] = n_orders[i + 1];
    }
    stage = stage + 1 == kStages ? 0 : stage + 1;
  }
  wait_for_stage<0>();
  // sums of the other warps, always in one order
  __syncthreads();
  float* parts = shared;
  float* own = &gather.sums[0][0][0];
  if (warp > 0) {
#pragma unroll
    for (int i = 0; i < kTileSums; ++i) parts[((warp - 1) * kTileSums + i) * 32 + gather.lane] = own[i];
  }
  __syncthreads();
  if (warp > 0) return;
#pragma unroll 1
  for (int other = 0; other + 1 < kGatherWarps; ++other) {
#pragma unroll
    for (int i = 0; i < kTileSums; ++i) own[i] += parts[(other * kTileSums + i) * 32 + gather.lane];
  }
  gather.store(first_order, unit, task.cells + blockIdx.z * shape.n_cell());
}

}  // namespace

void launch_gather_pairs(const GatherTask& task, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(task.shape.n_tile()),
                  static_cast<unsigned>((task.shape.n_order + kOrderGroup - 1) / kOrderGroup),
                  static_cast<unsigned>(task.n_channel));
  gather_pairs<<<grid, 32 * kGatherWarps, 0, stream>>>(task);
  launched("gridding pairs");
}

}  // namespace apsyn::epic_cuda
