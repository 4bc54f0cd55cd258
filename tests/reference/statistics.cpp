// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/reference/statistics.h"

#include <cmath>
#include <stdexcept>

namespace apsyn::reference {
namespace {

template <class Value, class Truth>
double compute(std::span<const Value> value, std::span<const Truth> truth) {
  if (value.size() != truth.size()) throw std::length_error("relative_rms: the sizes differ");
  long double difference = 0, power = 0;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const auto delta = static_cast<Truth>(value[i]) - truth[i];
    difference += static_cast<long double>(std::norm(delta));
    power += static_cast<long double>(std::norm(truth[i]));
  }
  return static_cast<double>(std::sqrt(difference / power));
}

}  // namespace

double relative_rms(std::span<const double> value, std::span<const double> truth) {
  return compute(value, truth);
}
double relative_rms(std::span<const float> value, std::span<const double> truth) {
  return compute(value, truth);
}
double relative_rms(std::span<const std::complex<float>> value, std::span<const std::complex<double>> truth) {
  return compute(value, truth);
}
double relative_rms(std::span<const std::complex<double>> value,
                    std::span<const std::complex<double>> truth) {
  return compute(value, truth);
}

}  // namespace apsyn::reference
