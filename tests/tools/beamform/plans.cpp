// SPDX-License-Identifier: GPL-3.0-or-later
// From a stream's header and options to beams: members, headers of what comes out, memory, elements of
// antennas.
#include "tools/beamform/plan.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "libcore/base/error.h"
#include "tests/reference/scratch.h"
#include "tools/beamform/headers.h"
#include "tools/beamform/pattern.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(plans)

namespace {

struct Case {
  Tool tool{"beamform", ""};
  reference::Scratch scratch;
  VoltageHeader header;
  BeamformOptions options;
  std::size_t n_time = 1024;

  /// Four channels of 1 MHz about 100 MHz, three antennas, two polarisations; a beam at the zenith.
  Case() {
    tool.common().threads = 1;
    tool.common().max_memory_bytes = 4'000'000'000;
    header.start = parse_utc("2024-01-01T12:00:00");
    header.freq_hz = 100e6;
    header.bandwidth_hz = 4e6;
    header.sample_s = 1e-6;
    header.n_chan = 4, header.n_ant = 3, header.n_pol = 2;
    header.layout.site = Site{-0.46, 2.03, 377};
    header.layout.antennas = {
        {"a", {0, 0, 0}, 2e-9, false}, {"b", {30, 0, 0}, 0, false}, {"c", {0, 50, 1}, 0, false}};
    options.centre = "zenith";
  }
  OpenedVoltages open() {
    header.file_size = n_time * header.bits_per_time() / 8;
    std::string bytes = format_voltage_header(header);
    bytes.resize(bytes.size() + *header.file_size, '\1');
    return open_voltages(scratch.file("obs.dada", bytes), options.voltage);
  }
  BeamformSetup setup() {
    OpenedVoltages voltages = open();
    return make_setup(tool, options, voltages, {});
  }
  /// A table of n beams.
  void ask_for(std::size_t n) {
    std::string text = "id,l,m\n";
    for (std::size_t i = 0; i < n; ++i) text += fmt::format("b{},{},0\n", i, 1e-3 * static_cast<double>(i));
    options.beams = scratch.file(fmt::format("{}.csv", n), text);
    options.centre.clear();
  }
};

std::string key_of(const VoltageHeader& header, const std::string& key) {
  for (const auto& [name, value] : header.unknown)
    if (name == key) return value;
  return "";
}

}  // namespace

// Of 1024 samples in 64 channels a beam of power has 16 kB, most of which are on their way at the same time.
BOOST_AUTO_TEST_CASE(memory_holds_what_comes_out_of_every_beam) {
  Case made;
  made.options.n_fine = 16;
  made.ask_for(100);
  const std::uint64_t some = made.setup().memory_bytes;
  made.ask_for(300);
  const std::uint64_t more = made.setup().memory_bytes;
  const std::uint64_t outputs = 200 * 64 * (1024 / 16) * sizeof(float);
  BOOST_TEST(more - some >= outputs * 9 / 10);
  made.tool.common().max_memory_bytes = 30'000'000;
  BOOST_CHECK_THROW(made.setup(), UsageError);
}

BOOST_AUTO_TEST_CASE(a_pattern_is_held_as_a_whole) {
  Case made;
  made.options.pattern = "p.fits";
  made.options.size = 1000;
  const std::uint64_t small = made.setup().memory_bytes;
  made.options.size = 2000;
  BOOST_TEST(made.setup().memory_bytes - small >= 3'000'000 * sizeof(double));
  made.tool.common().max_memory_bytes = small;
  BOOST_CHECK_THROW(made.setup(), UsageError);
}

BOOST_AUTO_TEST_CASE(members_are_those_of_the_table_and_of_the_subarray_that_have_gains) {
  Case made;
  made.options.centre.clear();
  made.options.beams = made.scratch.file("beams.csv", "id,l,m,antennas\nall,0,0,\nsome,0,0,a;c\n");
  made.options.subarray = "b,c";
  const BeamformSetup setup = made.setup();
  const int chosen[2][3] = {{0, 1, 1}, {0, 0, 1}};
  for (std::size_t beam = 0; beam < 2; ++beam)
    for (std::size_t ant = 0; ant < 3; ++ant) {
      BOOST_TEST(setup.chosen(beam, ant) == chosen[beam][ant]);
      BOOST_TEST(setup.b.member(beam, ant) == chosen[beam][ant]);
    }
  made.options.voltage.gains =
      made.scratch.file("gains.csv", "antenna,gain_amplitude,phase_rad\na,1,0\nb,2,0.5\nc,nan,nan\n");
  made.options.subarray = "a,b";
  made.options.beams = made.scratch.file("both.csv", "id,l,m\nall,0,0\n");
  const BeamformSetup calibrated = made.setup();
  BOOST_TEST(calibrated.b.member(0, 1) == 1);
  BOOST_TEST(std::abs(calibrated.b.calibration(1, 1, 0) - std::polar(0.5, -0.5)) < 1e-12);
  made.options.subarray = "c";  // chosen, until there is a gain for it
  BOOST_TEST(made.setup().chosen(0, 2) == 1);
  BOOST_TEST(made.setup().b.member(0, 2) == 0);
}

BOOST_AUTO_TEST_CASE(weights_leave_something_to_each_beam_and_polarisation) {
  Case made;
  made.options.weights = made.scratch.file(
      "w.csv",
      "antenna,pol,gain_amplitude,phase_rad\na,X,1,0\na,Y,0,0\nb,X,1,0\nb,Y,1,0\nc,X,0,0\nc,Y,0,0\n");
  BOOST_TEST(made.setup().b.weights(1, 1, 3) == 1.0);
  made.options.subarray = "a";
  BOOST_CHECK_THROW(made.setup(), UsageError);  // no Y
  made.options.subarray = "b";
  BOOST_CHECK_NO_THROW(made.setup());
}

// A range begins within the stream: steering counts from the stream's first sample, at the middle of spectra.
BOOST_AUTO_TEST_CASE(steering_counts_from_the_first_sample_of_the_stream) {
  Case made;
  made.options.n_fine = 16;
  made.options.voltage.first_sample = 100;
  made.options.voltage.n_samples = 500;
  const BeamformSetup setup = made.setup();
  BOOST_TEST(setup.b.first_spectrum == 6);  // 96 samples before
  BOOST_TEST(std::abs(setup.b.first_middle_s - (4 + 7.5) * 1e-6) < 1e-15);
  BOOST_TEST(setup.f.n_spectra == 31);
  BOOST_TEST(setup.spectrum_s == 16e-6);
  BOOST_TEST(setup.n_samples == 500);
  BOOST_TEST(setup.n_bit == 32u);
  made.options.product_name = "voltage";
  BOOST_TEST(made.setup().n_bit == 8u);
  made.options.n_bit = 32;
  BOOST_TEST(made.setup().n_bit == 32u);
}

BOOST_AUTO_TEST_CASE(options_that_contradict_each_other_are_refused) {
  const auto refused = [](const auto& change) {
    Case made;
    change(made.options, made.header);
    BOOST_CHECK_THROW(made.setup(), UsageError);
  };
  using O = BeamformOptions;
  using H = VoltageHeader;
  refused([](O& o, H&) { o.pattern = "p.fits", o.incoherent = true; });
  refused([](O& o, H&) { o.field_rad = 0; });
  refused([](O& o, H&) { o.format = "dada"; });
  refused([](O& o, H&) { o.format = "sigproc", o.product_name = "voltage"; });
  refused([](O& o, H&) { o.product_name = "voltage", o.n_integrate = 2; });
  refused([](O& o, H&) { o.product_name = "voltage", o.n_average = 2; });
  refused([](O& o, H&) { o.product_name = "voltage", o.incoherent = true; });
  refused([](O& o, H& h) { o.product_name = "iquv", h.n_pol = 1; });
  refused([](O& o, H& h) { o.product_name = "coherence", h.n_pol = 1; });
  refused([](O&, H& h) { h.layout.antennas.clear(); });
  refused([](O&, H& h) { h.layout.site.reset(); });
  refused([](O& o, H&) { o.precision = "half"; });
  Case single;
  single.header.n_pol = 1;
  BOOST_CHECK_NO_THROW(single.setup());
}

BOOST_AUTO_TEST_CASE(voltages_of_a_beam_are_a_stream_of_one_antenna) {
  Case made;
  made.options.product_name = "voltage";
  made.options.n_fine = 2;
  made.options.voltage.first_sample = 100;
  made.header.bandwidth_hz = -4e6;
  made.header.scale = 3;
  const BeamformSetup setup = made.setup();
  const VoltageHeader header = dada_header(made.tool, setup, 0);
  BOOST_TEST(header.n_chan == 8u);
  BOOST_TEST(header.bandwidth_hz == -4e6);
  // Fine channels lie half of one below the middle of theirs: 101.5, 101 ... 98 MHz, or the other way round.
  BOOST_TEST(std::abs(header.freq_hz - (setup.b.channel_hz[0] + setup.b.channel_hz[7]) / 2) < 1e-6);
  BOOST_TEST(header.sample_s == 2e-6);
  BOOST_TEST(header.n_ant == 1u);
  BOOST_TEST(header.n_bit == 8u);
  BOOST_TEST(header.n_dim == 2u);
  BOOST_TEST(header.scale == 1);
  BOOST_TEST(header.order == "TFP");
  BOOST_TEST(header.sideband_conj);
  BOOST_TEST(std::abs(seconds_between(made.header.start, header.start) - 100e-6) < 1e-12);
  BOOST_TEST(header.layout.antennas.size() == 1u);
  BOOST_TEST(header.layout.antennas[0].cable_delay_s == 0);
  BOOST_TEST(header.tracking == "stationary");
  BOOST_TEST(key_of(header, "BEAM_ID") == "b000");
  BOOST_TEST(std::abs(std::stod(key_of(header, "BEAM_EL")) - 90) < 1e-6);
  BOOST_TEST(key_of(header, "BEAM_RA").empty());
  made.options.centre = "02h30m00s -26d42m00s";
  const VoltageHeader tracked = dada_header(made.tool, made.setup(), 0);
  BOOST_TEST(tracked.tracking == "sidereal");
  BOOST_TEST(std::abs(std::stod(key_of(tracked, "BEAM_RA")) - 37.5) < 1e-8);
  BOOST_TEST(std::abs(std::stod(key_of(tracked, "BEAM_DEC")) + 26.7) < 1e-8);
  BOOST_TEST(key_of(tracked, "RA") == "02:30:00.0000");
  BOOST_TEST(key_of(tracked, "BEAM_EL").empty());
}

// Spans of 128 missing samples are as many output spectra where these are the samples, or whole parts of
// them.
BOOST_AUTO_TEST_CASE(spans_of_missing_samples_become_spans_of_spectra) {
  Case made;
  made.options.product_name = "voltage";
  made.header.missing_samples = 64;
  BOOST_TEST(dada_header(made.tool, made.setup(), 0).missing_samples == 64u);
  made.options.voltage.first_sample = 128;
  BOOST_TEST(dada_header(made.tool, made.setup(), 0).missing_samples == 64u);
  made.options.voltage.first_sample = 100;
  BOOST_TEST(dada_header(made.tool, made.setup(), 0).missing_samples == 1u);
  made.options.voltage.first_sample = 0;
  made.options.n_fine = 16;  // antennas are aligned: their spans do not begin together
  BOOST_TEST(dada_header(made.tool, made.setup(), 0).missing_samples == 1u);
}

// SIGPROC: falling frequencies, whatever the stream's order; means of 2 channels and 10 spectra.
BOOST_AUTO_TEST_CASE(filterbanks_fall_in_frequency_and_know_their_beam) {
  for (const double sign : {1.0, -1.0}) {
    Case made;
    made.header.bandwidth_hz = sign * 4e6;
    made.options.n_integrate = 10;
    made.options.n_average = 2;
    made.options.product_name = "iquv";
    made.ask_for(3);
    const FilterbankHeader header = filterbank_header(made.tool, made.setup(), 2);
    BOOST_TEST(header.first_hz == 101e6);  // of channels at 98.5, 99.5, 100.5 and 101.5 MHz
    BOOST_TEST(header.step_hz == -2e6);
    BOOST_TEST(header.n_chan == 2u);
    BOOST_TEST(header.n_if == 4u);
    BOOST_TEST(std::abs(header.sample_s - 10e-6) < 1e-18);
    BOOST_TEST(header.source == "b2");
    BOOST_TEST(header.n_beam == 3u);
    BOOST_TEST(header.beam == 2u);
    BOOST_TEST(header.n_bit == 32u);
    BOOST_TEST(std::abs(std::sin(header.zenith_angle_rad) - 2e-3) < 1e-9);
    BOOST_TEST(std::abs(header.azimuth_rad - kPi / 2) < 1e-6);  // l is to the east
    BOOST_TEST(header.direction.has_value());
  }
}

// A dipole over its ground has nothing at the horizon; a dish looks where the beam does, and not behind.
BOOST_AUTO_TEST_CASE(elements_are_dipoles_over_ground_or_dishes) {
  const Vec3 up{0, 0, 1}, east{1, 0, 0}, slant{0.6, 0, 0.8};
  BOOST_TEST(!parse_element("none", up, 100e6));
  const auto dish = parse_element("dish:10m", slant, 100e6);
  BOOST_TEST(std::abs(dish(slant) - 1) < 1e-9);
  BOOST_TEST(std::abs(dish(up)) < 0.9);
  BOOST_TEST(dish({-0.6, 0, -0.8}) == 0);
  const auto dipole = parse_element("dipole:50cm", up, 100e6);
  BOOST_TEST(std::abs(dipole(east)) < 1e-9);
  BOOST_TEST(std::abs(dipole(up)) > 0.1);
  for (const char* bad : {"horn:3m", "dish", "dish:0m", "dish:-1m", "dipole:3"})
    BOOST_CHECK_THROW(parse_element(bad, up, 100e6), UsageError);
}

BOOST_AUTO_TEST_SUITE_END()
