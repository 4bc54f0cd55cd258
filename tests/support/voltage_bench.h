// SPDX-License-Identifier: GPL-3.0-or-later
// What the tests of simulated voltages share: a sky that turns, and the simulator run over it.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <memory>
#include <vector>

#include "kernels/simulate/voltages.h"
#include "tests/reference/measurement_equation.h"

namespace apsyn::bench {

using Samples = std::vector<std::complex<float>>;
using Matrices = std::shared_ptr<const Buffer<std::complex<float>, 4>>;  ///< [chan][ant][emitter][4]

/// A direction that turns with the Earth at latitude -26.7 deg.
struct Star {
  double dec_rad, start_hour_angle_rad;
  Vec3 at(double seconds) const {
    const double hour_angle = start_hour_angle_rad + 7.2921159e-5 * seconds, lat = -0.466;
    const double meridian = std::cos(dec_rad) * std::cos(hour_angle), pole = std::sin(dec_rad);
    return {-std::cos(dec_rad) * std::sin(hour_angle), pole * std::cos(lat) - meridian * std::sin(lat),
            pole * std::sin(lat) + meridian * std::cos(lat)};
  }
};

/// Point sources (I Q U V) on the given antennas: 150 MHz, one channel of 1.28 MHz, floats, no noise.
inline simulate::VoltageSetup setup_of(const std::vector<std::array<double, 4>>& stokes,
                                       const std::vector<Vec3>& antennas) {
  simulate::VoltageSetup setup;
  setup.freq_hz = 150e6;
  setup.bandwidth_hz = 1.28e6;
  setup.antenna_enu_m = antennas;
  setup.cable_delay_s.assign(antennas.size(), 0.0);
  for (const auto& s : stokes) {
    SkyComponent component;
    component.stokes_jy = s;
    setup.emitters.push_back({setup.sky.components.size(), {}, 1.0});
    setup.sky.components.push_back(component);
  }
  setup.seed = 3;
  setup.n_bit = 32;
  return setup;
}

/// The encoded stream of n_time samples.
inline std::vector<std::uint8_t> stream_of(const simulate::VoltageSetup& setup,
                                           const std::vector<Star>& stars, std::size_t n_time,
                                           unsigned n_threads = 2, const Matrices& jones = nullptr) {
  const simulate::VoltagePlan plan = plan_voltages(setup, n_threads);
  simulate::VoltageSimulator simulator(setup, plan, n_threads);
  std::vector<std::uint8_t> stream(n_time * plan.time_bytes, 0xaa);
  for (std::size_t block = 0; block * plan.hop < n_time; ++block) {
    simulate::BlockDirections directions;
    directions.jones = jones;
    const double start_s = static_cast<double>(block * plan.hop) / plan.sample_rate_hz;
    for (const Star& star : stars) {
      directions.start.push_back(star.at(start_s));
      directions.end.push_back(star.at(start_s + static_cast<double>(plan.hop) / plan.sample_rate_hz));
    }
    const std::size_t count = std::min(plan.hop, n_time - block * plan.hop);
    simulator.simulate(
        static_cast<std::int64_t>(block), directions, count,
        std::span(stream).subspan(block * plan.hop * plan.time_bytes, count * plan.time_bytes));
  }
  return stream;
}

/// One input of a float stream.
inline Samples input_of(const std::vector<std::uint8_t>& stream, std::size_t n_inputs, std::size_t input) {
  Samples samples(stream.size() / n_inputs / 8);
  for (std::size_t n = 0; n < samples.size(); ++n)
    std::memcpy(&samples[n], &stream[(n * n_inputs + input) * 8], 8);
  return samples;
}

inline std::complex<double> mean_product(const Samples& a, const Samples& b) {
  std::complex<double> sum = 0;
  for (std::size_t n = 0; n < a.size(); ++n)
    sum += std::complex<double>(a[n]) * std::conj(std::complex<double>(b[n]));
  return sum / static_cast<double>(a.size());
}

}  // namespace apsyn::bench
