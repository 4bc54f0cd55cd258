// SPDX-License-Identifier: GPL-3.0-or-later
// Robust location and spread.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace apsyn {

/// The middle value, for an even number the upper one of the two; 0 of none. Reorders `values`.
template <class T>
T median_of(std::vector<T>& values) {
  if (values.empty()) return T{};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// 1.4826 times the median absolute deviation from `centre`: the standard deviation of normal values.
template <class T>
T robust_spread(std::vector<T> values, T centre) {
  for (T& value : values) value = std::abs(value - centre);
  return static_cast<T>(1.4826) * median_of(values);
}

/// The median of a chi-squared variable over its mean (Wilson & Hilferty 1931).
inline double chi_squared_median(double degrees_of_freedom) {
  const double root = 1 - 2 / (9 * degrees_of_freedom);
  return root * root * root;
}

}  // namespace apsyn
