// SPDX-License-Identifier: GPL-3.0-or-later
// When and where solutions hold: rounding to integrations, scans, gaps, blocks of channels.
#include "tools/imaging/calibration/slots.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

using namespace apsyn;
using namespace apsyn::calibrate;

BOOST_AUTO_TEST_SUITE(slots)

namespace {

/// Integrations of 10.0139 s from `start` on.
void add(std::vector<MsIntegration>& all, double start_s, std::size_t n, int scan = 1,
         double step_s = 10.0139) {
  for (std::size_t i = 0; i < n; ++i)
    all.push_back({start_s + (static_cast<double>(i) + 0.5) * step_s, step_s, scan, 10, 0, 0});
}

std::vector<std::size_t> sizes(const std::vector<TimeSlot>& slots) {
  std::vector<std::size_t> n;
  for (const TimeSlot& slot : slots) n.push_back(slot.n);
  return n;
}

MsSpectralWindow window(std::size_t n, double first_hz = 100e6, double step_hz = 1e5) {
  MsSpectralWindow w;
  for (std::size_t i = 0; i < n; ++i) {
    w.channel_hz.push_back(first_hz + step_hz * static_cast<double>(i));
    w.width_hz.push_back(std::abs(step_hz));
  }
  return w;
}

}  // namespace

BOOST_AUTO_TEST_CASE(intervals_are_rounded_to_integrations) {
  std::vector<MsIntegration> all;
  add(all, 1000, 12);
  BOOST_TEST((sizes(make_slots(all, 30)) == std::vector<std::size_t>{3, 3, 3, 3}));
  BOOST_TEST((sizes(make_slots(all, 10)) == std::vector<std::size_t>(12, 1)));
  BOOST_TEST((sizes(make_slots(all, 1)) == std::vector<std::size_t>(12, 1)));
  BOOST_TEST((sizes(make_slots(all, 50)) == std::vector<std::size_t>{4, 4, 4}));  // 5 would leave 2
  BOOST_TEST((sizes(make_slots(all, 0)) == std::vector<std::size_t>{12}));
  BOOST_TEST((sizes(make_slots(all, 1e6)) == std::vector<std::size_t>{12}));
  const std::vector<TimeSlot> slots = make_slots(all, 60);
  BOOST_TEST_REQUIRE(slots.size() == 2u);
  BOOST_TEST(slots[1].first == 6u);
  BOOST_TEST(std::abs(slots[1].centre_mjd_s - (1000 + 9 * 10.0139)) < 1e-6);
  BOOST_TEST(std::abs(slots[1].length_s - 6 * 10.0139) < 1e-6);
}

BOOST_AUTO_TEST_CASE(no_interval_crosses_a_gap_or_a_scan) {
  std::vector<MsIntegration> all;
  add(all, 0, 5);
  add(all, 500, 5);                   // a gap
  add(all, 500 + 5 * 10.0139, 4, 2);  // another scan, without one
  BOOST_TEST((sizes(make_slots(all, 100)) == std::vector<std::size_t>{5, 5, 4}));
  BOOST_TEST((sizes(make_slots(all, 30)) == std::vector<std::size_t>{2, 3, 2, 3, 2, 2}));
  BOOST_TEST((sizes(make_slots(all, 0)) == std::vector<std::size_t>{14}));
}

BOOST_AUTO_TEST_CASE(cells_end_where_any_slot_ends) {
  std::vector<MsIntegration> all;
  add(all, 0, 6);
  const auto two = make_slots(all, 30), three = make_slots(all, 20);
  BOOST_TEST((make_cells({two, three}, 6) == std::vector<std::uint32_t>{0, 0, 1, 2, 3, 3}));
  BOOST_TEST((make_cells({make_slots(all, 0)}, 6) == std::vector<std::uint32_t>(6, 0)));
}

BOOST_AUTO_TEST_CASE(blocks_hold_neighbours_and_say_where_they_are) {
  const ChannelBlocks blocks = make_blocks(window(10), 4);
  BOOST_TEST((blocks.of_channel == std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2}));
  BOOST_TEST(std::abs(blocks.freq_hz[0] - 100.15e6) < 1e-3);
  BOOST_TEST(std::abs(blocks.width_hz[0] - 4e5) < 1e-3);
  BOOST_TEST(std::abs(blocks.width_hz[2] - 2e5) < 1e-3);
  BOOST_TEST(make_blocks(window(10), 0).size() == 1u);
  const ChannelBlocks falling = make_blocks(window(4, 200e6, -1e5), 2);
  BOOST_TEST(std::abs(falling.freq_hz[0] - 199.95e6) < 1e-3);
  BOOST_TEST(std::abs(falling.width_hz[0] - 2e5) < 1e-3);
}

BOOST_AUTO_TEST_CASE(common_blocks_nest_in_those_of_all_terms) {
  const MsSpectralWindow w = window(12);
  const std::vector<ChannelBlocks> terms{make_blocks(w, 4), make_blocks(w, 6)};
  const ChannelBlocks fine = common_blocks(w, terms, 12);
  BOOST_TEST((fine.of_channel == std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 3, 3}));
  BOOST_TEST((block_map(fine, terms[0]) == std::vector<std::uint32_t>{0, 1, 1, 2}));
  BOOST_TEST((block_map(fine, terms[1]) == std::vector<std::uint32_t>{0, 0, 1, 1}));
  BOOST_TEST(common_blocks(w, terms, 1).size() == 12u);
}

BOOST_AUTO_TEST_SUITE_END()
