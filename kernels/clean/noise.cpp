// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/clean/noise.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "libcore/system/parallel.h"

namespace apsyn {

namespace {

constexpr std::size_t kPart = 1 << 14;  ///< values that a thread takes at a time

/// Unsigned numbers in the order of the floats.
std::uint32_t rank_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
}
float value_of(std::uint32_t rank) {
  return std::bit_cast<float>((rank >> 31) != 0 ? rank & 0x7fffffffu : ~rank);
}

/// The median (for an even number of values the upper of the two middle ones, as in median_of()), found by
/// counting in three steps that threads can share.
template <class Value>
float median_by_threads(std::size_t n, unsigned n_threads, const Value& value) {
  std::uint32_t known = 0;  ///< the leading bits of the median's rank
  std::size_t before = 0;   ///< values below all with these bits
  struct Step {
    unsigned shift, bits;
  };
  for (const auto& [shift, bits] : {Step{21, 11}, Step{10, 11}, Step{0, 10}}) {
    const std::size_t n_parts = (n + kPart - 1) / kPart, n_bins = std::size_t{1} << bits;
    std::vector<std::uint32_t> counts(n_parts * n_bins, 0);
    parallel_for(n_threads, n_parts, [&](std::size_t part, unsigned) {
      std::uint32_t* own = counts.data() + part * n_bins;
      for (std::size_t i = part * kPart; i < std::min(n, (part + 1) * kPart); ++i) {
        const std::uint32_t rank = rank_of(value(i));
        if (shift + bits < 32 && rank >> (shift + bits) != known) continue;
        ++own[(rank >> shift) & (n_bins - 1)];
      }
    });
    std::size_t bin = 0;
    for (std::size_t next = before;; ++bin, before = next) {
      for (std::size_t part = 0; part < n_parts; ++part) next += counts[part * n_bins + bin];
      if (next > n / 2) break;
    }
    known = known << bits | static_cast<std::uint32_t>(bin);
  }
  return value_of(known);
}

}  // namespace

double robust_sigma(View<const float, 2> image, unsigned n_threads) {
  // An odd step visits all columns of an image whose width is a power of 2.
  const std::size_t step = (image.size() >> 20) | 1, n = (image.size() + step - 1) / step,
                    n_parts = (n + kPart - 1) / kPart;
  std::vector<float> values(n);
  std::vector<std::size_t> n_finite(n_parts, 0);
  parallel_for(n_threads, n_parts, [&](std::size_t part, unsigned) {
    float* to = values.data() + part * kPart;
    for (std::size_t i = part * kPart; i < std::min(n, (part + 1) * kPart); ++i)
      if (const float value = image.data()[i * step]; std::isfinite(value)) to[n_finite[part]++] = value;
  });
  std::size_t n_values = 0;
  for (std::size_t part = 0; part < n_parts; n_values += n_finite[part++])
    if (n_values != part * kPart)
      std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(part * kPart), n_finite[part],
                  values.begin() + static_cast<std::ptrdiff_t>(n_values));
  if (n_values == 0) return 0;
  const float centre = median_by_threads(n_values, n_threads, [&](std::size_t i) { return values[i]; });
  const float deviation =
      median_by_threads(n_values, n_threads, [&](std::size_t i) { return std::abs(values[i] - centre); });
  return static_cast<double>(1.4826f * deviation);
}

namespace {

/// robust_sigma of a box of `width` around (y, x), cut at the edges.
float box_sigma(View<const float, 2> image, std::size_t y, std::size_t x, std::size_t width) {
  const std::size_t half = width / 2;
  const std::size_t y0 = y - std::min(y, half), y1 = std::min(image.extent(0), y + half + 1);
  const std::size_t x0 = x - std::min(x, half), x1 = std::min(image.extent(1), x + half + 1);
  Buffer<float, 2> box({y1 - y0, x1 - x0});
  for (std::size_t j = y0; j < y1; ++j) std::copy(&image(j, x0), &image(j, x0) + (x1 - x0), &box(j - y0, 0));
  return static_cast<float>(robust_sigma(View<const float, 2>(box)));
}

}  // namespace

Buffer<float, 2> local_noise(View<const float, 2> image, std::size_t width, unsigned n_threads) {
  const std::size_t ny = image.extent(0), nx = image.extent(1), step = std::max<std::size_t>(1, width / 2);
  const std::size_t n_row = (ny - 1) / step + 2, n_column = (nx - 1) / step + 2;
  Buffer<float, 2> nodes({n_row, n_column});
  parallel_for(n_threads, nodes.size(), [&](std::size_t i, unsigned) {
    nodes.data()[i] =
        box_sigma(image, std::min(ny - 1, i / n_column * step), std::min(nx - 1, i % n_column * step), width);
  });
  double sum = 0;
  std::size_t n_known = 0;
  for (const float sigma : nodes)
    if (sigma > 0) {
      sum += static_cast<double>(sigma);
      ++n_known;
    }
  const float mean = n_known == 0 ? 0 : static_cast<float>(sum / static_cast<double>(n_known));
  for (float& sigma : nodes)
    if (!(sigma > 0)) sigma = mean;
  Buffer<float, 2> noise({ny, nx});
  parallel_for(n_threads, ny, [&](std::size_t y, unsigned) {
    const std::size_t j = y / step;
    const float v = static_cast<float>(y % step) / static_cast<float>(step);
    for (std::size_t x = 0; x < nx; ++x) {
      const std::size_t i = x / step;
      const float u = static_cast<float>(x % step) / static_cast<float>(step);
      noise(y, x) = (1 - v) * ((1 - u) * nodes(j, i) + u * nodes(j, i + 1)) +
                    v * ((1 - u) * nodes(j + 1, i) + u * nodes(j + 1, i + 1));
    }
  });
  return noise;
}

}  // namespace apsyn
