// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/clean/clean.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace apsyn {

double robust_sigma(View<const float, 2> image) {
  // An odd step comes past all columns of images whose width is a power of 2.
  const std::size_t step = (image.size() >> 20) | 1;
  std::vector<float> values;
  values.reserve(image.size() / step + 1);
  for (std::size_t i = 0; i < image.size(); i += step)
    if (const float value = image.data()[i]; std::isfinite(value)) values.push_back(value);
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  const float median = *middle;
  for (float& value : values) value = std::abs(value - median);
  std::nth_element(values.begin(), middle, values.end());
  return 1.4826022185056018 * static_cast<double>(*middle);
}

}  // namespace apsyn
