// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/reference/thin_screen.h"

#include <cmath>
#include <numbers>

namespace apsyn::reference {

using std::numbers::pi;

double screen_phase_rad(const std::array<double, 3>& antenna_m, const std::array<double, 3>& unit,
                        double height_m, const std::function<double(double, double)>& vertical_tec,
                        double freq_hz) {
  // The triangle of the Earth's centre, the antenna and the point in the layer: the law of sines gives its
  // angles, and these its third side.
  const double earth_m = 6371008.8;
  const double a[3] = {antenna_m[0], antenna_m[1], antenna_m[2] + earth_m};
  const double antenna_radius = std::hypot(a[0], a[1], a[2]), layer_radius = earth_m + height_m;
  double cosine = 0;
  for (int axis = 0; axis < 3; ++axis) cosine += a[axis] * unit[axis] / antenna_radius;
  const double zenith_at_antenna = std::acos(cosine);
  const double zenith_at_layer = std::asin(antenna_radius * std::sin(zenith_at_antenna) / layer_radius);
  const double distance =
      layer_radius * std::sin(zenith_at_antenna - zenith_at_layer) / std::sin(zenith_at_antenna);
  const double east_m = antenna_m[0] + distance * unit[0], north_m = antenna_m[1] + distance * unit[1];
  // The phase path through a cold plasma is shorter by e^2 / (8 pi^2 eps0 m) N / nu^2; the sign of the phase
  // is that of files of TEC, apsyn-ionosphere(5).
  const double charge = 1.602176634e-19, mass = 9.1093837015e-31, eps0 = 8.8541878128e-12, c = 299792458;
  const double columns = vertical_tec(east_m, north_m) * 1e16 / std::cos(zenith_at_layer);
  return -charge * charge / (8 * pi * pi * eps0 * mass) * columns * 2 * pi / (c * freq_hz);
}

double structure_function(double r, double outer_scale) {
  const double x = 2 * pi * r / outer_scale;
  const double covariance =
      std::pow(2, 1.0 / 6) / std::tgamma(5.0 / 6) * std::pow(x, 5.0 / 6) * std::cyl_bessel_k(5.0 / 6, x);
  return 2 * (1 - covariance);
}

}  // namespace apsyn::reference
