// SPDX-License-Identifier: GPL-3.0-or-later
// What options become: the scale of voltages, the times of ionospheric screens.
#include "tools/simulate/setup.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <string>
#include <vector>

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

namespace {

Scene scene_of_two() {
  Scene scene;
  scene.layout.telescope = "TEST";
  scene.layout.site = Site{-0.46, 2.03, 377};
  scene.layout.antennas = {{"a", {0, 0, 0}, 3e-9, false}, {"b", {30, 40, 0}, -2e-9, false}};
  scene.source = "sky";
  for (const char* name : {"one", "psr"}) {
    SkyComponent component;
    component.name = name;
    component.stokes_jy = {5, 0, 0, 0};
    scene.sky.components.push_back(component);
  }
  return scene;
}

}  // namespace

BOOST_AUTO_TEST_CASE(voltages_are_those_of_the_options_and_the_scene) {
  SimulateOptions options;
  options.freq_hz = 120e6, options.bandwidth_hz = 2e6, options.n_chan = 4, options.duration_s = 0.25;
  options.sefd_jy = 700, options.seed = 42, options.n_bit = 4, options.drop = 0.125;
  const simulate::VoltageSetup setup = voltage_setup(options, scene_of_two());
  BOOST_TEST(setup.freq_hz == 120e6);
  BOOST_TEST(setup.bandwidth_hz == 2e6);
  BOOST_TEST(setup.n_chan == 4u);
  BOOST_TEST(setup.n_samples == 125000);  // 2 MHz / 4 for a quarter of a second
  BOOST_TEST(setup.sefd_jy == 700);
  BOOST_TEST(setup.seed == 42u);
  BOOST_TEST(setup.n_bit == 4u);
  BOOST_TEST(setup.dropped_fraction == 0.125);
  BOOST_TEST(setup.antenna_enu_m[1][1] == 40);
  BOOST_TEST(setup.cable_delay_s[1] == -2e-9);
  BOOST_TEST(setup.sky.components.size() == 2u);
  BOOST_TEST(setup.emitters.size() == 2u);
  BOOST_TEST(setup.gains.empty());
  BOOST_TEST(!setup.pulsar.has_value());
}

BOOST_AUTO_TEST_CASE(streams_say_how_their_samples_are_stored) {
  SimulateOptions options;
  options.freq_hz = 120e6, options.bandwidth_hz = 2e6, options.n_chan = 4;
  simulate::VoltagePlan plan;
  plan.sample_rate_hz = 5e5;
  for (const unsigned n_bit : {4u, 8u, 32u}) {
    options.n_bit = n_bit;
    const VoltageHeader header = voltage_header(Tool("simulate", ""), options, scene_of_two(), plan);
    BOOST_TEST(header.n_bit == n_bit);
    BOOST_TEST(
        (header.encoding == (n_bit == 32 ? SampleEncoding::floating : SampleEncoding::twos_complement)));
    BOOST_TEST(header.n_chan == 4u);
    BOOST_TEST(header.n_ant == 2u);
    BOOST_TEST(header.n_pol == 2u);
    BOOST_TEST(header.freq_hz == 120e6);
    BOOST_TEST(header.bandwidth_hz == 2e6);
    BOOST_TEST(header.source == "sky");
    BOOST_TEST(header.telescope == "TEST");
    BOOST_TEST((header.flux_unit == FluxUnit::jansky));
    BOOST_TEST(header.layout.antennas[1].name == "b");
  }
}

// Four channels of 0.5 MHz about 120 MHz have their centres at 119.25 ... 120.75 MHz.
BOOST_AUTO_TEST_CASE(visibilities_are_those_of_the_options_and_the_scene) {
  SimulateOptions options;
  options.freq_hz = 120e6, options.bandwidth_hz = 2e6, options.n_chan = 4;
  options.integration_s = 2.5, options.sefd_jy = 700, options.seed = 42, options.products = "RR,LL";
  Scene scene = scene_of_two();
  const simulate::VisibilitySetup setup = visibility_setup(options, scene);
  const std::vector<double> hz{119.25e6, 119.75e6, 120.25e6, 120.75e6};
  BOOST_TEST(setup.channel_hz == hz, boost::test_tools::per_element());
  BOOST_TEST(setup.channel_width_hz == 0.5e6);
  BOOST_TEST(setup.integration_s == 2.5);
  BOOST_TEST(setup.sefd_jy == 700);
  BOOST_TEST(setup.seed == 42u);
  BOOST_TEST((setup.products == std::vector<Product>{Product::RR, Product::LL}));
  BOOST_TEST_REQUIRE(setup.baselines.size() == 1u);
  const SkyDirection centre{1, -0.4};
  const MsDescription set = ms_description(Tool("simulate", ""), scene, setup, centre);
  BOOST_TEST(set.phase_centre.dec_rad == -0.4);
  BOOST_TEST(set.source == "sky");
  BOOST_TEST(set.telescope == "TEST");
  BOOST_TEST(set.channel_hz == hz, boost::test_tools::per_element());
  BOOST_TEST(set.channel_width_hz == 0.5e6);
  BOOST_TEST((set.products == setup.products));
  scene.layout.antennas.resize(1);
  BOOST_CHECK_THROW(visibility_setup(options, scene), UsageError);
}

BOOST_AUTO_TEST_CASE(a_pulsar_is_a_source_of_the_sky_with_a_period_in_seconds_or_with_a_unit) {
  SimulateOptions options;
  const auto pulsar = [&](const std::string& text) {
    options.pulsar = text;
    return *voltage_setup(options, scene_of_two()).pulsar;
  };
  BOOST_TEST(pulsar("0.5,26.76,0.02").period_s == 0.5);
  BOOST_TEST(std::abs(pulsar("714.52ms,26.76,0.02").period_s - 0.71452) < 1e-15);
  BOOST_TEST(pulsar("0.5,26.76,0.02").dm_pc_cm3 == 26.76);
  BOOST_TEST(pulsar("0.5,26.76,0.02").duty == 0.02);
  BOOST_TEST(pulsar("0.5,0,0.5").component == 0u);
  BOOST_TEST(pulsar("0.5,0,0.5,psr").component == 1u);
  for (const char* bad : {"0.5,1", "0,1,0.1", "-1,1,0.1", "0.5,x,0.1", "0.5,100001,0.1", "0.5,1,0",
                          "0.5,1,0.51", "0.5,1,0.1,nobody", "0.5,1,0.1,psr,more"})
    BOOST_CHECK_THROW(pulsar(bad), UsageError);
}

BOOST_AUTO_TEST_CASE(products_are_of_one_kind_of_feed_and_each_is_there_once) {
  BOOST_TEST((parse_products("YX,XX") == std::vector<Product>{Product::YX, Product::XX}));
  for (const char* bad : {"", "I", "XX,RR", "XX,XX", "XX,", "XZ"})
    BOOST_CHECK_THROW(parse_products(bad), UsageError);
}

BOOST_AUTO_TEST_CASE(the_name_of_the_output_tells_what_is_made) {
  BOOST_TEST((kind_of("a.dada") == OutputKind::voltages));
  BOOST_TEST((kind_of("-") == OutputKind::voltages));
  BOOST_TEST((kind_of("a.ms") == OutputKind::visibilities));
  BOOST_TEST((kind_of("a.fits") == OutputKind::ionosphere));
}

BOOST_AUTO_TEST_SUITE_END()
