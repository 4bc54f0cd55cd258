// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/cuda/fft/plane_fft.cuh"

#include "kernels/common/cuda/check.h"
#include "kernels/idg/cuda/fft/plane_transform.cuh"

namespace apsyn {
namespace {

using namespace idg_cuda;

/// kInverse: real and imaginary parts are exchanged before and after.
template <class Shape, bool kInverse>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kBlocks) transform_planes(float2* planes) {
  constexpr int kSide = Shape::kSide;
  extern __shared__ float2 plane[];
  __shared__ float2 turns[kSide];
  float2* own = planes + std::size_t(blockIdx.x) * kSide * kSide;
  auto exchanged = [](float2 value) { return kInverse ? make_float2(value.y, value.x) : value; };
  make_turns<Shape>(turns);
  for (int i = threadIdx.x; i < kSide * kSide; i += Shape::kThreads)
    plane[i / kSide * Shape::kPitch + i % kSide] = exchanged(own[i]);
  transform_plane<Shape>(
      plane, turns, [&](int row, int column, float2 value) { own[row * kSide + column] = exchanged(value); });
}

template <class Shape>
void launch(float2* planes, std::size_t n_planes, bool inverse, cudaStream_t stream) {
  const auto kernel = inverse ? transform_planes<Shape, true> : transform_planes<Shape, false>;
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Shape::kBytes),
             "asking for shared memory");
  kernel<<<static_cast<unsigned>(n_planes), Shape::kThreads, Shape::kBytes, stream>>>(planes);
  cuda_check(cudaGetLastError(), "launching transforms of planes");
}

}  // namespace

bool has_plane_fft(std::size_t side) {
  return with_plane_shape<0>(static_cast<int>(side), [](auto) {});
}

void launch_plane_fft(float2* planes, std::size_t n_planes, std::size_t side, bool inverse,
                      cudaStream_t stream) {
  if (n_planes == 0) return;
  with_plane_shape<0>(static_cast<int>(side),
                      [&](auto shape) { launch<decltype(shape)>(planes, n_planes, inverse, stream); });
}

}  // namespace apsyn
