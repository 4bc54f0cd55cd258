// SPDX-License-Identifier: GPL-3.0-or-later
// Tests which rows are averaged together.
#include "tools/transform/row_bins.h"

#include <boost/test/unit_test.hpp>

#include <map>
#include <set>

using namespace apsyn::transform;

BOOST_AUTO_TEST_SUITE(row_bins)

namespace {

BinRow row_at(double begin_s, int ant2, double rate_hz = 0, int scan = 1, int window = 0, int field = 0) {
  BinRow row;
  row.ant1 = 0;
  row.ant2 = ant2;
  row.scan = scan;
  row.window = window;
  row.field = field;
  row.begin_s = 5e9 + begin_s;
  row.end_s = row.begin_s + 2;
  row.fringe_rate_hz = rate_hz;
  return row;
}

/// The bins of all rows, ended at last.
std::vector<RowBin> bins_of(const BinSettings& settings, const std::vector<BinRow>& rows) {
  RowBins bins(settings);
  std::uint32_t number = 0;
  for (const BinRow& row : rows) bins.add(row, number++);
  bins.close_all();
  BOOST_TEST(bins.n_open() == 0);
  return bins.closed();
}

}  // namespace

BOOST_AUTO_TEST_CASE(shared_intervals_hold_the_rows_whose_middles_are_in_them) {
  std::vector<BinRow> rows;
  for (int t = 0; t < 7; ++t)
    for (int antenna : {1, 2}) rows.push_back(row_at(2 * t, antenna));
  const auto bins = bins_of({5e9, 6, 0}, rows);
  BOOST_TEST(bins.size() == 6);
  const std::vector<std::vector<std::uint32_t>> expected{{0, 2, 4},  {1, 3, 5}, {6, 8, 10},
                                                         {7, 9, 11}, {12},      {13}};
  for (std::size_t i = 0; i < bins.size(); ++i) {
    BOOST_TEST(bins[i].rows == expected[i], boost::test_tools::per_element());
    BOOST_TEST(bins[i].first.ant2 == 1 + static_cast<int>(i % 2));
  }
  BOOST_TEST(bins[0].begin_s == 5e9);
  BOOST_TEST(bins[0].end_s == 5e9 + 6);
  BOOST_TEST(bins[4].end_s == 5e9 + 14);
}

BOOST_AUTO_TEST_CASE(a_missing_row_moves_nobody_to_another_interval) {
  std::vector<BinRow> rows;
  for (int t = 0; t < 6; ++t) {
    rows.push_back(row_at(2 * t, 1));
    if (t != 1) rows.push_back(row_at(2 * t, 2));
  }
  const auto bins = bins_of({5e9, 6, 0}, rows);
  BOOST_TEST(bins.size() == 4);
  BOOST_TEST(bins[1].rows.size() == 2);
  BOOST_TEST(bins[3].rows.size() == 3);
}

BOOST_AUTO_TEST_CASE(scans_fields_and_windows_stay_apart) {
  const auto bins =
      bins_of({5e9, 60, 0}, {row_at(0, 1, 0, 1), row_at(2, 1, 0, 1), row_at(4, 1, 0, 2),
                             row_at(6, 1, 0, 2, 0, 1), row_at(4, 1, 0, 2, 1), row_at(8, 1, 0, 2)});
  BOOST_TEST(bins.size() == 4);
  std::set<std::set<std::uint32_t>> found;
  for (const RowBin& bin : bins) found.insert({bin.rows.begin(), bin.rows.end()});
  const std::set<std::set<std::uint32_t>> expected{{0, 1}, {2, 5}, {3}, {4}};
  BOOST_TEST((found == expected));
}

BOOST_AUTO_TEST_CASE(windows_one_after_the_other_or_by_turns_have_the_same_bins) {
  std::vector<BinRow> by_turns, one_by_one;
  for (int t = 0; t < 6; ++t)
    for (int window : {0, 1}) by_turns.push_back(row_at(2 * t, 1, 0, 1, window));
  for (int window : {0, 1})
    for (int t = 0; t < 6; ++t) one_by_one.push_back(row_at(2 * t, 1, 0, 1, window));
  const auto a = bins_of({5e9, 4, 0}, by_turns), b = bins_of({5e9, 4, 0}, one_by_one);
  BOOST_TEST(a.size() == 6);
  BOOST_TEST(b.size() == 6);
  for (const auto& bins : {a, b})
    for (const RowBin& bin : bins) BOOST_TEST(bin.rows.size() == 2);
}

BOOST_AUTO_TEST_CASE(baselines_have_intervals_of_the_turns_that_are_allowed) {
  // 0.01 turns a second, 0.09 turns: 4 rows of 2 s; 0.04: 1; 0: up to 20 s.
  std::vector<BinRow> rows;
  std::map<int, double> rate{{1, 0.01}, {2, 0.04}, {3, 0}};
  for (int t = 0; t < 20; ++t)
    for (const auto& [antenna, rate_hz] : rate) rows.push_back(row_at(2 * t, antenna, rate_hz));
  std::map<int, std::vector<double>> lengths;
  for (const RowBin& bin : bins_of({5e9, 20, 0.09}, rows)) {
    lengths[bin.first.ant2].push_back(bin.end_s - bin.begin_s);
    BOOST_TEST((bin.end_s - bin.begin_s) * rate[bin.first.ant2] <= 0.09);
    BOOST_TEST(bin.rows.size() * 2.0 == bin.end_s - bin.begin_s);
  }
  BOOST_TEST(lengths[1] == std::vector<double>(5, 8.0), boost::test_tools::per_element());
  BOOST_TEST(lengths[2] == std::vector<double>(20, 2.0), boost::test_tools::per_element());
  BOOST_TEST(lengths[3] == std::vector<double>(2, 20.0), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(own_intervals_end_at_gaps_and_where_time_jumps_back) {
  const auto bins =
      bins_of({5e9, 60, 1}, {row_at(0, 1), row_at(2, 1), row_at(8, 1), row_at(10, 1), row_at(0, 1)});
  BOOST_TEST(bins.size() == 3);
  BOOST_TEST(bins[0].rows.size() == 2);
  BOOST_TEST(bins[1].rows.size() == 2);
}

// A baseline that began anew comes after those that were open then.
BOOST_AUTO_TEST_CASE(intervals_end_in_the_order_in_which_they_began) {
  const auto bins =
      bins_of({5e9, 60, 1}, {row_at(0, 1), row_at(0, 2), row_at(8, 1), row_at(8, 3), row_at(2, 2)});
  BOOST_TEST_REQUIRE(bins.size() == 4u);
  const std::vector<std::vector<std::uint32_t>> expected{{0}, {1, 4}, {2}, {3}};
  for (std::size_t i = 0; i < bins.size(); ++i)
    BOOST_TEST(bins[i].rows == expected[i], boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(open_bins_are_told_once_and_counted) {
  RowBins bins({5e9, 4, 0.05});
  for (std::uint32_t t = 0; t < 1000; ++t)
    for (int antenna : {1, 2}) bins.add(row_at(2.0 * t, antenna, antenna == 1 ? 0.02 : 0.001), t);
  std::multiset<int> open;
  bins.for_open([&](const RowBin& bin) { open.insert(bin.first.ant2); });
  BOOST_TEST((open == std::multiset<int>{1, 2}));
  BOOST_TEST(bins.n_open() == 2);
  bins.close_all();
  std::size_t n_rows = 0;
  for (const RowBin& bin : bins.closed()) n_rows += bin.rows.size();
  BOOST_TEST(n_rows == 2000);
}

BOOST_AUTO_TEST_SUITE_END()
