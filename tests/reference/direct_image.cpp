// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/reference/direct_image.h"

#include <cmath>
#include <numbers>

namespace apsyn::reference {

ImagedProducts image_products(const std::vector<ImagedAntenna>& antennas,
                              const std::vector<std::vector<ImagedVoltage>>& voltages,
                              const std::array<double, 3>& unit, double freq_hz, bool autos) {
  ImagedProducts products;
  std::vector<std::complex<double>> turn;
  for (const ImagedAntenna& antenna : antennas) {
    double path_m = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) path_m += antenna.position_m[axis] * unit[axis];
    turn.push_back(
        std::polar(1.0, -2 * std::numbers::pi * freq_hz * (path_m / 299792458.0 - antenna.delay_s)));
  }
  // The sum over pairs is that of all antennas times its conjugate, less the antennas' own.
  for (const std::vector<ImagedVoltage>& spectrum : voltages) {
    std::array<std::complex<double>, 2> all{};
    std::array<std::array<std::complex<double>, 2>, 2> own{};
    double n_valid = 0;
    for (std::size_t a = 0; a < antennas.size(); ++a) {
      if (!spectrum[a].valid) continue;
      ++n_valid;
      std::array<std::complex<double>, 2> e;
      for (std::size_t p = 0; p < 2; ++p) {
        e[p] = antennas[a].factor[p] * spectrum[a].voltage[p] * turn[a];
        all[p] += e[p];
      }
      if (autos) continue;
      for (std::size_t p = 0; p < 2; ++p)
        for (std::size_t q = 0; q < 2; ++q) own[p][q] += e[p] * std::conj(e[q]);
    }
    products.pairs += n_valid * (autos ? n_valid : n_valid - 1);
    for (std::size_t p = 0; p < 2; ++p)
      for (std::size_t q = 0; q < 2; ++q) products.mean[p][q] += all[p] * std::conj(all[q]) - own[p][q];
  }
  for (auto& row : products.mean)
    for (auto& mean : row) mean = products.pairs > 0 ? mean / products.pairs : 0;
  return products;
}

}  // namespace apsyn::reference
