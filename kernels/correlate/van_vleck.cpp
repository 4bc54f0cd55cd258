// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/correlate/van_vleck.h"

#include <algorithm>
#include <cmath>

#include "libcore/base/constants.h"

namespace apsyn {

namespace {

constexpr double kMinRms = 0.2, kLogStep = 0.01;
/// Where coarse staircases are integrated instead of summed: 0.9^96 = 4e-5.
constexpr double kSeriesEnd = 0.9;
/// Thresholds beyond this many sigma have no effect.
constexpr double kFar = 9;

/// Weights of four values at -1, 0, 1, 2 for the cubic through them at x.
std::array<double, 4> cubic_weights(double x) {
  return {-x * (x - 1) * (x - 2) / 6, (x + 1) * (x - 1) * (x - 2) / 2, -(x + 1) * x * (x - 2) / 2,
          (x + 1) * x * (x - 1) / 6};
}

}  // namespace

QuantiserCurve::QuantiserCurve(const Quantiser& quantiser)
    : quantiser_(quantiser), first_log_(std::log(kMinRms)) {
  const double most = std::log(4.0 * (quantiser.high + 1));
  const auto n = static_cast<std::size_t>((most - first_log_) / kLogStep) + 4;
  for (std::size_t node = 0; node < n; ++node) {
    const double rms = std::exp(first_log_ + kLogStep * (static_cast<double>(node) - 1));
    power_.push_back(quantised_power(quantiser, rms));
    terms_.push_back(quantised_terms(quantiser, rms));
  }
}

/// The products a_k(sigma_1) a_k(sigma_2), computed as far as they are needed.
class QuantiserCurve::Products {
 public:
  Products(const QuantiserCurve& curve, const Level& level1, const Level& level2, bool difference)
      : difference(difference), side_{Side(curve, level1), Side(curve, level2)} {}

  double operator[](std::size_t k) {
    for (; n_ <= k; ++n_) values_[n_] = side_[0].term(n_) * side_[1].term(n_);
    return values_[k];
  }
  /// The sum at rho, and its slope.
  double sum(double rho, double& slope) {
    // as many terms as matter in float64
    const double terms = -36 / std::min(std::log(std::abs(rho) + 1e-300), -1e-3);
    const auto n = static_cast<std::size_t>(std::clamp(terms, 4.0, static_cast<double>(kVanVleckTerms)));
    (*this)[n - 1];
    double value = 0;
    slope = 0;
    for (std::size_t k = n; k-- > 0;) {
      slope = slope * rho + value;
      value = value * rho + (difference && k % 2 == 0 ? 0 : values_[k]);
    }
    return value;
  }
  /// The value at rho = 0.
  double origin() { return difference ? 0 : (*this)[0]; }

  const bool difference;  ///< only the odd terms

 private:
  struct Side {
    Side(const QuantiserCurve& curve, const Level& level)
        : node(static_cast<std::size_t>(level.position)),
          weight(cubic_weights(level.position - static_cast<double>(node))),
          terms(&curve.terms_[node - 1]) {}
    double term(std::size_t k) const {
      return weight[0] * terms[0][k] + weight[1] * terms[1][k] + weight[2] * terms[2][k] +
             weight[3] * terms[3][k];
    }
    std::size_t node;
    std::array<double, 4> weight;
    const std::array<double, kVanVleckTerms>* terms;
  };
  Side side_[2];
  std::array<double, kVanVleckTerms> values_;
  std::size_t n_ = 0;
};

QuantiserCurve::Level QuantiserCurve::level(double mean_square) const {
  if (!(mean_square >= power_[1] && mean_square <= power_[power_.size() - 3])) return {};
  const auto above = std::upper_bound(power_.begin() + 1, power_.end() - 2, mean_square);
  const auto node = static_cast<std::size_t>(above - power_.begin()) - 1;
  const double* power = &power_[node - 1];
  const double rise = power[2] - power[1];
  double x = (mean_square - power[1]) / rise;
  for (int step = 0; step < 4; ++step) {
    const auto weight = cubic_weights(x);
    double value = 0;
    for (std::size_t i = 0; i < 4; ++i) value += weight[i] * power[i];
    x += (mean_square - value) / rise;
  }
  Level found;
  found.position = static_cast<double>(node) + std::clamp(x, 0.0, 0.999999);
  found.rms = std::exp(first_log_ + kLogStep * (found.position - 1));
  const auto weight = cubic_weights(found.position - static_cast<double>(node));
  double a1 = 0;
  for (std::size_t i = 0; i < 4; ++i) a1 += weight[i] * terms_[node - 1 + i][1];
  found.gain = a1 / found.rms;
  return found;
}

double QuantiserCurve::solve_series(Products& products, const Level& level1, const Level& level2,
                                    double quantised) const {
  double rho = std::clamp((quantised - products.origin()) / products[1], -1.0, 1.0);
  const double exponent =
      std::max(static_cast<double>(kVanVleckTerms), kTwoPi * kTwoPi * level1.rms * level2.rms);
  double rest = 0;
  bool rest_known = quantiser_.dither;  // what is smooth leaves nothing
  // Newton's method on a monotonic function; many steps are needed only near the ends
  for (int step = 0; step < 40; ++step) {
    const double size = std::abs(rho), log_power = std::log(size + 1e-300) * exponent;
    const double power = log_power > -25 ? std::exp(log_power) : 0;
    if (power > 0 && !rest_known) {
      rest = quantised_product_of_equals(quantiser_, level1.rms, level2.rms);
      for (std::size_t k = 0; k < kVanVleckTerms; ++k) rest -= products[k];
      rest_known = true;
    }
    double slope = 0;
    double value = products.sum(rho, slope);
    if (power > 0) {
      value += std::copysign(rest * power, rho);
      slope += rest * power * exponent / size;
    }
    const double next = std::clamp(rho + (quantised - value) / slope, -1.0, 1.0);
    const bool done = std::abs(next - rho) < 1e-13;
    rho = next;
    if (done) break;
  }
  return rho;
}

double QuantiserCurve::solve_integral(Products& products, const Level& level1, const Level& level2,
                                      double quantised, double sign) const {
  // by Price's theorem d E / d rho is the density at all pairs of thresholds; rho = sin angle takes the
  // singularity at 1 away
  std::vector<double> x1, x2;
  for (int level = quantiser_.low; level < quantiser_.high; ++level) {
    const double t = level + 0.5;
    if (std::abs(t) < kFar * level1.rms) x1.push_back(t / level1.rms);
    if (std::abs(t) < kFar * level2.rms) x2.push_back(sign * t / level2.rms);
  }
  const auto density_at = [&](double angle, double turn) {
    const double rho = std::sin(angle), cosine = std::max(std::cos(angle), 1e-8);
    double sum = 0;
    for (const double a : x1)
      for (const double b : x2) {
        const double difference = a - turn * b;
        const double power = (difference * difference / (2 * cosine * cosine)) + turn * a * b / (1 + rho);
        if (power < 40) sum += std::exp(-power);
      }
    return sum / kTwoPi;
  };
  const auto slope_at = [&](double angle) {
    return products.difference ? 0.5 * (density_at(angle, 1) + density_at(angle, -1)) : density_at(angle, 1);
  };
  // the rise beyond kSeriesEnd, by steps of Simpson's rule, until it passes what was measured
  double slope = 0;
  const double wanted = sign * (quantised - products.sum(sign * kSeriesEnd, slope));
  constexpr int kSteps = 96;
  const double first = std::asin(kSeriesEnd), step = (kPi / 2 - first) / kSteps;
  double rise = 0, at_start = slope_at(first);
  for (int i = 0; i < kSteps; ++i) {
    const double start = first + i * step, at_end = slope_at(start + step);
    const double more = (at_start + 4 * slope_at(start + step / 2) + at_end) * step / 6;
    if (rise + more >= wanted) return sign * std::sin(start + step * (wanted - rise) / more);
    rise += more;
    at_start = at_end;
  }
  return sign;
}

double QuantiserCurve::solve(Products& products, const Level& level1, const Level& level2,
                             double quantised) const {
  const double scale = level1.rms * level2.rms;
  const bool coarse = quantiser_.high < 4 || scale < 5;
  if (coarse && !quantiser_.dither) {
    // for a correlation below a half the sum at kSeriesEnd need not be computed
    double slope = 0;
    for (const double sign : {-1.0, 1.0})
      if (sign * (quantised - products.origin()) > 0.5 * products[1] &&
          sign * (quantised - products.sum(sign * kSeriesEnd, slope)) > 0)
        return scale * solve_integral(products, level1, level2, quantised, sign);
  }
  return scale * solve_series(products, level1, level2, quantised);
}

double QuantiserCurve::product(const Level& level1, const Level& level2, double quantised) const {
  Products products(*this, level1, level2, false);
  return solve(products, level1, level2, quantised);
}

double QuantiserCurve::product_of_difference(const Level& level1, const Level& level2,
                                             double quantised) const {
  Products products(*this, level1, level2, true);
  return std::copysign(solve(products, level1, level2, std::abs(quantised)), quantised);
}

}  // namespace apsyn
