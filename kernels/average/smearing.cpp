// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/average/smearing.h"

#include <algorithm>
#include <cmath>

#include "libcore/base/constants.h"

namespace apsyn::average {
namespace {

constexpr double kEarthRotation_rad_s = 7.292115e-5;  ///< IERS Conventions (2010), table 1.1

}  // namespace

double turns_of_loss(double loss) {
  // 1 - sinc rises from 0 to 1 between 0 and 1 turns.
  double low = 0, high = 1;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2, x = kPi * middle;
    (x == 0 || 1 - std::sin(x) / x < loss ? low : high) = middle;
  }
  return low;
}

double fringe_rate_hz(const std::array<double, 3>& uvw_m, double declination_rad, double radius_rad,
                      double freq_hz) {
  const double sin_dec = std::sin(declination_rad), cos_dec = std::cos(declination_rad);
  const double du = uvw_m[2] * cos_dec - uvw_m[1] * sin_dec, dv = uvw_m[0] * sin_dec, dw = uvw_m[0] * cos_dec;
  const double rho = std::sin(std::min(radius_rad, kPi / 2)),
               n_1 = 1 - std::cos(std::min(radius_rad, kPi / 2));
  return kEarthRotation_rad_s * (std::hypot(du, dv) * rho + std::abs(dw) * n_1) * freq_hz / kSpeedOfLight_m_s;
}

}  // namespace apsyn::average
