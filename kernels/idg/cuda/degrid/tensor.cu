// SPDX-License-Identifier: GPL-3.0-or-later
// The degridder's sum over pixels on Hopper's tensor cores, single precision.
//
// n - n_middle = g(x) + h(y) + c(y, x) with small c, so a visibility's phases are separable but for dw c:
//
//   V = sum_y E_y sum_x E_x (P + dw Q),  E_x = exp(2 pi i (u x + dw g(x))), Q = 2 pi i c P.
//
// The inner sum is one matrix product over x for all y and planes of 64 visibilities; the sum over y is done
// on its accumulators. Operands are split into two half-precision parts, hi hi + hi lo + lo hi, and Q is
// taken in one. A complex product is three real ones (Gauss):
//
//   a = E_r P_r, b = E_i P_i, c = (E_r + E_i)(P_r + P_i): re = a - b, im = c - a - b.
//
// P, split, stays in shared memory; E_x is made in the registers that feed the tensor cores. A block is one
// warpgroup with the visibilities of one unit; two blocks share an SM, so that one makes phases while the
// other multiplies. Subgrids beyond 32 pixels are taken in tiles, sums of visibilities kept in shared memory.
#include <algorithm>

#include "kernels/common/cuda/check.h"
#include "kernels/common/cuda/sm90/mbarrier.cuh"
#include "kernels/idg/cuda/degrid/tensor_warpgroup.cuh"

namespace apsyn::idg_degrid {
namespace {

template <int kPlanes, int kRows, bool kFirstOrder>
__global__ void __launch_bounds__(kThreads, kPlanes == 1 ? 3 : 2)
    sum_pixels(SumTask<float> task, TensorTables tables) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using L = Layout<kPlanes, kRows, kFirstOrder>;
  using Group = Warpgroup<kPlanes, kRows, kFirstOrder>;
  extern __shared__ __align__(128) unsigned char dynamic_shared[];
  auto* n_of_x = reinterpret_cast<float*>(dynamic_shared + L::kOperandsBytes);
  float* n_of_y = n_of_x + kColumns;
  auto* partial = reinterpret_cast<float2*>(dynamic_shared + L::kOperandsBytes + L::kTableBytes);
  const int side = task.geometry.side, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const std::uint32_t operands = ptx::shared_address(dynamic_shared);
  const Unit unit = task.units[blockIdx.x];
  const int n_visibilities = static_cast<int>(unit.n_visibilities);
  const auto half_w = static_cast<float>(task.tasks[unit.task].half_w_lambda);
  const float scale = task.scale[unit.task], unscale = 1 / scale;
  const Prepared<float>* prepared = task.prepared + unit.first_visibility;
  float2* out = task.out + std::size_t(unit.first_visibility - task.first_visibility) * kPlanes;
  const int tiles_x = (side + kColumns - 1) / kColumns, tiles_y = (side + kRows - 1) / kRows;
  const int n_tiles = tiles_x * tiles_y, column = 2 * (lane & 3), first_row = 16 * warp + (lane >> 2);

  Group group;
#pragma unroll
  for (int h = 0; h < 2; ++h)
#pragma unroll
    for (int q = 0; q < Group::kPlanesAtOnce; ++q) group.sums[h][q] = {};
  for (int tile = 0; tile < n_tiles; ++tile) {
    const int first_x = tile % tiles_x * kColumns, first_y = tile / tiles_x * kRows;
    if (tile > 0) __syncthreads();
    fill_operands<kPlanes, kRows, kFirstOrder>(dynamic_shared, task, tables.residual, unit, first_x, first_y,
                                               half_w, scale);
    if (threadIdx.x < kColumns)
      n_of_x[threadIdx.x] =
          first_x + threadIdx.x < side ? kTwoPi * half_w * tables.n_of_x[first_x + threadIdx.x] : 0.0f;
    if (threadIdx.x < kRows)
      n_of_y[threadIdx.x] =
          first_y + threadIdx.x < side ? kTwoPi * half_w * tables.n_of_y[first_y + threadIdx.x] : 0.0f;
    ptx::async_proxy_fence();
    __syncthreads();

    Prepared<float> next[2];
    auto load = [&](int begin) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int k = min(begin + first_row + 8 * h, n_visibilities - 1);
        *reinterpret_cast<int4*>(&next[h]) = __ldg(reinterpret_cast<const int4*>(prepared + k));
      }
    };
    load(0);
    for (int begin = 0; begin < n_visibilities; begin += 64) {
      const Prepared<float> mine[2] = {next[0], next[1]};
      group.make_x(mine, n_of_x + column, first_x + column, side);
      if (begin + 64 < n_visibilities) load(begin + 64);
      float2 result[Group::kPairs];
      group.sum(operands, lane, result, [&] { group.make_y(mine, n_of_y + column, first_y + column, side); });

      const int h = (lane & 2) / 2, k = begin + first_row + 8 * h;
      if (k >= n_visibilities) continue;
      const bool folded = ((h == 0 ? mine[0].turn : mine[1].turn) & 1) != 0;
      float2* stored = out + static_cast<std::size_t>(k) * kPlanes;
#pragma unroll
      for (int pair = 0; pair < Group::kPairs; ++pair) {
        // One of the two lanes that have the sum of a single plane stores it.
        if (Group::kPlanesAtOnce == 1 && (lane & 1) != (pair & 1)) continue;
        const int plane = Group::kPlanesAtOnce == 1 ? pair : 2 * pair + (lane & 1);
        float2 value = result[pair];
        if (n_tiles > 1) {
          float2& before = partial[k * kPlanes + plane];
          if (tile > 0) value.x += before.x, value.y += before.y;
          before = value;
          if (tile < n_tiles - 1) continue;
        }
        // With A-terms a folded V is the adjoint matrix: XY and YX change places.
        const int to = folded && task.adjoint && (plane == 1 || plane == 2) ? 3 - plane : plane;
        stored[to] = {value.x * unscale, value.y * (folded ? -unscale : unscale)};
      }
    }
  }
#endif
}

template <int kPlanes, int kRows, bool kFirstOrder>
void launch(const SumTask<float>& task, const TensorTables& tables, cudaStream_t stream) {
  const auto kernel = sum_pixels<kPlanes, kRows, kFirstOrder>;
  const int bytes = Layout<kPlanes, kRows, kFirstOrder>::shared_bytes(task.geometry.side);
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
             "asking for shared memory");
  kernel<<<task.n_units, kThreads, bytes, stream>>>(task, tables);
  cuda_check(cudaGetLastError(), "launching the degridder (wgmma)");
}

template <int kPlanes, int kRows>
void launch(const SumTask<float>& task, const TensorTables& tables, DegridTerms terms, cudaStream_t stream) {
  if (terms == DegridTerms::first_order)
    launch<kPlanes, kRows, true>(task, tables, stream);
  else
    launch<kPlanes, kRows, false>(task, tables, stream);
}

template <int kPlanes>
void launch(const SumTask<float>& task, const TensorTables& tables, DegridTerms terms, cudaStream_t stream) {
  // Rows of a tile: the fewer that are wasted.
  auto padded = [&](int rows) { return (task.geometry.side + rows - 1) / rows * rows; };
  if (padded(24) < padded(32))
    launch<kPlanes, 24>(task, tables, terms, stream);
  else
    launch<kPlanes, 32>(task, tables, terms, stream);
}

}  // namespace

void launch_tensor(const SumTask<float>& task, const TensorTables& tables, DegridTerms terms,
                   cudaStream_t stream) {
  if (task.n_units == 0) return;
  if (task.geometry.n_planes == 4)
    launch<4>(task, tables, terms, stream);
  else if (task.geometry.n_planes == 2)
    launch<2>(task, tables, terms, stream);
  else
    launch<1>(task, tables, terms, stream);
}

bool tensor_planes(int n_planes) {
  return n_planes == 1 || n_planes == 2 || n_planes == 4;
}

int tensor_unit(int side) {
  return side > kColumns ? kTiledUnit : kWholeUnit;
}

}  // namespace apsyn::idg_degrid
