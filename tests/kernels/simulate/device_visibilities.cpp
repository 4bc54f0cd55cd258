// SPDX-License-Identifier: GPL-3.0-or-later
// Visibilities as a GPU has them made, with the host in its place.
#include "kernels/simulate/device_visibilities.h"

#include <boost/test/unit_test.hpp>
#include <stdexcept>

#include "tests/support/device_visibility_checks.h"
#include "tests/support/host_components.h"

using namespace apsyn;
using namespace apsyn::simulate;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(device_visibilities)

namespace {

std::unique_ptr<DeviceComponents> make_on_host(const SkyModel& sky, const DeviceComponentsSetup& setup) {
  return std::make_unique<HostComponents>(sky, setup.centre, setup.channel_hz, setup.through);
}

}  // namespace

BOOST_AUTO_TEST_CASE(skies_agree_with_the_measurement_equation) {
  check_device_visibilities(make_on_host);
}

BOOST_AUTO_TEST_CASE(what_was_not_foreseen_is_refused) {
  Scene s = make_scene();
  s.setup.sky.components = {component_of({1, 0, 0, 0})};
  s.rotations.component = {s.rotations.phase_centre};
  DeviceVisibilities plain(s.setup, false, make_on_host(s.setup.sky, device_setup(s.setup, false, 1, 0)));
  fill_matrices(s, 1);
  const SimulateVisibilities simulate = [&](const VisibilitySetup&, std::int64_t index,
                                            const SkyRotations& rotations, unsigned n_threads,
                                            View<std::complex<float>, 3> data, View<double, 2> uvw_m) {
    plain.simulate(index, rotations, nullptr, n_threads, data, uvw_m);
  };
  BOOST_CHECK_THROW(s.run(simulate, 0, 1), std::invalid_argument);
  s.setup.products = {Product::I};
  BOOST_CHECK_THROW(
      DeviceVisibilities(s.setup, false, make_on_host(s.setup.sky, device_setup(s.setup, false, 1, 0))),
      std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()
