// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/reference/beams.h"

#include <cmath>
#include <numbers>

namespace apsyn::reference {
namespace {

constexpr double kC_m_s = 299792458.0;
using std::numbers::pi;

double dot(const Vector& a, const Vector& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/// A plane wave from `direction`, at a place.
std::complex<double> wave(const Vector& direction, const Vector& place_m, double freq_hz) {
  return std::polar(1.0, 2 * pi * freq_hz / kC_m_s * dot(direction, place_m));
}

}  // namespace

double lit_disc(double sin_theta, double diameter_m, double freq_hz) {
  // Chords across the disc at a R cos t: integral of 2 sin(t)^2 cos(k R sin(theta) cos t) dt / pi, 0 .. pi;
  // the trapezoid rule is exact to rounding on such periodic functions.
  const double x = pi * diameter_m * sin_theta * freq_hz / kC_m_s;
  const int n = 200 + static_cast<int>(4 * std::abs(x));
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    const double t = 2 * pi * i / n;
    sum += 2 * std::sin(t) * std::sin(t) * std::cos(x * std::cos(t));
  }
  return sum / n;
}

std::complex<double> dipole_over_ground(const Vector& dipole, const Vector& direction, const Vector& field,
                                        double height_m, double freq_hz) {
  if (direction[2] <= 0) return 0;
  const auto pair = [&](const Vector& from) {
    return wave(from, {0, 0, height_m}, freq_hz) - wave(from, {0, 0, -height_m}, freq_hz);
  };
  return dot(dipole, field) * pair(direction) / pair({0, 0, 1});
}

std::complex<double> mwa_tile(const std::array<int, 16>& delays, const Vector& direction, double freq_hz) {
  std::complex<double> sum = 0;
  for (int i = 0; i < 16; ++i) {
    const Vector place_m{1.1 * (i % 4) - 1.65, 1.65 - 1.1 * (i / 4), 0};
    if (delays[static_cast<std::size_t>(i)] == 32) continue;
    const double delay_s = 435e-12 * delays[static_cast<std::size_t>(i)];
    sum += wave(direction, place_m, freq_hz) * std::polar(1.0, -2 * pi * freq_hz * delay_s);
  }
  return sum / 16.0;
}

}  // namespace apsyn::reference
