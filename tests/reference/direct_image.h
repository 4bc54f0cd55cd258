// SPDX-License-Identifier: GPL-3.0-or-later
// Images straight from voltages by the sums of their definition, one direction at a time, float64: the
// products of every antenna with every other (Reddy et al. 2024, section II, without the grid between).
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <vector>

namespace apsyn::reference {

/// One antenna at one spectrum of one channel; polarisations X and Y.
struct ImagedVoltage {
  bool valid = true;
  std::array<std::complex<double>, 2> voltage{};
};

struct ImagedAntenna {
  std::array<double, 3> position_m{};                    ///< east, north, up
  double delay_s = 0;                                    ///< of its cable
  std::array<std::complex<double>, 2> factor{1.0, 1.0};  ///< what its voltages are multiplied by
};

struct ImagedProducts {
  std::array<std::array<std::complex<double>, 2>, 2> mean{};  ///< [p][q] = <E_p E_q*>: XX, XY; YX, YY
  double pairs = 0;                                           ///< that were added up
};

/// The mean over spectra and pairs (a, b) of valid antennas of E_ap E_bq*, each E = factor v turned by exp(-2
/// pi i nu (r . s / c - delay)) towards the unit vector s; a = b only with `autos`. 0 without any pair.
/// voltages [spectrum][antenna].
ImagedProducts image_products(const std::vector<ImagedAntenna>& antennas,
                              const std::vector<std::vector<ImagedVoltage>>& voltages,
                              const std::array<double, 3>& unit, double freq_hz, bool autos);

}  // namespace apsyn::reference
