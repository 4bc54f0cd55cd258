// SPDX-License-Identifier: GPL-3.0-or-later
// A thin ionospheric layer over a round Earth, and the covariance of its turbulence, float64.
#pragma once

#include <array>
#include <functional>

namespace apsyn::reference {

/// Phase that the layer adds to the field of a source in direction `unit` (east, north, up) at an antenna:
/// `vertical_tec` gives TECU at metres east and north.
double screen_phase_rad(const std::array<double, 3>& antenna_m, const std::array<double, 3>& unit,
                        double height_m, const std::function<double(double, double)>& vertical_tec,
                        double freq_hz);

/// Mean square of the difference of two points of a field of variance 1 with von Karman's spectrum
/// (f^2 + 1 / L^2)^(-11/6), at the distance `r` and the outer scale L in units of each other.
double structure_function(double r, double outer_scale);

}  // namespace apsyn::reference
