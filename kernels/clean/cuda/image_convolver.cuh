// SPDX-License-Identifier: GPL-3.0-or-later
// ImageConvolver on a GPU, by cuFFT. For host code with CUDA only.
#pragma once

#include "kernels/clean/cpu/image_convolver.h"
#include "kernels/clean/cuda/kernels.cuh"
#include "kernels/common/cuda/fft.h"
#include "kernels/common/cuda/transfer.h"

namespace apsyn::clean_cuda {

class CudaConvolver {
 public:
  /// [ky = 0 .. height - 1][kx = 0 .. width / 2] of the padded image.
  using Spectrum = DeviceArray<float2>;

  /// Takes the arguments of ImageConvolver's constructor. All work goes to the stream.
  CudaConvolver(std::size_t ny, std::size_t nx, std::size_t reach_y, std::size_t reach_x,
                cudaStream_t stream);
  CudaConvolver(const CudaConvolver&) = delete;
  CudaConvolver& operator=(const CudaConvolver&) = delete;
  ~CudaConvolver();

  /// Transform an image [ny][nx] in device memory, or a kernel [kernel_ny][kernel_nx] with its centre at
  /// extent / 2.
  void transform(const float* image, Spectrum& out);
  void transform_kernel(const float* kernel, std::size_t kernel_ny, std::size_t kernel_nx, Spectrum& out);
  /// a *= b.
  void multiply(Spectrum& a, const Spectrum& b);
  /// Transform `a` times `b` back to the image domain, [ny][nx]: into `out`, or subtracted from `from`.
  void invert_product(const Spectrum& a, const Spectrum& b, float* out);
  void subtract_product(const Spectrum& a, const Spectrum& b, float* from);
  /// The same centred as a kernel [out_ny][out_nx].
  void invert_kernel_product(const Spectrum& a, const Spectrum& b, float* out, std::size_t out_ny,
                             std::size_t out_nx);

 private:
  Placement image() const;
  Placement kernel(std::size_t kernel_ny, std::size_t kernel_nx) const;
  void forward(const float* from, int from_nx, const Placement& place, Spectrum& out);
  void inverse(const Spectrum& a, const Spectrum& b);  ///< into padded_

  int ny_, nx_, reach_y_, reach_x_, height_, width_;
  cudaStream_t stream_;
  std::size_t n_spectrum_;
  cufftHandle forward_ = 0, inverse_ = 0;
  DeviceArray<float> padded_;
  DeviceArray<float2> product_;
};

}  // namespace apsyn::clean_cuda
