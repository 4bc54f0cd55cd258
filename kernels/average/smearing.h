// SPDX-License-Identifier: GPL-3.0-or-later
// How long a baseline may be averaged in time. Over an interval T the phase of a source at the direction
// cosines (l, m) from the phase centre turns by f T, with the fringe rate
//
//   f = (u' l + v' m + w' (n - 1)) / wavelength,   n = sqrt(1 - l^2 - m^2),
//
// and the mean of its visibility loses 1 - sinc(f T), sinc(x) = sin(pi x) / (pi x). The Earth's rotation at
// the rate omega about its pole gives, at the declination d of the phase centre,
//
//   u' = omega (w cos d - v sin d),   v' = omega u sin d,   w' = -omega u cos d,
//
// whichever sign UVW has (Thompson, Moran and Swenson 2017, chapter 6).
#pragma once

#include <array>

namespace apsyn::average {

/// Turns of phase over an interval, f T, that lose this share of the amplitude: 0 < loss < 1.
double turns_of_loss(double loss);

/// The largest |f| (Hz) at any position angle, `radius_rad` from the phase centre, and at the largest
/// frequency.
double fringe_rate_hz(const std::array<double, 3>& uvw_m, double declination_rad, double radius_rad,
                      double freq_hz);

}  // namespace apsyn::average
