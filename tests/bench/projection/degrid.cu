// SPDX-License-Identifier: GPL-3.0-or-later
// Degridding with the gridder's distribution of work: cells stay in a thread's registers for as long as a
// kernel's tile covers them; the products of a visibility are summed over the threads.
#include <climits>

#include "kernels/common/cuda/check.h"
#include "tests/bench/projection/projection_kernels.cuh"

namespace apsyn::projection {
namespace {

constexpr int kSampleWords = sizeof(DeviceSample) / sizeof(float4), kParts = 8;
constexpr std::uint32_t kStage = 32;

__device__ int wrap(int cell, int n_grid) {
  const int at = (cell + n_grid / 2) % n_grid;
  return at < 0 ? at + n_grid : at;
}

/// sums += conj(w) cell for two polarisations.
__device__ void multiply_add(float* sums, float2 w, float4 cell) {
  sums[0] = fmaf(w.y, cell.y, fmaf(w.x, cell.x, sums[0]));
  sums[1] = fmaf(-w.y, cell.x, fmaf(w.x, cell.y, sums[1]));
  sums[2] = fmaf(w.y, cell.w, fmaf(w.x, cell.z, sums[2]));
  sums[3] = fmaf(-w.y, cell.z, fmaf(w.x, cell.w, sums[3]));
}

/// Sums eight values over a warp: each exchange halves the values that a thread is left with. Returns the sum
/// of value lane / 4.
__device__ float sum_over_warp(float (&values)[kParts]) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int left = kParts / 2, bit = 16; left > 0; left /= 2, bit /= 2)
#pragma unroll
    for (int i = 0; i < left; ++i) {
      const bool upper = lane & bit;
      const float keep = upper ? values[i + left] : values[i], give = upper ? values[i] : values[i + left];
      values[i] = keep + __shfl_xor_sync(0xffffffff, give, bit);
    }
  float sum = values[0];
  sum += __shfl_xor_sync(0xffffffff, sum, 2);
  return sum + __shfl_xor_sync(0xffffffff, sum, 1);
}

template <int kTile, int kCells>
__global__ void __launch_bounds__(kTile* kTile / kCells) degrid_tiles(GridTask t, float* data) {
  constexpr int kThreads = kTile * kTile / kCells, kRows = kTile / kCells, kWarps = kThreads / 32;
  __shared__ DeviceSample stage[kStage];
  __shared__ float sums[kWarps][kStage][kParts];
  const int tiles = t.size / kTile, tile = blockIdx.x % (tiles * tiles);
  const int tile_u = tile % tiles * kTile, tile_v = tile / tiles * kTile;
  const int own_u = threadIdx.x % kTile, own_v = threadIdx.x / kTile;
  const uint2 part = t.parts[blockIdx.x / (tiles * tiles)];
  const std::uint32_t n_cells = t.size * t.size;

  float4 cells[kCells][2];
  int base_u = INT_MIN, base_v = INT_MIN, u = INT_MIN, v[kCells];
  std::uint32_t within[kCells];  // of a kernel
#pragma unroll
  for (int c = 0; c < kCells; ++c) {
    cells[c][0] = cells[c][1] = make_float4(0, 0, 0, 0);
    v[c] = INT_MIN;
    within[c] = 0;
  }
  for (std::uint32_t first = part.x; first < part.y; first += kStage) {
    const int n = min(part.y - first, kStage);
    __syncthreads();
    const auto* from = reinterpret_cast<const float4*>(t.samples + first);
#pragma unroll 1
    for (int i = threadIdx.x; i < n * kSampleWords; i += kThreads)
      reinterpret_cast<float4*>(stage)[i] = from[i];
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < n; ++k) {
      const int4 where = *reinterpret_cast<const int4*>(&stage[k].u);
      if (where.x != base_u || where.y != base_v) {  // the same in all threads
        base_u = where.x, base_v = where.y;
        const int first_u = base_u + tile_u, first_v = base_v + tile_v;
        const int du = (own_u - first_u) & (kTile - 1), new_u = first_u + du;
#pragma unroll
        for (int c = 0; c < kCells; ++c) {
          const int dv = (own_v + c * kRows - first_v) & (kTile - 1), new_v = first_v + dv;
          if (new_u != u || new_v != v[c]) {
            const std::size_t row = std::size_t(wrap(new_v, t.n_grid)) * t.n_grid;
            const float4* cell = t.grid + (row + wrap(new_u, t.n_grid)) * 2;
            cells[c][0] = __ldg(cell);
            cells[c][1] = __ldg(cell + 1);
          }
          v[c] = new_v;
          within[c] = (tile_v + dv) * t.size + tile_u + du;
        }
        u = new_u;
      }
      const float2* weights = t.weights + std::size_t(std::uint32_t(where.z)) * n_cells;
      float2 w[kCells];
#pragma unroll
      for (int c = 0; c < kCells; ++c) w[c] = __ldg(weights + within[c]);
      float own[kParts] = {};
#pragma unroll
      for (int c = 0; c < kCells; ++c) {
        multiply_add(own, w[c], cells[c][0]);
        multiply_add(own + 4, w[c], cells[c][1]);
      }
      const float sum = sum_over_warp(own);
      if (threadIdx.x % 4 == 0) sums[threadIdx.x / 32][k][threadIdx.x % 32 / 4] = sum;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n * kParts; i += kThreads) {
      float sum = 0;
#pragma unroll
      for (int warp = 0; warp < kWarps; ++warp) sum += sums[warp][i / kParts][i % kParts];
      float* to = data + std::size_t(stage[i / kParts].visibility) * kParts + i % kParts;
      if (tiles == 1)
        *to += sum;
      else
        atomicAdd(to, sum);
    }
  }
}

template <int kTile, int kCells>
void launch(const GridTask& t, float4* data, cudaStream_t stream) {
  const std::uint32_t tiles = t.size / kTile;
  degrid_tiles<kTile, kCells>
      <<<t.n_parts * tiles * tiles, kTile * kTile / kCells, 0, stream>>>(t, reinterpret_cast<float*>(data));
}

}  // namespace

void launch_degrid(const GridTask& t, float4* data, cudaStream_t stream) {
  if (t.n_parts == 0) return;
  if (t.size % 32 == 0)
    launch<32, 4>(t, data, stream);
  else if (t.size % 16 == 0)
    launch<16, 4>(t, data, stream);
  else
    launch<8, 2>(t, data, stream);
  cuda_check(cudaGetLastError(), "degridding");
}

}  // namespace apsyn::projection
