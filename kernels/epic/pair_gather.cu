// SPDX-License-Identifier: GPL-3.0-or-later
#include <cuda_fp16.h>

#include "kernels/common/device_launch.cuh"
#include "kernels/epic/pair_grid.cuh"

namespace apsyn::epic_cuda {
namespace {

constexpr int kGatherWarps = 2;
constexpr int kPairsAtOnce = 16;

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
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Of 8 x 4 cells; lane 4 g + t has rows of column g in its left operands, part g of the four products in its
/// right ones, and of the sums column g, product t. Four pairs of each 16 are its own: 2 t, 2 t + 1, 2 t + 8,
/// 2 t + 9.
struct Gather {
  const GatherTask& task;
  const CellShape& shape;
  const PairTapsXY* taps;  // of the channel
  const float *orders, *values;
  float scale;
  int x, y;  // the lane's column, the tile's first row
  int g, t;
  float sums[2][kOrderGroup][4] = {};

  struct Codes {
    PairCode of[4];
    unsigned there;  // a bit for each
  };
  __device__ __forceinline__ Codes codes(std::uint32_t begin, std::uint32_t end) const {
    Codes codes{{}, 0};
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      const std::uint32_t entry = begin + 2 * t + q % 2 + q / 2 * 8;
      codes.of[q].bits = task.codes[min(entry, end - 1)];
      codes.there |= (entry < end ? 1u : 0u) << q;
    }
    return codes;
  }

  /// Loaded whether wanted or not, so that no load waits for another.
  __device__ __forceinline__ static float tap(const float* taps, int at) {
    const float value = taps[at & (kPairTaps - 1)];
    return static_cast<unsigned>(at) < unsigned{kPairTaps} ? value : 0.0f;
  }

  __device__ __forceinline__ void add(const Codes& codes, int first_order, int n_here) {
    float of_x[4], of_y[4][4], even[4], odd[4];
    const float* of_pair[4];
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      const PairCode code = codes.of[q];
      const std::uint32_t pair = code.pair();
      const bool mirrored = code.mirrored();
      const int step = mirrored ? -1 : 1, tap_y = code.tap_y();
      const float value_x = tap(taps[pair].x, code.tap_x() + step * g);
      of_x[q] = codes.there >> q & 1 ? value_x : 0.0f;
#pragma unroll
      for (int row = 0; row < 4; ++row) of_y[q][row] = tap(taps[pair].y, tap_y + step * row);
      // (b, a) has the conjugate, and the opposite w: odd orders change sign
      const float value = scale * values[std::size_t(pair) * 8 + g];
      even[q] = mirrored && g % 2 == 1 ? -value : value;
      odd[q] = mirrored ? -even[q] : even[q];
      of_pair[q] = orders + std::size_t(pair) * shape.order_stride() + first_order;
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

/// A warp for each tile; blockIdx.y counts groups of orders.
__global__ __launch_bounds__(32 * kGatherWarps) void gather_pairs(const __grid_constant__ GatherTask task) {
  const CellShape& shape = task.shape;
  const int tile = blockIdx.x * kGatherWarps + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (tile >= shape.n_tile()) return;
  const std::size_t channel = task.first_channel + blockIdx.z;
  const int first_order = blockIdx.y * kOrderGroup;
  const float unit = __uint_as_float(task.largest[channel]);
  const std::size_t first_pair = channel * shape.n_pair();
  Gather gather{task,
                shape,
                task.pair_taps + first_pair,
                task.orders + first_pair * shape.order_stride(),
                reinterpret_cast<const float*>(task.values + 4 * first_pair),
                unit > 0 ? 1 / unit : 0.0f};
  gather.g = lane / 4;
  gather.t = lane % 4;
  gather.x = tile % shape.n_tile_x() * kCellTileX + gather.g;
  gather.y = tile / shape.n_tile_x() * kCellTileY;
  const std::uint32_t* begins = task.begins + channel * shape.n_tile() + tile;
  std::uint32_t begin = begins[0];
  const std::uint32_t end = begins[1];
  if (begin < end) {
    // the first of them has the most orders
    Gather::Codes codes = gather.codes(begin, end);
    int n_here = task.counts[begin] - first_order;
    while (n_here > 0) {
      const Gather::Codes now = codes;
      const int n_now = n_here;
      begin += kPairsAtOnce;
      n_here = 0;
      if (begin < end) {  // on their way while these are added
        codes = gather.codes(begin, end);
        n_here = task.counts[begin] - first_order;
      }
      gather.add(now, first_order, n_now);
    }
  }
  gather.store(first_order, unit, task.cells + blockIdx.z * shape.n_cell());
}

}  // namespace

void launch_gather_pairs(const GatherTask& task, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>((task.shape.n_tile() + kGatherWarps - 1) / kGatherWarps),
                  static_cast<unsigned>((task.shape.n_order + kOrderGroup - 1) / kOrderGroup),
                  static_cast<unsigned>(task.n_channel));
  gather_pairs<<<grid, 32 * kGatherWarps, 0, stream>>>(task);
  launched("gridding pairs");
}

}  // namespace apsyn::epic_cuda
