// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/math/spread_kernel.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace apsyn {
namespace {

constexpr double pi = std::numbers::pi;
constexpr std::size_t widest = 16, max_kernels = 3;
constexpr double min_oversampling = 1.05, max_oversampling = 2.5;

/// I0(beta sqrt(rest)) / I0(beta), rest = 1 - t^2, by I0's power series: all terms are positive, and for beta
/// below 50 they are few.
class Window {
 public:
  explicit Window(double beta) : quarter_(beta * beta / 4), scale_(1 / series(quarter_)) {}
  double operator()(double rest) const { return series(quarter_ * std::max(0.0, rest)) * scale_; }

 private:
  static double series(double x) {
    double term = 1, sum = 1;
    for (double k = 1; term > sum * 1e-17; ++k) {
      term *= x / (k * k);
      sum += term;
    }
    return sum;
  }
  double quarter_, scale_;
};

/// Fourier transforms of kernels of one width at the frequencies of an image and of its nearest aliases,
/// which for every beta take the same cosines.
class Aliases {
 public:
  Aliases(std::size_t width, double oversampling, double padding, const PaddingShare& share) {
    for (int i = 0; i < n_pixels; ++i) {
      // The trapezoid rule: errors rise steeply towards the edge of the image.
      const double weight = (i == 0 || i == n_pixels - 1 ? 0.5 : 1) / (n_pixels - 1);
      add(i / (n_pixels - 1.0) / padding, weight, width, oversampling);
    }
    for (int i = 0; i < n_pixels && share && padding > 1; ++i) {
      const double eta = 1 / padding + (i + 0.5) / n_pixels * (1 - 1 / padding), counts = share(eta);
      add(eta, counts * counts * (padding - 1) / n_pixels, width, oversampling);
    }
  }
  double error(double beta) const {
    const Window window(beta);
    double value[n_nodes], sum = 0;
    for (int node = 0; node < n_nodes; ++node) {
      const double cosine = std::cos(pi / 2 * (node + 0.5) / n_nodes);
      value[node] = window(cosine * cosine) * cosine;
    }
    for (std::size_t i = 0; i < weight_.size(); ++i) {
      double transform[3] = {};
      for (std::size_t alias = 0; alias < 3; ++alias)
        for (std::size_t node = 0; node < n_nodes; ++node)
          transform[alias] += value[node] * cosine_[(3 * i + alias) * n_nodes + node];
      sum += weight_[i] * (transform[1] * transform[1] + transform[2] * transform[2]) /
             (transform[0] * transform[0]);
    }
    return std::sqrt(2 * sum);
  }

 private:
  static constexpr int n_pixels = 13, n_nodes = 48;

  void add(double eta, double weight, std::size_t width, double oversampling) {
    weight_.push_back(weight);
    for (int alias : {0, -1, 1})
      // t = sin(angle) takes the root out of the kernel's ends.
      for (int node = 0; node < n_nodes; ++node)
        cosine_.push_back(std::cos(pi * static_cast<double>(width) * (eta / (2 * oversampling) + alias) *
                                   std::sin(pi / 2 * (node + 0.5) / n_nodes)));
  }

  std::vector<double> weight_, cosine_;
};

struct Shape {
  double beta = 0, error = INFINITY;
};

/// Near pi width (1 - 1 / (2 oversampling)), where the window's transform falls to its first zero at the
/// alias of the field's edge.
Shape best_beta(std::size_t width, double oversampling, double padding, const PaddingShare& share) {
  const double natural = pi * static_cast<double>(width) * (1 - 0.5 / (oversampling * padding));
  const Aliases aliases(width, oversampling, padding, share);
  Shape best;
  for (double factor : {0.96, 0.98, 1.0, 1.02, 1.04}) {
    const double error = aliases.error(natural * factor);
    if (error < best.error) best = {natural * factor, error};
  }
  return best;
}

}  // namespace

std::vector<SpreadKernel> spread_kernels(double error, double padding, const PaddingShare& share) {
  std::vector<SpreadKernel> kernels;
  for (std::size_t width = 3; width <= widest && kernels.size() < max_kernels; ++width) {
    Shape shape = best_beta(width, max_oversampling, padding, share);
    if (shape.error > error && width < widest) continue;
    double low = min_oversampling, high = max_oversampling;
    for (int i = 0; i < 5; ++i) {
      const double middle = (low + high) / 2;
      const Shape tried = best_beta(width, middle, padding, share);
      if (tried.error <= error) {
        high = middle;
        shape = tried;
      } else {
        low = middle;
      }
    }
    kernels.emplace_back(width, high, shape.beta, error);
    if (high < 1.2) break;
  }
  return kernels;
}

SpreadKernel::SpreadKernel(std::size_t width, double oversampling, double beta, double error)
    : width_(width), oversampling_(oversampling), beta_(beta) {
  // At the edge of an image the kernel's transform is a tenth of that in the middle.
  const double wanted = std::max(error / 50, 1e-15);
  for (std::size_t degree = 4; degree <= 24; ++degree)
    if (fit(degree) <= wanted) break;
}

/// Chebyshev interpolation, its powers of q, and the largest deviation found.
double SpreadKernel::fit(std::size_t degree) {
  const std::size_t n = degree + 1;
  const auto half = static_cast<double>(width_) / 2;
  const Window window(beta_);
  auto kernel = [&](std::size_t tap, double q) {
    const double t = (static_cast<double>(tap) + (q + 1) / 2 - half) / half;
    return window(1 - t * t);
  };
  coefficients_.assign(n * stride(), 0);
  std::vector<double> previous(n), current(n), next(n);
  double worst = 0;
  for (std::size_t tap = 0; tap < width_; ++tap) {
    std::fill(previous.begin(), previous.end(), 0);
    std::fill(current.begin(), current.end(), 0);
    current[0] = 1;
    for (std::size_t k = 0; k < n; ++k) {
      double sum = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const double angle = pi * (static_cast<double>(i) + 0.5) / static_cast<double>(n);
        sum += kernel(tap, std::cos(angle)) * std::cos(static_cast<double>(k) * angle);
      }
      sum *= (k == 0 ? 1 : 2) / static_cast<double>(n);
      for (std::size_t p = 0; p < n; ++p) coefficients_[p * stride() + tap] += sum * current[p];
      for (std::size_t p = 0; p < n; ++p)
        next[p] = (p > 0 ? (k == 0 ? 1 : 2) * current[p - 1] : 0) - previous[p];
      previous = current;
      current = next;
    }
    for (int i = 0; i <= 20; ++i) {
      const double q = (i - 10) / 10.0;
      double value = 0;
      for (std::size_t p = n; p-- > 0;) value = value * q + coefficients_[p * stride() + tap];
      worst = std::max(worst, std::abs(value - kernel(tap, q)));
    }
  }
  return worst;
}

double SpreadKernel::transform(double frequency) const {
  // Simpson's rule over each tap's unit interval; the integrand is even in the distance from the middle.
  constexpr int n = 64;
  double sum = 0;
  for (std::size_t tap = 0; tap < width_; ++tap)
    for (int i = 0; i <= n; ++i) {
      const double fraction = static_cast<double>(i) / n, q = 2 * fraction - 1;
      double value = 0;
      for (std::size_t p = degree() + 1; p-- > 0;) value = value * q + coefficients_[p * stride() + tap];
      const double weight = i == 0 || i == n ? 1 : i % 2 == 1 ? 4 : 2;
      const double distance = static_cast<double>(tap) + fraction - static_cast<double>(width_) / 2;
      sum += weight * value * std::cos(2 * pi * frequency * distance);
    }
  return sum / (3 * n);
}

}  // namespace apsyn
