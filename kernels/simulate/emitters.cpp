// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/simulate/emitters.h"

#include <algorithm>
#include <cmath>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"

namespace apsyn::simulate {
namespace {

/// He_n(x) and He_{n-1}(x), the probabilists' Hermite polynomials.
std::array<double, 2> hermite(std::size_t n, double x) {
  double previous = 0, value = 1;
  for (std::size_t k = 0; k < n; ++k) {
    const double next = x * value - static_cast<double>(k) * previous;
    previous = value;
    value = next;
  }
  return {value, previous};
}

double worst_error(const Quadrature& rule, double max_argument) {
  double worst = 0;
  constexpr int n_steps = 256;
  for (int step = 0; step <= n_steps; ++step) {
    const double a = max_argument * step / n_steps;
    double sum = 0;
    for (std::size_t k = 0; k < rule.node.size(); ++k) sum += rule.weight[k] * std::cos(a * rule.node[k]);
    worst = std::max(worst, std::abs(sum - std::exp(-0.5 * a * a)));
  }
  return worst;
}

/// Nodes of one axis, in radians on the sky; empty when no rule is good enough.
Quadrature axis_rule(double fwhm_rad, double longest_baseline_wavelengths) {
  const double sigma_rad = fwhm_rad / std::sqrt(8 * std::log(2.0));
  for (std::size_t n = 1; n <= kMaxGaussianNodes; ++n) {
    Quadrature rule = gauss_hermite(n);
    if (worst_error(rule, kTwoPi * longest_baseline_wavelengths * sigma_rad) > kGaussianError) continue;
    for (double& node : rule.node) node *= sigma_rad;
    return rule;
  }
  return {};
}

/// The direction at l (east) and m (north) of an orthographic projection about `centre`.
SkyDirection offset_direction(const SkyDirection& centre, double l, double m) {
  const double n = std::sqrt(std::max(0.0, 1 - l * l - m * m));
  const double sin_dec = std::sin(centre.dec_rad), cos_dec = std::cos(centre.dec_rad);
  return {centre.ra_rad + std::atan2(l, n * cos_dec - m * sin_dec),
          std::asin(std::clamp(m * cos_dec + n * sin_dec, -1.0, 1.0))};
}

}  // namespace

Quadrature gauss_hermite(std::size_t n) {
  Quadrature rule;
  double factorial = 1;
  for (std::size_t k = 2; k <= n; ++k) factorial *= static_cast<double>(k);
  const double limit = 2 * std::sqrt(static_cast<double>(n)) + 1;
  constexpr double step = 1.0 / 64;  // neighbouring roots are further apart for every n used here
  for (double left = -limit - step / 3; left < limit; left += step) {
    double low = left, high = left + step;
    if (hermite(n, low)[0] * hermite(n, high)[0] > 0) continue;
    for (int iteration = 0; iteration < 80; ++iteration) {
      const double middle = 0.5 * (low + high);
      (hermite(n, low)[0] * hermite(n, middle)[0] <= 0 ? high : low) = middle;
    }
    const double root = 0.5 * (low + high), x = std::abs(root) < 1e-12 ? 0.0 : root;  // odd n: exactly 0
    const double below = hermite(n, x)[1];
    rule.node.push_back(x);
    rule.weight.push_back(factorial / (static_cast<double>(n * n) * below * below));
  }
  return rule;
}

Mixing mixing_from_stokes(const std::array<double, 4>& stokes_jy) {
  const auto [i, q, u, v] = stokes_jy;
  const double power_x = i + q;
  Mixing mixing;
  if (power_x > 0) {
    mixing.xx = std::sqrt(power_x);
    mixing.yx = std::complex(u, -v) / mixing.xx;
  }
  mixing.yy = std::sqrt(std::max(0.0, i - q - std::norm(mixing.yx)));
  return mixing;
}

std::vector<Emitter> make_emitters(const SkyModel& sky, double longest_baseline_wavelengths, double freq_hz,
                                   const std::string& source) {
  std::vector<Emitter> emitters;
  for (std::size_t index = 0; index < sky.components.size(); ++index) {
    const SkyComponent& component = sky.components[index];
    const auto [i, q, u, v] = flux_at(component, freq_hz);
    if (!std::isfinite(i + q + u + v) || i < 0)
      throw DataError("{}: component {}: flux {} Jy: voltages need a finite flux that is not negative",
                      source, component.name, i);
    if (std::sqrt(q * q + u * u + v * v) > i * (1 + 1e-12))
      throw DataError("{}: component {}: polarised flux {} Jy exceeds I = {} Jy: no signal has that", source,
                      component.name, std::sqrt(q * q + u * u + v * v), i);
    if (i == 0) continue;
    const Quadrature major = axis_rule(component.major_rad, longest_baseline_wavelengths);
    const Quadrature minor = axis_rule(component.minor_rad, longest_baseline_wavelengths);
    if (major.node.empty() || minor.node.empty())
      throw DataError(
          "{}: component {}: a Gaussian of {} is resolved too far by the longest baseline ({:.0f} "
          "wavelengths) for voltages: split it into smaller components",
          source, component.name, format_angle(component.major_rad), longest_baseline_wavelengths);
    const double sin_pa = std::sin(component.position_angle_rad),
                 cos_pa = std::cos(component.position_angle_rad);
    for (std::size_t a = 0; a < major.node.size(); ++a) {
      for (std::size_t b = 0; b < minor.node.size(); ++b) {
        const double along = major.node[a], across = minor.node[b];
        const bool centre = along == 0 && across == 0;
        emitters.push_back({index,
                            centre ? component.direction
                                   : offset_direction(component.direction, along * sin_pa + across * cos_pa,
                                                      along * cos_pa - across * sin_pa),
                            major.weight[a] * minor.weight[b]});
      }
    }
  }
  return emitters;
}

}  // namespace apsyn::simulate
