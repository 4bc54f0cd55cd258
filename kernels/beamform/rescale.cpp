// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/beamform/rescale.h"

#include <algorithm>
#include <cmath>

#include "kernels/common/math/rounding.h"

namespace apsyn {

std::size_t voltage_scale_times(std::size_t values_per_time) {
  return std::max<std::size_t>(32, (4096 + values_per_time - 1) / values_per_time);
}

float voltage_step(std::span<const float> values) {
  constexpr double kRmsSteps = 24;
  double power = 0, n = 0;
  for (float x : values) {
    if (x == 0) continue;
    power += static_cast<double>(x) * static_cast<double>(x);
    n += 1;
  }
  const auto step = static_cast<float>(std::sqrt(power / std::max(1.0, n)) / kRmsSteps);
  return step > 0 ? step : 1;
}

void quantise_voltages(std::span<const float> values, float step, std::int8_t* out) {
  const float scale = 1 / step;
  for (std::size_t i = 0; i < values.size(); ++i)
    out[i] = static_cast<std::int8_t>(round_clipped(values[i] * scale, -127, 127));
}

std::vector<LinearScale> product_scales(std::span<const float> values, std::size_t n) {
  constexpr double kMeanLevel = 64, kSigmaLevels = 16;
  std::vector<LinearScale> scales(n);
  for (std::size_t i = 0; i < n; ++i) {
    double sum = 0, square = 0, count = 0;
    for (std::size_t at = i; at < values.size(); at += n) {
      if (values[at] == 0) continue;
      const auto x = static_cast<double>(values[at]);
      sum += x;
      square += x * x;
      count += 1;
    }
    if (count == 0) continue;
    const double mean = sum / count;
    const double sigma = std::sqrt(std::max(0.0, square / count - mean * mean));
    // a value that never changes still gets a step, and a level of its own
    const double step = sigma > 1e-6 * std::abs(mean) ? sigma / kSigmaLevels : std::abs(mean) / kMeanLevel;
    scales[i].step = step > 0 ? static_cast<float>(step) : 1.0f;
    scales[i].offset = static_cast<float>(mean - kMeanLevel * static_cast<double>(scales[i].step));
  }
  return scales;
}

void quantise_products(std::span<const float> values, std::span<const LinearScale> scales,
                       std::uint8_t* out) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float level = (values[i] - scales[i].offset) / scales[i].step;
    out[i] = values[i] == 0 ? 0 : static_cast<std::uint8_t>(round_clipped(level, 1, 255));
  }
}

}  // namespace apsyn
