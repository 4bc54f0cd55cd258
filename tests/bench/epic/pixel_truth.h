// SPDX-License-Identifier: GPL-3.0-or-later
// What float64 makes of a few pixels, for benchmarks: as |sum|^2 less autocorrelations, because the pairs of
// tests/reference/direct_image.h would take minutes for a thousand antennas.
#pragma once

#include <array>
#include <cmath>
#include <complex>
#include <vector>

#include "kernels/epic/epic.h"
#include "libcore/base/constants.h"

namespace apsyn::bench {

/// About n pixels.
inline std::vector<std::size_t> sampled_pixels(const EpicPlan& plan, std::size_t n) {
  std::vector<std::size_t> sampled;
  for (std::size_t i = plan.nx / 3; i < plan.nx * plan.ny; i += plan.nx * plan.ny / n + 1)
    sampled.push_back(i);
  return sampled;
}

/// The same behind that of the source at `unit`.
inline std::vector<std::size_t> sampled_pixels(const EpicPlan& plan, const Vec3& unit, std::size_t n) {
  const auto x =
      static_cast<std::size_t>(std::lround(static_cast<double>(plan.nx / 2) - unit[0] / plan.cell));
  const auto y =
      static_cast<std::size_t>(std::lround(static_cast<double>(plan.ny / 2) + unit[1] / plan.cell));
  std::vector<std::size_t> sampled = sampled_pixels(plan, n);
  sampled.insert(sampled.begin(), y * plan.nx + x);
  return sampled;
}

/// XX, YY and the parts of XY towards `unit`, without autocorrelations, means over pairs and spectra.
/// voltage(spectrum, ant, pol) is complex; of one polarisation YY and XY are 0.
template <class Voltage>
std::array<double, 4> pixel_products(const EpicPlan& plan, const EpicGeometry& geometry, std::size_t channel,
                                     const Vec3& unit, std::size_t n_spectra, const Voltage& voltage) {
  std::vector<std::complex<double>> turn;
  for (const Vec3& enu : geometry.enu_m)
    turn.push_back(std::polar(1.0, -kTwoPi * plan.channel_hz[channel] * dot(enu, unit) / kSpeedOfLight_m_s));
  std::array<double, 4> sums{};
  for (std::size_t t = 0; t < n_spectra; ++t) {
    std::complex<double> e[2], own[3];
    for (std::size_t ant = 0; ant < plan.n_ant; ++ant) {
      std::complex<double> v[2];
      for (std::size_t pol = 0; pol < plan.n_pol; ++pol) {
        v[pol] = voltage(t, ant, pol);
        e[pol] += v[pol] * turn[ant];
      }
      own[0] += std::norm(v[0]);
      own[1] += std::norm(v[1]);
      own[2] += v[0] * std::conj(v[1]);
    }
    const std::complex<double> xy = e[0] * std::conj(e[1]) - own[2];
    sums[0] += std::norm(e[0]) - own[0].real();
    sums[1] += std::norm(e[1]) - own[1].real();
    sums[2] += xy.real();
    sums[3] += xy.imag();
  }
  for (double& sum : sums) sum /= static_cast<double>(plan.n_ant * (plan.n_ant - 1) * n_spectra);
  return sums;
}

}  // namespace apsyn::bench
