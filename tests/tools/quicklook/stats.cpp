// SPDX-License-Identifier: GPL-3.0-or-later
// The text of --stats, by hand against RFC 8259.
#include "tools/quicklook/stats.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(stats)

BOOST_AUTO_TEST_CASE(one_member_a_line_and_one_item_of_objects_a_line) {
  Json inner, outer;
  inner["x"] = 1;
  inner["name"] = "a";
  outer["one"] = inner;
  outer["list"] = std::vector<Json>{inner, inner};
  outer["n"] = std::vector<int>{1, 2};
  BOOST_TEST(stats_text(outer) ==
             "{\n  \"one\": {\"x\": 1, \"name\": \"a\"},\n  \"list\": [\n    {\"x\": 1, \"name\": \"a\"},\n"
             "    {\"x\": 1, \"name\": \"a\"}\n  ],\n  \"n\": [1, 2]\n}");
}

BOOST_AUTO_TEST_CASE(numbers_lead_back_to_the_same_double_and_others_are_null) {
  Json stats;
  stats["third"] = 1.0 / 3;
  stats["count"] = std::uint64_t{18446744073709551615u};
  stats["none"] = std::numeric_limits<double>::quiet_NaN();
  stats["infinite"] = -std::numeric_limits<double>::infinity();
  stats["complex"] = true;
  const std::string text = stats_text(stats);
  BOOST_TEST(std::stod(text.substr(text.find(':') + 1)) == 1.0 / 3);
  for (const char* line :
       {"\"count\": 18446744073709551615", "\"none\": null", "\"infinite\": null", "\"complex\": true"})
    BOOST_TEST(text.find(line) != text.npos, line);
}

// Three integrations of 4 s, whose times are their middles.
BOOST_AUTO_TEST_CASE(visibilities_begin_and_end_with_their_integrations) {
  VisibilitySummary summary;
  summary.first_time_mjd_s = 86400.0 * 60000 + 2;
  summary.last_time_mjd_s = summary.first_time_mjd_s + 8;
  summary.interval_s = 4;
  summary.channel_hz = {150e6, 151e6};
  summary.n_samples = 8;
  summary.n_flagged = 2;
  const Json stats = stats_of(summary);
  BOOST_TEST(stats["start_utc"].get<std::string>().starts_with("2023-02-25T00:00:00"));
  BOOST_TEST(stats["duration_s"] == 12);
  BOOST_TEST(stats["highest_channel_hz"] == 151e6);
  BOOST_TEST(stats["flagged_fraction"] == 0.25);
}

// A hundred samples of power 8: of complex ones either part has an RMS of 2.
BOOST_AUTO_TEST_CASE(voltages_have_the_rms_of_their_components) {
  for (const unsigned n_dim : {1u, 2u}) {
    VoltageSummary summary;
    summary.n_ant = summary.n_pol = 1;
    summary.n_chan = 2;
    summary.n_dim = n_dim;
    summary.n_time = 100;
    summary.sample_s = 0.5;
    summary.time.n = 2;
    summary.power_sum.resize({1, 2});
    summary.n_power.resize({1, 2});
    summary.power_sum(0, 0) = 300, summary.power_sum(0, 1) = 500;
    summary.n_power(0, 0) = 30, summary.n_power(0, 1) = 70;
    summary.n_values = {400};
    summary.n_saturated = {4};
    summary.n_missing = {20};
    const Json stats = stats_of(summary);
    BOOST_TEST(stats["duration_s"] == 50);
    const Json& input = stats["inputs"][0];
    BOOST_TEST(input["power"] == 8);
    BOOST_TEST(std::abs(input["rms"].get<double>() - std::sqrt(8.0 / n_dim)) < 1e-14);
    BOOST_TEST(input["saturated_fraction"] == 0.01);
    BOOST_TEST(input["missing_fraction"] == 0.1);
  }
}

// Names come from files: what is well formed is the table of RFC 3629, section 4.
BOOST_AUTO_TEST_CASE(bytes_that_are_no_utf8_become_replacement_characters) {
  const auto inside = [](const std::string& name) {
    const std::string text = stats_text({{"object", name}});
    const std::size_t first = text.find(": \"") + 3;
    return text.substr(first, text.rfind('"') - first);
  };
  for (const char* good : {"\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                           "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    BOOST_TEST(inside(good) == good);
  const std::string one = "\xef\xbf\xbd";
  BOOST_TEST(inside("caf\xe9 5") == "caf" + one + " 5");
  BOOST_TEST(inside("a\"b\\c\n") == "a\\\"b\\\\c\\n");
  for (const char* bad : {"\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xe2\x82", "\xf5\x80\x80\x80"})
    BOOST_TEST(inside(bad).starts_with(one));
  BOOST_TEST(inside("\xe2\x82x").ends_with("x"));
}

BOOST_AUTO_TEST_SUITE_END()
