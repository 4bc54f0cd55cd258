// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/reference/recordings/quantised_normal.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace apsyn::reference {

namespace {

const double kRoot2Pi = std::sqrt(2 * std::acos(-1.0));

double level(int low, int high, double x) {
  return std::clamp(std::nearbyint(x), static_cast<double>(low), static_cast<double>(high));
}

/// Simpson's rule over [a, b].
template <class F>
double integrate(const F& f, double a, double b, int pieces) {
  double sum = f(a) + f(b);
  const double step = (b - a) / (2 * pieces);
  for (int i = 1; i < 2 * pieces; ++i) sum += (i % 2 ? 4 : 2) * f(a + i * step);
  return sum * step / 3;
}

/// Sum over the dither d at the middles of n intervals.
template <class F>
double over_dither(bool dither, const F& f) {
  if (!dither) return f(0.0);
  constexpr int n = 16;
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += f((i + 0.5) / n - 0.5) / n;
  return sum;
}

/// E q(y + d) of y normal with this mean and RMS: the lowest level and the probabilities to be at each of the
/// others or above it.
double mean_level(int low, int high, double mean, double rms) {
  const int from = std::clamp(static_cast<int>(std::floor(mean - 10 * rms)), low, high);
  const int to = std::clamp(static_cast<int>(std::ceil(mean + 10 * rms)), low, high);
  double sum = from;
  for (int q = from + 1; q <= to; ++q) sum += 0.5 * std::erfc((q - 0.5 - mean) / rms / std::sqrt(2.0));
  return sum;
}

/// The integral of f(x) times the density of x, in pieces between the quantiser's thresholds.
double over_density(int low, int high, double rms, double shift, const std::function<double(double)>& f) {
  double sum = 0;
  for (int q = low; q <= high; ++q) {
    const double a = q == low ? std::min(-10 * rms, low - 1.0) : q - 0.5 - shift;
    const double b = q == high ? std::max(10 * rms, high + 1.0) : q + 0.5 - shift;
    if (b < -10 * rms || a > 10 * rms) continue;
    const double from = std::max(a, -10 * rms), to = std::min(b, 10 * rms);
    const int pieces = 40 + static_cast<int>(40 * (to - from) / rms);
    sum += integrate([&](double x) { return f(q) * std::exp(-0.5 * x * x / rms / rms) / rms / kRoot2Pi; },
                     from, to, pieces);
  }
  return sum;
}

}  // namespace

double quantised_square(int low, int high, bool dither, double rms) {
  return over_dither(
      dither, [&](double d) { return over_density(low, high, rms, d, [](double q) { return q * q; }); });
}

double quantised_product(int low, int high, bool dither, double rms1, double rms2, double rho) {
  const double rest = rms2 * std::sqrt(1 - rho * rho);
  // Simpson's rule errs by 3e-7 where the other's mean level turns within 8 pieces; many where it jumps.
  const double pieces_per_rms = rest > 0 ? 8 * rms2 / rest : 2000;
  const int fewest = rest > 0 ? 2 : 12;
  return over_dither(dither, [&](double d1) {
    double sum = 0;
    for (int q = low; q <= high; ++q) {
      const double a = std::max(q == low ? -1e300 : q - 0.5 - d1, -10 * rms1);
      const double b = std::min(q == high ? 1e300 : q + 0.5 - d1, 10 * rms1);
      if (!(a < b)) continue;
      sum += q * integrate(
                     [&](double x) {
                       const double middle = rho * x / rms1 * rms2;
                       const double other = over_dither(dither, [&](double d2) {
                         return rest > 0 ? mean_level(low, high, middle + d2, rest)
                                         : level(low, high, middle + d2);
                       });
                       return other * std::exp(-0.5 * x * x / rms1 / rms1) / rms1 / kRoot2Pi;
                     },
                     a, b, fewest + static_cast<int>(pieces_per_rms * (b - a) / rms1));
    }
    return sum;
  });
}

}  // namespace apsyn::reference
