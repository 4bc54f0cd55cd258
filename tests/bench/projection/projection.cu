// SPDX-License-Identifier: GPL-3.0-or-later
// Gridding with Romein's distribution of work (2012): a thread owns the cells that are congruent to its own
// modulo the tile's side. Exactly one of them lies under a kernel's tile at any time; it stays in registers
// while visibilities pass by, and goes to memory when it drops out. Kernels larger than 32 cells are cut into
// tiles for blocks of their own. Four cells a thread (Merry 2016) spread the cost of reading a visibility.
#include <climits>

#include "kernels/common/cuda/check.h"
#include "tests/bench/projection/projection_kernels.cuh"

namespace apsyn::projection {
namespace {

constexpr int kOffsets = 64, kSampleWords = sizeof(DeviceSample) / sizeof(float4);
constexpr std::uint32_t kStage = 64;

__device__ int split(double cells, int size, int& first) {
  const int eighths = static_cast<int>(floor(cells * 8 + 0.5));
  first = (eighths >> 3) - (size / 2 - 1);
  return eighths & 7;
}

__global__ void prepare(PrepareTask t) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= t.n_rows * t.n_chan) return;
  const std::uint32_t row = i / t.n_chan, chan = i % t.n_chan;
  const double k = t.wavenumber[chan];
  DeviceSample sample;
  const int su = split(t.uvw_m[3 * row] * k * t.cells_per_lambda, t.size, sample.u);
  const int sv = split(t.uvw_m[3 * row + 1] * k * t.cells_per_lambda, t.size, sample.v);
  const std::uint32_t table =
      t.n_tables > 0
          ? row / t.interval % t.n_tables
          : std::uint32_t(floor((t.uvw_m[3 * row + 2] * k + t.max_w_lambda) * t.planes_per_lambda + 0.5));
  sample.weights = table * kOffsets + sv * 8 + su;
  sample.visibility = i;
  sample.xx_xy = sample.yx_yy = make_float4(0, 0, 0, 0);
  if (t.data != nullptr) {
    const float4 weight = t.weight[i], a = t.data[2 * i], b = t.data[2 * i + 1];
    const auto scaled = [](float w, float x) { return w == 0 ? 0 : w * x; };
    sample.xx_xy = make_float4(scaled(weight.x, a.x), scaled(weight.x, a.y), scaled(weight.y, a.z),
                               scaled(weight.y, a.w));
    sample.yx_yy = make_float4(scaled(weight.z, b.x), scaled(weight.z, b.y), scaled(weight.w, b.z),
                               scaled(weight.w, b.w));
  }
  t.samples[row * t.n_chan + (row % 2 == 0 ? chan : t.n_chan - 1 - chan)] = sample;
}

__device__ float2 times(float2 a, float2 b) {
  return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

/// A thread makes one pixel of all offsets.
__global__ void screens(ScreenTask t) {
  const std::uint32_t pixel = blockIdx.x * blockDim.x + threadIdx.x, table = blockIdx.y,
                      n_pixels = t.size * t.size;
  if (pixel >= n_pixels) return;
  const std::uint32_t y = pixel / t.size, x = pixel % t.size;
  const double turns = t.w[table] * t.n_1[pixel];
  float2 screen = make_float2(0, 0);
  if (!isnan(turns)) {
    sincospif(static_cast<float>(-2 * (turns - rint(turns))), &screen.y, &screen.x);
    const float taper = t.taper[y] * t.taper[x];
    screen.x *= taper, screen.y *= taper;
    if (t.aterms != nullptr) {
      const uint2 pair = t.stations[table];
      const float2 q = t.aterms[std::size_t(pair.y) * n_pixels + pixel];
      screen = times(screen, times(t.aterms[std::size_t(pair.x) * n_pixels + pixel], make_float2(q.x, -q.y)));
    }
  }
  float2* out = t.out + std::size_t(table) * kOffsets * n_pixels + pixel;
  for (int sv = 0; sv < 8; ++sv) {
    const float2 in_row = times(screen, t.ramps[sv * t.size + y]);
    for (int su = 0; su < 8; ++su)
      out[std::size_t(sv * 8 + su) * n_pixels] = times(in_row, t.ramps[su * t.size + x]);
  }
}

__device__ void add(float4* to, float4 value) {
#if __CUDA_ARCH__ >= 900
  atomicAdd(to, value);
#else
  atomicAdd(&to->x, value.x);
  atomicAdd(&to->y, value.y);
  atomicAdd(&to->z, value.z);
  atomicAdd(&to->w, value.w);
#endif
}

__device__ std::uint32_t wrap(int cell, int n_grid) {
  const int at = (cell + n_grid / 2) % n_grid;
  return at < 0 ? at + n_grid : at;
}

__device__ void flush(const GridTask& t, int u, int v, float4 (&sum)[2]) {
  float4* to = t.grid + (std::size_t(wrap(v, t.n_grid)) * t.n_grid + wrap(u, t.n_grid)) * 2;
  add(to, sum[0]);
  add(to + 1, sum[1]);
  sum[0] = sum[1] = make_float4(0, 0, 0, 0);
}

/// Written as 16 FMA for the four polarisations; the compiler may not regroup sums itself.
__device__ void multiply_add(float4& sum, float2 w, float4 value) {
  sum.x = fmaf(-w.y, value.y, fmaf(w.x, value.x, sum.x));
  sum.y = fmaf(w.y, value.x, fmaf(w.x, value.y, sum.y));
  sum.z = fmaf(-w.y, value.w, fmaf(w.x, value.z, sum.z));
  sum.w = fmaf(w.y, value.z, fmaf(w.x, value.w, sum.w));
}

/// Tiles of kTile x kTile cells, kCells of a column to a thread.
template <int kTile, int kCells>
__global__ void __launch_bounds__(kTile* kTile / kCells) grid_tiles(GridTask t) {
  constexpr int kThreads = kTile * kTile / kCells, kRows = kTile / kCells;
  __shared__ DeviceSample stage[kStage];
  const int tiles = t.size / kTile, tile = blockIdx.x % (tiles * tiles);
  const int tile_u = tile % tiles * kTile, tile_v = tile / tiles * kTile;
  const int own_u = threadIdx.x % kTile, own_v = threadIdx.x / kTile;
  const uint2 part = t.parts[blockIdx.x / (tiles * tiles)];
  const std::uint32_t n_cells = t.size * t.size;

  float4 sum[kCells][2];
  int base_u = INT_MIN, base_v = INT_MIN, u = 0, v[kCells];
  std::uint32_t within[kCells];  // of a kernel
  for (int c = 0; c < kCells; ++c) {
    sum[c][0] = sum[c][1] = make_float4(0, 0, 0, 0);
    v[c] = 0;
    within[c] = 0;
  }
  for (std::uint32_t first = part.x; first < part.y; first += kStage) {
    const int n = min(part.y - first, kStage);
    __syncthreads();
    const auto* from = reinterpret_cast<const float4*>(t.samples + first);
#pragma unroll 1  // unrolled it takes the registers of a block's worth of occupancy
    for (int i = threadIdx.x; i < n * kSampleWords; i += kThreads)
      reinterpret_cast<float4*>(stage)[i] = from[i];
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < n; ++k) {
      const DeviceSample& sample = stage[k];
      const int4 where = *reinterpret_cast<const int4*>(&sample.u);
      if (where.x != base_u || where.y != base_v) {  // the same in all threads
        const bool begun = base_u != INT_MIN;
        base_u = where.x, base_v = where.y;
        const int first_u = base_u + tile_u, first_v = base_v + tile_v;
        const int du = (own_u - first_u) & (kTile - 1), new_u = first_u + du;
#pragma unroll
        for (int c = 0; c < kCells; ++c) {
          const int dv = (own_v + c * kRows - first_v) & (kTile - 1), new_v = first_v + dv;
          if (begun && (new_u != u || new_v != v[c])) flush(t, u, v[c], sum[c]);
          v[c] = new_v;
          within[c] = (tile_v + dv) * t.size + tile_u + du;
        }
        u = new_u;
      }
      const float2* weights = t.weights + std::size_t(std::uint32_t(where.z)) * n_cells;
      const float4 a = sample.xx_xy, b = sample.yx_yy;
      float2 w[kCells];
#pragma unroll
      for (int c = 0; c < kCells; ++c) w[c] = __ldg(weights + within[c]);
#pragma unroll
      for (int c = 0; c < kCells; ++c) {
        multiply_add(sum[c][0], w[c], a);
        multiply_add(sum[c][1], w[c], b);
      }
    }
  }
  if (base_u == INT_MIN) return;
#pragma unroll
  for (int c = 0; c < kCells; ++c) flush(t, u, v[c], sum[c]);
}

template <int kTile, int kCells>
void launch(const GridTask& t, cudaStream_t stream) {
  const std::uint32_t tiles = t.size / kTile;
  grid_tiles<kTile, kCells><<<t.n_parts * tiles * tiles, kTile * kTile / kCells, 0, stream>>>(t);
}

}  // namespace

void launch_prepare(const PrepareTask& t, cudaStream_t stream) {
  prepare<<<(t.n_rows * t.n_chan + 255) / 256, 256, 0, stream>>>(t);
  cuda_check(cudaGetLastError(), "preparing visibilities");
}

void launch_screens(const ScreenTask& t, cudaStream_t stream) {
  screens<<<dim3((t.size * t.size + 63) / 64, t.n_tables), 64, 0, stream>>>(t);
  cuda_check(cudaGetLastError(), "making screens");
}

void launch_grid(const GridTask& t, cudaStream_t stream) {
  if (t.n_parts == 0) return;
  if (t.size % 32 == 0)
    launch<32, 4>(t, stream);
  else if (t.size % 16 == 0)
    launch<16, 4>(t, stream);
  else
    launch<8, 2>(t, stream);
  cuda_check(cudaGetLastError(), "gridding");
}

}  // namespace apsyn::projection
