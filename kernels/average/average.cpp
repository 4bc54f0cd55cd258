// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/average/average.h"

#include <algorithm>
#include <cmath>

#include "libcore/base/constants.h"

namespace apsyn::average {
namespace {

/// `n_product` is known to the compiler, so that the sums of a group stay in registers.
template <std::size_t n_product>
void average_groups(const float* data, const float* weight, std::size_t n_chan, std::size_t n_average,
                    float* to, float* to_weight) {
  for (std::size_t first = 0; first < n_chan; first += n_average) {
    double value[2 * n_product] = {}, total[n_product] = {};
    const std::size_t end = std::min(n_chan, first + n_average);
    for (std::size_t chan = first; chan < end; ++chan, data += 2 * n_product, weight += n_product)
      for (std::size_t p = 0; p < n_product; ++p) {
        const double w = static_cast<double>(weight[p]);
        value[2 * p] += w * static_cast<double>(data[2 * p]);
        value[2 * p + 1] += w * static_cast<double>(data[2 * p + 1]);
        total[p] += w;
      }
    for (std::size_t p = 0; p < n_product; ++p) {
      const double scale = total[p] > 0 ? 1 / total[p] : 0;
      *to++ = static_cast<float>(value[2 * p] * scale);
      *to++ = static_cast<float>(value[2 * p + 1] * scale);
      *to_weight++ = static_cast<float>(total[p]);
    }
  }
}

/// Adds n cells and returns the sum of their weights, itself of four sums: a vector has four places.
[[gnu::always_inline]] inline double add_cells(const float* __restrict data, const float* __restrict weight,
                                               std::size_t n, double* __restrict value,
                                               double* __restrict total) {
  double all[4] = {};
  const auto add = [&](std::size_t i, std::size_t k) {
    const double w = static_cast<double>(weight[i + k]);
    value[2 * (i + k)] += w * static_cast<double>(data[2 * (i + k)]);
    value[2 * (i + k) + 1] += w * static_cast<double>(data[2 * (i + k) + 1]);
    total[i + k] += w;
    all[k] += w;
  };
  const std::size_t fours = n - n % 4;
  for (std::size_t i = 0; i < fours; i += 4)
    for (std::size_t k = 0; k < 4; ++k) add(i, k);
  for (std::size_t k = 0; k < n % 4; ++k) add(fours, k);
  return (all[0] + all[1]) + (all[2] + all[3]);
}

// Products are rounded before they are added, with AVX2 as without: the bits are the same.
#if defined(__x86_64__)
__attribute__((target("avx2"))) double add_cells_avx2(const float* data, const float* weight, std::size_t n,
                                                      double* value, double* total) {
  return add_cells(data, weight, n, value, total);
}
#endif

}  // namespace

void average_channels(const std::complex<float>* data, const float* weight, const RowShape& shape,
                      std::size_t n_average, std::complex<float>* to, float* to_weight) {
  const auto* values = reinterpret_cast<const float*>(data);
  auto* means = reinterpret_cast<float*>(to);
  switch (shape.n_product) {
    case 1:
      return average_groups<1>(values, weight, shape.n_chan, n_average, means, to_weight);
    case 2:
      return average_groups<2>(values, weight, shape.n_chan, n_average, means, to_weight);
    case 3:
      return average_groups<3>(values, weight, shape.n_chan, n_average, means, to_weight);
    default:
      return average_groups<4>(values, weight, shape.n_chan, n_average, means, to_weight);
  }
}

double add_row(const std::complex<float>* data, const float* weight, std::size_t n_cells, CellSums& sums) {
  const auto* values = reinterpret_cast<const float*>(data);
#if defined(__x86_64__)
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  if (has_avx2) return add_cells_avx2(values, weight, n_cells, sums.value.data(), sums.weight.data());
#endif
  return add_cells(values, weight, n_cells, sums.value.data(), sums.weight.data());
}

void finish_row(const CellSums& sums, std::complex<float>* to, float* to_weight) {
  auto* means = reinterpret_cast<float*>(to);
  for (std::size_t i = 0; i < sums.weight.size(); ++i) {
    const double scale = sums.weight[i] > 0 ? 1 / sums.weight[i] : 0;
    means[2 * i] = static_cast<float>(sums.value[2 * i] * scale);
    means[2 * i + 1] = static_cast<float>(sums.value[2 * i + 1] * scale);
    to_weight[i] = static_cast<float>(sums.weight[i]);
  }
}

void turn_row(const std::complex<float>* data, const RowShape& shape, const double* channel_hz, double path_m,
              std::complex<float>* to) {
  for (std::size_t chan = 0; chan < shape.n_chan; ++chan) {
    const double turns = channel_hz[chan] * path_m / kSpeedOfLight_m_s;
    const double phase = -kTwoPi * (turns - std::nearbyint(turns));
    const double re = std::cos(phase), im = std::sin(phase);
    for (std::size_t p = 0; p < shape.n_product; ++p, ++data, ++to) {
      const double x = static_cast<double>(data->real()), y = static_cast<double>(data->imag());
      *to = {static_cast<float>(x * re - y * im), static_cast<float>(x * im + y * re)};
    }
  }
}

}  // namespace apsyn::average
