// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/clean/cpu/psf_subtraction.h"

#include <algorithm>
#include <cmath>

#include "kernels/clean/cpu/tile_ops.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

// Cost of an FFT convolution per padded pixel and per bit of the padded size, in units of subtracting one
// pixel; measured on images of 512 to 4096 pixels.
constexpr double kFftCost = 3;

/// The part [first, last) of a range of n_tile pixels that a PSF covers whose pixel `start` falls on the
/// first.
std::pair<std::ptrdiff_t, std::ptrdiff_t> covered(std::ptrdiff_t start, std::size_t n_tile,
                                                  std::size_t n_psf) {
  return {std::max<std::ptrdiff_t>(0, -start),
          std::min(static_cast<std::ptrdiff_t>(n_tile), static_cast<std::ptrdiff_t>(n_psf) - start)};
}

}  // namespace

void subtract_within(View<float, 2> image, const Rectangle& where, View<const float, 2> psf, std::size_t x,
                     std::size_t y, float flux) {
  const auto psf_y = static_cast<std::ptrdiff_t>(where.y + psf.extent(0) / 2 - y);
  const auto psf_x = static_cast<std::ptrdiff_t>(where.x + psf.extent(1) / 2 - x);
  const auto [y0, y1] = covered(psf_y, where.ny, psf.extent(0));
  const auto [x0, x1] = covered(psf_x, where.nx, psf.extent(1));
  if (y0 >= y1 || x0 >= x1) return;
  const Block<float> block{
      &image(where.y + static_cast<std::size_t>(y0), where.x + static_cast<std::size_t>(x0)), image.extent(1),
      static_cast<std::size_t>(x1 - x0), static_cast<std::size_t>(y1 - y0)};
  subtract_psf(block, &psf(psf_y + y0, psf_x + x0), psf.extent(1), flux);
}

void subtract_directly(const std::vector<View<float, 2>>& images,
                       const std::vector<View<const float, 2>>& psfs,
                       std::span<const SetComponent> components, unsigned n_threads) {
  constexpr std::size_t kBand = 64;
  const std::size_t ny = images[0].extent(0), nx = images[0].extent(1);
  parallel_for(n_threads, (ny + kBand - 1) / kBand, [&](std::size_t band, unsigned) {
    const Rectangle where{0, band * kBand, nx, std::min(kBand, ny - band * kBand)};
    for (std::size_t plane = 0; plane < images.size(); ++plane)
      for (const SetComponent& component : components)
        subtract_within(images[plane], where, psfs[plane], component.x, component.y,
                        component.flux_jy[plane]);
  });
}

std::vector<SetComponent> merge_components(std::span<const SetComponent> components) {
  std::vector<const SetComponent*> order;
  order.reserve(components.size());
  for (const SetComponent& component : components) order.push_back(&component);
  std::stable_sort(order.begin(), order.end(), [](const SetComponent* a, const SetComponent* b) {
    return a->y != b->y ? a->y < b->y : a->x < b->x;
  });
  std::vector<SetComponent> merged;
  for (const SetComponent* component : order) {
    if (merged.empty() || merged.back().x != component->x || merged.back().y != component->y) {
      merged.push_back(*component);
      continue;
    }
    for (std::size_t i = 0; i < component->flux_jy.size(); ++i)
      merged.back().flux_jy[i] += component->flux_jy[i];
  }
  return merged;
}

PsfSubtraction::PsfSubtraction(const std::vector<View<const float, 2>>& psf, std::size_t ny, std::size_t nx,
                               std::size_t more_reach, unsigned n_threads)
    : psf_(psf),
      n_threads_(n_threads),
      convolver_(ny, nx, psf[0].extent(0) / 2 + more_reach, psf[0].extent(1) / 2 + more_reach, n_threads),
      spectra_(psf.size()) {
  const double n_padded = static_cast<double>(ny + std::min(ny, psf[0].extent(0) / 2)) *
                          static_cast<double>(nx + std::min(nx, psf[0].extent(1) / 2));
  break_even_ = kFftCost * n_padded * std::log2(n_padded);
}

const ImageConvolver::Spectrum& PsfSubtraction::spectrum(std::size_t plane) {
  if (!spectra_[plane])
    for (std::size_t other = 0; other < psf_.size(); ++other)
      if (spectra_[other] && psf_[other].data() == psf_[plane].data()) spectra_[plane] = spectra_[other];
  if (!spectra_[plane])
    spectra_[plane] = std::make_shared<ImageConvolver::Spectrum>(convolver_.transform_kernel(psf_[plane]));
  return *spectra_[plane];
}

void PsfSubtraction::subtract(std::size_t plane, View<float, 2> residual, View<const float, 2> model,
                              const ImageConvolver::EvenSpectrum* smooth) {
  const ImageConvolver::Spectrum& psf = spectrum(plane);
  convolver_.transform(model, model_spectrum_, scratch_);
  convolver_.subtract_convolved(residual, model_spectrum_, psf, smooth, scratch_);
}

void PsfSubtraction::release() {
  scratch_ = {};
  model_spectrum_ = {};
}

void PsfSubtraction::subtract(const std::vector<View<float, 2>>& residual,
                              std::span<const SetComponent> components) {
  const std::vector<SetComponent> merged = merge_components(components);
  const std::size_t ny = residual[0].extent(0), nx = residual[0].extent(1);
  const double n_pixels = static_cast<double>(ny * nx) * static_cast<double>(merged.size());
  if (n_pixels < break_even_) {
    subtract_directly(residual, psf_, merged, n_threads_);
    return;
  }
  Buffer<float, 2> model({ny, nx});
  for (std::size_t plane = 0; plane < residual.size(); ++plane) {
    for (const SetComponent& component : merged) model(component.y, component.x) = component.flux_jy[plane];
    subtract(plane, residual[plane], model);
  }
}

}  // namespace apsyn
