// SPDX-License-Identifier: GPL-3.0-or-later
// The kernel of fft/cuda/fused/fused.cuh from its steps; a source file for each last radix instantiates it.
#pragma once

#include "kernels/common/cuda/launch.cuh"
#include "kernels/epic/fft/cuda/fused/body.cuh"

namespace apsyn::epic_fft {

template <int kLast, int kValues, class Value>
__global__ __launch_bounds__(kFusedThreads, 1) void image_spectra(const __grid_constant__ FusedTask task) {
  extern __shared__ __align__(16) char shared[];
  using Body = FusedBody<kLast, kValues, Value>;
  const FusedShape& shape = task.shape;
  const int part = blockIdx.y, list = blockIdx.x;
  const Body body{
      task, shape, shared, static_cast<int>(threadIdx.x), list / shape.n_class, list % shape.n_class};
  const int n = (task.n_spectra + shape.n_part - 1) / shape.n_part;
  const int begin = part * n, end = min(task.n_spectra, begin + n);
  float sums[Body::kItems * kLast * kValues] = {};
  body.load_tables();
  if (begin < end) body.load_samples(begin);
  int n_summed = 0;
  for (int first = begin; first < end; first += shape.at_once) {
    __syncthreads();
    if (Body::kHalf && shape.at_once == 4)
      body.template gather<Body::kHalf ? 4 : 1>();
    else if (shape.at_once == 2)
      body.template gather<2>();
    else
      body.template gather<1>();
    __syncthreads();
    const int n_here = min(shape.at_once, end - first);
    for (int t = 0; t < n_here; ++t) {
      for (int i = 0; i < shape.n_pass_x; ++i) {
        radix::with_radix<kLargestRadixX>(shape.pass_x[i].radix, [&]<int kRadix>() {
          body.template row_pass<kRadix>(t, shape.pass_x[i], i + 1 == shape.n_pass_x);
        });
        __syncthreads();
      }
      for (int i = 0; i + 1 < shape.n_pass_y; ++i) {
        radix::with_radix<kLargestRadixY>(shape.pass_y[i].radix, [&]<int kRadix>() {
          body.template column_pass<kRadix>(shape.pass_y[i], i == 0 ? shape.n_row : shape.length_y);
        });
        __syncthreads();
      }
      if (t + 1 == n_here && first + shape.at_once < end) body.load_samples(first + shape.at_once);
      body.multiply(sums);
      if (t + 1 < n_here) __syncthreads();
    }
    if ((n_summed += n_here) >= kFlush) {
      body.flush(sums, part);
      n_summed = 0;
    }
  }
  if (n_summed > 0) body.flush(sums, part);
}

template <int kLast, int kValues, class Value>
void launch(const FusedTask& task, cudaStream_t stream) {
  const auto kernel = image_spectra<kLast, kValues, Value>;
  cuda_check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, task.shape.shared_bytes),
      "imaging: shared memory");
  const dim3 grid(static_cast<unsigned>(task.n_channel * task.shape.n_class),
                  static_cast<unsigned>(task.shape.n_part));
  kernel<<<grid, kFusedThreads, static_cast<std::size_t>(task.shape.shared_bytes), stream>>>(task);
  launched("imaging spectra");
}

template <int kLast>
void launch_values(const FusedTask& task, int n_value, cudaStream_t stream) {
  const bool half = task.scale > 0;
  if (n_value == 4)
    return half ? launch<kLast, 4, radix::HalfPair>(task, stream) : launch<kLast, 4, float2>(task, stream);
  if (n_value == 2)
    return half ? launch<kLast, 2, radix::HalfPair>(task, stream) : launch<kLast, 2, float2>(task, stream);
  launch<kLast, 1, float2>(task, stream);
}

}  // namespace apsyn::epic_fft
