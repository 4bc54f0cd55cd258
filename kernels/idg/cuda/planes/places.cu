// SPDX-License-Identifier: GPL-3.0-or-later
// From rows that the device keeps to places, as cpu/planes/block_places.cpp and spread_places.cpp make them.
#include "kernels/common/cuda/launch.cuh"
#include "kernels/idg/cuda/planes/kernels.cuh"

namespace apsyn::idg_cuda {
namespace {

/// exp(-2 pi i turns).
__device__ float2 turned_by(double turns) {
  float sine, cosine;
  sincospif(2 * float(turns - rint(turns)), &sine, &cosine);
  return {cosine, -sine};
}
__device__ float2 product(float2 a, float2 b) {
  return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}

/// First cell of a place's kernel, and SpreadKernel's q.
__device__ int first_cell(double cells, double half_width, float& q) {
  const double begin = cells - half_width, cell = ceil(begin);
  q = float(2 * (cell - begin) - 1);
  return int(cell);
}

__global__ void __launch_bounds__(kThreads) locate(LocateTask task) {
  const std::size_t i = this_thread();
  if (i >= std::size_t(task.n_rows) * task.n_chan) return;
  const std::size_t row = i / task.n_chan;
  const float* weight = task.weight + i * task.n_weight_planes;
  bool any = false;
  for (int p = 0; p < task.n_weight_planes; ++p) any = any || weight[p] != 0;
  task.key[i] = std::uint64_t(task.n_tiles_u) * task.n_tiles_v;
  if (!any) return;
  const double k = task.wavenumber[i - row * task.n_chan], all_u = task.uvw_m[3 * row] * k * task.scale_u,
               all_v = task.uvw_m[3 * row + 1] * k * task.scale_v;
  double w = task.uvw_m[3 * row + 2] * k;
  if (!(fabs(all_u) < task.farthest_cells && fabs(all_v) < task.farthest_cells &&
        fabs(w) <= task.max_w_lambda * (1 + 1e-9))) {
    *task.refused = 1;
    return;
  }
  double u = all_u - rint(all_u / task.n_u) * task.n_u, v = all_v - rint(all_v / task.n_v) * task.n_v;
  const bool folded = v < 0;
  if (folded) u = -u, v = -v, w = -w;
  DevicePlace place;
  const int column = first_cell(u + task.origin_u, task.half_width, place.q_u),
            line = first_cell(v + task.origin_v, task.half_width, place.q_v);
  place.t = float(fmin(fmax(w * task.w_scale, -1.0), 1.0));
  std::uint32_t n_pairs = 1;
  while (n_pairs < 6 && fabsf(place.t) > task.max_t[n_pairs - 1]) ++n_pairs;
  place.cell = std::uint32_t(line) << 19 | n_pairs << 16 | std::uint32_t(column);
  task.place[i] = place;
  task.key[i] = std::uint64_t(line >> tile_side_log2) * task.n_tiles_u + (column >> tile_side_log2);
  const float2 turn = turned_by(w * task.turns_of_w),
               path = task.path_m == nullptr ? float2{1, 0} : turned_by(task.path_m[row] * k);
  for (int p = 0; p < task.n_planes; ++p) {
    const bool psf = p == task.n_data_planes;
    const float own = weight[psf || task.n_weight_planes == 1 ? 0 : p];
    float2 value{own, 0};
    if (!psf && own != 0) {
      const float2 data = task.data[i * task.n_data_planes + p];
      value = product({data.x * own, data.y * own}, path);
    }
    if (folded) value.y = -value.y;
    task.value[i * task.n_planes + p] = product(value, turn);
  }
}

__global__ void __launch_bounds__(kThreads)
    find_tile_begins(const std::uint64_t* key, std::uint32_t n, std::uint32_t n_tiles,
                     std::uint32_t* tile_begin) {
  const std::size_t tile = this_thread();
  if (tile > n_tiles) return;
  std::uint32_t first = 0, end = n;
  while (first < end) {
    const std::uint32_t middle = first + (end - first) / 2;
    if (key[middle] < tile)
      first = middle + 1;
    else
      end = middle;
  }
  tile_begin[tile] = first;
}

__global__ void __launch_bounds__(kThreads)
    sum_weights(const float* weight, std::size_t n, int n_planes, double* sums) {
  __shared__ double of_thread[kThreads];
  for (int plane = 0; plane < n_planes; ++plane) {
    double sum = 0;
    for (std::size_t i = this_thread(); i < n; i += std::size_t(gridDim.x) * kThreads)
      sum += double(weight[i * n_planes + plane]);
    __syncthreads();
    of_thread[threadIdx.x] = sum;
    for (unsigned half = kThreads / 2; half > 0; half /= 2) {
      __syncthreads();
      if (threadIdx.x < half) of_thread[threadIdx.x] += of_thread[threadIdx.x + half];
    }
    if (threadIdx.x == 0) sums[plane * weight_sum_parts + blockIdx.x] += of_thread[0];
  }
}

}  // namespace

void launch_locate(const LocateTask& task, cudaStream_t stream) {
  locate<<<blocks_of(std::size_t(task.n_rows) * task.n_chan), kThreads, 0, stream>>>(task);
  launched("locating visibilities");
}

void launch_tile_begins(const std::uint64_t* key, std::uint32_t n, std::uint32_t n_tiles,
                        std::uint32_t* tile_begin, cudaStream_t stream) {
  find_tile_begins<<<blocks_of(n_tiles + std::size_t(1)), kThreads, 0, stream>>>(key, n, n_tiles, tile_begin);
  launched("finding places of tiles");
}

void launch_sum_weights(const float* weight, std::size_t n, int n_planes, double* sums, cudaStream_t stream) {
  sum_weights<<<weight_sum_parts, kThreads, 0, stream>>>(weight, n, n_planes, sums);
  launched("summing weights");
}

}  // namespace apsyn::idg_cuda
