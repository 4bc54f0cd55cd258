// SPDX-License-Identifier: GPL-3.0-or-later
// What visibilities whose sums a device makes have to be, on a GPU and where the host takes its place.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "kernels/simulate/device_visibilities.h"
#include "tests/support/visibility_checks.h"

namespace apsyn::test {

using MakeComponents = std::function<std::unique_ptr<simulate::DeviceComponents>(
    const SkyModel&, const simulate::DeviceComponentsSetup&)>;

/// How A-terms come to a device.
enum class Lending { rotations, functions };

inline SimulateVisibilities simulate_with(const MakeComponents& make, Lending lending = Lending::rotations) {
  return [=](const simulate::VisibilitySetup& setup, std::int64_t index, simulate::SkyRotations const& from,
             unsigned n_threads, View<std::complex<float>, 3> data, View<double, 2> uvw_m) {
    const bool through = from.jones.size() > 0 || from.tec_tecu.size() > 0;
    simulate::DeviceVisibilities device(setup, through,
                                        make(setup.sky, device_setup(setup, through, n_threads, 0)));
    if (lending == Lending::rotations || from.jones.size() == 0 || from.tec_tecu.size() > 0)
      return device.simulate(index, from, nullptr, n_threads, data, uvw_m);
    const simulate::StationMatrices matrices{
        0, setup.antenna_enu_m.size(),
        [&from](std::size_t chan, std::size_t first, View<std::complex<float>, 3> jones) {
          for (std::size_t ant = 0; ant < jones.extent(0); ++ant)
            for (std::size_t c = 0; c < jones.extent(1); ++c)
              for (std::size_t i = 0; i < 4; ++i) jones(ant, c, i) = from.jones(chan, ant, first + c, i);
        }};
    simulate::SkyRotations without;
    without.component = from.component;
    without.phase_centre = from.phase_centre;
    device.simulate(index, without, &matrices, n_threads, data, uvw_m);
  };
}

/// The sky turns over an engine that stays, whose matrices are of the first call: a source sets, one rises.
inline void check_turning_sky(const MakeComponents& make, double tolerance_jy) {
  for (const bool has_aterms : {false, true}) {
    Scene s = make_scene();
    for (const double jy : {3.0, 1.5, 2.0, 4.0})
      s.setup.sky.components.push_back(component_of({jy, 0, 0, 0}));
    for (SkyComponent& component : s.setup.sky.components) component.reference_freq_hz = 150e6;
    s.setup.sky.components[1].major_rad = 1e-4, s.setup.sky.components[1].minor_rad = 5e-5;
    if (has_aterms) fill_matrices(s, 4);
    simulate::DeviceVisibilities device(s.setup, has_aterms,
                                        make(s.setup.sky, device_setup(s.setup, has_aterms, 2, 0)));
    int n_made = 0;
    const simulate::StationMatrices matrices{
        5, 4, [&](std::size_t chan, std::size_t first, View<std::complex<float>, 3> jones) {
          ++n_made;
          for (std::size_t ant = 0; ant < jones.extent(0); ++ant)
            for (std::size_t c = 0; c < jones.extent(1); ++c)
              for (std::size_t i = 0; i < 4; ++i) jones(ant, c, i) = s.jones(chan, ant, first + c, i);
        }};
    s.rotations.jones = {};
    const SimulateVisibilities simulate = [&](const simulate::VisibilitySetup&, std::int64_t index,
                                              const simulate::SkyRotations& rotations, unsigned n_threads,
                                              View<std::complex<float>, 3> data, View<double, 2> uvw_m) {
      device.simulate(index, rotations, has_aterms ? &matrices : nullptr, n_threads, data, uvw_m);
    };
    for (int step = 0; step < 4; ++step) {
      const double turn = 0.04 * step;
      s.rotations.phase_centre = towards(0.4 + turn, 1.3);
      s.rotations.component = {towards(2.0 + turn, 0.05 - turn), towards(0.1 - turn, 1.4),
                               towards(5.0, -0.05 + turn), towards(0.6 + turn, 1.2 - turn)};
      s.run(simulate, step, 2);
      const double worst = largest_error(s);
      BOOST_TEST_MESSAGE("largest error: " << worst << " Jy");
      BOOST_TEST(worst < tolerance_jy);
    }
    BOOST_TEST_MESSAGE(n_made << " channels of matrices made in four calls");
  }
}

inline void check_device_visibilities(const MakeComponents& make) {
  // The sums of fluxes are 6.5 and 44 Jy, which matrices amplify up to fourfold; measured 2.1e-6 and 1.6e-5.
  for (const Lending lending : {Lending::rotations, Lending::functions})
    check_visibilities(simulate_with(make, lending), 2e-5);
  check_circular_products(simulate_with(make), 1e-5);
  check_circular_products_through_matrices(simulate_with(make), 1e-4);
  check_noise(simulate_with(make));
  check_turning_sky(make, 2e-5);
}

}  // namespace apsyn::test
