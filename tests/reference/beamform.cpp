// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/reference/beamform.h"

#include <cmath>
#include <numbers>

namespace apsyn::reference {

namespace {

constexpr double kTwoPi = 2 * std::numbers::pi;

}  // namespace

BeamSample coherent_beam(const std::vector<BeamInput>& inputs, std::size_t n_pol, double scale) {
  BeamSample sample;
  std::array<double, 2> total{};
  for (const BeamInput& input : inputs) {
    if (!input.valid) continue;
    for (std::size_t pol = 0; pol < n_pol; ++pol) {
      sample.voltage[pol] += std::polar(1.0, -kTwoPi * input.turns) * input.weight[pol] *
                             input.calibration[pol] * input.voltage[pol] * scale;
      total[pol] += std::abs(input.weight[pol]);
    }
  }
  sample.x_valid = total[0] > 0;
  sample.y_valid = n_pol == 2 && total[1] > 0;
  for (std::size_t pol = 0; pol < n_pol; ++pol)
    sample.voltage[pol] = total[pol] > 0 ? sample.voltage[pol] / total[pol] : 0;
  sample.xx = std::norm(sample.voltage[0]);
  sample.yy = std::norm(sample.voltage[1]);
  sample.xy = sample.voltage[0] * std::conj(sample.voltage[1]);
  return sample;
}

BeamSample incoherent_beam(const std::vector<BeamInput>& inputs, std::size_t n_pol, double scale) {
  BeamSample sample;
  double total_xx = 0, total_yy = 0, total_xy = 0;
  for (const BeamInput& input : inputs) {
    if (!input.valid) continue;
    std::array<std::complex<double>, 2> e{};
    for (std::size_t pol = 0; pol < n_pol; ++pol)
      e[pol] = input.weight[pol] * input.calibration[pol] * input.voltage[pol] * scale;
    sample.xx += std::norm(e[0]);
    sample.yy += std::norm(e[1]);
    sample.xy += e[0] * std::conj(e[1]);
    total_xx += std::norm(input.weight[0]);
    total_yy += std::norm(input.weight[1]);
    total_xy += std::abs(input.weight[0]) * std::abs(input.weight[1]);
  }
  sample.x_valid = total_xx > 0;
  sample.y_valid = n_pol == 2 && total_yy > 0;
  if (total_xx > 0) sample.xx /= total_xx;
  if (total_yy > 0) sample.yy /= total_yy;
  if (total_xy > 0) sample.xy /= total_xy;
  return sample;
}

std::array<double, 4> stokes(const BeamSample& s, bool circular) {
  const double total = (s.xx + s.yy) / 2, difference = (s.xx - s.yy) / 2;
  // YX = conj(XY), so (XY + YX) / 2 and -i (XY - YX) / 2 are its parts
  if (circular) return {total, s.xy.real(), s.xy.imag(), difference};
  return {total, difference, s.xy.real(), s.xy.imag()};
}

std::complex<double> array_response(const std::vector<std::array<double, 3>>& positions_m,
                                    const std::array<double, 3>& s, const std::array<double, 3>& s0,
                                    double freq_hz) {
  std::complex<double> sum = 0;
  for (const auto& r : positions_m) {
    double path_m = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) path_m += r[axis] * (s[axis] - s0[axis]);
    sum += std::polar(1.0, kTwoPi * freq_hz * path_m / 299792458.0);
  }
  return sum / static_cast<double>(positions_m.size());
}

}  // namespace apsyn::reference
