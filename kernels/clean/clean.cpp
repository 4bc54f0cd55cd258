// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/clean/clean.h"

#include <cmath>
#include <utility>
#include <vector>

#include "libcore/base/median.h"

namespace apsyn {

double robust_sigma(View<const float, 2> image) {
  // An odd step comes past all columns of images whose width is a power of 2.
  const std::size_t step = (image.size() >> 20) | 1;
  std::vector<float> values;
  values.reserve(image.size() / step + 1);
  for (std::size_t i = 0; i < image.size(); i += step)
    if (const float value = image.data()[i]; std::isfinite(value)) values.push_back(value);
  if (values.empty()) return 0;
  const float centre = median_of(values);
  return static_cast<double>(robust_spread(std::move(values), centre));
}

}  // namespace apsyn
