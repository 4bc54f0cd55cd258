// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/cuda/launch.cuh"
#include "kernels/epic/cuda/aperture_tasks.cuh"

namespace apsyn::epic_cuda {
namespace {

/// b of a kind.
__device__ __forceinline__ double power_of(const ApertureTask& task, std::size_t channel, int kind,
                                           std::size_t pixel) {
  const float2 a = task.heard[(channel * task.n_kind + kind) * task.n_pixel + pixel];
  return static_cast<double>(a.x) * static_cast<double>(a.x) +
         static_cast<double>(a.y) * static_cast<double>(a.y);
}

__global__ void add_autos(ApertureTask task) {
  const std::size_t pixel = this_thread(), channel = blockIdx.y;
  if (pixel >= std::size_t(task.n_pixel)) return;
  double* sums = task.sums + (channel * task.n_stride + pixel) * 4;
  for (int kind = 0; kind < task.n_kind; ++kind) {
    const double power = task.sign * power_of(task, channel, kind, pixel);
    const double* autos = task.autos + (channel * task.n_kind + kind) * 4;
    for (int value = 0; value < 4; ++value) sums[value] += power * autos[value];
  }
}

__global__ void scale(ApertureTask task) {
  const std::size_t pixel = this_thread(), image = blockIdx.y;
  if (pixel >= std::size_t(task.n_pixel)) return;
  double sum = 0;
  for (int i = 0; i < task.n_average; ++i) {
    const std::size_t channel = image * task.n_average + i;
    for (int k = 0; k < task.n_kind; ++k) {
      const double b = power_of(task, channel, k, pixel);
      for (int l = 0; l < task.n_kind; ++l)
        sum +=
            task.pairs[(channel * task.n_kind + k) * task.n_kind + l] * b * power_of(task, channel, l, pixel);
      if (!task.keep_autos) sum -= task.antennas[channel * task.n_kind + k] * b * b;
    }
  }
  const double pairs = task.all_pairs[image];
  const double factor = sum >= task.least * pairs ? pairs / sum : nan("");
  float* to = task.planes + image * task.n_plane * task.plane_size + task.index[pixel];
  for (int plane = 0; plane < task.n_plane; ++plane)
    to[plane * task.plane_size] =
        static_cast<float>(static_cast<double>(to[plane * task.plane_size]) * factor);
}

}  // namespace

void launch_aperture_autos(const ApertureTask& task, cudaStream_t stream) {
  if (task.n_pixel == 0) return;
  const dim3 grid(blocks_of(static_cast<std::size_t>(task.n_pixel)), static_cast<unsigned>(task.n_channel));
  add_autos<<<grid, kThreads, 0, stream>>>(task);
  launched("adding autocorrelations");
}

void launch_aperture_scale(const ApertureTask& task, cudaStream_t stream) {
  if (task.n_pixel == 0) return;
  const dim3 grid(blocks_of(static_cast<std::size_t>(task.n_pixel)), static_cast<unsigned>(task.n_image));
  scale<<<grid, kThreads, 0, stream>>>(task);
  launched("dividing by what antennas hear");
}

}  // namespace apsyn::epic_cuda
