// SPDX-License-Identifier: GPL-3.0-or-later
// Analytic voltage patterns of antennas. Each is 1 where the antenna looks (dishes), or at the zenith with
// all delays zero (dipoles); a power pattern is the square.
#pragma once

#include <array>
#include <complex>
#include <cstddef>

#include "libcore/array/array_layout.h"

namespace apsyn {

/// A uniformly lit circular aperture, 2 J1(x) / x with x = pi D sin(theta) nu / c.
double airy_voltage(double sin_theta, double diameter_m, double freq_hz);

/// exp(-2 ln 2 (theta / fwhm)^2): the power falls to one half at fwhm / 2.
double gaussian_voltage(double theta_rad, double fwhm_rad);

/// A horizontal dipole `height_m` above an infinite conductor and its image in it: sin(2 pi h nu/c
/// sin(elevation)) over its value at the zenith; over 1 where the height is a quarter of a wavelength and
/// more, for which the zenith is not the maximum. 0 at the horizon and below.
double ground_plane_voltage(double sin_elevation, double height_m, double freq_hz);

/// The Jones matrix [X north, X east, Y north, Y east] of two short horizontal dipoles along unit vectors
/// (east, north, up), without a ground plane: the projections of the sky's axes north and east on them.
std::array<double, 4> dipole_jones(const Vec3& x_dipole, const Vec3& y_dipole, const Vec3& sky_north,
                                   const Vec3& sky_east);

/// The 4 x 4 dipoles of an MWA tile, 1.1 m apart, numbered from the north-west along rows towards the east.
/// Their signals are delayed in steps of 435 ps and averaged; kMwaDeadDipole stands for a dipole that is
/// switched off and adds nothing.
inline constexpr std::size_t kMwaDipoles = 16;
inline constexpr double kMwaDipoleSpacing_m = 1.1, kMwaDelayStep_s = 435e-12, kMwaDipoleHeight_m = 0.278;
inline constexpr int kMwaDeadDipole = 32;

using MwaDelays = std::array<int, kMwaDipoles>;  ///< in steps
/// Mean over the dipoles of exp(2 pi i nu (r.s / c - delay)) towards the unit vector s (east, north, up).
class MwaArrayFactor {
 public:
  MwaArrayFactor(const MwaDelays& delays, double freq_hz);
  std::complex<double> operator()(const Vec3& direction) const;

 private:
  double phase_rad_;  ///< of one spacing along a direction cosine of 1
  std::array<std::complex<double>, kMwaDipoles> weights_;
};

}  // namespace apsyn
