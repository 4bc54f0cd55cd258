// SPDX-License-Identifier: GPL-3.0-or-later
// Sky models: point and Gaussian components with spectra, from WSClean/BBS text.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/base/units.h"

namespace apsyn {

struct SkyComponent {
  std::string name;
  SkyDirection direction;
  std::array<double, 4> stokes_jy{};   ///< I Q U V at the reference frequency, before Faraday rotation
  double reference_freq_hz = 0;        ///< 0 = flat spectrum
  std::vector<double> spectral_terms;  ///< see flux_at
  bool logarithmic_si = true;
  double rotation_measure_rad_m2 = 0;
  double unrotated_wavelength_m = 0;    ///< where Q and U are those of stokes_jy
  double major_rad = 0, minor_rad = 0;  ///< FWHM; 0 = point
  double position_angle_rad = 0;        ///< major axis, from north through east
};

struct SkyModel {
  std::vector<SkyComponent> components;
};

/// Logarithmic: S = S0 (nu/nu0)^(t0 + t1 log10(nu/nu0) + ...); otherwise S = S0 + t0 x + t1 x^2 + ...,
/// x = nu/nu0 - 1 (WSClean's convention; the terms then hold for Stokes I and Q, U, V keep their ratio to I).
/// Then Faraday rotation: Q + iU turns by 2 RM (lambda^2 - lambda0^2) (Brentjens and de Bruyn 2005, eq. 1).
std::array<double, 4> flux_at(const SkyComponent& component, double freq_hz);

/// A declination: what parse_angle takes, and "-26.42.00.5", the degrees, minutes and seconds of these models
/// and of region files.
double parse_declination(std::string_view text);

/// "Format = Name, Type, Ra, Dec, I, ..." in any order of columns, with defaults
/// ("ReferenceFrequency='1.5e8'"),
/// '#' comments, patches (lines without type) skipped, types POINT and GAUSSIAN. Also "# (Name, ...) =
/// format". RotationMeasure goes, as in DP3, with Q and U at ReferenceWavelength (that of ReferenceFrequency
/// without it), or with PolarizedFraction and PolarizationAngle at wavelength 0. DataError names the line.
SkyModel parse_sky_model(std::string_view text, const std::string& source);
SkyModel read_sky_model(const std::string& path);

}  // namespace apsyn
