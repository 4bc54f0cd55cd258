// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/reference/direct_image.h"

#include <cmath>
#include <numbers>

namespace apsyn::reference {

namespace {

/// exp(-2 pi i nu (r . s / c - delay))
std::complex<double> turn_to(const ImagedAntenna& antenna, const std::array<double, 3>& unit,
                             double freq_hz) {
  double path_m = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) path_m += antenna.position_m[axis] * unit[axis];
  return std::polar(1.0, -2 * std::numbers::pi * freq_hz * (path_m / 299792458.0 - antenna.delay_s));
}

}  // namespace

std::array<std::complex<double>, 2> field_image(const std::vector<ImagedAntenna>& antennas,
                                                const std::vector<ImagedVoltage>& voltages,
                                                const std::array<double, 3>& unit, double freq_hz) {
  std::array<std::complex<double>, 2> field{};
  for (std::size_t p = 0; p < 2; ++p) {
    double total = 0;
    for (std::size_t a = 0; a < antennas.size(); ++a) {
      if (!voltages[a].valid) continue;
      field[p] += antennas[a].weight[p] * antennas[a].factor[p] * voltages[a].voltage[p] *
                  turn_to(antennas[a], unit, freq_hz);
      total += antennas[a].weight[p];
    }
    field[p] = total > 0 ? field[p] / total : 0;
  }
  return field;
}

ImagedProducts image_products(const std::vector<ImagedAntenna>& antennas,
                              const std::vector<std::vector<ImagedVoltage>>& voltages,
                              const std::array<double, 3>& unit, double freq_hz, bool autos) {
  ImagedProducts products;
  std::vector<std::complex<double>> turn(antennas.size());
  for (std::size_t a = 0; a < antennas.size(); ++a) turn[a] = turn_to(antennas[a], unit, freq_hz);
  std::vector<std::array<std::complex<double>, 2>> e(antennas.size());
  for (const std::vector<ImagedVoltage>& spectrum : voltages) {
    for (std::size_t a = 0; a < antennas.size(); ++a)
      for (std::size_t p = 0; p < 2; ++p)
        e[a][p] = antennas[a].weight[p] * antennas[a].factor[p] * spectrum[a].voltage[p] * turn[a];
    for (std::size_t a = 0; a < antennas.size(); ++a)
      for (std::size_t b = 0; b < antennas.size(); ++b) {
        if (!spectrum[a].valid || !spectrum[b].valid || (a == b && !autos)) continue;
        for (std::size_t p = 0; p < 2; ++p)
          for (std::size_t q = 0; q < 2; ++q) {
            products.mean[p][q] += e[a][p] * std::conj(e[b][q]);
            products.weight[p][q] += antennas[a].weight[p] * antennas[b].weight[q];
          }
      }
  }
  for (std::size_t p = 0; p < 2; ++p)
    for (std::size_t q = 0; q < 2; ++q)
      products.mean[p][q] = products.weight[p][q] > 0 ? products.mean[p][q] / products.weight[p][q] : 0;
  return products;
}

}  // namespace apsyn::reference
