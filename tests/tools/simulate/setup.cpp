// SPDX-License-Identifier: GPL-3.0-or-later
// What options become: the scale of voltages, the times of ionospheric screens.
#include "tools/simulate/setup.h"

#include <boost/test/unit_test.hpp>

#include <cmath>

#include "libcore/base/error.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(setup)

// SCALE makes correlations right, and SCALE times SCALE_GAIN the powers of the levels themselves.
BOOST_AUTO_TEST_CASE(the_gain_of_the_scale_leads_back_to_the_step) {
  Scene scene;
  scene.layout = builtin_array("mwa-32t");
  simulate::VoltagePlan plan;
  plan.sample_rate_hz = 80e3;
  plan.step = 0.9;
  plan.scale = 1.2;
  SimulateOptions options;
  options.n_chan = 16;
  const VoltageHeader header = voltage_header(Tool("simulate", ""), options, scene, plan);
  BOOST_TEST(header.scale == 1.2);
  BOOST_TEST(std::abs(header.scale * header.scale_gain - 0.9) < 1e-15);
  BOOST_TEST(header.sample_s == 12.5e-6);
  BOOST_TEST(header.n_ant == 32u);
}

// Screens stand for their middles; the last one may reach beyond the end.
BOOST_AUTO_TEST_CASE(screens_cover_the_observation_from_its_start) {
  SimulateOptions options;
  options.start = "2023-02-25T00:00:00";  // MJD 60000
  options.duration_s = 301;
  options.screen_interval_s = 100;
  const simulate::RandomIonosphere screens = ionosphere_setup(options);
  BOOST_TEST(screens.first_mjd_s == 86400.0 * 60000 + 50);
  BOOST_TEST(screens.n_steps == 4u);
  options.duration_s = 300;
  BOOST_TEST(ionosphere_setup(options).n_steps == 3u);
  options.duration_s = 1e9;
  BOOST_CHECK_THROW(ionosphere_setup(options), UsageError);
}

BOOST_AUTO_TEST_SUITE_END()
