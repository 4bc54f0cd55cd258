// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/reference/measurement_equation.h"

#include <cmath>
#include <numbers>

namespace apsyn::reference {

using std::numbers::pi;
using Complex = std::complex<double>;

std::array<std::array<Complex, 2>, 2> visibility(const Source& source, const std::array<double, 3>& r_i_m,
                                                 const std::array<double, 3>& r_j_m,
                                                 const std::array<double, 3>& phase_centre, double freq_hz) {
  const auto path = [&](const std::array<double, 3>& r) {
    double metres = 0;
    for (int axis = 0; axis < 3; ++axis) metres += r[axis] * (source.unit[axis] - phase_centre[axis]);
    return std::polar(1.0, 2 * pi * freq_hz * metres / 299792458.0);
  };
  const Complex response = path(r_i_m) * std::conj(path(r_j_m));
  const auto [i, q, u, v] = source.stokes;
  return {{{response * (i + q), response * Complex(u, v)}, {response * Complex(u, -v), response * (i - q)}}};
}

double gaussian_transform(double u, double v, double major_rad, double minor_rad, double pa_rad) {
  // l east, m north; the trapezium rule converges faster than any power for a Gaussian.
  const double to_sigma = 1 / std::sqrt(8 * std::log(2.0));
  const double sigma_a = major_rad * to_sigma, sigma_b = minor_rad * to_sigma;
  constexpr int n = 120;
  constexpr double reach = 8;
  double sum = 0, norm = 0;
  for (int i = -n; i <= n; ++i) {
    for (int j = -n; j <= n; ++j) {
      const double a = reach * i / n, b = reach * j / n, brightness = std::exp(-0.5 * (a * a + b * b));
      const double l = sigma_a * a * std::sin(pa_rad) + sigma_b * b * std::cos(pa_rad);
      const double m = sigma_a * a * std::cos(pa_rad) - sigma_b * b * std::sin(pa_rad);
      norm += brightness;
      sum += brightness * std::cos(2 * pi * (u * l + v * m));
    }
  }
  return sum / norm;
}

}  // namespace apsyn::reference
