// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/sky/sky_model.h"

#include <cmath>
#include <complex>

#include "libcore/base/constants.h"

namespace apsyn {
namespace {

std::array<double, 4> unrotated_flux(const SkyComponent& component, double freq_hz) {
  const auto& stokes = component.stokes_jy;
  if (component.reference_freq_hz == 0 || component.spectral_terms.empty()) return stokes;
  const double ratio = freq_hz / component.reference_freq_hz;
  const double x = component.logarithmic_si ? std::log10(ratio) : ratio - 1.0;
  double polynomial = 0;
  for (std::size_t n = component.spectral_terms.size(); n-- > 0;)
    polynomial = polynomial * x + component.spectral_terms[n];
  const double exponent = polynomial * x;
  double scale = 1;
  if (component.logarithmic_si)
    scale = std::pow(10.0, exponent);
  else if (stokes[0] != 0)
    scale = 1.0 + exponent / stokes[0];
  const double i_jy = component.logarithmic_si ? stokes[0] * scale : stokes[0] + exponent;
  return {i_jy, stokes[1] * scale, stokes[2] * scale, stokes[3] * scale};
}

}  // namespace

std::array<double, 4> flux_at(const SkyComponent& component, double freq_hz) {
  std::array<double, 4> stokes = unrotated_flux(component, freq_hz);
  if (component.rotation_measure_rad_m2 == 0) return stokes;
  const double wavelength_m = kSpeedOfLight_m_s / freq_hz, from_m = component.unrotated_wavelength_m;
  const double turn_rad =
      2 * component.rotation_measure_rad_m2 * (wavelength_m - from_m) * (wavelength_m + from_m);
  const std::complex<double> turned = std::complex(stokes[1], stokes[2]) * std::polar(1.0, turn_rad);
  stokes[1] = turned.real();
  stokes[2] = turned.imag();
  return stokes;
}

}  // namespace apsyn
