// SPDX-License-Identifier: GPL-3.0-or-later
// PSFs of a set on the device, and convolutions with them. For host code with CUDA only.
#pragma once

#include <optional>
#include <vector>

#include "kernels/clean/cpu/multiscale.h"
#include "kernels/clean/cuda/component_loop.cuh"
#include "kernels/clean/cuda/image_convolver.cuh"

namespace apsyn::clean_cuda {

class PsfConvolver {
 public:
  using Spectrum = CudaConvolver::Spectrum;

  /// All work goes to the stream. `set` and `scales` must outlive it.
  PsfConvolver(const PlaneSet& set, const std::vector<CleanScale>& scales, cudaStream_t stream);

  const DevicePsfs& psfs() const { return psfs_; }
  /// Created on first use, since Hogbom's CLEAN needs no convolution.
  CudaConvolver& fft();
  /// Spectrum of the plane's PSF.
  const Spectrum& spectrum(std::size_t plane);
  void kernel_spectrum(const CleanScale& scale, Spectrum& out);
  /// Holds the transform of one image at a time; subtract() overwrites it.
  Spectrum& image_spectrum() { return image_spectrum_; }
  /// residual [plane][pixel] -= components (*) kernel (*) PSF, null: without a kernel.
  void subtract(const std::vector<SetComponent>& components, const Spectrum* kernel, float* residual);

 private:
  const PlaneSet& set_;
  const std::vector<CleanScale>& scales_;
  cudaStream_t stream_;
  DevicePsfs psfs_;
  std::optional<CudaConvolver> fft_;
  std::vector<Spectrum> psf_spectra_;  ///< [plane], where it differs from the one before
  Spectrum image_spectrum_;
  Upload<float> kernel_, model_, flux_;
  Upload<std::uint32_t> index_;
};

}  // namespace apsyn::clean_cuda
