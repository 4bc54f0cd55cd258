// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/cuda/launch.cuh"
#include "kernels/common/cuda/radix.cuh"
#include "kernels/epic/cuda/sample_value.cuh"
#include "kernels/epic/fft/cuda/steps.cuh"

namespace apsyn::epic_fft {
namespace {

template <epic_cuda::SampleFormat kFormat>
__global__ void prepare(PrepareTask task) {
  const int n_ant = task.samples.n_ant, channel = blockIdx.z, t = blockIdx.y;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n_ant * task.n_pol) return;
  const int ant = i / task.n_pol, pol = task.first_pol + i % task.n_pol;
  const auto value = epic_cuda::sample<kFormat>(task.samples, channel, task.first + t, ant, pol);
  const float2 e = make_float2(static_cast<float>(value.x), static_cast<float>(value.y));
  const std::size_t row = std::size_t(task.samples.first_channel + channel) * n_ant + ant;
  task.out[(std::size_t(channel) * task.n + t) * n_ant * task.n_pol + i] =
      radix::multiply(task.factor[row * task.samples.n_pol + pol], e);
}

__global__ void collect(CollectTask task) {
  const std::size_t at = this_thread();
  const std::size_t n_sum = task.n_pixel * task.n_value;
  if (at >= n_sum * task.n_image) return;
  const std::size_t image = at / n_sum;
  const std::uint32_t place = task.pixels[at % n_sum];
  const std::size_t which = place / task.part_sums;
  double sum = 0;
  for (int i = 0; i < task.n_average; ++i) {
    const double* from =
        task.sums + ((image * task.n_average + i) * task.n_class + which) * task.n_part * task.part_sums +
        place % task.part_sums;
    for (int part = 0; part < task.n_part; ++part) sum += from[part * task.part_sums];
  }
  task.out[at] = sum;
}

__global__ void staged_gather(StagedTask task) {
  const int cell = blockIdx.x * blockDim.x + threadIdx.x, t = blockIdx.y, pol = blockIdx.z;
  if (cell >= task.n_cell) return;
  const float2* samples = task.samples + std::size_t(t) * task.n_ant * task.n_pol + pol;
  const std::uint32_t end = task.cells[cell + 1].begin;
  float2 sum = make_float2(0, 0);
  for (std::uint32_t i = task.cells[cell].begin; i < end; ++i) {
    const StagedEntry entry = task.entries[i];
    sum = radix::add(sum, radix::multiply(entry.weight, samples[entry.ant * task.n_pol]));
  }
  task.planes[(std::size_t(t) * task.n_pol + pol) * task.plane_size + task.cells[cell].position] = sum;
}

template <int kValues>
__global__ void staged_products(StagedTask task) {
  constexpr int kPiece = 32;  // float32 holds sums of so many
  const std::size_t pixel = this_thread();
  if (pixel >= task.n_pixel) return;
  const float2* from = task.planes + task.pixels[pixel];
  double sums[kValues] = {};
  for (int first = 0; first < task.n_spectra; first += kPiece) {
    float part[kValues] = {};
    for (int t = first; t < min(first + kPiece, task.n_spectra); ++t) {
      const float2 x = from[std::size_t(t) * task.n_pol * task.plane_size];
      part[0] += x.x * x.x + x.y * x.y;
      if constexpr (kValues > 1) {
        const float2 y = from[(std::size_t(t) * task.n_pol + 1) * task.plane_size];
        part[1] += y.x * y.x + y.y * y.y;
        if constexpr (kValues > 2) {
          part[2] += x.x * y.x + x.y * y.y;
          part[3] += x.y * y.x - x.x * y.y;
        }
      }
    }
    for (int value = 0; value < kValues; ++value) sums[value] += static_cast<double>(part[value]);
  }
  for (int value = 0; value < kValues; ++value) task.sums[value * task.n_pixel + pixel] += sums[value];
}

}  // namespace

void launch_prepare(const PrepareTask& task, cudaStream_t stream) {
  const int n = task.samples.n_ant * task.n_pol;
  const dim3 grid(blocks_of(static_cast<std::size_t>(n)), static_cast<unsigned>(task.n),
                  static_cast<unsigned>(task.samples.n_channel));
  epic_cuda::with_format(task.samples.format,
                         [&](auto format) { prepare<format><<<grid, kThreads, 0, stream>>>(task); });
  launched("preparing samples");
}

void launch_collect(const CollectTask& task, cudaStream_t stream) {
  const std::size_t n =
      task.n_pixel * static_cast<std::size_t>(task.n_value) * static_cast<std::size_t>(task.n_image);
  collect<<<blocks_of(n), kThreads, 0, stream>>>(task);
  launched("collecting sums");
}

void launch_staged_gather(const StagedTask& task, cudaStream_t stream) {
  if (task.n_cell == 0) return;
  const dim3 grid(blocks_of(static_cast<std::size_t>(task.n_cell)), static_cast<unsigned>(task.n_spectra),
                  static_cast<unsigned>(task.n_pol));
  staged_gather<<<grid, kThreads, 0, stream>>>(task);
  launched("gridding");
}

void launch_staged_products(const StagedTask& task, cudaStream_t stream) {
  const unsigned blocks = blocks_of(task.n_pixel);
  if (task.n_value == 4)
    staged_products<4><<<blocks, kThreads, 0, stream>>>(task);
  else if (task.n_value == 2)
    staged_products<2><<<blocks, kThreads, 0, stream>>>(task);
  else
    staged_products<1><<<blocks, kThreads, 0, stream>>>(task);
  launched("multiplying");
}

}  // namespace apsyn::epic_fft
