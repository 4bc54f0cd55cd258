// SPDX-License-Identifier: GPL-3.0-or-later
// What is said of flags: shares before and after, and the antennas that stand out.
#include "tools/flag/report.h"

#include <boost/test/unit_test.hpp>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using namespace apsyn;
using namespace apsyn::flag;

BOOST_AUTO_TEST_SUITE(report)

// Four antennas, two channels of one product. Baseline 0-1 is flagged in both, 2-3 in the second channel, and
// so is the autocorrelation of 3, which counts for no antenna; one cell had been flagged before.
BOOST_AUTO_TEST_CASE(shares_are_counted_by_antenna_baseline_channel_and_time) {
  ArrayLayout layout;
  for (const char* name : {"a", "b", "c", "d"}) layout.antennas.push_back({name, {}, 0, false});
  MsSpectralWindow window;
  window.channel_hz = {150e6, 151e6};
  window.width_hz = {1e6, 1e6};
  MsRows rows;
  rows.spw = 0;
  const std::vector<std::pair<int, int>> pairs{{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}, {3, 3}};
  for (const auto& [i, j] : pairs) {
    rows.ant1.push_back(i);
    rows.ant2.push_back(j);
    rows.time_mjd_s.push_back(5.1e9);
  }
  Buffer<std::uint8_t, 3> before({7, 2, 1}), after({7, 2, 1});
  before(0, 1, 0) = 1;
  after(0, 0, 0) = after(0, 1, 0) = after(5, 1, 0) = after(6, 1, 0) = 1;
  Report report(layout, {window});
  report.add(rows, std::as_const(before).view(), std::as_const(after).view());
  const std::vector<std::string> lines = report.lines();
  BOOST_TEST_REQUIRE(lines.size() == 2u);
  BOOST_TEST(lines[0] == "7.14 % were flagged, 28.57 % are");  // 1 and 4 of 14
  BOOST_TEST(lines[1] == "most of a 33.3 %, b 33.3 %, c 16.7 %");
  const auto json = nlohmann::json::parse(report.json("a.ms"));
  BOOST_TEST(json["antennas"][3]["name"] == "d");
  BOOST_TEST(std::abs(json["antennas"][3]["percent"].get<double>() - 100.0 / 6) < 1e-12);
  BOOST_TEST(json["baselines"][0]["percent"] == 100);
  BOOST_TEST(json["baselines"][5]["antenna2"] == "d");
  BOOST_TEST(json["baselines"][5]["percent"] == 50);
  BOOST_TEST(std::abs(json["channels"][1]["percent"].get<double>() - 300.0 / 7) < 1e-12);
  BOOST_TEST(json["channels"][1]["frequency_hz"] == 151e6);
  BOOST_TEST(std::abs(json["times"][0]["percent"].get<double>() - 400.0 / 14) < 1e-12);
}

BOOST_AUTO_TEST_SUITE_END()
