// SPDX-License-Identifier: GPL-3.0-or-later
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

#include "libcore/base/error.h"
#include "libcore/header/ascii_header.h"
#include "libcore/voltage/voltage.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(voltage_header_written)

BOOST_AUTO_TEST_CASE(what_is_written_reads_back) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (int turn = 0; turn < 300; ++turn) {
    VoltageHeader h;
    h.telescope = "A-telescope";
    h.source = "B";
    h.start = {60000 + turn, static_cast<std::int64_t>(random() % 86400000000000000ull)};
    h.freq_hz = std::exp(20 * std::abs(unit(random)));
    h.bandwidth_hz = unit(random) * std::pow(10, 9 * std::abs(unit(random)));
    h.sample_s = std::pow(10, -10 * std::abs(unit(random)));
    h.n_ant = 1 + random() % 5;
    h.n_pol = 1 + random() % 2;
    h.n_chan = 1 + random() % 9;
    h.order = turn % 2 ? "FTAP" : "TFAP";
    h.block_samples = turn % 2 ? 8 : 1;
    h.n_bit = turn % 3 ? 16 : 32;
    h.encoding = turn % 3 ? SampleEncoding::offset_binary : SampleEncoding::floating;
    h.byte_order = turn % 5 ? ByteOrder::little : ByteOrder::big;
    h.scale = 1 + unit(random) / 3;
    h.flux_unit = turn % 2 ? FluxUnit::jansky : FluxUnit::adu;
    h.scale_gain = 1 - std::abs(unit(random)) / 3;
    h.sideband_conj = turn % 7 == 0;
    h.pol_basis = turn % 2 ? "RL" : "XY";
    h.missing_samples = 1 + random() % 1000;
    if (turn % 2) h.file_size = random() % 1000000 + 1;
    h.trailer = !h.file_size;
    h.layout.site = Site{unit(random) * 1.5, unit(random) * 3, unit(random) * 5000};
    for (std::size_t ant = 0; ant < h.n_ant; ++ant)
      h.layout.antennas.push_back({fmt::format("ant{}", ant),
                                   {unit(random) * 1e3, unit(random) * 1e-9, unit(random)},
                                   unit(random) * 1e-6,
                                   random() % 2 == 0});
    h.phase_centre = SkyDirection{3 + 3 * unit(random), unit(random) * 1.5};
    h.tracking = "phase";
    h.history = {"simulate 0.1.0", "simulate --sky 'a b%20#.txt' \t-o x", ""};
    h.unknown = {{"BEAM_ID", "3"}, {"CARRIED", "a b c"}};
    const std::string text = format_voltage_header(h);
    BOOST_REQUIRE(text.size() % 4096 == 0u);
    BOOST_REQUIRE(header_size(text.substr(0, 4096), "x") == text.size());
    const VoltageHeader back = parse_voltage_header(text, "x");
    BOOST_REQUIRE((back.start == h.start));
    BOOST_REQUIRE(back.freq_hz == h.freq_hz);
    BOOST_REQUIRE(back.bandwidth_hz == h.bandwidth_hz);
    BOOST_REQUIRE(back.sample_s == h.sample_s);
    BOOST_REQUIRE(back.n_bit == h.n_bit);
    BOOST_REQUIRE(back.n_chan == h.n_chan);
    BOOST_REQUIRE(back.n_ant == h.n_ant);
    BOOST_REQUIRE(back.n_pol == h.n_pol);
    BOOST_REQUIRE(back.order == h.order);
    BOOST_REQUIRE(back.block_samples == h.block_samples);
    BOOST_REQUIRE((back.encoding == h.encoding && back.byte_order == h.byte_order));
    BOOST_REQUIRE(back.scale == h.scale);
    BOOST_REQUIRE((back.flux_unit == h.flux_unit));
    BOOST_REQUIRE(back.scale_gain == h.scale_gain);
    BOOST_REQUIRE(back.sideband_conj == h.sideband_conj);
    BOOST_REQUIRE(back.pol_basis == h.pol_basis);
    BOOST_REQUIRE(back.missing_samples == h.missing_samples);
    BOOST_REQUIRE((back.file_size == h.file_size));
    BOOST_REQUIRE(back.trailer == h.trailer);
    BOOST_REQUIRE(!back.foreign);
    BOOST_REQUIRE(back.layout.site->lat_rad == h.layout.site->lat_rad);
    BOOST_REQUIRE(back.layout.site->lon_rad == h.layout.site->lon_rad);
    BOOST_REQUIRE(back.layout.site->height_m == h.layout.site->height_m);
    for (std::size_t ant = 0; ant < h.n_ant; ++ant) {
      const Antenna &a = h.layout.antennas[ant], &b = back.layout.antennas[ant];
      BOOST_REQUIRE(a.name == b.name);
      BOOST_REQUIRE((a.enu_m == b.enu_m));
      BOOST_REQUIRE(a.cable_delay_s == b.cable_delay_s);
      BOOST_REQUIRE(a.flagged == b.flagged);
    }
    BOOST_REQUIRE(back.phase_centre->ra_rad == h.phase_centre->ra_rad);
    BOOST_REQUIRE(back.phase_centre->dec_rad == h.phase_centre->dec_rad);
    BOOST_REQUIRE(back.tracking == h.tracking);
    BOOST_REQUIRE(back.history.size() == 3u);
    for (std::size_t i = 0; i < 3; ++i) BOOST_REQUIRE(back.history[i] == h.history[i]);
    BOOST_REQUIRE((back.unknown == h.unknown));
    VoltageHeader larger = h;
    larger.file_size = UINT64_MAX / 2;
    BOOST_REQUIRE(format_voltage_header(larger).size() == text.size());
  }
}

// What Python's baseband asks for besides, which foreign files that are handed on may have, too.
BOOST_AUTO_TEST_CASE(keys_that_other_readers_ask_for_are_written) {
  VoltageHeader h;
  h.sample_s = 1e-6;
  h.trailer = true;
  h.n_ant = 1;
  h.start = parse_utc("2010-03-21-18:00:00.000000000108");
  std::string text = format_voltage_header(h);
  BOOST_TEST(text.find("\nMJD_START        55276.75000000000000125\n") != std::string::npos);
  BOOST_TEST(text.find("\nDADA_VERSION     1.0\n") != std::string::npos);
  h.start.picoseconds = 86'400'000'000'000'000 - 1;
  text = format_voltage_header(h);
  BOOST_TEST(text.find("\nMJD_START        55276.99999999999999998\n") != std::string::npos);
  text.replace(text.find("DADA_VERSION     1.0"), 20, "DADA_VERSION     9.9");
  const VoltageHeader back = parse_voltage_header(text, "x");
  BOOST_TEST((back.start == h.start));
  BOOST_TEST(back.unknown.empty());
}

BOOST_AUTO_TEST_CASE(large_arrays_need_more_header) {
  VoltageHeader h;
  h.sample_s = 1e-6;
  h.trailer = true;
  h.n_ant = 512;
  h.layout = builtin_array("lwa-sv");
  const ArrayLayout second = h.layout;
  h.layout.antennas.insert(h.layout.antennas.end(), second.antennas.begin(), second.antennas.end());
  const std::string text = format_voltage_header(h);
  BOOST_TEST(text.size() > 8192u);
  BOOST_TEST(parse_voltage_header(text, "x").layout.antennas.size() == 512u);
}

BOOST_AUTO_TEST_CASE(scaled_values_are_the_shortest_decimals) {
  BOOST_TEST(format_scaled(150e6, -6) == "150");
  BOOST_TEST(format_scaled(1e-6, 6) == "1");
  BOOST_TEST(format_scaled(-0.25, 0) == "-0.25");
  BOOST_TEST(format_scaled(123.456, 2) == "12345.6");
  BOOST_TEST(format_scaled(123.456, -5) == "0.00123456");
  BOOST_TEST(format_scaled(0, 3) == "0");
  BOOST_TEST(format_scaled(1.5e-30, 0) == "1.5e-30");
  BOOST_TEST(format_scaled(1e300, 0) == "1e300");
  BOOST_CHECK_THROW(format_scaled(NAN, 0), FailureError);
}

BOOST_AUTO_TEST_CASE(whole_rates_are_written_as_integers) {
  VoltageHeader h;
  h.sample_s = 1e-5;
  h.n_pol = 2;
  h.n_chan = 10;
  h.n_ant = 1;
  BOOST_TEST(format_voltage_header(h).find("BYTES_PER_SECOND 4000000\n") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
