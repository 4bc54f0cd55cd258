// SPDX-License-Identifier: GPL-3.0-or-later
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <random>

#include "libcore/core/ascii_header.h"
#include "libcore/core/constants.h"
#include "libcore/core/error.h"
#include "libcore/core/input.h"
#include "libcore/core/voltage.h"

using namespace apsyn;

namespace {

using Keys = std::map<std::string, std::string>;

std::string header_text(const Keys& changes) {
  Keys keys{{"HDR_VERSION", "1.0"}, {"HDR_SIZE", "4096"}, {"UTC_START", "2024-02-29-23:59:59"},
            {"FREQ", "150"},        {"BW", "1.28"},       {"TSAMP", "100"},
            {"NBIT", "8"},          {"NDIM", "2"},        {"NPOL", "2"},
            {"NCHAN", "4"},         {"NANT", "3"}};
  for (const auto& [key, value] : changes) keys[key] = value;
  std::string text;
  for (const auto& [key, value] : keys)
    if (value != "-") text += key + "\t" + value + "   # comment 99\n";
  text.resize(4096, '\0');
  return text;
}

VoltageHeader parse(const Keys& changes) {
  return parse_voltage_header(header_text(changes), "a.dada");
}

void malformed(const Keys& changes, const std::string& offending) {
  BOOST_CHECK_EXCEPTION(parse(changes), Error, [&](const Error& e) {
    BOOST_TEST_MESSAGE(e.what());
    return e.status() == ExitStatus::malformed && std::string(e.what()).starts_with("a.dada: ") &&
           std::string(e.what()).find(offending) != std::string::npos;
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(values_and_units) {
  const VoltageHeader h = parse({{"FREQ", "815.734375"},
                                 {"BW", "-544"},
                                 {"TSAMP", "1.882352941176471"},
                                 {"TELESCOPE", "MeerKAT"},
                                 {"SOURCE", "J1823-3021A"},
                                 {"X_Y", "kept verbatim, 1.0"}});
  BOOST_TEST(h.freq_hz == 815734375.0);
  BOOST_TEST(h.bandwidth_hz == -544e6);
  BOOST_TEST(h.sample_s == 1.882352941176471e-6);  // the nearest double, not 1.88... * 1e-6
  BOOST_TEST(h.telescope == "MeerKAT");
  BOOST_TEST(h.source == "J1823-3021A");
  BOOST_TEST(h.order == "TFAP");
  BOOST_TEST(h.missing_samples == 128u);
  BOOST_TEST(h.foreign);
  BOOST_REQUIRE(h.unknown.size() == 1u);
  BOOST_TEST(h.unknown[0].first == "X_Y");
  BOOST_TEST(h.unknown[0].second == "kept verbatim, 1.0");
  // FREQ - BW/2 + (chan + 1/2) BW/NCHAN with a negative BW: channels descend.
  BOOST_TEST(h.channel_freq_hz(0) == 815734375.0 + 272e6 - 68e6);
  BOOST_TEST(h.channel_freq_hz(3) == 815734375.0 - 272e6 + 68e6);
  BOOST_TEST(h.bits_per_time() == 4 * 3 * 2 * 16u);
  BOOST_TEST(parse({{"NCHAN", "1"}, {"NDIM", "1"}}).channel_freq_hz(0) == 150e6);
}

BOOST_AUTO_TEST_CASE(required_keys_are_never_guessed) {
  for (const char* key :
       {"HDR_VERSION", "HDR_SIZE", "UTC_START", "FREQ", "BW", "TSAMP", "NBIT", "NDIM", "NPOL", "NCHAN"})
    malformed({{key, "-"}}, std::string(key) + " is missing");
  malformed({{"TSAMP", ""}}, "TSAMP is missing");  // a key without a value
  BOOST_TEST(parse({{"NANT", "-"}}).n_ant == 1u);
}

BOOST_AUTO_TEST_CASE(wrong_values_are_named) {
  for (const Keys& keys : {Keys{{"TSAMP", "0"}},
                           {{"TSAMP", "-1"}},
                           {{"TSAMP", "nan"}},
                           {{"TSAMP", "1e-400"}},
                           {{"FREQ", "inf"}},
                           {{"FREQ", "150MHz"}},
                           {{"FREQ", "1e999"}},
                           {{"FREQ", "0x10"}},
                           {{"BW", "--1"}},
                           {{"NBIT", "7"}},
                           {{"NBIT", "8.5"}},
                           {{"NBIT", "99999999999999999999"}},
                           {{"NDIM", "3"}},
                           {{"NPOL", "4"}},
                           {{"NCHAN", "0"}},
                           {{"NANT", "-1"}},
                           {{"ORDER", "TFA"}},
                           {{"ORDER", "FAP"}},
                           {{"ORDER", "TFAPT"}},
                           {{"ORDER", "TFAX"}},
                           {{"NSBLK", "0"}},
                           {{"ENCODING", "GRAY"}},
                           {{"ENDIAN", "MIDDLE"}},
                           {{"SCALE", "0"}},
                           {{"SIDEBAND_CONJ", "2"}},
                           {{"POL_BASIS", "XX"}},
                           {{"MISSING_NSAMP", "0"}},
                           {{"FILE_SIZE", "-5"}},
                           {{"TRAILER", "yes"}},
                           {{"UTC_START", "2024-02-30-00:00:00"}},
                           {{"PICOSECONDS", "1000000000000"}},
                           {{"SITE_XYZ", "1,2"}},
                           {{"SITE_XYZ", "1,2,3"}},
                           {{"ANT_FRAME", "UTM"}},
                           {{"OBS_OFFSET", "x"}}})
    malformed(keys, keys.begin()->first);
  malformed({{"OBS_OFFSET", "5"}, {"BYTES_PER_SECOND", "0"}}, "BYTES_PER_SECOND");
  malformed({{"ENCODING", "FLOAT"}}, "NBIT 8");
  malformed({{"ENCODING", "PACK5X5"}}, "NBIT 8");
  malformed({{"NDIM", "1"}, {"SIDEBAND_CONJ", "1"}}, "SIDEBAND_CONJ");
  malformed({{"NBIT", "4"}, {"NDIM", "1"}, {"NPOL", "1"}, {"NANT", "1"}, {"NCHAN", "3"}, {"ORDER", "FT"}},
            "NSBLK 1");
  malformed({{"ORDER", "FTAP"}, {"NSBLK", "9000000000000000000"}}, "NSBLK");
  malformed({{"MISSING_NSAMP", "9000000000000000000"}}, "MISSING_NSAMP");
  malformed({{"NCHAN", "16777216"}, {"NANT", "1048576"}, {"ORDER", "FTAP"}}, "larger than 1 GiB");
  malformed({{"SITE_LAT", "10"}, {"SITE_LON", "20"}}, "SITE_ALT");
  malformed({{"SITE_LAT", "91"}, {"SITE_LON", "20"}, {"SITE_ALT", "0"}}, "SITE_LAT");
  malformed({{"PHASE_RA", "10"}}, "PHASE_DEC");
  malformed({{"ANT_000", "a,0,0,0"}, {"ANT_001", "b,0,0,0"}}, "ANT_002 is missing");
  malformed({{"ANT_001", "b,0,0,0"}}, "ANT_001");
  malformed({{"NANT", "1"}, {"ANT_000", "a,0,0,0"}, {"ANT_001", "b,0,0,0"}}, "ANT_001");
  for (const char* antenna :
       {"a", "a,1,2", "a,1,2,x", "a,1,2,nan", ",1,2,3", "a,1,2,3,x", "a,1,2,3,0,2", "a,1,2,3,0,0,0"})
    malformed({{"NANT", "1"}, {"ANT_000", antenna}}, "ANT_000");
}

BOOST_AUTO_TEST_CASE(start_of_the_stream) {
  // One sample of 4 chan x 3 ant x 2 pol x 2 B = 48 B and 100 us: 480,000 B/s.
  BOOST_TEST((parse({}).start == parse_utc("2024-02-29T23:59:59")));
  BOOST_TEST((parse({{"UTC_START", "2024-02-29-23:59:59.25"}}).start == parse_utc("2024-02-29T23:59:59.25")));
  BOOST_TEST((parse({{"UTC_START", "2024-02-29-23:59:59.25"}, {"PICOSECONDS", "7"}}).start ==
              add_picoseconds(parse_utc("2024-02-29T23:59:59"), 7)));
  BOOST_TEST((parse({{"OBS_OFFSET", "480048"}}).start == parse_utc("2024-03-01T00:00:00.0001")));
  BOOST_TEST((parse({{"OBS_OFFSET", "480048"}, {"BYTES_PER_SECOND", "960096.0"}}).start ==
              parse_utc("2024-02-29T23:59:59.5")));
  // Far offsets stay exact: 10^18 B at 3 B/s, a third of a second over.
  BOOST_TEST((parse({{"OBS_OFFSET", "10000000000000000"}, {"BYTES_PER_SECOND", "3000000"}}).start ==
              add_picoseconds(parse_utc("2024-02-29T23:59:59"),
                              (static_cast<__int128>(10000000000000000) * 1000000 + 1) / 3)));
}

BOOST_AUTO_TEST_CASE(site_and_antennas) {
  const VoltageHeader h = parse({{"SITE_LAT", "-26.703319"},
                                 {"SITE_LON", "116.67081"},
                                 {"SITE_ALT", "377"},
                                 {"ANT_000", "Tile01,1,-2,3.5,12.5,1"},
                                 {"ANT_001", "b,4,5,6"},
                                 {"ANT_002", "c,7,8,9,-1e-3"},
                                 {"PHASE_RA", "187.5"},
                                 {"PHASE_DEC", "-30"}});
  BOOST_REQUIRE(h.layout.site.has_value());
  BOOST_TEST(h.layout.site->lat_rad == parse_angle("-26.703319deg"));
  BOOST_REQUIRE(h.layout.antennas.size() == 3u);
  BOOST_TEST(h.layout.antennas[0].name == "Tile01");
  BOOST_TEST(h.layout.antennas[0].enu_m[1] == -2);
  BOOST_TEST(h.layout.antennas[0].cable_delay_s == 12.5e-9);
  BOOST_TEST(h.layout.antennas[0].flagged);
  BOOST_TEST(!h.layout.antennas[1].flagged);
  BOOST_TEST(h.layout.antennas[2].cable_delay_s == -1e-12);
  BOOST_TEST(h.phase_centre->ra_rad == parse_angle("187.5deg"));

  const Site site{-0.4, 2.0, 377};
  Keys itrf{{"ANT_FRAME", "ITRF"}};
  for (int ant = 0; ant < 3; ++ant) {
    const Vec3 p = geocentric_from_enu(site, {10.0 * ant, 5, 0});
    itrf[fmt::format("ANT_{:03}", ant)] = fmt::format("a{},{},{},{}", ant, p[0], p[1], p[2]);
  }
  const VoltageHeader mean = parse(itrf);
  BOOST_TEST(mean.layout.site_is_mean);
  BOOST_TEST(std::abs(mean.layout.antennas[0].enu_m[0] + 10) < 1e-4);
  const Vec3 p = geocentric_from_site(site);
  itrf["SITE_XYZ"] = fmt::format("{},{},{}", p[0], p[1], p[2]);
  const VoltageHeader named = parse(itrf);
  BOOST_TEST(std::abs(named.layout.antennas[2].enu_m[0] - 20) < 1e-7);
  BOOST_TEST(std::abs(named.layout.antennas[2].enu_m[1] - 5) < 1e-7);
}

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
    h.scale_gain = 1 - std::abs(unit(random)) / 3;
    h.sideband_conj = turn % 7 == 0;
    h.pol_basis = turn % 2 ? "RL" : "XY";
    h.missing_samples = 1 + random() % 1000;
    if (turn % 2) h.file_size = random() % 1000000 + 1;
    h.trailer = turn % 4 == 0;
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

BOOST_AUTO_TEST_CASE(large_arrays_need_more_header) {
  VoltageHeader h;
  h.sample_s = 1e-6;
  h.n_ant = 512;
  h.layout = builtin_array("lwa-sv");
  const ArrayLayout second = h.layout;
  h.layout.antennas.insert(h.layout.antennas.end(), second.antennas.begin(), second.antennas.end());
  const std::string text = format_voltage_header(h);
  BOOST_TEST(text.size() > 8192u);
  BOOST_TEST(parse_voltage_header(text, "x").layout.antennas.size() == 512u);
}

BOOST_AUTO_TEST_CASE(shortest_decimals) {
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

BOOST_AUTO_TEST_CASE(foreign_lines) {
  // No blank before the value's end, tabs, no newline at the end, duplicates, binary bytes.
  std::string text = header_text({{"TELESCOPE", "  A\t# x"}, {"SOURCE", "#none"}});
  BOOST_TEST(parse_voltage_header(text, "a").telescope == "A");
  BOOST_TEST(parse_voltage_header(text, "a").source == "unknown");
  text = header_text({});
  text.insert(0, "FREQ 99\n");
  BOOST_TEST(parse_voltage_header(text, "a").freq_hz == 99e6);
  text = header_text({});
  text[20] = '\x01';
  BOOST_CHECK_THROW(parse_voltage_header(text, "a"), DataError);
  BOOST_CHECK_THROW(header_size(std::string(4096, 'x'), "a"), DataError);
  BOOST_CHECK_THROW(header_size("HDR_SIZE 5000\n", "a"), DataError);
  BOOST_CHECK_THROW(header_size("HDR_SIZE 0\n", "a"), DataError);
  BOOST_CHECK_THROW(header_size("HDR_SIZE 68719476736\n", "a"), DataError);
}

BOOST_AUTO_TEST_CASE(random_bytes_never_crash) {
  std::mt19937 random(5);
  const std::string good =
      header_text({{"ANT_000", "a,0,0,0"}, {"ANT_001", "b,0,0,0"}, {"ANT_002", "c,0,0,0"}});
  for (int turn = 0; turn < 20000; ++turn) {
    std::string text = good;
    for (int n = 0; n < 3; ++n)
      text[random() % 400] = static_cast<char>(turn % 2 ? 32 + random() % 95 : random());
    try {
      parse_voltage_header(text, "a");
    } catch (const Error& error) {
      BOOST_REQUIRE((error.status() == ExitStatus::malformed));
    }
  }
}
