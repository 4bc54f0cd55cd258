// SPDX-License-Identifier: GPL-3.0-or-later
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <random>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/files/input.h"
#include "libcore/header/ascii_header.h"
#include "libcore/voltage/voltage.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(voltage_header)

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

BOOST_AUTO_TEST_CASE(values_are_read_in_their_units) {
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
  BOOST_TEST((h.flux_unit == FluxUnit::adu));
  BOOST_TEST((parse({{"FLUX_UNIT", "Jy"}}).flux_unit == FluxUnit::jansky));
  BOOST_TEST((parse({{"FLUX_UNIT", "adu"}}).flux_unit == FluxUnit::adu));
  for (const char* unit : {"mJy", "JY", "K"})
    malformed({{"FLUX_UNIT", unit}}, std::string("FLUX_UNIT ") + unit);
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
                           {{"TSAMP", "1e9"}},
                           {{"HDR_VERSION", "text"}},
                           {{"FREQ", "1e19"}},
                           {{"FREQ", "-1"}},
                           {{"BW", "1e12"}},
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

BOOST_AUTO_TEST_CASE(the_start_counts_offset_and_picoseconds) {
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

BOOST_AUTO_TEST_CASE(site_and_antennas_are_read) {
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

BOOST_AUTO_TEST_CASE(foreign_lines_are_read_and_binary_ones_refused) {
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

BOOST_AUTO_TEST_CASE(text_behind_the_end_of_the_header_is_refused) {
  std::string text = header_text({});
  const std::size_t end = text.find('\0');
  text[1000] = 'S';
  BOOST_CHECK_EXCEPTION(parse_voltage_header(text, "a.dada"), DataError, [&](const DataError& e) {
    return std::string(e.what()).find(
               fmt::format("byte {}: a NUL ends the header, and there is more of it at byte 1000", end)) !=
           std::string::npos;
  });
  text = header_text({});
  text[text.find("NPOL") - 1] = '\0';  // drops all keys from there on
  BOOST_CHECK_THROW(parse_voltage_header(text, "a.dada"), DataError);
}

BOOST_AUTO_TEST_CASE(bands_have_as_many_samples_as_they_need) {
  const auto good = [](double bandwidth_mhz, int n_chan, double sample_us, int n_dim) {
    VoltageHeader header;
    header.bandwidth_hz = bandwidth_mhz * 1e6, header.n_chan = static_cast<std::size_t>(n_chan);
    header.sample_s = sample_us * 1e-6, header.n_dim = static_cast<unsigned>(n_dim);
    try {
      check_sample_rate(header, "a.dada");
      return true;
    } catch (const DataError& error) {
      BOOST_TEST(std::string(error.what()).starts_with("a.dada: BW"));
      return false;
    }
  };
  BOOST_TEST(good(1.28, 1, 0.78125, 2));
  BOOST_TEST(good(-1.28, 1, 0.78125, 2));    // descending channels
  BOOST_TEST(good(1.28, 1, 0.7812, 2));      // few digits
  BOOST_TEST(good(1.28, 4, 3.125, 2));       // four channels
  BOOST_TEST(good(1.28, 4, 2.734375, 2));    // which overlap by 8/7
  BOOST_TEST(good(400, 1, 0.00125, 1));      // real samples
  BOOST_TEST(good(544, 1024, 1.88235, 2));   // MeerKAT
  BOOST_TEST(!good(128, 1, 0.78125, 2));     // a hundred times too few
  BOOST_TEST(!good(1.28, 1, 0.0078125, 2));  // and too many
  BOOST_TEST(!good(1.28, 4, 0.78125, 2));    // the rate of the band, not of a channel
  BOOST_TEST(!good(400, 1, 0.0025, 1));      // complex samples that are called real
  BOOST_TEST(!good(0, 1, 1, 2));
}

BOOST_AUTO_TEST_SUITE_END()
