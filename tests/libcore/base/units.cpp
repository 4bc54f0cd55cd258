// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/base/units.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <initializer_list>
#include <random>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/base/time.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(units)

namespace {

double shifted(const std::string& digits, int exponent) {
  return std::stod(digits + "e" + std::to_string(exponent));
}

}  // namespace

BOOST_AUTO_TEST_CASE(decimal_units_are_exact_to_the_last_bit) {
  BOOST_TEST(parse_frequency("150.123456MHz") == 150123456.0);
  BOOST_TEST(parse_frequency("1.420405751768GHz") == 1420405751.768);
  BOOST_TEST(parse_duration("40ms") == 0.04);
  BOOST_TEST(parse_duration("51.2us") == 51.2e-6);
  BOOST_TEST(parse_duration("0.1 s") == 0.1);
  BOOST_TEST(parse_duration("2min") == 120.0);
  BOOST_TEST(parse_duration("-1.5h") == -5400.0);
  BOOST_TEST(parse_length("21cm") == 0.21);
  BOOST_TEST(parse_flux("3.7mJy") == 3.7e-3);
  BOOST_TEST(parse_tec("3.7mTECU") == 3.7e-3);
  BOOST_TEST(parse_tec("0.1TECU") == 0.1);
  BOOST_TEST(parse_bytes("8GB") == 8000000000u);
  BOOST_TEST(parse_bytes("1.5GiB") == 1610612736u);
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const std::string digits = fmt::format("{}.{:09}", random() % 100000, random() % 1000000000);
    BOOST_TEST(parse_frequency(digits + "MHz") == shifted(digits, 6));
    BOOST_TEST(parse_duration(digits + "us") == shifted(digits, -6));
  }
}

BOOST_AUTO_TEST_CASE(angles_are_the_nearest_double) {
  BOOST_TEST(parse_angle("180deg") == M_PI);
  BOOST_TEST(parse_angle("-90deg") == -M_PI_2);
  BOOST_TEST(parse_angle("12h0m0s") == M_PI);
  BOOST_TEST(parse_angle("0.25rad") == 0.25);
  BOOST_TEST(parse_angle("648000asec") == M_PI);
  BOOST_TEST(parse_angle("-0d30m0s") == -M_PI / 360);
  BOOST_TEST(parse_right_ascension("12:00:00") == M_PI);
  BOOST_TEST(parse_angle("90:00:00") == M_PI_2);
  std::mt19937_64 random(2);
  for (int i = 0; i < 2000; ++i) {
    const std::string digits = fmt::format("{}.{:06}", random() % 360, random() % 1000000);
    const long double expected = std::stold(digits) * (3.14159265358979323846264338327950288L / 180.0L);
    const double parsed = parse_angle(digits + "deg");
    // long double has 11 bits more than double, so it can show agreement to 0.501 of the last bit
    const double ulp = std::nextafter(parsed, INFINITY) - parsed;
    BOOST_TEST(std::abs(static_cast<double>(expected - parsed)) <= 0.502 * ulp);
  }
}

BOOST_AUTO_TEST_CASE(sexagesimal_parts_add_up) {
  const double expected = (12 * 3600 + 30 * 60 + 0.5) / 86400.0 * 2 * M_PI;
  BOOST_TEST(std::abs(parse_angle("12h30m00.5s") - expected) < 1e-15);
  BOOST_TEST(parse_right_ascension("12:30:00.5") == parse_angle("12h30m00.5s"));
  BOOST_TEST(parse_angle("-30d43m17s") == -parse_angle("30d43m17s"));
  const SkyDirection direction = parse_sky_direction("12h30m00.5s -30d43m17s");
  BOOST_TEST(direction.ra_rad == parse_angle("12h30m00.5s"));
  BOOST_TEST(direction.dec_rad == parse_angle("-30d43m17s"));
  BOOST_TEST(parse_sky_direction("12:30:00.5,-30:43:17").dec_rad == direction.dec_rad);
}

BOOST_AUTO_TEST_CASE(wrong_quantities_are_usage_errors) {
  for (const char* text : {"", "10", "10parsec", "deg", "1e999deg", "nandeg", "12h61m", "12h30m0.5", "1:2",
                           "0x10deg", "12h30m00.5s x", "--5deg", "1.5.2deg", "infdeg", "10 deg deg"})
    BOOST_CHECK_THROW(parse_angle(text), UsageError);
  for (const char* text : {"10", "10mhz", "MHz", "1e400MHz", ""})
    BOOST_CHECK_THROW(parse_frequency(text), UsageError);
  for (const char* text : {"8", "-8GB", "1e30GB"}) BOOST_CHECK_THROW(parse_bytes(text), UsageError);
  for (const char* text : {"12h", "12h30m00s", "12h30m00s 95deg", ""})
    BOOST_CHECK_THROW(parse_sky_direction(text), UsageError);
}

BOOST_AUTO_TEST_CASE(formats_read_back) {
  BOOST_TEST(format_right_ascension(parse_angle("05h34m31.94s"), 2) == "05h34m31.94s");
  BOOST_TEST(format_declination(parse_angle("-00d00m52.2s"), 1) == "-00d00m52.2s");
  BOOST_TEST(format_right_ascension(2 * M_PI - 1e-12, 2) == "00h00m00.00s");
  BOOST_TEST(format_right_ascension(2 * M_PI - 1e-12, 4, ":") == "00:00:00.0000");
  BOOST_TEST(format_declination(parse_angle("-30d43m17.49996s"), 4, ":") == "-30:43:17.5000");
  BOOST_TEST(format_frequency(150e6) == "150 MHz");
}

// Every unit there is, by name: what one of it is in SI units.
BOOST_AUTO_TEST_CASE(units_are_what_they_are_called) {
  const long double turn = 2 * 3.14159265358979323846264338327950288L;
  const std::pair<const char*, long double> angles[] = {
      {"1deg", turn / 360},      {"1d", turn / 360},         {"1amin", turn / 21600},
      {"1arcmin", turn / 21600}, {"1asec", turn / 1.296e6L}, {"1arcsec", turn / 1.296e6L},
      {"1mas", turn / 1.296e9L}, {"1uas", turn / 1.296e12L}, {"1rad", 1},
      {"1mrad", 1e-3L},          {"1h0m0s", turn / 24},      {"0h1m0s", turn / 1440},
      {"0h0m1s", turn / 86400},  {"0d1m0s", turn / 21600},   {"0d0m1s", turn / 1.296e6L}};
  for (const auto& [text, rad] : angles) BOOST_TEST(parse_angle(text) == static_cast<double>(rad), text);
  const auto check = [](double (*parse)(std::string_view),
                        std::initializer_list<std::pair<const char*, double>> units) {
    for (const auto& [text, value] : units) BOOST_TEST(parse(text) == value, text);
  };
  check(parse_duration, {{"1s", 1},
                         {"1ms", 1e-3},
                         {"1us", 1e-6},
                         {"1ns", 1e-9},
                         {"1ps", 1e-12},
                         {"1min", 60},
                         {"1h", 3600},
                         {"1d", 86400}});
  check(parse_frequency, {{"1Hz", 1}, {"1kHz", 1e3}, {"1MHz", 1e6}, {"1GHz", 1e9}});
  check(parse_length, {{"1m", 1}, {"1km", 1e3}, {"1cm", 1e-2}, {"1mm", 1e-3}});
  check(parse_flux, {{"1Jy", 1}, {"1mJy", 1e-3}, {"1uJy", 1e-6}, {"1kJy", 1e3}, {"1MJy", 1e6}});
  check(parse_tec, {{"1TECU", 1}, {"1mTECU", 1e-3}});
  check([](std::string_view text) { return static_cast<double>(parse_bytes(text)); }, {{"1B", 1},
                                                                                       {"1kB", 1e3},
                                                                                       {"1MB", 1e6},
                                                                                       {"1GB", 1e9},
                                                                                       {"1TB", 1e12},
                                                                                       {"1KiB", 1024},
                                                                                       {"1MiB", 1048576},
                                                                                       {"1GiB", 1073741824}});
}

BOOST_AUTO_TEST_CASE(right_ascensions_are_within_a_turn) {
  BOOST_TEST(parse_right_ascension("-1h0m0s") == 2 * M_PI * 23 / 24, boost::test_tools::tolerance(1e-15));
  BOOST_TEST(parse_right_ascension("25:00:00") == 2 * M_PI / 24, boost::test_tools::tolerance(1e-14));
  BOOST_TEST(parse_right_ascension("-90deg") == 1.5 * M_PI, boost::test_tools::tolerance(1e-15));
}

BOOST_AUTO_TEST_CASE(prefixes_fit_the_size) {
  for (const char* text : {"1.5 deg", "59.5 amin", "1.5 amin", "59.5 asec", "0.25 asec", "5 mas", "0.5 mas"})
    BOOST_TEST(format_angle(parse_angle(text)) == text);
  for (const char* text : {"1.5 d", "1.5 h", "2 min", "119 s", "1.5 s", "1.5 ms", "1.5 us", "0.5 us"})
    BOOST_TEST(format_duration(parse_duration(text)) == text);
  for (const char* text : {"1.5 GHz", "150 MHz", "1.5 kHz", "999 Hz"})
    BOOST_TEST(format_frequency(parse_frequency(text)) == text);
  for (const char* text : {"1.5 TB", "1.5 GB", "150 MB", "1.5 kB", "999 B"})
    BOOST_TEST(format_bytes(static_cast<double>(parse_bytes(text))) == text);
}

// The calendar's leap years, and what may follow a time.
BOOST_AUTO_TEST_CASE(days_are_those_of_the_calendar) {
  BOOST_TEST(parse_utc("2000-02-29-00:00:00").mjd == 51603);
  BOOST_TEST(parse_utc("2000-03-01-00:00:00").mjd == 51604);
  BOOST_TEST(parse_utc("2024-02-29-00:00:00").mjd == 60369);
  BOOST_TEST(parse_utc("2100-03-01-00:00:00").mjd - parse_utc("2100-02-28-00:00:00").mjd == 1);
  for (const char* text : {"1600-02-29-00:00:00", "2400-02-29-00:00:00"})
    BOOST_CHECK_NO_THROW(parse_utc(text));
  for (const char* text :
       {"1900-02-29-00:00:00", "2100-02-29-00:00:00", "2023-02-29-00:00:00", "2024-02-30-00:00:00",
        "2024-04-31-00:00:00", "2024-13-01-00:00:00", "2024-01-00-00:00:00", "2024-01-01-24:00:00",
        "2024-01-01-00:60:00", "2024-01-01-00:00:61", "2024-01-01-00:00:00ZZ", "2024-01-01-00:00:00.1x"})
    BOOST_CHECK_THROW(parse_utc(text), DataError);
  BOOST_TEST((parse_utc("2024-01-01T00:00:00.5Z") == parse_utc("2024-01-01-00:00:00.5")));
  BOOST_TEST((parse_utc("2024-01-01 00:00:00Z") == parse_utc("2024-01-01-00:00:00")));
  BOOST_TEST((parse_utc("2016-12-31-23:59:60") == parse_utc("2017-01-01-00:00:00")));
}

// What rounds to 60 s is the next minute, and 60 minutes the next hour or degree.
BOOST_AUTO_TEST_CASE(seconds_never_round_to_sixty) {
  BOOST_TEST(format_right_ascension(parse_angle("05h34m59.9996s"), 3) == "05h35m00.000s");
  BOOST_TEST(format_right_ascension(parse_angle("05h59m59.9996s"), 3) == "06h00m00.000s");
  BOOST_TEST(format_right_ascension(parse_angle("23h59m59.9996s"), 3) == "00h00m00.000s");
  BOOST_TEST(format_right_ascension(parse_angle("05h34m59.9994s"), 3) == "05h34m59.999s");
  BOOST_TEST(format_declination(parse_angle("-30d43m59.9996s"), 3) == "-30d44m00.000s");
  BOOST_TEST(format_declination(parse_angle("30d59m59.6s"), 0) == "+31d00m00s");
  BOOST_TEST(format_fits_utc(parse_utc("2024-02-28T23:59:59.9996"), 3) == "2024-02-29T00:00:00.000");
  BOOST_TEST(format_fits_utc(parse_utc("2024-12-31T12:34:59.9994"), 3) == "2024-12-31T12:34:59.999");
}

BOOST_AUTO_TEST_CASE(bytes_rounded_upwards_are_enough) {
  for (double bytes = 1; bytes < 1e13; bytes *= 1.0137) {
    const auto whole = static_cast<double>(static_cast<std::uint64_t>(bytes));
    const auto read = static_cast<double>(parse_bytes(format_bytes_upwards(whole)));
    BOOST_TEST(read >= whole);
    BOOST_TEST(read <= whole * 1.0101 + 1);
  }
  BOOST_TEST(format_bytes_upwards(83.41e6) == "83.5 MB");
  BOOST_TEST(format_bytes_upwards(83.5e6) == "83.5 MB");
  BOOST_TEST(format_bytes_upwards(999.1e6) == "1 GB");
}

BOOST_AUTO_TEST_SUITE_END()
