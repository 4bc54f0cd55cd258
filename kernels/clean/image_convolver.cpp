// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/clean/image_convolver.h"

#include <algorithm>
#include <vector>

#include "libcore/core/parallel.h"

namespace apsyn {
namespace {

using Complex = std::complex<float>;
constexpr std::size_t kColumns = 8;  // at a time: one cache line of every row

/// a b by parts: operator* would look for infinities.
Complex product(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

}  // namespace

/// Row y of the array lies in row (y + origin_y) modulo the padded height, for the rows [first_y, last_y);
/// the same along x.
struct ImageConvolver::Placement {
  std::size_t first_y, last_y, origin_y, first_x, last_x, origin_x;

  static Placement image(std::size_t ny, std::size_t nx) { return {0, ny, 0, 0, nx, 0}; }
  static Placement kernel(const ImageConvolver& of, std::size_t ny, std::size_t nx) {
    const std::size_t reach_y = std::min(of.reach_y_, of.ny_ - 1),
                      reach_x = std::min(of.reach_x_, of.nx_ - 1);
    const std::size_t cy = ny / 2, cx = nx / 2;
    return {cy - std::min(cy, reach_y), std::min(ny, cy + reach_y + 1), of.height_ - cy % of.height_,
            cx - std::min(cx, reach_x), std::min(nx, cx + reach_x + 1), of.width_ - cx % of.width_};
  }
};

ImageConvolver::ImageConvolver(std::size_t ny, std::size_t nx, std::size_t reach_y, std::size_t reach_x,
                               unsigned n_threads)
    : ny_(ny),
      nx_(nx),
      reach_y_(reach_y),
      reach_x_(reach_x),
      height_(padded(ny, reach_y)),
      width_(padded(nx, reach_x)),
      n_threads_(n_threads),
      row_(width_, 1),
      row_back_(width_, 1),
      column_(height_, 1, FftSign::minus),
      column_back_(height_, 1, FftSign::plus) {}

std::size_t ImageConvolver::padded(std::size_t n, std::size_t reach) {
  return fast_fft_length(n + std::min(reach, n - 1));
}

std::uint64_t ImageConvolver::spectrum_bytes(std::size_t ny, std::size_t nx, std::size_t reach_y,
                                             std::size_t reach_x) {
  return sizeof(Complex) * padded(ny, reach_y) * (padded(nx, reach_x) / 2 + 1);
}

ImageConvolver::Spectrum ImageConvolver::forward(View<const float, 2> image, const Placement& place) const {
  const std::size_t n_row = place.last_y - place.first_y, n_kx = width_ / 2 + 1;
  Buffer<Complex, 2> rows;
  // Rows begin at an even number of complex values, so that every one is aligned for FFTW.
  const std::size_t stride = (n_kx + 1) / 2 * 2;
  rows.resize_for_overwrite({n_row, stride});
  std::vector<Buffer<float, 1>> row_scratch(std::max(1u, n_threads_));
  parallel_for(n_threads_, n_row, [&](std::size_t i, unsigned thread) {
    Buffer<float, 1>& row = row_scratch[thread];
    row.resize({width_});
    const float* from = &image(place.first_y + i, 0);
    for (std::size_t x = place.first_x; x < place.last_x; ++x) row((x + place.origin_x) % width_) = from[x];
    row_.execute(row.data(), &rows(i, 0));
  });
  Spectrum spectrum;
  const std::size_t column_stride = (height_ + 1) / 2 * 2;  // heights are even
  spectrum.resize_for_overwrite({n_kx, column_stride});
  parallel_for(n_threads_, (n_kx + kColumns - 1) / kColumns, [&](std::size_t block, unsigned) {
    const std::size_t first = block * kColumns, n = std::min(kColumns, n_kx - first);
    std::fill(&spectrum(first, 0), &spectrum(first, 0) + n * height_, Complex{});
    for (std::size_t i = 0; i < n_row; ++i) {
      const std::size_t y = (place.first_y + i + place.origin_y) % height_;
      for (std::size_t k = 0; k < n; ++k) spectrum(first + k, y) = rows(i, first + k);
    }
    for (std::size_t k = 0; k < n; ++k) column_.execute(&spectrum(first + k, 0));
  });
  return spectrum;
}

void ImageConvolver::inverse(const Spectrum& a, const Spectrum& b, View<float, 2> out,
                             const Placement& place) const {
  const std::size_t n_row = place.last_y - place.first_y, n_kx = width_ / 2 + 1;
  const std::size_t stride = (n_kx + 1) / 2 * 2;
  const float scale = 1.0f / (static_cast<float>(width_) * static_cast<float>(height_));
  Buffer<Complex, 2> rows;
  rows.resize_for_overwrite({n_row, stride});
  std::vector<Buffer<Complex, 2>> column_scratch(std::max(1u, n_threads_));
  parallel_for(n_threads_, (n_kx + kColumns - 1) / kColumns, [&](std::size_t block, unsigned thread) {
    const std::size_t first = block * kColumns, n = std::min(kColumns, n_kx - first);
    Buffer<Complex, 2>& columns = column_scratch[thread];
    columns.resize_for_overwrite({kColumns, height_});
    for (std::size_t k = 0; k < n; ++k) {
      const Complex *from_a = &a(first + k, 0), *from_b = &b(first + k, 0);
      Complex* to = &columns(k, 0);
      for (std::size_t y = 0; y < height_; ++y) to[y] = product(from_a[y], from_b[y]);
      column_back_.execute(to);
    }
    for (std::size_t i = 0; i < n_row; ++i) {
      const std::size_t y = (place.first_y + i + place.origin_y) % height_;
      for (std::size_t k = 0; k < n; ++k) rows(i, first + k) = columns(k, y) * scale;
    }
  });
  std::vector<Buffer<float, 1>> row_scratch(std::max(1u, n_threads_));
  parallel_for(n_threads_, n_row, [&](std::size_t i, unsigned thread) {
    Buffer<float, 1>& row = row_scratch[thread];
    row.resize_for_overwrite({width_});
    row_back_.execute(&rows(i, 0), row.data());
    float* to = &out(place.first_y + i, 0);
    for (std::size_t x = place.first_x; x < place.last_x; ++x) to[x] = row((x + place.origin_x) % width_);
  });
}

ImageConvolver::Spectrum ImageConvolver::transform(View<const float, 2> image) const {
  return forward(image, Placement::image(image.extent(0), image.extent(1)));
}

ImageConvolver::Spectrum ImageConvolver::transform_kernel(View<const float, 2> kernel) const {
  return forward(kernel, Placement::kernel(*this, kernel.extent(0), kernel.extent(1)));
}

void ImageConvolver::invert_product(const Spectrum& a, const Spectrum& b, View<float, 2> out) const {
  inverse(a, b, out, Placement::image(out.extent(0), out.extent(1)));
}

void ImageConvolver::invert_kernel_product(const Spectrum& a, const Spectrum& b, View<float, 2> out) const {
  std::fill(out.begin(), out.end(), 0.0f);
  inverse(a, b, out, Placement::kernel(*this, out.extent(0), out.extent(1)));
}

void multiply(ImageConvolver::Spectrum& a, const ImageConvolver::Spectrum& b, unsigned n_threads) {
  parallel_for(n_threads, a.extent(0), [&](std::size_t kx, unsigned) {
    Complex* to = &a(kx, 0);
    const Complex* from = &b(kx, 0);
    for (std::size_t ky = 0; ky < a.extent(1); ++ky) to[ky] = product(to[ky], from[ky]);
  });
}

}  // namespace apsyn
