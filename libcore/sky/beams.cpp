// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/sky/beams.h"

#include <cmath>

#include "libcore/base/constants.h"

namespace apsyn {

double airy_voltage(double sin_theta, double diameter_m, double freq_hz) {
  const double x = kPi * diameter_m * std::abs(sin_theta) * freq_hz / kSpeedOfLight_m_s;
  // The series 1 - x^2/8 + x^4/192 is exact to double where J1(x)/x would divide 0 by 0.
  if (x < 1e-2) return 1 - x * x / 8 * (1 - x * x / 24);
  return 2 * std::cyl_bessel_j(1.0, x) / x;
}

double gaussian_voltage(double theta_rad, double fwhm_rad) {
  const double ratio = theta_rad / fwhm_rad;
  return std::exp(-2 * std::log(2.0) * ratio * ratio);
}

double ground_plane_voltage(double sin_elevation, double height_m, double freq_hz) {
  if (!(sin_elevation > 0)) return 0;
  const double phase_rad = kTwoPi * height_m * freq_hz / kSpeedOfLight_m_s;
  return std::sin(phase_rad * sin_elevation) / (phase_rad < kPi / 2 ? std::sin(phase_rad) : 1);
}

std::array<double, 4> dipole_jones(const Vec3& x_dipole, const Vec3& y_dipole, const Vec3& sky_north,
                                   const Vec3& sky_east) {
  return {dot(x_dipole, sky_north), dot(x_dipole, sky_east), dot(y_dipole, sky_north),
          dot(y_dipole, sky_east)};
}

MwaArrayFactor::MwaArrayFactor(const MwaDelays& delays, double freq_hz)
    : phase_rad_(kTwoPi * freq_hz / kSpeedOfLight_m_s * kMwaDipoleSpacing_m) {
  for (std::size_t i = 0; i < kMwaDipoles; ++i)
    weights_[i] = delays[i] == kMwaDeadDipole ? 0.0
                                              : std::polar(1.0 / static_cast<double>(kMwaDipoles),
                                                           -kTwoPi * freq_hz * kMwaDelayStep_s * delays[i]);
}

std::complex<double> MwaArrayFactor::operator()(const Vec3& direction) const {
  // Dipole (row, column) stands at east (column - 3/2), north (3/2 - row) spacings.
  const std::complex<double> east = std::polar(1.0, phase_rad_ * direction[0]);
  const std::complex<double> south = std::polar(1.0, -phase_rad_ * direction[1]);
  std::complex<double> sum = 0;
  for (std::size_t row = 4; row-- > 0;) {
    const std::complex<double>* w = weights_.data() + 4 * row;
    sum = sum * south + (((w[3] * east + w[2]) * east + w[1]) * east + w[0]);
  }
  return sum * std::polar(1.0, -1.5 * phase_rad_ * (direction[0] - direction[1]));
}

}  // namespace apsyn
