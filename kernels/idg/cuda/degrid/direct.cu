// SPDX-License-Identifier: GPL-3.0-or-later
// The degridder's sum over pixels for any plan and device: a thread owns a visibility, pixels come in tiles
// of whole rows through shared memory.
#include "kernels/common/cuda/check.h"
#include "kernels/idg/cuda/degrid/kernels.cuh"

namespace apsyn::idg_degrid {
namespace {

constexpr int kTilePixels = 512;

/// The phases of one visibility's pixels along a row.
template <class T>
struct Row;
template <>
struct Row<float> {
  std::uint32_t phase, step;
  __device__ Row(const Prepared<float>& p, int y, int side)
      : phase(std::uint32_t(p.turn & ~1) + std::uint32_t(p.v) * std::uint32_t(2 * y - side + 1) -
              std::uint32_t(p.u) * std::uint32_t(side - 1)),
        step(2 * std::uint32_t(p.u)) {}
  /// exp(i (phase + w n)), w n in turns.
  __device__ float2 next(float w_turns) {
    const float turns = fmaf(float(std::int32_t(phase)), 1 / 4294967296.0f, w_turns);
    phase += step;
    float2 e;
    sincospif(2 * (turns - rintf(turns)), &e.y, &e.x);
    return e;
  }
  __device__ static bool folded(const Prepared<float>& p) { return (p.turn & 1) != 0; }
};
template <>
struct Row<double> {
  double phase, step, x;
  __device__ Row(const Prepared<double>& p, int y, int side)
      : phase(p.turn + p.v * (y - 0.5 * (side - 1))), step(p.u), x(-0.5 * (side - 1)) {}
  __device__ double2 next(double w_turns) {
    const double turns = fma(step, x, phase) + w_turns;
    x += 1;
    double2 e;
    sincospi(2 * (turns - rint(turns)), &e.y, &e.x);
    return e;
  }
  __device__ static bool folded(const Prepared<double>& p) { return p.folded != 0; }
};

template <class T, int kPlanes>
__global__ void __launch_bounds__(kDirectUnit, 4) direct(SumTask<T> task, int first_plane) {
  __shared__ ComplexOf<T> pixels[kTilePixels][kPlanes];
  __shared__ T w_turns[kTilePixels];  // of half_w_task
  const Geometry& g = task.geometry;
  const int side = g.side, n_pixels = side * side, rows_at_once = max(1, kTilePixels / side);
  const Unit unit = task.units[blockIdx.x];
  const Task& own = task.tasks[unit.task];
  const bool exists = threadIdx.x < unit.n_visibilities;
  const std::uint32_t k = unit.first_visibility + (exists ? threadIdx.x : 0);
  const Prepared<T> mine = task.prepared[k];
  ComplexOf<T> sum[kPlanes] = {};
  for (int output = 0; output < g.n_outputs; ++output) {
    if (own.layer + output < 0 || own.layer + output >= g.n_layers) continue;
    T factor = 1;
    if (g.w_kernel) {
      const double t = mine.w - (output - 0.5 * (g.n_outputs - 1)) * g.layer_step_lambda / g.half_w_lambda;
      factor = t * t < 1 ? static_cast<T>(exp(g.kernel_beta * (sqrt(1 - t * t) - 1))) : T(0);
    }
    const ComplexOf<T>* image =
        task.pixels + ((std::size_t(unit.task) * g.n_planes + first_plane) * g.n_outputs + output) * n_pixels;
    const std::size_t stride = std::size_t(g.n_outputs) * n_pixels;
    ComplexOf<T> part[kPlanes] = {};
    for (int first_row = 0; first_row < side; first_row += rows_at_once) {
      const int n_here = min(rows_at_once, side - first_row) * side;
      __syncthreads();
      for (int i = threadIdx.x; i < n_here; i += kDirectUnit) {
        const int pixel = first_row * side + i;
        w_turns[i] = g.w_kernel ? T(0) : static_cast<T>(own.half_w_lambda * task.n_from_middle[pixel]);
#pragma unroll
        for (int p = 0; p < kPlanes; ++p) pixels[i][p] = image[p * stride + pixel];
      }
      __syncthreads();
      for (int i = 0; i < n_here;) {
        Row<T> row(mine, first_row + i / side, side);
        ComplexOf<T> of_row[kPlanes] = {};  // shorter sums round less
        for (int x = 0; x < side; ++x, ++i) {
          const ComplexOf<T> e = row.next(mine.w * w_turns[i]);
#pragma unroll
          for (int p = 0; p < kPlanes; ++p) {
            const ComplexOf<T> value = pixels[i][p];
            of_row[p].x += value.x * e.x - value.y * e.y;
            of_row[p].y += value.x * e.y + value.y * e.x;
          }
        }
#pragma unroll
        for (int p = 0; p < kPlanes; ++p) {
          part[p].x += of_row[p].x;
          part[p].y += of_row[p].y;
        }
      }
    }
#pragma unroll
    for (int p = 0; p < kPlanes; ++p) {
      sum[p].x += factor * part[p].x;
      sum[p].y += factor * part[p].y;
    }
  }
  if (!exists) return;
  const std::size_t slot = k - task.first_visibility;
  const bool folded = Row<T>::folded(mine);
#pragma unroll
  for (int p = 0; p < kPlanes; ++p) {
    // With A-terms a folded V is the adjoint matrix: XY and YX change places.
    const int plane = first_plane + p,
              to = folded && task.adjoint && (plane == 1 || plane == 2) ? 3 - plane : plane;
    task.out[slot * g.n_planes + to] = {sum[p].x, folded ? -sum[p].y : sum[p].y};
  }
}

}  // namespace

template <class T>
void launch_direct(const SumTask<T>& task, cudaStream_t stream) {
  if (task.n_units == 0) return;
  for (int plane = 0; plane < task.geometry.n_planes;) {
    const int n = task.geometry.n_planes - plane;
    if (n >= 4) {
      direct<T, 4><<<task.n_units, kDirectUnit, 0, stream>>>(task, plane);
      plane += 4;
    } else if (n >= 2) {
      direct<T, 2><<<task.n_units, kDirectUnit, 0, stream>>>(task, plane);
      plane += 2;
    } else {
      direct<T, 1><<<task.n_units, kDirectUnit, 0, stream>>>(task, plane);
      plane += 1;
    }
    cuda_check(cudaGetLastError(), "launching the degridder");
  }
}

template void launch_direct(const SumTask<float>&, cudaStream_t);
template void launch_direct(const SumTask<double>&, cudaStream_t);

}  // namespace apsyn::idg_degrid
