// SPDX-License-Identifier: GPL-3.0-or-later
// Visibilities from the measurement equation, one source at a time, float64.
#pragma once

#include <array>
#include <complex>

namespace apsyn::reference {

struct Source {
  std::array<double, 3> unit;    ///< east, north, up
  std::array<double, 4> stokes;  ///< I Q U V, Jy
};

/// <E_i E_j*> of one source for two linear feeds, rows X and Y of antenna i, columns of antenna j. Each
/// antenna's signal is E = exp(2 pi i nu r.(s - s0) / c) e with <e e^H> = [[I + Q, U + iV], [U - iV, I - Q]].
std::array<std::array<std::complex<double>, 2>, 2> visibility(const Source& source,
                                                              const std::array<double, 3>& r_i_m,
                                                              const std::array<double, 3>& r_j_m,
                                                              const std::array<double, 3>& phase_centre,
                                                              double freq_hz);

/// Fourier transform of a Gaussian of unit flux: FWHM major (along position angle pa, north through east) and
/// minor, all in radians, at u and v in wavelengths, by numerical integration over the sky.
double gaussian_transform(double u, double v, double major_rad, double minor_rad, double pa_rad);

}  // namespace apsyn::reference
