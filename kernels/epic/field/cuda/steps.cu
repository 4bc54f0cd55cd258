// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/cuda/launch.cuh"
#include "kernels/epic/cuda/plane_tasks.cuh"
#include "kernels/epic/cuda/turns.cuh"
#include "kernels/epic/field/cuda/tasks.cuh"

namespace apsyn::epic_cuda {
namespace {

template <int kPols>
__global__ void field_sums(FieldSumTask task) {
  const int pixel = blockIdx.x * blockDim.x + threadIdx.x, channel = blockIdx.y;
  if (pixel >= task.sky.n_pixel) return;
  const double* unit = task.sky.unit + 3 * std::size_t(pixel);
  const float2* samples = task.samples + std::size_t(channel) * task.sky.n_ant * kPols;
  double2 sums[kPols] = {};
  for (int ant = 0; ant < task.sky.n_ant; ++ant) {
    const float2 w = weight_of(task.sky, unit, task.sky.hz[channel], ant);
#pragma unroll
    for (int pol = 0; pol < kPols; ++pol) {
      const float2 e = samples[ant * kPols + pol];
      sums[pol].x += static_cast<double>(w.x * e.x - w.y * e.y);
      sums[pol].y += static_cast<double>(w.x * e.y + w.y * e.x);
    }
  }
#pragma unroll
  for (int pol = 0; pol < kPols; ++pol)
    task.fields[(std::size_t(channel) * kPols + pol) * task.sky.n_pixel + pixel] =
        make_float2(static_cast<float>(sums[pol].x), static_cast<float>(sums[pol].y));
}

__device__ float2 interpolated(const FieldPixelTask& task, const float2* plane, const FieldPixel& at,
                               const float* taps) {
  float2 value = make_float2(0, 0);
  for (int b = 0; b < kFieldTaps; ++b) {
    const float2* row = plane + std::size_t((at.row + b) % task.length_y) * task.length_x;
    float2 sum = make_float2(0, 0);
    for (int a = 0; a < kFieldTaps; ++a) {
      const float2 one = row[(at.column + a) % task.length_x];
      sum.x += taps[a] * one.x;
      sum.y += taps[a] * one.y;
    }
    value.x += taps[kFieldTaps + b] * sum.x;
    value.y += taps[kFieldTaps + b] * sum.y;
  }
  return value;
}

__global__ void field_pixels(FieldPixelTask task) {
  const int pixel = blockIdx.x * blockDim.x + threadIdx.x, channel = blockIdx.y, pol = blockIdx.z;
  if (pixel >= task.n_pixel) return;
  const FieldPixel at = task.pixels[pixel];
  const float2* plane =
      task.planes + (std::size_t(channel) * task.n_pol + pol) * task.length_x * task.length_y;
  const float2 value = task.taps == nullptr
                           ? plane[std::size_t(at.row) * task.length_x + at.column]
                           : interpolated(task, plane, at, task.taps + std::size_t(pixel) * 2 * kFieldTaps);
  const double* origin = task.origin + 3 * channel;
  const double turns = -(origin[0] * at.unit[0] + origin[1] * at.unit[1] + origin[2] * at.unit[2]);
  float2 turn;
  sincospif(static_cast<float>(2 * (turns - rint(turns))), &turn.y, &turn.x);
  task.fields[(std::size_t(channel) * task.n_pol + pol) * task.n_pixel + pixel] = make_float2(
      at.factor * (turn.x * value.x - turn.y * value.y), at.factor * (turn.x * value.y + turn.y * value.x));
}

__global__ void field_planes(FieldPlaneTask task) {
  const int pixel = blockIdx.x * blockDim.x + threadIdx.x, channel = blockIdx.y, pol = blockIdx.z;
  if (pixel >= task.n_pixel) return;
  const std::size_t plane = std::size_t(channel) * task.n_pol + pol;
  const float2 field = task.fields[plane * task.n_pixel + pixel];
  const double scale = sqrt(task.scales[channel]);
  float* to = task.planes + 2 * plane * task.plane_size + task.index[pixel];
  to[0] = static_cast<float>(scale * static_cast<double>(field.x));
  to[task.plane_size] = static_cast<float>(scale * static_cast<double>(field.y));
}

dim3 grid_of(int n_pixel, int n_channel, int n_pol) {
  return {blocks_of(static_cast<std::size_t>(n_pixel)), static_cast<unsigned>(n_channel),
          static_cast<unsigned>(n_pol)};
}

}  // namespace

void launch_field_sums(const FieldSumTask& task, cudaStream_t stream) {
  if (task.sky.n_pixel == 0) return;
  const dim3 grid = grid_of(task.sky.n_pixel, task.sky.n_channel, 1);
  if (task.n_pol == 2)
    field_sums<2><<<grid, kThreads, 0, stream>>>(task);
  else
    field_sums<1><<<grid, kThreads, 0, stream>>>(task);
  launched("summing fields");
}

void launch_field_pixels(const FieldPixelTask& task, cudaStream_t stream) {
  if (task.n_pixel == 0) return;
  field_pixels<<<grid_of(task.n_pixel, task.n_channel, task.n_pol), kThreads, 0, stream>>>(task);
  launched("looking at fields");
}

void launch_field_planes(const FieldPlaneTask& task, cudaStream_t stream) {
  launch_clear_planes(task.planes, std::size_t{2} * task.n_channel * task.n_pol * task.plane_size, stream);
  if (task.n_pixel == 0) return;
  field_planes<<<grid_of(task.n_pixel, task.n_channel, task.n_pol), kThreads, 0, stream>>>(task);
  launched("writing fields");
}

}  // namespace apsyn::epic_cuda
