// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/clean/cuda/image_convolver.cuh"

#include <algorithm>

namespace apsyn::clean_cuda {

CudaConvolver::CudaConvolver(std::size_t ny, std::size_t nx, std::size_t reach_y, std::size_t reach_x,
                             cudaStream_t stream)
    : ny_(static_cast<int>(ny)),
      nx_(static_cast<int>(nx)),
      reach_y_(static_cast<int>(std::min(reach_y, ny - 1))),
      reach_x_(static_cast<int>(std::min(reach_x, nx - 1))),
      height_(static_cast<int>(ImageConvolver::padded(ny, reach_y))),
      width_(static_cast<int>(ImageConvolver::padded(nx, reach_x))),
      stream_(stream),
      n_spectrum_(static_cast<std::size_t>(height_) * (static_cast<std::size_t>(width_) / 2 + 1)),
      padded_(static_cast<std::size_t>(height_) * static_cast<std::size_t>(width_)),
      product_(n_spectrum_) {
  cufft_check(cufftPlan2d(&forward_, height_, width_, CUFFT_R2C), "planning");
  cufft_check(cufftPlan2d(&inverse_, height_, width_, CUFFT_C2R), "planning");
  cufft_check(cufftSetStream(forward_, stream_), "choosing a stream");
  cufft_check(cufftSetStream(inverse_, stream_), "choosing a stream");
}

CudaConvolver::~CudaConvolver() {
  if (forward_ != 0) cufftDestroy(forward_);
  if (inverse_ != 0) cufftDestroy(inverse_);
}

Placement CudaConvolver::image() const {
  return {0, ny_, 0, 0, nx_, 0};
}

Placement CudaConvolver::kernel(std::size_t kernel_ny, std::size_t kernel_nx) const {
  const int ny = static_cast<int>(kernel_ny), nx = static_cast<int>(kernel_nx), cy = ny / 2, cx = nx / 2;
  return {cy - std::min(cy, reach_y_), std::min(ny, cy + reach_y_ + 1), height_ - cy % height_,
          cx - std::min(cx, reach_x_), std::min(nx, cx + reach_x_ + 1), width_ - cx % width_};
}

void CudaConvolver::forward(const float* from, int from_nx, const Placement& place, Spectrum& out) {
  if (out.size() != n_spectrum_) out = Spectrum(n_spectrum_);
  launch_pad(from, from_nx, place, padded_.data(), height_, width_, stream_);
  cufft_check(cufftExecR2C(forward_, padded_.data(), out.data()), "transforming");
}

void CudaConvolver::transform(const float* from, Spectrum& out) {
  forward(from, nx_, image(), out);
}

void CudaConvolver::transform_kernel(const float* from, std::size_t kernel_ny, std::size_t kernel_nx,
                                     Spectrum& out) {
  forward(from, static_cast<int>(kernel_nx), kernel(kernel_ny, kernel_nx), out);
}

void CudaConvolver::multiply(Spectrum& a, const Spectrum& b) {
  launch_product(a.data(), b.data(), 1, n_spectrum_, a.data(), stream_);
}

void CudaConvolver::inverse(const Spectrum& a, const Spectrum& b) {
  const float scale = 1.0f / (static_cast<float>(width_) * static_cast<float>(height_));
  launch_product(a.data(), b.data(), scale, n_spectrum_, product_.data(), stream_);
  cufft_check(cufftExecC2R(inverse_, product_.data(), padded_.data()), "transforming");
}

void CudaConvolver::invert_product(const Spectrum& a, const Spectrum& b, float* out) {
  inverse(a, b);
  launch_crop(padded_.data(), height_, width_, image(), out, nx_, stream_);
}

void CudaConvolver::subtract_product(const Spectrum& a, const Spectrum& b, float* from) {
  inverse(a, b);
  launch_subtract(padded_.data(), width_, from, ny_, nx_, stream_);
}

void CudaConvolver::invert_kernel_product(const Spectrum& a, const Spectrum& b, float* out,
                                          std::size_t out_ny, std::size_t out_nx) {
  inverse(a, b);
  cuda_check(cudaMemsetAsync(out, 0, out_ny * out_nx * sizeof(float), stream_), "clearing device memory");
  launch_crop(padded_.data(), height_, width_, kernel(out_ny, out_nx), out, static_cast<int>(out_nx),
              stream_);
}

}  // namespace apsyn::clean_cuda
