// SPDX-License-Identifier: GPL-3.0-or-later
// Images straight from voltages by the sums of their definition, one direction at a time, float64: the
// products of every antenna with every other are added up one by one (Reddy et al. 2024, section II, without
// the grid between).
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
  double delay_s = 0;                                    ///< what is left of the cable's
  std::array<std::complex<double>, 2> factor{1.0, 1.0};  ///< what its voltages are multiplied by
  std::array<double, 2> weight{1.0, 1.0};                ///< >= 0: multiplies too, and is divided out
};

/// sum_a weight_a factor_a v_a exp(-2 pi i nu (r_a . s / c - delay_a)) over the valid antennas, over the sum
/// of their weights: the field image. 0 without any.
std::array<std::complex<double>, 2> field_image(const std::vector<ImagedAntenna>& antennas,
                                                const std::vector<ImagedVoltage>& voltages,
                                                const std::array<double, 3>& unit, double freq_hz);

struct ImagedProducts {
  std::array<std::array<std::complex<double>, 2>, 2> mean{};  ///< [p][q] = <E_p E_q*>: XX, XY; YX, YY
  std::array<std::array<double, 2>, 2> weight{};              ///< 0 = no data
};

/// sum over spectra and pairs of antennas (a, b) of w_ap w_bq E_ap E_bq*, each turned towards the unit
/// vector, over the sum of w_ap w_bq of the pairs that are valid; a = b only with `autos`. voltages
/// [spectrum][antenna].
ImagedProducts image_products(const std::vector<ImagedAntenna>& antennas,
                              const std::vector<std::vector<ImagedVoltage>>& voltages,
                              const std::array<double, 3>& unit, double freq_hz, bool autos);

}  // namespace apsyn::reference
