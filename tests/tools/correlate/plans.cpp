// SPDX-License-Identifier: GPL-3.0-or-later
// From a stream's header and options to what is correlated: channels, times, products, phase centre, gains.
#include "tools/correlate/plan.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <string>

#include "libcore/base/error.h"
#include "libcore/sky/projection.h"
#include "tests/reference/scratch.h"
#include "tools/correlate/algorithm.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(plans)

namespace {

struct Case {
  Tool tool{"correlate", ""};
  reference::Scratch scratch;
  VoltageHeader header;
  CorrelateOptions options;
  std::size_t n_time = 1000;

  /// Two channels of 1 MHz about 100 MHz, three antennas, two polarisations.
  Case() {
    tool.common().threads = 1;
    tool.common().max_memory_bytes = 1'000'000'000;
    header.start = parse_utc("2024-01-01T12:00:00");
    header.freq_hz = 100e6;
    header.bandwidth_hz = 2e6;
    header.sample_s = 1e-6;
    header.n_chan = 2, header.n_ant = 3, header.n_pol = 2;
    header.layout.site = Site{-0.46, 2.03, 377};
    header.layout.antennas = {
        {"a", {0, 0, 0}, 0, false}, {"b", {30, 0, 0}, 0, false}, {"c", {0, 50, 1}, 0, false}};
    options.integration_s = 100e-6;
  }
  OpenedVoltages open() {
    header.file_size = n_time * header.bits_per_time() / 8;
    std::string bytes = format_voltage_header(header);
    bytes.resize(bytes.size() + *header.file_size, '\1');
    return open_voltages(scratch.file("obs.dada", bytes), options.voltage);
  }
  CorrelatePlan plan() {
    OpenedVoltages voltages = open();
    return make_plan(tool, options, voltages, {});
  }
};

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) { return std::abs(x - y) < 1e-3; });
}

}  // namespace

// Fine channels lie at nu_0 + b w / 4, b = -2 .. 1, of channels at 99.5 and 100.5 MHz: averaged by two, their
// means are at 99.125, 99.625, 100.125 and 100.625 MHz.
BOOST_AUTO_TEST_CASE(averaged_channels_are_at_the_middle_of_those_they_are_made_of) {
  Case made;
  made.options.n_fine = 4;
  made.options.integration_s = 400e-6;
  BOOST_TEST(same(made.plan().visibilities.channel_hz,
                  {99e6, 99.25e6, 99.5e6, 99.75e6, 100e6, 100.25e6, 100.5e6, 100.75e6}));
  BOOST_TEST(made.plan().visibilities.channel_width_hz == 0.25e6);
  made.options.n_average = 2;
  BOOST_TEST(same(made.plan().visibilities.channel_hz, {99.125e6, 99.625e6, 100.125e6, 100.625e6}));
  BOOST_TEST(made.plan().visibilities.channel_width_hz == 0.5e6);
  made.options.n_average = 4;
  BOOST_TEST(same(made.plan().visibilities.channel_hz, {99.375e6, 100.375e6}));
  made.header.bandwidth_hz = -2e6;  // falling: the same channels the other way round
  made.options.n_fine = 1, made.options.n_average = 1;
  BOOST_TEST(same(made.plan().visibilities.channel_hz, {100.5e6, 99.5e6}));
  BOOST_TEST(made.plan().visibilities.channel_width_hz == -1e6);
}

BOOST_AUTO_TEST_CASE(integrations_are_whole_spectra_and_begin_with_the_first_sample) {
  Case made;
  made.options.n_fine = 8;
  made.options.integration_s = 99e-6;  // 12.4 spectra of 8 us
  made.options.voltage.first_sample = 250;
  const CorrelatePlan plan = made.plan();
  BOOST_TEST(plan.integration.n_spectra == 12);
  BOOST_TEST(plan.mean.n_spectra == 12);
  BOOST_TEST(std::abs(plan.visibilities.integration_s - 96e-6) < 1e-15);
  BOOST_TEST(std::abs(seconds_between(made.header.start, plan.visibilities.start) - 250e-6) < 1e-12);
  made.options.integration_s = 1e-6;  // no less than a spectrum
  BOOST_TEST(made.plan().integration.n_spectra == 1);
  made.options.integration_s = 1;  // no more than there are: 750 samples are 93 spectra
  BOOST_TEST(made.plan().integration.n_spectra == 93);
  made.options.voltage.n_samples = 81;
  BOOST_TEST(made.plan().integration.n_spectra == 10);
  BOOST_TEST(made.plan().f.n_spectra == 10);
  for (const double bad_s : {0.0, -1.0, 1e30}) {
    made.options.integration_s = bad_s;
    BOOST_CHECK_THROW(made.plan(), UsageError);
  }
}

BOOST_AUTO_TEST_CASE(products_are_those_of_the_receptors) {
  using Products = std::vector<Product>;
  Case made;
  BOOST_TEST(
      (made.plan().visibilities.products == Products{Product::XX, Product::XY, Product::YX, Product::YY}));
  made.header.pol_basis = "RL";
  BOOST_TEST(
      (made.plan().visibilities.products == Products{Product::RR, Product::RL, Product::LR, Product::LL}));
  made.header.n_pol = 1;
  BOOST_TEST((made.plan().visibilities.products == Products{Product::RR}));
  made.header.pol_basis = "XY";
  BOOST_TEST((made.plan().visibilities.products == Products{Product::XX}));
}

BOOST_AUTO_TEST_CASE(baselines_hold_autocorrelations_unless_they_are_left_out) {
  Case made;
  BOOST_TEST(made.plan().visibilities.baselines.size() == 6u);
  made.options.no_autos = true;
  const std::vector<Baseline> cross = made.plan().visibilities.baselines;
  BOOST_TEST_REQUIRE(cross.size() == 3u);
  for (const Baseline& pair : cross) BOOST_TEST(pair.ant1 < pair.ant2);
  made.header.n_ant = 1;
  made.header.layout.antennas.resize(1);
  BOOST_CHECK_THROW(made.plan(), UsageError);
}

// Without another word the phase centre is that of the stream, or the zenith at the middle of the first
// integration; "none" leaves the delays as they are.
BOOST_AUTO_TEST_CASE(the_phase_centre_is_as_asked_for_or_of_the_stream_or_the_first_zenith) {
  Case made;
  made.header.sample_s = 100;
  made.header.bandwidth_hz = 0.02;
  made.options.integration_s = 3600;
  CorrelatePlan plan = made.plan();
  const SkyFrame frame(*made.header.layout.site);
  BOOST_TEST(separation_rad(*plan.visibilities.phase_centre,
                            frame.zenith(sample_time(made.header.start, 1, 1800))) < 1e-9);
  made.options.phase_centre = "zenith";
  BOOST_TEST(separation_rad(*made.plan().visibilities.phase_centre, *plan.visibilities.phase_centre) < 1e-9);
  made.options.phase_centre = "none";
  BOOST_TEST(!made.plan().visibilities.phase_centre.has_value());
  made.options.phase_centre = "1h -30d";
  BOOST_TEST(std::abs(made.plan().visibilities.phase_centre->ra_rad - 15 * kRadPerDeg) < 1e-12);

  made.header.phase_centre = SkyDirection{0.5, -0.3};
  made.options.phase_centre.clear();
  plan = made.plan();
  BOOST_TEST(std::abs(plan.visibilities.phase_centre->ra_rad - 0.5) < 1e-9);
  BOOST_TEST(!plan.target.centre.has_value());  // nothing is left to do
  made.options.phase_centre = "1h -30d";
  plan = made.plan();
  BOOST_TEST(std::abs(plan.visibilities.phase_centre->ra_rad - 15 * kRadPerDeg) < 1e-12);
  BOOST_TEST(std::abs(plan.target.applied->ra_rad - 0.5) < 1e-9);  // to be undone
}

// Correcting the quantiser gives back what it took of the amplitude, which SCALE had made up for.
BOOST_AUTO_TEST_CASE(the_correction_of_quantisers_replaces_what_the_scale_made_up_for) {
  Case made;
  made.header.scale = 1.5;
  made.header.scale_gain = 0.8;
  BOOST_TEST(made.plan().mean.scale == 1.5);
  BOOST_TEST(!made.plan().mean.quantisers.recorder);
  made.options.van_vleck = true;
  BOOST_TEST(std::abs(made.plan().mean.scale - 1.2) < 1e-15);
  BOOST_TEST(!!made.plan().mean.quantisers.recorder);
  made.header.n_bit = 16;
  BOOST_CHECK_THROW(made.plan(), UsageError);
}

// Gains of input channels times the bandpass of fine ones: what voltages are divided by.
BOOST_AUTO_TEST_CASE(gains_of_a_fine_channel_are_those_of_its_channel_times_the_bandpass) {
  Case made;
  made.options.n_fine = 2;
  OpenedVoltages plain = made.open();
  BOOST_TEST(gains_of(make_plan(made.tool, made.options, plain, {}), plain).size() == 0u);
  std::string gains = "antenna,pol,channel,gain_amplitude,phase_rad\n",
              bandpass = "antenna,channel,gain_amplitude,phase_rad\n";
  for (int ant = 0; ant < 3; ++ant) {
    for (int pol = 0; pol < 2; ++pol)
      for (int chan = 0; chan < 2; ++chan)
        gains += fmt::format("{},{},{},{},{}\n", "abc"[ant], "XY"[pol], chan, 1 + ant + 10 * pol + 100 * chan,
                             0.1 * ant + 0.2 * chan);
    for (int fine = 0; fine < 4; ++fine)
      bandpass += fmt::format("{},{},{},{}\n", "abc"[ant], fine, 2 + fine, 0.3 * fine);
  }
  made.options.voltage.gains = made.scratch.file("gains.csv", gains);
  for (const bool with_bandpass : {false, true}) {
    if (with_bandpass) made.options.bandpass = made.scratch.file("bandpass.csv", bandpass);
    OpenedVoltages voltages = made.open();
    const auto found = gains_of(make_plan(made.tool, made.options, voltages, {}), voltages);
    const std::size_t n = with_bandpass ? 4 : 2;
    BOOST_TEST_REQUIRE(found.extent(2) == n);
    for (std::size_t ant = 0; ant < 3; ++ant)
      for (std::size_t pol = 0; pol < 2; ++pol)
        for (std::size_t channel = 0; channel < n; ++channel) {
          const auto a = static_cast<double>(ant), c = static_cast<double>(channel),
                     chan = static_cast<double>(with_bandpass ? channel / 2 : channel);
          std::complex<double> expected =
              std::polar(1 + a + 10 * static_cast<double>(pol) + 100 * chan, 0.1 * a + 0.2 * chan);
          if (with_bandpass) expected *= std::polar(2 + c, 0.3 * c);
          BOOST_TEST(std::abs(found(ant, pol, channel) - expected) < 1e-9 * std::abs(expected));
        }
  }
}

BOOST_AUTO_TEST_CASE(integers_are_multiplied_only_where_spectra_are_integers) {
  Case made;
  CorrelatePlan plan = made.plan();
  for (const char* design : {"pair", "group2", "group4", "hybrid2", "hybrid4"})
    BOOST_CHECK_THROW(choose_arithmetic(design, true, plan), UsageError);
  choose_arithmetic("register", true, plan);
  BOOST_TEST(!plan.x.codes);
  choose_arithmetic("auto", false, plan);  // aligned samples are no integers any more
  BOOST_TEST(!plan.x.codes);
  BOOST_TEST(!plan.mean.quantisers.of_samples);
  BOOST_CHECK_THROW(choose_arithmetic("tensor", false, plan), UsageError);
  choose_arithmetic("register", true, plan);
  BOOST_TEST(plan.mean.quantisers.of_samples);
  made.options.n_fine = 4;
  plan = made.plan();
  BOOST_CHECK_THROW(choose_arithmetic("tensor", true, plan), UsageError);
  choose_arithmetic("auto", true, plan);
  BOOST_TEST(!plan.mean.quantisers.of_samples);
  made.options.dither = true;
  BOOST_CHECK_THROW(made.plan(), UsageError);  // nothing is rounded
  made.options.requantise = "8";
  BOOST_TEST(made.plan().f.requantise.n_bit == 8u);
  made.options.requantise = "4";
  BOOST_TEST(made.plan().f.requantise.n_bit == 4u);
  BOOST_TEST(made.plan().f.requantise.dither);
}

BOOST_AUTO_TEST_CASE(a_stream_without_positions_or_a_site_is_refused) {
  Case made;
  made.header.layout.antennas.clear();
  BOOST_CHECK_THROW(made.plan(), UsageError);
  Case homeless;
  homeless.header.layout.site.reset();
  BOOST_CHECK_THROW(homeless.plan(), UsageError);
  Case small;
  small.tool.common().max_memory_bytes = 1'000'000;
  BOOST_CHECK_THROW(small.plan(), UsageError);
}

BOOST_AUTO_TEST_SUITE_END()
