// SPDX-License-Identifier: GPL-3.0-or-later
// Axes that leave out long gaps: what stands where, and whether the labels are true.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "libcore/plot/broken_axis.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(broken_axis)

namespace {

std::vector<std::int64_t> scans(std::int64_t n_scan, std::int64_t length, std::int64_t step) {
  std::vector<std::int64_t> bins;
  for (std::int64_t scan = 0; scan < n_scan; ++scan)
    for (std::int64_t i = 0; i < length; ++i) bins.push_back(scan * step + i);
  return bins;
}

/// The part of the axis that shows bins with data.
double shown(const BrokenAxis& axis, const std::vector<std::int64_t>& bins) {
  std::vector<char> used(axis.n_column(), 0);
  for (const std::int64_t bin : bins) used.at(axis.column(bin)) = 1;
  double n = 0, breaks = 0;
  for (const char one : used) n += one;
  for (std::size_t i = 1; i < axis.parts.size(); ++i) breaks += axis.parts[i].begin - axis.parts[i - 1].end;
  return n / static_cast<double>(used.size()) * (1 - breaks);
}

/// A label without markup as a number: signs and decimals only.
double number(const std::string& label) {
  return std::stod(label);
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_axis_without_gaps_is_one_part) {
  const BrokenAxis axis = break_axis(scans(1, 40, 0), 2.5);
  BOOST_REQUIRE_EQUAL(axis.parts.size(), 1u);
  BOOST_TEST(axis.n_widened == 0);
  BOOST_TEST(axis.n_column() == 40u);
  BOOST_TEST(axis.parts[0].begin == 0);
  BOOST_TEST(axis.parts[0].end == 1);
  BOOST_TEST(axis.low(axis.parts[0]) == 0);
  BOOST_TEST(axis.high(axis.parts[0]) == 100);
  const BrokenAxis short_gap = break_axis({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 14, 15}, 1);
  BOOST_TEST(short_gap.parts.size() == 1u);
  BOOST_TEST(short_gap.column(14) == 14u);
  BOOST_TEST(break_axis({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 16}, 1).parts.size() == 2u);
  BOOST_CHECK_THROW(break_axis({}, 1), std::invalid_argument);
  BOOST_CHECK_THROW(static_cast<void>(short_gap.column(16)), std::out_of_range);
}

BOOST_AUTO_TEST_CASE(gaps_take_a_fifth_of_the_axis_at_most) {
  struct Case {
    std::int64_t n_scan, length, step;
  };
  for (const Case& c : {Case{2, 60, 36000},
                        {10, 1, 12},
                        {30, 10, 200},
                        {60, 1, 60},
                        {300, 1, 61},
                        {200, 2, 9},
                        {256, 1, 2},
                        {20, 20, 24},
                        {512, 1, 4}}) {
    const auto bins = scans(c.n_scan, c.length, c.step);
    const BrokenAxis axis = break_axis(bins, 1);
    BOOST_TEST_CONTEXT(c.n_scan << " of " << c.length << " every " << c.step) {
      // within the parts at most a fifth of the columns has no data, and breaks take a fifth of the axis
      BOOST_TEST(shown(axis, bins) >= 0.8 * 0.8 - 1e-9);
      BOOST_TEST(axis.parts.size() <= 65u);
      BOOST_TEST(axis.bin_width == std::pow(2, axis.n_widened));
      BOOST_TEST(std::abs(axis.parts.back().end - 1) < 1e-9);
      for (std::size_t i = 1; i < axis.parts.size(); ++i) {
        const double gap = axis.parts[i].begin - axis.parts[i - 1].end;
        BOOST_TEST(gap > 0.003);
        BOOST_TEST(gap < 0.0121);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(columns_hold_the_bins_in_their_order) {
  const BrokenAxis axis = break_axis({5, 6, 7, 1000, 1001, 5000}, 2);
  BOOST_REQUIRE_EQUAL(axis.parts.size(), 3u);
  std::size_t column = 0;
  for (const std::int64_t bin : {5, 6, 7, 1000, 1001, 5000}) BOOST_TEST(axis.column(bin) == column++);
  // every column is equally wide
  for (const AxisPart& part : axis.parts)
    BOOST_TEST(std::abs((part.end - part.begin) / static_cast<double>(part.n_bin) -
                        (axis.parts[0].end - axis.parts[0].begin) / 3) < 1e-12);
  BOOST_TEST(axis.low(axis.parts[1]) == 2000);
  BOOST_TEST(axis.high(axis.parts[1]) == 2004);
}

BOOST_AUTO_TEST_CASE(labels_tell_the_true_time_at_their_place) {
  for (const double unit : {1.0, 60.0})
    for (const auto& bins : {scans(1, 100, 0), scans(2, 60, 36000), scans(10, 1, 12), scans(25, 8, 300)}) {
      const BrokenAxis axis = break_axis(bins, 2);
      std::vector<int> labels(axis.parts.size(), 0);
      for (const Tick& tick : broken_ticks(axis, unit, 6)) {
        if (tick.label.empty()) continue;
        bool inside = false;
        for (std::size_t i = 0; i < axis.parts.size(); ++i) {
          const AxisPart& part = axis.parts[i];
          if (tick.value < part.begin - 1e-9 || tick.value > part.end + 1e-9) continue;
          inside = true;
          ++labels[i];
          const double time = axis.low(part) + (tick.value - part.begin) / (part.end - part.begin) *
                                                   (axis.high(part) - axis.low(part));
          BOOST_TEST(std::abs(number(tick.label) - time / unit) < 1e-6);
        }
        BOOST_TEST(inside);
      }
      for (const int n : labels) BOOST_TEST(n >= 1);
    }
}

BOOST_AUTO_TEST_SUITE_END()
