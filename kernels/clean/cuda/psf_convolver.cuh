// SPDX-License-Identifier: GPL-3.0-or-later
// PSFs of a set on the device, and what is convolved with them. For host code with CUDA only.
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
  /// Made when it is first asked for: Hogbom's CLEAN convolves nothing.
  CudaConvolver& fft();
  /// The PSF's.
  const Spectrum& spectrum(std::size_t plane);
  void kernel_spectrum(const CleanScale& scale, Spectrum& out);
  /// For one transform of an image at a time; subtract() takes it for its own.
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
