// SPDX-License-Identifier: GPL-3.0-or-later
// Folded sums to the cells of large subgrids, 56 x 56 and more: a block makes one plane of a task's image in
// shared memory and transforms it there. With A-terms images are made before, since planes are mixed.
#include "kernels/common/cuda/check.h"
#include "kernels/idg/cuda/fft/plane_transform.cuh"
#include "kernels/idg/cuda/grid/image_pixels.cuh"

namespace apsyn::idg_cuda {
namespace {

constexpr int kMinSide = 56;

template <class Shape, bool kImages>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kBlocks)
    make_plane_cells(ImageTask<float> task, const float2* uv_phase) {
  constexpr int kSide = Shape::kSide, kPitch = Shape::kPitch, kHalf = kSide / 2;
  // Real and imaginary parts exchanged: transforms of exponent -1 are then those of +1.
  extern __shared__ float2 image[];  // [y][x]
  __shared__ float2 turns[kSide], phases[kSide];
  float2* out = task.images + std::size_t(blockIdx.x) * kSide * kSide;
  make_turns<Shape>(turns);
  for (int i = threadIdx.x; i < kSide; i += Shape::kThreads) phases[i] = uv_phase[i];
  if constexpr (kImages) {
    for (int pixel = threadIdx.x; pixel < kSide * kSide; pixel += Shape::kThreads)
      image[pixel / kSide * kPitch + pixel % kSide] = make_float2(out[pixel].y, out[pixel].x);
  } else {
    const int n_planes = image_planes(task), own = blockIdx.x / n_planes, plane = blockIdx.x % n_planes;
    for (int pixel = threadIdx.x; pixel < kHalf * kHalf; pixel += Shape::kThreads)
      for_each_plain_pixel(task, own, plane, pixel, screen_at(task, own, pixel),
                           [&](int, int y, int x, const AtermValue<float>& value) {
                             image[y * kPitch + x] = make_float2(value.im, value.re);
                           });
  }
  auto cell = [](int frequency) { return frequency < kHalf ? frequency + kHalf : frequency - kHalf; };
  transform_plane<Shape>(image, turns, [&](int row, int column, float2 value) {
    const int v = cell(row), u = cell(column);
    out[v * kSide + u] =
        radix::multiply(make_float2(value.y, value.x), radix::multiply(phases[v], phases[u]));
  });
}

template <class Shape>
void launch(const ImageTask<float>& task, const float2* uv_phase, cudaStream_t stream) {
  const bool aterms = task.aterms != DeviceAterms::none;
  const auto kernel = aterms ? make_plane_cells<Shape, true> : make_plane_cells<Shape, false>;
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Shape::kBytes),
             "asking for shared memory");
  if (aterms) launch_images(task, stream);
  kernel<<<task.n_tasks * image_planes(task), Shape::kThreads, Shape::kBytes, stream>>>(task, uv_phase);
  cuda_check(cudaGetLastError(), "launching the planes' cells");
}

}  // namespace

bool has_plane_cells(int side) {
  return with_plane_shape<kMinSide>(side, [](auto) {});
}

void launch_plane_cells(const ImageTask<float>& task, const float2* uv_phase, cudaStream_t stream) {
  with_plane_shape<kMinSide>(task.side, [&](auto shape) { launch<decltype(shape)>(task, uv_phase, stream); });
}

}  // namespace apsyn::idg_cuda
