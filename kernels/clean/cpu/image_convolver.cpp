// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/clean/cpu/image_convolver.h"

#include <algorithm>

#include "kernels/clean/cpu/spectrum_ops.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

using Complex = std::complex<float>;
constexpr std::size_t kColumns = 16;  // at a time: two cache lines of every row

/// Spectra begin rows and columns at an even number of complex values, so that every one is aligned for FFTW.
std::size_t aligned(std::size_t n) {
  return (n + 1) / 2 * 2;
}

/// The length, not much above n, with the smallest total time of FFTW and of memory traffic: lengths with
/// large powers of two as factors are about twice as fast as others.
std::size_t quick_length(std::size_t n) {
  constexpr double kMemory = 2.5, kQuick = 1.4, kOther = 2.4;  // ns for each point of a plane on a Xeon
  constexpr double kMore = 1.08;
  constexpr std::size_t kShort = 512;  // transforms of less take no time that matters
  const std::size_t least = fast_fft_length(n);
  if (least < kShort) return least;
  std::size_t best = least;
  double best_time = 0;
  for (std::size_t m = least; static_cast<double>(m) <= kMore * static_cast<double>(least);
       m = fast_fft_length(m + 1)) {
    const std::size_t power = m & (~m + 1);
    const bool quick = power >= 64 && m / power <= 5;
    const double time =
        static_cast<double>(m) * static_cast<double>(m) * (kMemory + (quick ? kQuick : kOther));
    if (best_time != 0 && time >= best_time) continue;
    best_time = time;
    best = m;
  }
  return best;
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
      height_(quick_length(ny + std::min(reach_y, ny - 1))),
      width_(quick_length(nx + std::min(reach_x, nx - 1))),
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
  return sizeof(Complex) * quick_length(ny + std::min(reach_y, ny - 1)) *
         (quick_length(nx + std::min(reach_x, nx - 1)) / 2 + 1);
}

void ImageConvolver::forward(View<const float, 2> image, const Placement& place, Spectrum& to,
                             Scratch& scratch) const {
  const std::size_t n_row = place.last_y - place.first_y, n_kx = width_ / 2 + 1;
  Spectrum& rows = scratch.rows;
  rows.resize_for_overwrite({n_row, aligned(n_kx)});
  scratch.values.resize(std::max(1u, n_threads_));
  parallel_for(n_threads_, n_row, [&](std::size_t i, unsigned thread) {
    const float* from = &image(place.first_y + i, 0);
    // Skip empty rows: few rows of a model have components.
    if (std::all_of(from + place.first_x, from + place.last_x, [](float value) { return value == 0; })) {
      std::fill_n(&rows(i, 0), n_kx, Complex{});
      return;
    }
    Buffer<float, 1>& row = scratch.values[thread];
    row.resize({width_});
    for (std::size_t x = place.first_x; x < place.last_x; ++x) row((x + place.origin_x) % width_) = from[x];
    row_.execute(row.data(), &rows(i, 0));
  });
  to.resize_for_overwrite({n_kx, aligned(height_)});
  parallel_for(n_threads_, (n_kx + kColumns - 1) / kColumns, [&](std::size_t block, unsigned) {
    const std::size_t first = block * kColumns, n = std::min(kColumns, n_kx - first);
    std::fill(&to(first, 0), &to(first, 0) + n * to.extent(1), Complex{});
    for (std::size_t i = 0; i < n_row; ++i) {
      const std::size_t y = (place.first_y + i + place.origin_y) % height_;
      for (std::size_t k = 0; k < n; ++k) to(first + k, y) = rows(i, first + k);
    }
    for (std::size_t k = 0; k < n; ++k) column_.execute(&to(first + k, 0));
  });
}

template <class Product, class Use>
void ImageConvolver::inverse(const Product& product, const Placement& place, const Use& use,
                             Scratch& scratch) const {
  const std::size_t n_row = place.last_y - place.first_y, n_kx = width_ / 2 + 1;
  const float scale = 1.0f / (static_cast<float>(width_) * static_cast<float>(height_));
  Spectrum& rows = scratch.rows;
  rows.resize_for_overwrite({n_row, aligned(n_kx)});
  scratch.columns.resize(std::max(1u, n_threads_));
  scratch.values.resize(std::max(1u, n_threads_));
  parallel_for(n_threads_, (n_kx + kColumns - 1) / kColumns, [&](std::size_t block, unsigned thread) {
    const std::size_t first = block * kColumns, n = std::min(kColumns, n_kx - first);
    Spectrum& columns = scratch.columns[thread];
    columns.resize_for_overwrite({kColumns, aligned(height_)});
    for (std::size_t k = 0; k < n; ++k) {
      product(first + k, &columns(k, 0));
      column_back_.execute(&columns(k, 0));
    }
    for (std::size_t i = 0; i < n_row; ++i) {
      const std::size_t y = (place.first_y + i + place.origin_y) % height_;
      for (std::size_t k = 0; k < n; ++k) rows(i, first + k) = columns(k, y) * scale;
    }
  });
  parallel_for(n_threads_, n_row, [&](std::size_t i, unsigned thread) {
    Buffer<float, 1>& row = scratch.values[thread];
    row.resize_for_overwrite({width_});
    row_back_.execute(&rows(i, 0), row.data());
    use(place.first_y + i, row.data(), place.first_x, place.last_x);
  });
}

void ImageConvolver::transform(View<const float, 2> image, Spectrum& to, Scratch& scratch) const {
  forward(image, Placement::image(image.extent(0), image.extent(1)), to, scratch);
}

ImageConvolver::Spectrum ImageConvolver::transform_kernel(View<const float, 2> kernel) const {
  Spectrum spectrum;
  Scratch scratch;
  forward(kernel, Placement::kernel(*this, kernel.extent(0), kernel.extent(1)), spectrum, scratch);
  return spectrum;
}

ImageConvolver::EvenSpectrum ImageConvolver::transform_even_kernel(View<const float, 2> kernel) const {
  const Spectrum spectrum = transform_kernel(kernel);
  EvenSpectrum even;
  even.resize_for_overwrite({width_ / 2 + 1, height_ / 2 + 1});
  for (std::size_t kx = 0; kx < even.extent(0); ++kx)
    for (std::size_t ky = 0; ky < even.extent(1); ++ky) even(kx, ky) = spectrum(kx, ky).real();
  return even;
}

float ImageConvolver::convolve(const Spectrum& image, const EvenSpectrum& kernel, View<float, 2> out,
                               View<const float, 2> weight, PeakSign sign, Scratch& scratch) const {
  std::vector<float> highest(out.extent(0));
  inverse([&](std::size_t kx, Complex* to) { multiply_even(to, &image(kx, 0), &kernel(kx, 0), height_); },
          Placement::image(out.extent(0), out.extent(1)),
          [&](std::size_t y, const float* values, std::size_t first, std::size_t last) {
            std::copy(values + first, values + last, &out(y, first));
            highest[y] = highest_value({values + first, last - first}, &weight(y, first), sign);
          },
          scratch);
  return *std::max_element(highest.begin(), highest.end());
}

void ImageConvolver::subtract_convolved(View<float, 2> from, const Spectrum& image, const Spectrum& kernel,
                                        const EvenSpectrum* smooth, Scratch& scratch) const {
  inverse(
      [&](std::size_t kx, Complex* to) {
        multiply_complex(to, &image(kx, 0), &kernel(kx, 0), height_);
        if (smooth != nullptr) multiply_even(to, to, &(*smooth)(kx, 0), height_);
      },
      Placement::image(from.extent(0), from.extent(1)),
      [&](std::size_t y, const float* values, std::size_t first, std::size_t last) {
        for (std::size_t x = first; x < last; ++x) from(y, x) -= values[x];
      },
      scratch);
}

void ImageConvolver::smooth_kernel(const Spectrum& kernel, const EvenSpectrum& smooth, unsigned times,
                                   View<float, 2> out, Scratch& scratch) const {
  std::fill(out.begin(), out.end(), 0.0f);
  const Placement place = Placement::kernel(*this, out.extent(0), out.extent(1));
  inverse(
      [&](std::size_t kx, Complex* to) {
        multiply_even(to, &kernel(kx, 0), &smooth(kx, 0), height_);
        if (times == 2) multiply_even(to, to, &smooth(kx, 0), height_);
      },
      place,
      [&](std::size_t y, const float* values, std::size_t first, std::size_t last) {
        for (std::size_t x = first; x < last; ++x) out(y, x) = values[(x + place.origin_x) % width_];
      },
      scratch);
}

double ImageConvolver::peak_smoothed_twice(const Spectrum& kernel, const EvenSpectrum& smooth) const {
  double sum = 0;
  for (std::size_t kx = 0; kx <= width_ / 2; ++kx) {
    double column = 0;
    for (std::size_t ky = 0; ky < height_; ++ky) {
      const auto factor = static_cast<double>(smooth(kx, std::min(ky, height_ - ky)));
      column += factor * factor * static_cast<double>(kernel(kx, ky).real());
    }
    // Columns that stand for their mirror image, too. Widths are even.
    sum += (kx == 0 || kx == width_ / 2 ? 1 : 2) * column;
  }
  return sum / (static_cast<double>(width_) * static_cast<double>(height_));
}

}  // namespace apsyn
