// SPDX-License-Identifier: GPL-3.0-or-later
// Simulated visibilities whose sums a GPU makes.
#include "kernels/simulate/device_visibilities.h"

#include <boost/test/unit_test.hpp>

#include "tests/support/device_visibility_checks.h"

using namespace apsyn;
using namespace apsyn::simulate;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(device_visibilities)

BOOST_AUTO_TEST_CASE(skies_agree_with_the_measurement_equation) {
  check_device_visibilities(make_device_components);
}

BOOST_AUTO_TEST_SUITE_END()
