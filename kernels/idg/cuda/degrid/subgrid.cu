// SPDX-License-Identifier: GPL-3.0-or-later
// The degridder's subgrids: cells cut from the layers' grids, and after their transform the pixels with
// taper, w screen and A-terms.
#include "kernels/common/cuda/check.h"
#include "kernels/idg/cuda/degrid/kernels.cuh"

namespace apsyn::idg_degrid {
namespace {

using idg_cuda::sincos_turns;

/// Threads of a block, which owns a task: many for large subgrids, of which a piece has few.
template <class T>
constexpr int kLargeShapeThreads = sizeof(T) == 4 ? 256 : 128;
constexpr int kShapeThreads = 128, kLargeSide = 48;

__device__ __forceinline__ float2 times(float2 a, float2 b) {
  return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}
__device__ __forceinline__ double2 times(double2 a, double2 b) {
  return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}

template <class T>
__global__ void cut(CutTask<T> task) {
  const Geometry& g = task.geometry;
  const int side = g.side, half = side / 2, output = blockIdx.y % g.n_outputs,
            plane = blockIdx.y / g.n_outputs;
  const Task& own = task.tasks[blockIdx.x];
  const int layer = own.layer + output;
  const bool inside = layer >= 0 && layer < g.n_layers;
  const ComplexOf<T>* grid =
      task.grids + (std::size_t(inside ? layer : 0) * g.n_image_planes + plane) * tiled_cells(g.n_u, g.n_v);
  ComplexOf<T>* subgrid =
      task.subgrids +
      ((std::size_t(blockIdx.x) * g.n_image_planes + plane) * g.n_outputs + output) * side * side;
  for (int i = threadIdx.x; i < side * side; i += blockDim.x) {
    const int sv = i / side, su = i % side;
    ComplexOf<T> value{0, 0};
    if (inside) {
      int v = own.start_v + sv, u = own.start_u + su;
      if (v >= g.n_v) v -= g.n_v;
      if (u >= g.n_u) u -= g.n_u;
      value = times(grid[tiled_cell(g.n_u, v, u)], times(task.uv_phase[sv], task.uv_phase[su]));
    }
    subgrid[(sv < half ? sv + half : sv - half) * side + (su < half ? su + half : su - half)] = value;
  }
}

/// A block owns a subgrid of a task and plane.
template <class T>
__global__ void __launch_bounds__(256) place(PlaceTask<T> task) {
  const Geometry& g = task.geometry;
  const int side = g.side, half = side / 2, output = blockIdx.y % g.n_outputs,
            plane = blockIdx.y / g.n_outputs;
  const ComplexOf<T>* cells =
      task.cells + (std::size_t(blockIdx.x) * g.n_outputs + output) * side * side * task.n_cell_planes +
      plane;
  ComplexOf<T>* subgrid =
      task.subgrids +
      ((std::size_t(blockIdx.x) * g.n_image_planes + plane) * g.n_outputs + output) * side * side;
  for (int i = threadIdx.x; i < side * side; i += blockDim.x) {
    const int sv = i / side, su = i % side;
    subgrid[(sv < half ? sv + half : sv - half) * side + (su < half ? su + half : su - half)] =
        times(cells[i * task.n_cell_planes], times(task.uv_phase[sv], task.uv_phase[su]));
  }
}

/// The brightness of a pixel, from the image planes; that of folded visibilities is its adjoint's.
template <class T>
__device__ AtermMatrix<T> brightness(const ShapeTask<T>& task, const ComplexOf<T>* pixel, std::size_t stride,
                                     bool folded) {
  AtermValue<T> sum[4] = {};
  for (int s = 0; s < task.geometry.n_image_planes; ++s) {
    const AtermValue<T> value{pixel[s * stride].x, pixel[s * stride].y};
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const int from = folded ? (c == 1 ? 2 : c == 2 ? 1 : c) : c;
      const ComplexOf<T> mix = task.mix[4 * s + from];
      sum[c] = sum[c] + value * AtermValue<T>{mix.x, folded ? -mix.y : mix.y};
    }
  }
  return {sum[0], sum[1], sum[2], sum[3]};
}

template <class T>
__device__ AtermMatrix<T> widen(const AtermMatrix<float>& a) {
  return {
      {T(a.xx.re), T(a.xx.im)}, {T(a.xy.re), T(a.xy.im)}, {T(a.yx.re), T(a.yx.im)}, {T(a.yy.re), T(a.yy.im)}};
}

template <class T, int kThreads>
__global__ void __launch_bounds__(kThreads) shape(ShapeTask<T> task) {
  const Geometry& g = task.geometry;
  const int side = g.side, n_pixels = side * side;
  const Task& own = task.tasks[blockIdx.x];
  const std::size_t stride = std::size_t(g.n_outputs) * n_pixels;  // between planes
  const ComplexOf<T>* in = task.subgrids + std::size_t(blockIdx.x) * g.n_image_planes * stride;
  ComplexOf<T>* out = task.pixels + std::size_t(blockIdx.x) * g.n_planes * stride;
  const double from_layer = g.w_kernel ? 0.0 : own.w_lambda - own.layer_w_lambda;
  float largest = 0;
  for (int pixel = threadIdx.x; pixel < n_pixels; pixel += kThreads) {
    ComplexOf<T> screen;
    sincos_turns(from_layer * task.n_from_middle[pixel], screen.y, screen.x);
    const T taper = static_cast<T>(task.taper[pixel]);
    screen.x *= taper;
    screen.y *= taper;
    AtermMatrix<T> jones_p{}, jones_q{};
    if (task.jones != nullptr) {
      // The Jones matrices' x runs west to east.
      const int at = pixel / side * side + side - 1 - pixel % side;
      const idg::AtermKey& key = own.aterms;
      const std::size_t slot = std::size_t(key.row_slot) * task.n_chan_slots + key.chan_slot;
      jones_p = widen<T>(task.jones[(slot * task.n_responses + key.response_p) * n_pixels + at]);
      jones_q = widen<T>(task.jones[(slot * task.n_responses + key.response_q) * n_pixels + at]);
    }
    for (int output = 0; output < g.n_outputs; ++output) {
      const std::size_t at = std::size_t(output) * n_pixels + pixel;
      auto put = [&](int plane, ComplexOf<T> value) {
        value = times(value, screen);
        largest = fmaxf(largest, static_cast<float>(fabs(value.x) + fabs(value.y)));
        out[plane * stride + at] = value;
      };
      if (task.jones == nullptr) {
        for (int plane = 0; plane < g.n_planes; ++plane) put(plane, in[plane * stride + at]);
        continue;
      }
      const AtermMatrix<T> corr =
          aterm_forward(jones_p, brightness(task, in + at, stride, own.aterms.folded != 0), jones_q);
      put(0, {corr.xx.re, corr.xx.im});
      put(1, {corr.xy.re, corr.xy.im});
      put(2, {corr.yx.re, corr.yx.im});
      put(3, {corr.yy.re, corr.yy.im});
    }
  }
  __shared__ float warp_largest[kThreads / 32];
  for (int lane = 16; lane > 0; lane /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, lane));
  if (threadIdx.x % 32 == 0) warp_largest[threadIdx.x / 32] = largest;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (float other : warp_largest) largest = fmaxf(largest, other);
    const bool usable = largest > 1e-30f && largest < 1e30f;
    task.scale[blockIdx.x] = usable ? exp2f(12 - ceilf(log2f(largest))) : 1.0f;
  }
}

}  // namespace

template <class T>
void launch_cut(const CutTask<T>& task, cudaStream_t stream) {
  cut<T>
      <<<dim3(task.n_tasks, task.geometry.n_image_planes * task.geometry.n_outputs), 256, 0, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching the splitter");
}

template <class T>
void launch_place(const PlaceTask<T>& task, cudaStream_t stream) {
  const Geometry& g = task.geometry;
  place<T><<<dim3(task.n_tasks, g.n_image_planes * g.n_outputs), 256, 0, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching the place of cells");
}

template <class T>
void launch_shape(const ShapeTask<T>& task, cudaStream_t stream) {
  if (task.geometry.side < kLargeSide)
    shape<T, kShapeThreads><<<task.n_tasks, kShapeThreads, 0, stream>>>(task);
  else
    shape<T, kLargeShapeThreads<T>><<<task.n_tasks, kLargeShapeThreads<T>, 0, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching the subgrids' screens");
}

template void launch_cut(const CutTask<float>&, cudaStream_t);
template void launch_cut(const CutTask<double>&, cudaStream_t);
template void launch_place(const PlaceTask<float>&, cudaStream_t);
template void launch_place(const PlaceTask<double>&, cudaStream_t);
template void launch_shape(const ShapeTask<float>&, cudaStream_t);
template void launch_shape(const ShapeTask<double>&, cudaStream_t);

}  // namespace apsyn::idg_degrid
