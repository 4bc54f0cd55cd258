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
  double* value = sums.value.data();
  double* total = sums.weight.data();
  double all[4] = {};
  for (std::size_t i = 0; i < n_cells; ++i) {
    const double w = static_cast<double>(weight[i]);
    value[2 * i] += w * static_cast<double>(values[2 * i]);
    value[2 * i + 1] += w * static_cast<double>(values[2 * i + 1]);
    total[i] += w;
    all[i % 4] += w;
  }
  return (all[0] + all[1]) + (all[2] + all[3]);
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
