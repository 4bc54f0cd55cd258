// SPDX-License-Identifier: GPL-3.0-or-later
// Several sets as one: antennas by name, integrations by time, windows by their channels.
#include "tools/imaging/calibration/calibrated_set.h"

#include <boost/test/unit_test.hpp>

#include "libcore/base/error.h"
#include "tools/imaging/calibration/slots.h"

using namespace apsyn;
using namespace apsyn::calibrate;

BOOST_AUTO_TEST_SUITE(calibrated_set)

namespace {

/// Integrations of 4 s from start_s on, of scan 1, two antennas and a window.
CalibratedSet make_set(const std::string& path, double start_s, std::size_t n,
                       const std::vector<std::string>& antennas = {"A", "B"}, double freq_hz = 150e6) {
  CalibratedSet set;
  set.path = path;
  set.products = {Product::XX, Product::YY};
  for (const std::string& name : antennas)
    set.antennas.push_back({name, {static_cast<double>(name[0]) * 100, 0, 0}});
  for (std::size_t i = 0; i < n; ++i)
    set.integrations.push_back({start_s + 4 * static_cast<double>(i) + 2, 4, 1, 10, 0, 9});
  set.windows = {{{freq_hz, freq_hz + 1e6}, {1e6, 1e6}, "", "TOPOCENT"}};
  return set;
}

std::vector<double> times_of(const std::vector<MsIntegration>& integrations) {
  std::vector<double> times;
  for (const MsIntegration& i : integrations) times.push_back(i.time_mjd_s);
  return times;
}

}  // namespace

BOOST_AUTO_TEST_CASE(halves_of_a_set_are_the_set) {
  const CalibratedSet whole = make_set("whole.ms", 1000, 10);
  // Whatever comes first; 10 integrations in slots of 12 s end as if nothing had been divided.
  for (const bool turned : {false, true}) {
    std::vector<CalibratedSet> halves = {make_set("a.ms", 1000, 5), make_set("b.ms", 1020, 5)};
    if (turned) std::swap(halves[0], halves[1]);
    const CalibratedSet joined = join_calibrated_sets(halves);
    BOOST_TEST(times_of(joined.integrations) == times_of(whole.integrations),
               boost::test_tools::per_element());
    const auto slots = make_slots(joined.integrations, 12), want = make_slots(whole.integrations, 12);
    BOOST_REQUIRE_EQUAL(slots.size(), want.size());
    for (std::size_t i = 0; i < slots.size(); ++i) {
      BOOST_CHECK_EQUAL(slots[i].first, want[i].first);
      BOOST_CHECK_EQUAL(slots[i].n, want[i].n);
    }
    BOOST_CHECK_EQUAL(joined.antennas.size(), 2u);
    BOOST_CHECK_EQUAL(joined.windows.size(), 1u);
  }
}

BOOST_AUTO_TEST_CASE(bands_share_their_times) {
  // The clocks differ by 10 ms, and rows of both are found in the same integration.
  const std::vector<CalibratedSet> bands = {make_set("low.ms", 1000, 3),
                                            make_set("high.ms", 1000.01, 3, {"A", "B"}, 160e6)};
  const CalibratedSet joined = join_calibrated_sets(bands);
  BOOST_REQUIRE_EQUAL(joined.integrations.size(), 3u);
  BOOST_CHECK_EQUAL(joined.integrations[1].n_rows, 20);
  for (const CalibratedSet& band : bands)
    BOOST_CHECK_EQUAL(integration_at(joined.integrations, band.integrations[1].time_mjd_s), 1u);
  BOOST_CHECK_EQUAL(joined.windows.size(), 2u);
}

BOOST_AUTO_TEST_CASE(scans_end_where_a_set_ends_one) {
  // Numbers of the same times differ between the sets; the second's own scan changes at its third
  // integration.
  std::vector<CalibratedSet> sets = {make_set("a.ms", 1000, 4), make_set("b.ms", 1000, 4)};
  for (std::size_t i = 0; i < 4; ++i) sets[1].integrations[i].scan = i < 2 ? 7 : 8;
  const auto together = join_integrations(sets);
  BOOST_REQUIRE_EQUAL(together.size(), 4u);
  BOOST_CHECK_EQUAL(together[0].scan, together[1].scan);
  BOOST_CHECK_NE(together[1].scan, together[2].scan);
  BOOST_CHECK_EQUAL(together[2].scan, together[3].scan);
  // One after the other: the number alone tells.
  for (const int scan : {1, 2}) {
    std::vector<CalibratedSet> halves = {make_set("a.ms", 1000, 2), make_set("b.ms", 1008, 2)};
    for (MsIntegration& i : halves[1].integrations) i.scan = scan;
    const auto joined = join_integrations(halves);
    BOOST_CHECK_EQUAL(joined[1].scan == joined[2].scan, scan == 1);
  }
  // Integrations that alternate are of one scan, whatever their numbers.
  std::vector<CalibratedSet> turns = {make_set("a.ms", 1000, 4), make_set("b.ms", 1002, 4)};
  for (MsIntegration& i : turns[1].integrations) i.scan = 5;
  for (const MsIntegration& i : join_integrations(turns)) BOOST_CHECK_EQUAL(i.scan, 0);
}

BOOST_AUTO_TEST_CASE(antennas_go_by_their_names) {
  const std::vector<CalibratedSet> sets = {make_set("a.ms", 1000, 2, {"A", "B", "C"}),
                                           make_set("b.ms", 2000, 2, {"D", "C", "A"})};
  const CalibratedSet joined = join_calibrated_sets(sets);
  BOOST_REQUIRE_EQUAL(joined.antennas.size(), 4u);
  BOOST_CHECK_EQUAL(joined.antennas[3].name, "D");
  const std::vector<std::uint32_t> want = {0, 1, 2, 3, 2, 0};
  BOOST_TEST(joined.antenna_of_station == want, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(one_name_at_two_places_is_refused_at_the_same_time_alone) {
  std::vector<CalibratedSet> sets = {make_set("a.ms", 1000, 5), make_set("b.ms", 1020, 5)};
  sets[1].antennas[1].position_m[0] += 5;
  BOOST_CHECK_EQUAL(join_calibrated_sets(sets).antennas.size(), 2u);
  for (MsIntegration& i : sets[1].integrations) i.time_mjd_s -= 4;
  BOOST_CHECK_THROW(join_calibrated_sets(sets), UsageError);
  sets[1].antennas[1].position_m[0] -= 5;
  BOOST_CHECK_EQUAL(join_calibrated_sets(sets).antennas.size(), 2u);
  sets[1].products = {Product::RR, Product::LL};
  BOOST_CHECK_THROW(join_calibrated_sets(sets), UsageError);
}

BOOST_AUTO_TEST_SUITE_END()
