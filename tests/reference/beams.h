// SPDX-License-Identifier: GPL-3.0-or-later
// Voltage patterns of antennas in float64, straight from what they are made of.
#pragma once

#include <array>
#include <complex>

namespace apsyn::reference {

using Vector = std::array<double, 3>;  ///< east, north, up

/// Far field of a uniformly lit disc over its value ahead: the integral over the aperture.
double lit_disc(double sin_theta, double diameter_m, double freq_hz);

/// What a short dipole along `dipole`, h above a conductor at up = 0, and its image in it (the same charges
/// with the other sign, so horizontal currents turn round) receive of a plane wave from `direction` with the
/// field vector `field`, over what a field along the dipole from the zenith gives.
std::complex<double> dipole_over_ground(const Vector& dipole, const Vector& direction, const Vector& field,
                                        double height_m, double freq_hz);

/// Mean of 16 unit phasors: dipoles on a 4 x 4 grid 1.1 m apart, from the north-west row by row, each delayed
/// by its number of 435 ps steps.
std::complex<double> mwa_tile(const std::array<int, 16>& delays, const Vector& direction, double freq_hz);

}  // namespace apsyn::reference
