// SPDX-License-Identifier: GPL-3.0-or-later
// A quantiser's moments, from its thresholds.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "kernels/correlate/van_vleck.h"
#include "libcore/base/constants.h"

namespace apsyn {

namespace {

/// Thresholds beyond this many sigma have no effect.
constexpr double kFar = 9;

double density(double x) {
  return std::exp(-0.5 * x * x) / std::sqrt(kTwoPi);
}

double upper_tail(double x) {
  return 0.5 * std::erfc(x / std::sqrt(2.0));
}

/// Mean of Q over [a, b].
double mean_upper_tail(double a, double b) {
  const auto integral = [](double x) { return x * upper_tail(x) - density(x); };
  return (integral(b) - integral(a)) / (b - a);
}

/// P(q > t) for the threshold t.
double exceeds(const Quantiser& quantiser, double t, double rms) {
  if (!quantiser.dither) return upper_tail(t / rms);
  return mean_upper_tail((t - 0.5) / rms, (t + 0.5) / rms);
}

/// sum[k] += weight phi(x) h_k(x), k = 0 .. 94, from the recurrence h_(k+1) = (x h_k - sqrt(k) h_(k-1)) /
/// sqrt(k + 1).
void add_hermite(double x, double weight, std::array<double, kVanVleckTerms>& sum) {
  static const auto root = [] {
    std::array<double, kVanVleckTerms + 1> values{};
    for (std::size_t k = 0; k < values.size(); ++k) values[k] = std::sqrt(static_cast<double>(k));
    return values;
  }();
  static const auto inverse_root = [] {
    std::array<double, kVanVleckTerms + 1> values{};
    for (std::size_t k = 1; k < values.size(); ++k) values[k] = 1 / std::sqrt(static_cast<double>(k));
    return values;
  }();
  double last = 0, now = weight * density(x);
  for (std::size_t k = 0; k + 1 < kVanVleckTerms; ++k) {
    sum[k] += now;
    const double next = (x * now - root[k] * last) * inverse_root[k + 1];
    last = now;
    now = next;
  }
}

/// sum[k] += phi h_k at a threshold, or its mean over where dither spreads it: the integral of phi h_k is
/// -phi h_(k-1) / sqrt(k).
void add_threshold(const Quantiser& quantiser, double t, double rms,
                   std::array<double, kVanVleckTerms>& sum) {
  if (!quantiser.dither) return add_hermite(t / rms, 1, sum);
  std::array<double, kVanVleckTerms> ends{};
  const double below = (t - 0.5) / rms, above = (t + 0.5) / rms;
  add_hermite(below, rms, ends);
  add_hermite(above, -rms, ends);
  sum[0] += rms * (upper_tail(below) - upper_tail(above));
  for (std::size_t k = 1; k + 1 < kVanVleckTerms; ++k)
    sum[k] += ends[k - 1] / std::sqrt(static_cast<double>(k));
}

}  // namespace

Quantiser twos_complement(unsigned n_bit) {
  if (n_bit < 2 || n_bit > 8) throw std::logic_error("twos_complement: 2 to 8 bits");
  const int half = 1 << (n_bit - 1);
  return {-half, half - 1, false};
}

double quantised_power(const Quantiser& quantiser, double rms) {
  // q^2 rises by 2 k - 1 at each threshold k - 1/2 outwards
  double power = 0;
  for (int k = 1; k <= std::max(quantiser.high, -quantiser.low); ++k) {
    const double beyond = exceeds(quantiser, k - 0.5, rms);
    power += (2 * k - 1) * beyond * ((k <= quantiser.high ? 1 : 0) + (k <= -quantiser.low ? 1 : 0));
  }
  return power;
}

std::array<double, kVanVleckTerms> quantised_terms(const Quantiser& quantiser, double rms) {
  std::array<double, kVanVleckTerms> a{}, pairs{}, singles{};
  a[0] = quantiser.low;
  for (int level = quantiser.low; level < quantiser.high; ++level) {
    const double t = level + 0.5;
    a[0] += exceeds(quantiser, t, rms);
    if (std::abs(t) - 1 > kFar * rms) continue;
    // a threshold and its mirror image have the same even h and opposite odd ones
    const bool mirrored = -level - 1 >= quantiser.low && -level - 1 < quantiser.high;
    if (mirrored && level < 0) continue;
    add_threshold(quantiser, t, rms, mirrored ? pairs : singles);
  }
  for (std::size_t k = 1; k < kVanVleckTerms; ++k)
    a[k] = ((k % 2 == 1 ? 2 * pairs[k - 1] : 0) + singles[k - 1]) / std::sqrt(static_cast<double>(k));
  return a;
}

double quantised_product_of_equals(const Quantiser& quantiser, double rms1, double rms2) {
  // with q = low + number of thresholds below x, both in units of sigma, a pair is passed where the higher is
  const int n = quantiser.high - quantiser.low;
  double single1 = 0, single2 = 0, pairs = 0;
  int below2 = 0;
  for (int i = 0; i < n; ++i) {
    const double x = (quantiser.low + 0.5 + i) / rms1, beyond = upper_tail(x);
    single1 += beyond;
    while (below2 < n && (quantiser.low + 0.5 + below2) / rms2 <= x) {
      const double beyond2 = upper_tail((quantiser.low + 0.5 + below2) / rms2);
      single2 += beyond2;
      pairs += beyond2 * i;
      ++below2;
    }
    pairs += beyond * below2;
  }
  for (; below2 < n; ++below2) {
    const double beyond2 = upper_tail((quantiser.low + 0.5 + below2) / rms2);
    single2 += beyond2;
    pairs += beyond2 * n;
  }
  const double low = quantiser.low;
  return low * low + low * (single1 + single2) + pairs;
}

}  // namespace apsyn
