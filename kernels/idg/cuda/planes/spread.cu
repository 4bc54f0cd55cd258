// SPDX-License-Identifier: GPL-3.0-or-later
// Places onto cells. A block of threads sums the cells of one tile of one plane in registers: it walks over
// the places of its own tile and of those before it, whose kernels may reach it. Most of these miss a given
// cell, which costs less than sums that several blocks make together would, and the order stays the same.
#include "kernels/common/cuda/launch.cuh"
#include "kernels/idg/cuda/planes/kernels.cuh"

namespace apsyn::idg_cuda {
namespace {

constexpr int tile_cells = tile_side * tile_side;
/// Threads of each cell, which share its places; their sums are added in order.
constexpr int n_shares = 4, n_threads = tile_cells * n_shares;
/// Places whose taps lie in shared memory, and the most taps along one axis; rows of taps are an odd number
/// of banks apart.
constexpr int places_at_once = n_threads / 2, max_taps = 16, taps_stride = max_taps + 1;

struct SharedPlaces {
  float taps[2][places_at_once][taps_stride];  ///< [along u, along v]
  std::uint32_t cell[places_at_once];
  float2 value[places_at_once];
  float t[places_at_once];
};

/// A thread loads one place and evaluates its taps along one axis.
__device__ void load_place(const SpreadTask& task, std::uint32_t place, int plane, int axis, int to,
                           SharedPlaces& shared) {
  const DevicePlace own = task.place[place];
  const float q = axis == 0 ? own.q_u : own.q_v;
  for (int tap = 0; tap < task.width; ++tap) {
    const float* coefficient = task.coefficients + task.degree * task.stride + tap;
    float sum = __ldg(coefficient);
    for (int power = task.degree; power > 0; --power) sum = fmaf(sum, q, __ldg(coefficient -= task.stride));
    shared.taps[axis][to][tap] = sum;
  }
  if (axis == 0) {
    shared.cell[to] = own.cell;
    shared.t[to] = own.t;
  } else {
    shared.value[to] = task.value[std::size_t(place) * task.cells.n_planes + plane];
  }
}

template <int n_pairs>
__global__ void __launch_bounds__(n_threads) spread(SpreadTask task) {
  __shared__ SharedPlaces shared;
  __shared__ float4 sums[n_shares][tile_cells];
  const PlaneCells& cells = task.cells;
  const int plane = blockIdx.z, own = threadIdx.x % tile_cells, share = threadIdx.x / tile_cells;
  const int u = blockIdx.x * tile_side + own % tile_side, v = blockIdx.y * tile_side + own / tile_side;
  float4 sum[n_pairs];
#pragma unroll
  for (int pair = 0; pair < n_pairs; ++pair) sum[pair] = {0, 0, 0, 0};
  const int tiles_before = (task.width - 1 + tile_side - 1) / tile_side, tile_u = blockIdx.x,
            first_u = max(0, tile_u - tiles_before);
  bool any = false;
  for (int tile_v = max(0, int(blockIdx.y) - tiles_before); tile_v <= int(blockIdx.y); ++tile_v) {
    const std::uint32_t* begin = task.tile_begin + tile_v * cells.n_tiles_u;
    const std::uint32_t end = begin[tile_u + 1];
    for (std::uint32_t first = begin[first_u]; first < end; first += places_at_once) {
      any = true;
      const int n = int(min(end - first, std::uint32_t(places_at_once)));
      const int to = threadIdx.x % places_at_once, axis = threadIdx.x / places_at_once;
      __syncthreads();
      if (to < n)
        load_place(task, task.order == nullptr ? first + to : task.order[first + to], plane, axis, to,
                   shared);
      __syncthreads();
      for (int i = share; i < n; i += n_shares) {
        const std::uint32_t cell = shared.cell[i];
        const unsigned x = u - int(cell & 0xffff), y = v - int(cell >> 19);
        if (x >= unsigned(task.width) || y >= unsigned(task.width)) continue;
        const float tap = shared.taps[0][i][x] * shared.taps[1][i][y], t = shared.t[i], t2 = t * t;
        float re = shared.value[i].x * tap, im = shared.value[i].y * tap;
        const int own_pairs = cell >> 16 & 7;
#pragma unroll
        for (int pair = 0; pair < n_pairs; ++pair) {
          if (pair >= own_pairs) break;
          sum[pair].x += re;
          sum[pair].y += im;
          sum[pair].z = fmaf(re, t, sum[pair].z);
          sum[pair].w = fmaf(im, t, sum[pair].w);
          re *= t2;
          im *= t2;
        }
      }
    }
  }
  if (!any && task.adds) return;
  const std::size_t n_columns = std::size_t(cells.n_tiles_u) * tile_side,
                    n_rows = std::size_t(cells.n_tiles_v) * tile_side;
#pragma unroll
  for (int pair = 0; pair < n_pairs; ++pair) {
    __syncthreads();
    sums[share][own] = sum[pair];
    __syncthreads();
    if (share != 0) continue;
    float4& to = cells.data[((std::size_t(plane) * n_pairs + pair) * n_rows + v) * n_columns + u];
    float4 all = task.adds ? to : float4{0, 0, 0, 0};
    for (int i = 0; i < n_shares; ++i) {
      const float4 part = sums[i][own];
      all.x += part.x, all.y += part.y, all.z += part.z, all.w += part.w;
    }
    to = all;
  }
}

}  // namespace

void launch_spread(const SpreadTask& task, cudaStream_t stream) {
  const dim3 grid(task.cells.n_tiles_u, task.cells.n_tiles_v, task.cells.n_planes);
  switch (task.cells.n_pairs) {
    case 1:
      spread<1><<<grid, n_threads, 0, stream>>>(task);
      break;
    case 2:
      spread<2><<<grid, n_threads, 0, stream>>>(task);
      break;
    case 3:
      spread<3><<<grid, n_threads, 0, stream>>>(task);
      break;
    case 4:
      spread<4><<<grid, n_threads, 0, stream>>>(task);
      break;
    case 5:
      spread<5><<<grid, n_threads, 0, stream>>>(task);
      break;
    default:
      spread<6><<<grid, n_threads, 0, stream>>>(task);
  }
  launched("adding places to cells");
}

}  // namespace apsyn::idg_cuda
