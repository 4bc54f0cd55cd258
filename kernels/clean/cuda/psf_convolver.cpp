// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/clean/cuda/psf_convolver.cuh"

#include "kernels/clean/cpu/psf_subtraction.h"
#include "kernels/clean/cuda/stream_copies.cuh"

namespace apsyn::clean_cuda {

PsfConvolver::PsfConvolver(const PlaneSet& set, const std::vector<CleanScale>& scales, cudaStream_t stream)
    : set_(set), scales_(scales), stream_(stream) {
  psfs_.ny = set.psf[0].extent(0), psfs_.nx = set.psf[0].extent(1);
  for (std::size_t plane = 0; plane < set.n_plane(); ++plane) {
    if (plane > 0 && set.psf[plane].data() == set.psf[plane - 1].data()) {
      psfs_.plane.push_back(psfs_.plane.back());
      continue;
    }
    psfs_.memory.emplace_back(psfs_.ny * psfs_.nx);
    upload(psfs_.memory.back().data(), set.psf[plane].data(), psfs_.ny * psfs_.nx, stream_);
    psfs_.plane.push_back(psfs_.memory.back().data());
  }
  upload(psfs_.table.reserve(set.n_plane()), psfs_.plane.data(), set.n_plane(), stream_);
}

CudaConvolver& PsfConvolver::fft() {
  if (!fft_) {
    const std::size_t reach = scale_reach(scales_);
    fft_.emplace(set_.ny(), set_.nx(), psfs_.ny / 2 + reach, psfs_.nx / 2 + reach, stream_);
    psf_spectra_.resize(set_.n_plane());
  }
  return *fft_;
}

const PsfConvolver::Spectrum& PsfConvolver::spectrum(std::size_t plane) {
  CudaConvolver& fft = this->fft();
  while (psfs_.same_as_before(plane)) --plane;
  if (psf_spectra_[plane].size() == 0)
    fft.transform_kernel(psfs_.plane[plane], psfs_.ny, psfs_.nx, psf_spectra_[plane]);
  return psf_spectra_[plane];
}

void PsfConvolver::kernel_spectrum(const CleanScale& scale, Spectrum& out) {
  const std::size_t n = scale.kernel.extent(0);
  upload(kernel_.reserve(n * n), scale.kernel.data(), n * n, stream_);
  fft().transform_kernel(kernel_.data(), n, n, out);
}

void PsfConvolver::subtract(const std::vector<SetComponent>& components, const Spectrum* kernel,
                            float* residual) {
  if (components.empty()) return;
  const std::size_t n_plane = set_.n_plane(), n_pixel = set_.ny() * set_.nx();
  std::vector<std::uint32_t> index;
  std::vector<float> flux;
  for (const SetComponent& component : merge_components(components)) {
    index.push_back(static_cast<std::uint32_t>(component.y * set_.nx() + component.x));
    flux.insert(flux.end(), component.flux_jy.begin(), component.flux_jy.end());
  }
  upload(index_.reserve(index.size()), index.data(), index.size(), stream_);
  upload(flux_.reserve(flux.size()), flux.data(), flux.size(), stream_);
  CudaConvolver& fft = this->fft();
  float* model = model_.reserve(n_pixel);
  clear(model, n_pixel, stream_);
  for (std::size_t plane = 0; plane < n_plane; ++plane) {
    launch_scatter(index_.data(), flux_.data() + plane, n_plane, static_cast<std::uint32_t>(index.size()),
                   model, stream_);
    fft.transform(model, image_spectrum_);
    if (kernel != nullptr) fft.multiply(image_spectrum_, *kernel);
    fft.subtract_product(image_spectrum_, spectrum(plane), residual + plane * n_pixel);
  }
}

}  // namespace apsyn::clean_cuda
