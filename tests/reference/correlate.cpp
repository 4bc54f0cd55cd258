// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/reference/correlate.h"

#include <cmath>

namespace apsyn::reference {

IntegerSum cross_sum(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b,
                     const std::vector<bool>& a_valid, const std::vector<bool>& b_valid) {
  IntegerSum sum;
  for (std::size_t t = 0; t < a_valid.size(); ++t) {
    if (!a_valid[t] || !b_valid[t]) continue;
    const std::int64_t ar = a[2 * t], ai = a[2 * t + 1], br = b[2 * t], bi = b[2 * t + 1];
    sum.re += ar * br + ai * bi;
    sum.im += ai * br - ar * bi;
    sum.count += 1;
  }
  return sum;
}

std::complex<double> spectrum(const std::vector<std::complex<double>>& x, double bin, double phase_turn) {
  const double two_pi = 2 * std::acos(-1.0);
  const double length = static_cast<double>(x.size());
  std::complex<double> sum = 0;
  for (std::size_t n = 0; n < x.size(); ++n)
    sum += x[n] * std::polar(1.0, -two_pi * std::fmod(static_cast<double>(n) * bin / length, 1.0));
  return sum * std::polar(1 / std::sqrt(length), -two_pi * phase_turn);
}

}  // namespace apsyn::reference
