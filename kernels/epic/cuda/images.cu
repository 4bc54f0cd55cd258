// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/cuda/launch.cuh"
#include "kernels/epic/cuda/plane_tasks.cuh"

namespace apsyn::epic_cuda {
namespace {

constexpr int kAutoThreads = 128;

/// A block for each image channel and kind; sums in one order whatever runs.
__global__ void autos_of(AutosTask task) {
  double sums[4] = {};
  const int n = task.n_average * task.n_ant;
  for (int i = threadIdx.x; i < n; i += kAutoThreads) {
    if (task.kinds != nullptr && task.kinds[i % task.n_ant] != blockIdx.y) continue;
    const std::size_t at = (std::size_t(blockIdx.x) * n + i) * 4;
    const double *power = task.powers + at, *gain = task.gains + at;
    sums[0] += gain[0] * power[0];
    sums[1] += gain[1] * power[1];
    sums[2] += gain[2] * power[2] - gain[3] * power[3];
    sums[3] += gain[2] * power[3] + gain[3] * power[2];
  }
  __shared__ double of[kAutoThreads][4];
  for (int value = 0; value < 4; ++value) of[threadIdx.x][value] = sums[value];
  for (int step = kAutoThreads / 2; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step)
      for (int value = 0; value < 4; ++value) of[threadIdx.x][value] += of[threadIdx.x + step][value];
  }
  __syncthreads();
  if (threadIdx.x < 4)
    task.autos[(std::size_t(blockIdx.x) * task.n_kind + blockIdx.y) * 4 + threadIdx.x] = of[0][threadIdx.x];
}

constexpr int kCleared = 8;  // floats of a thread
__global__ void clear(float* planes, std::size_t n) {
  const std::size_t first = std::size_t(blockIdx.x) * kCleared * kThreads + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kCleared; ++i)
    if (first + i * kThreads < n) planes[first + i * kThreads] = nanf("");
}

__global__ void planes_of(PlaneTask task) {
  const std::size_t pixel = this_thread(), image = blockIdx.y;
  if (pixel >= std::size_t(task.n_pixel)) return;
  const double* sums = task.sums + (image * task.n_stride + pixel) * 4;
  float* to = task.planes + image * task.n_plane * task.plane_size + task.index[pixel];
  for (int plane = 0; plane < task.n_plane; ++plane) {
    const int value = task.value_of[plane];
    to[plane * task.plane_size] = plane_value(task, image, value, sums[value]);
  }
}

constexpr int kRegionThreads = 256;

/// A block for each region of a plane; sums in one order whatever runs.
__global__ void regions_of(RegionTask task) {
  const int region = blockIdx.x;
  const std::size_t plane = blockIdx.y;
  const float* values = task.planes + plane * task.plane_size;
  const std::uint32_t begin = region == 0 ? 0 : task.ends[region - 1], end = task.ends[region];
  double n = 0, sum = 0, largest = -INFINITY;
  for (std::uint32_t i = begin + threadIdx.x; i < end; i += kRegionThreads) {
    const double value = static_cast<double>(values[task.pixels[i]]);
    if (isnan(value)) continue;
    ++n;
    sum += value;
    largest = fmax(largest, value);
  }
  __shared__ double of[kRegionThreads][3];
  of[threadIdx.x][0] = n;
  of[threadIdx.x][1] = sum;
  of[threadIdx.x][2] = largest;
  for (int step = kRegionThreads / 2; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x >= step) continue;
    of[threadIdx.x][0] += of[threadIdx.x + step][0];
    of[threadIdx.x][1] += of[threadIdx.x + step][1];
    of[threadIdx.x][2] = fmax(of[threadIdx.x][2], of[threadIdx.x + step][2]);
  }
  if (threadIdx.x != 0) return;
  double* to = task.regions + (plane * task.n_region + region) * 3;
  const bool any = of[0][0] > 0;
  to[0] = of[0][0];
  to[1] = any ? of[0][1] / of[0][0] : static_cast<double>(nanf(""));
  to[2] = any ? of[0][2] : static_cast<double>(nanf(""));
}

__global__ void total(double* sums, std::size_t n) {
  const std::size_t at = this_thread();
  if (at < n) sums[4 * at] = (sums[4 * at] + sums[4 * at + 1]) / 2;
}

/// A thread goes through all channels of its value: what it reads has not been written by another.
__global__ void average(double* sums, std::size_t n, int n_image_channel, int n_average) {
  const std::size_t at = this_thread();
  if (at >= n) return;
  for (int image = 0; image < n_image_channel; ++image) {
    double sum = 0;
    for (int i = 0; i < n_average; ++i) sum += sums[(std::size_t(image) * n_average + i) * n + at];
    sums[std::size_t(image) * n + at] = sum;
  }
}

}  // namespace

void launch_autos(const AutosTask& task, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(task.n_image), static_cast<unsigned>(task.n_kind));
  autos_of<<<grid, kAutoThreads, 0, stream>>>(task);
  launched("summing autocorrelations");
}

void launch_clear_planes(float* planes, std::size_t n, cudaStream_t stream) {
  clear<<<blocks_of((n + kCleared - 1) / kCleared), kThreads, 0, stream>>>(planes, n);
  launched("clearing images");
}

void launch_planes(const PlaneTask& task, cudaStream_t stream) {
  const std::size_t n = std::size_t(task.n_image) * task.n_plane * task.plane_size;
  launch_clear_planes(task.planes, n, stream);
  if (task.n_pixel == 0) return;
  const dim3 grid(blocks_of(static_cast<std::size_t>(task.n_pixel)), static_cast<unsigned>(task.n_image));
  planes_of<<<grid, kThreads, 0, stream>>>(task);
  launched("finishing images");
}

void launch_regions(const RegionTask& task, cudaStream_t stream) {
  if (task.n_region == 0 || task.n_plane == 0) return;
  const dim3 grid(static_cast<unsigned>(task.n_region), static_cast<unsigned>(task.n_plane));
  regions_of<<<grid, kRegionThreads, 0, stream>>>(task);
  launched("measuring regions");
}

void launch_total(double* sums, std::size_t n, cudaStream_t stream) {
  if (n == 0) return;
  total<<<blocks_of(n), kThreads, 0, stream>>>(sums, n);
  launched("adding up polarisations");
}

void launch_average(double* sums, std::size_t n, int n_image_channel, int n_average, cudaStream_t stream) {
  if (n == 0) return;
  average<<<blocks_of(n), kThreads, 0, stream>>>(sums, n, n_image_channel, n_average);
  launched("averaging channels");
}

}  // namespace apsyn::epic_cuda
