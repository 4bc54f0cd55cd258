// SPDX-License-Identifier: GPL-3.0-or-later
// Folded sums to the cells of subgrids without a stop in device memory: a block makes one task's images in
// shared memory and transforms them there in registers: each thread takes a row, then a column. Made by one
// kernel, transformed by cuFFT and turned by the adder, 32 x 32 pixels would cross device memory five times.
#include "kernels/common/cuda/check.h"
#include "kernels/common/cuda/radix_composite.cuh"
#include "kernels/idg/cuda/grid/image_pixels.cuh"

namespace apsyn::idg_cuda {
namespace {

constexpr int kCellThreads = 128;
/// What a block may use, with several on an SM.
constexpr int kMaxShared = 100 << 10;

/// Rows one complex number longer than they need be: neither rows nor columns meet in a bank.
__host__ __device__ constexpr int shared_bytes(int side, int n_planes) {
  return n_planes * side * (side + 1) * static_cast<int>(sizeof(float2));
}

template <int kSide, bool kAterms>
__global__ void __launch_bounds__(kCellThreads) make_cells(ImageTask<float> task, const float2* uv_phase) {
  constexpr int kPitch = kSide + 1, kHalf = kSide / 2;
  // Real and imaginary parts exchanged: transforms of exponent -1 are then those of +1.
  extern __shared__ float2 images[];  // [plane][y][x]
  const int own = blockIdx.x, n_planes = image_planes(task);
  for (int pixel = threadIdx.x; pixel < kHalf * kHalf; pixel += kCellThreads)
    for_each_pixel<kAterms>(task, own, pixel,
                            [&](int plane, int, int y, int x, const AtermValue<float>& value) {
                              images[(plane * kSide + y) * kPitch + x] = make_float2(value.im, value.re);
                            });
  __syncthreads();
  for (int row = threadIdx.x; row < n_planes * kSide; row += kCellThreads) {
    float2* at = images + row * kPitch;
    float2 x[kSide];
#pragma unroll
    for (int i = 0; i < kSide; ++i) x[i] = at[i];
    radix::Transform<kSide>::run(x);
#pragma unroll
    for (int i = 0; i < kSide; ++i) at[i] = x[i];
  }
  __syncthreads();
  for (int column = threadIdx.x; column < n_planes * kSide; column += kCellThreads) {
    const int plane = column / kSide, u = column % kSide, cell_u = u < kHalf ? u + kHalf : u - kHalf;
    const float2* at = images + plane * kSide * kPitch + u;
    float2 x[kSide];
#pragma unroll
    for (int i = 0; i < kSide; ++i) x[i] = at[i * kPitch];
    radix::Transform<kSide>::run(x);
    const float2 phase_u = uv_phase[cell_u];
    float2* out = task.images + (std::size_t(own) * n_planes + plane) * kSide * kSide + cell_u;
#pragma unroll
    for (int i = 0; i < kSide; ++i) {
      const int cell_v = i < kHalf ? i + kHalf : i - kHalf;
      const float2 phase = radix::multiply(uv_phase[cell_v], phase_u);
      out[cell_v * kSide] = radix::multiply(make_float2(x[i].y, x[i].x), phase);
    }
  }
}

template <int kSide>
void launch(const ImageTask<float>& task, const float2* uv_phase, cudaStream_t stream) {
  const int bytes = shared_bytes(kSide, image_planes(task));
  const auto kernel = task.aterms == DeviceAterms::none ? make_cells<kSide, false> : make_cells<kSide, true>;
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
             "asking for shared memory");
  kernel<<<task.n_tasks, kCellThreads, bytes, stream>>>(task, uv_phase);
  cuda_check(cudaGetLastError(), "launching the subgrids' cells");
}

}  // namespace

template <class T>
bool has_cells(int side, int n_image_planes, int n_outputs) {
  if (sizeof(T) != sizeof(float) || n_outputs != 1) return false;
  return has_plane_cells(side) ||
         (side >= 16 && side <= 48 && side % 8 == 0 && shared_bytes(side, n_image_planes) <= kMaxShared);
}

template <class T>
void launch_cells(const ImageTask<T>& task, const ComplexOf<T>* uv_phase, cudaStream_t stream) {
  if constexpr (sizeof(T) == sizeof(float)) {
    if (has_plane_cells(task.side)) return launch_plane_cells(task, uv_phase, stream);
    switch (task.side) {
      case 16:
        return launch<16>(task, uv_phase, stream);
      case 24:
        return launch<24>(task, uv_phase, stream);
      case 32:
        return launch<32>(task, uv_phase, stream);
      case 40:
        return launch<40>(task, uv_phase, stream);
      case 48:
        return launch<48>(task, uv_phase, stream);
    }
  }
}

template bool has_cells<float>(int, int, int);
template bool has_cells<double>(int, int, int);
template void launch_cells(const ImageTask<float>&, const float2*, cudaStream_t);
template void launch_cells(const ImageTask<double>&, const double2*, cudaStream_t);

}  // namespace apsyn::idg_cuda
