// SPDX-License-Identifier: GPL-3.0-or-later
// What the degridder does once for each visibility and once for each layer.
#include "kernels/common/cuda/check.h"
#include "kernels/idg/cuda/degrid/kernels.cuh"

namespace apsyn::idg_degrid {
namespace {

/// Turns -> fraction of 2^32, wrapped.
__device__ __forceinline__ std::int32_t fixed(double turns) {
  return static_cast<std::int32_t>(__double2ll_rn((turns - rint(turns)) * 4294967296.0));
}

__device__ __forceinline__ void store(Prepared<float>& out, double u, double v, double w, double turn,
                                      bool folded) {
  out = {fixed(u / 2), fixed(v / 2), static_cast<float>(w), (fixed(turn) & ~1) | (folded ? 1 : 0)};
}
__device__ __forceinline__ void store(Prepared<double>& out, double u, double v, double w, double turn,
                                      bool folded) {
  out = {u, v, w, turn - rint(turn), folded};
}

template <class T>
__global__ void prepare(PrepareTask<T> task) {
  const Geometry& g = task.geometry;
  const std::size_t thread = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::size_t index = thread >> task.lanes_log2;
  if (index >= task.n_runs) return;
  const int n_lanes = 1 << task.lanes_log2, lane = static_cast<int>(thread) & (n_lanes - 1);
  const Run run = task.runs[index];
  const Task& own = task.tasks[run.task];
  bool folded = false;
  double u_m, v_m, w_m, path_m = 0;
  if (task.nodes != nullptr) {
    const idg_cuda::NodeRow& node = task.nodes[run.row];
    u_m = node.u_m, v_m = node.v_m, w_m = node.w_m;
  } else {
    const double* uvw_m = task.uvw_m + 3 * std::size_t(run.row);
    folded = uvw_m[2] < 0;
    const double sign = folded ? -1 : 1;
    u_m = sign * uvw_m[0], v_m = sign * uvw_m[1], w_m = sign * uvw_m[2];
    if (task.path_m != nullptr) path_m = sign * task.path_m[run.row];
  }
  for (std::uint32_t i = lane; i < run.n_channels; i += n_lanes) {
    const std::uint32_t chan = run.first_channel + i;
    const double wavenumber = task.wavenumber[chan], w = w_m * wavenumber;
    const double from_layer = w - own.layer_w_lambda;
    double t, w_phase;
    if (g.w_kernel) {
      t = (from_layer - 0.5 * (g.n_outputs - 1) * g.layer_step_lambda) / g.half_w_lambda;
      w_phase = w * (g.n_middle - 1);
    } else {
      t = own.half_w_lambda > 0 ? (w - own.w_lambda) / own.half_w_lambda : 0.0;
      w_phase = from_layer * (g.n_middle - 1);
    }
    store(task.prepared[run.first_visibility + i], (u_m * wavenumber * g.per_u - own.centre_u) / g.side,
          (v_m * wavenumber * g.per_v - own.centre_v) / g.side, t, w_phase + path_m * wavenumber, folded);
  }
}

/// Cells of a row by blocks next to each other; there may be more than 65535 rows.
constexpr int kModelThreads = 128;

template <class W>
__global__ void __launch_bounds__(kModelThreads) place_model(ModelTask<W> task) {
  const Geometry& g = task.geometry;
  const int blocks_a_row = (g.n_u + kModelThreads - 1) / kModelThreads;
  const int u = blockIdx.x % blocks_a_row * kModelThreads + threadIdx.x, v = blockIdx.x / blocks_a_row;
  if (u >= g.n_u) return;
  // Pixel x is at l = (n_x/2 - x) cell, which the transform along u wants at index (n_x/2 - x) mod n_u.
  const int il = u <= g.n_x / 2 ? u : u - g.n_u, im = v < g.n_y - g.n_y / 2 ? v : v - g.n_v;
  const int x = g.n_x / 2 - il, y = g.n_y / 2 + im;
  ComplexOf<W> value{0, 0};
  if (x >= 0 && x < g.n_x && y >= 0 && y < g.n_y) {
    const double l = il * g.cell_rad, m = im * g.cell_rad, r2 = l * l + m * m;
    const double flux = task.model[std::size_t(y) * g.n_x + x];
    if (r2 < 1 && flux != 0) {
      const double turns = task.w_lambda * (task.n_shift - r2 / (1 + sqrt(1 - r2)));
      W sine, cosine;
      idg_cuda::sincos_turns(turns, sine, cosine);
      value = {W(flux) * cosine, W(flux) * sine};
    }
  }
  task.work[std::size_t(v) * g.n_u + u] = value;
}

/// A block owns a tile.
template <class T, class W>
__global__ void __launch_bounds__(256)
    narrow(const ComplexOf<W>* work, ComplexOf<T>* grid, int n_u, int n_v) {
  const int tiles_u = int(grid_tiles(n_u)), first_v = int(blockIdx.x) / tiles_u * kGridTile,
            u = int(blockIdx.x) % tiles_u * kGridTile + threadIdx.x % kGridTile;
  if (u >= n_u) return;
  ComplexOf<T>* tile = grid + std::size_t(blockIdx.x) * kGridTile * kGridTile;
  for (int i = threadIdx.x; i < kGridTile * kGridTile; i += blockDim.x) {
    const int v = first_v + i / kGridTile;
    if (v >= n_v) continue;
    const ComplexOf<W> value = work[std::size_t(v) * n_u + u];
    tile[i] = {static_cast<T>(value.x), static_cast<T>(value.y)};
  }
}

}  // namespace

template <class T>
void launch_prepare(const PrepareTask<T>& task, cudaStream_t stream) {
  const std::size_t n_threads = task.n_runs << task.lanes_log2;
  prepare<<<static_cast<unsigned>((n_threads + 127) / 128), 128, 0, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching the degridder's preparation");
}

template <class W>
void launch_model(const ModelTask<W>& task, cudaStream_t stream) {
  const unsigned blocks_a_row = (task.geometry.n_u + kModelThreads - 1) / kModelThreads;
  place_model<W><<<blocks_a_row * task.geometry.n_v, kModelThreads, 0, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching a layer's w screen");
}

template <class T, class W>
void launch_narrow(const ComplexOf<W>* work, ComplexOf<T>* grid, int n_u, int n_v, cudaStream_t stream) {
  const std::size_t n_tiles = grid_tiles(n_u) * grid_tiles(n_v);
  narrow<T, W><<<static_cast<unsigned>(n_tiles), 256, 0, stream>>>(work, grid, n_u, n_v);
  cuda_check(cudaGetLastError(), "launching the conversion of a grid");
}

template void launch_prepare(const PrepareTask<float>&, cudaStream_t);
template void launch_prepare(const PrepareTask<double>&, cudaStream_t);
template void launch_model(const ModelTask<float>&, cudaStream_t);
template void launch_model(const ModelTask<double>&, cudaStream_t);
template void launch_narrow<float, float>(const float2*, float2*, int, int, cudaStream_t);
template void launch_narrow<float, double>(const double2*, float2*, int, int, cudaStream_t);
template void launch_narrow<double, double>(const double2*, double2*, int, int, cudaStream_t);

}  // namespace apsyn::idg_degrid
