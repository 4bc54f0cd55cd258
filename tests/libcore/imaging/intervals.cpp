// SPDX-License-Identifier: GPL-3.0-or-later
// Intervals of time of a source: which rows each has, whatever the blocks that they come in and their order,
// and the times that images of them are labelled with.
#include "libcore/imaging/intervals.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "libcore/base/error.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(intervals)

namespace {

constexpr double kFirst_mjd_s = 5e9, kStep_s = 2;

/// Rows of given integrations in blocks of given lengths; row i has the value i in all that it has.
class Rows final : public ImagingSource {
 public:
  Rows(std::vector<int> integrations, std::vector<std::size_t> blocks, bool with_path)
      : integrations_(std::move(integrations)), blocks_(std::move(blocks)), with_path_(with_path) {
    info_.start = from_mjd_seconds(kFirst_mjd_s - kStep_s / 2);
    info_.exposure_s = 1000;
  }
  const ImagingInfo& info() const override { return info_; }
  void rewind(const ChannelGroup&) override { next_ = row_ = 0; }
  bool read(ImagingBlock& block, std::uint64_t) override {
    if (next_ == blocks_.size()) return false;
    const std::size_t n = blocks_[next_++];
    block.uvw_m.resize({n, 3});
    block.path_m.resize({with_path_ ? n : 0});
    block.channel_hz.resize({2});
    block.data.resize({n, 2, 1});
    block.weight.resize({n, 2, 1});
    block.station.resize({n, 2});
    block.time_mjd_s.clear();
    for (std::size_t i = 0; i < n; ++i, ++row_) {
      const auto value = static_cast<double>(row_);
      for (std::size_t k = 0; k < 3; ++k) block.uvw_m(i, k) = value + 0.1 * static_cast<double>(k);
      if (with_path_) block.path_m(i) = value;
      for (std::size_t chan = 0; chan < 2; ++chan) {
        block.data(i, chan, 0) = {static_cast<float>(value), static_cast<float>(chan)};
        block.weight(i, chan, 0) = static_cast<float>(value + 1);
      }
      block.station(i, 0) = static_cast<std::uint32_t>(row_);
      block.station(i, 1) = static_cast<std::uint32_t>(row_ + 1);
      // Windows of one integration differ by rounding.
      block.time_mjd_s.push_back(kFirst_mjd_s + kStep_s * integrations_[row_] +
                                 1e-6 * static_cast<double>(row_ % 2));
    }
    return true;
  }

 private:
  std::vector<int> integrations_;
  std::vector<std::size_t> blocks_;
  bool with_path_;
  std::size_t next_ = 0, row_ = 0;
  ImagingInfo info_;
};

/// Checks all values of the rows of a block, and appends their numbers.
void check_rows(const ImagingBlock& block, bool with_path, std::vector<std::size_t>& rows) {
  const std::size_t n = block.time_mjd_s.size();
  BOOST_REQUIRE_EQUAL(block.uvw_m.extent(0), n);
  BOOST_REQUIRE_EQUAL(block.path_m.extent(0), with_path ? n : 0);
  BOOST_REQUIRE_EQUAL(block.data.extent(0), n);
  BOOST_REQUIRE_EQUAL(block.channel_hz.size(), 2);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t row = block.station(i, 0);
    rows.push_back(row);
    const auto value = static_cast<double>(row);
    BOOST_TEST(block.station(i, 1) == row + 1);
    BOOST_TEST(block.uvw_m(i, 2) == value + 0.2);
    if (with_path) BOOST_TEST(block.path_m(i) == value);
    for (std::size_t chan = 0; chan < 2; ++chan) {
      BOOST_TEST(block.data(i, chan, 0).real() == static_cast<float>(value));
      BOOST_TEST(block.data(i, chan, 0).imag() == static_cast<float>(chan));
      BOOST_TEST(block.weight(i, chan, 0) == static_cast<float>(value + 1));
    }
  }
}

/// The rows of an interval, copied into one block after another.
std::vector<std::size_t> rows_of(ImagingSource& source, const TimeInterval& interval, bool with_path) {
  std::vector<std::size_t> rows, row{17};  // what was there before is forgotten
  source.rewind({});
  ImagingBlock copy;
  while (const ImagingBlock* block = source.next(1)) {
    const BlockTimes times = times_of_block(*block);
    find_rows(*block, times, interval, row);
    BOOST_TEST((times.meets(interval) || row.empty()));
    if (row.empty()) continue;
    copy_rows(*block, row, copy);
    BOOST_REQUIRE_EQUAL(copy.time_mjd_s.size(), row.size());
    check_rows(copy, with_path, rows);
  }
  return rows;
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_row_is_in_the_interval_of_its_integration) {
  // Sorted by time, two sets end to end, the second of which begins again, and without an order.
  for (const std::vector<int>& integrations :
       {std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3, 4, 4}, std::vector<int>{0, 1, 2, 3, 4, 0, 1, 2, 3, 4},
        std::vector<int>{4, 0, 3, 1, 2, 2, 1, 3, 0, 4}})
    for (const std::vector<std::size_t>& blocks :
         {std::vector<std::size_t>{10}, std::vector<std::size_t>{3, 3, 4}, std::vector<std::size_t>(10, 1)})
      for (const bool with_path : {false, true}) {
        Rows rows(integrations, blocks, with_path);
        const auto times = integration_times(rows, {}, 1);
        BOOST_REQUIRE_EQUAL(times.size(), 5);
        const auto intervals = split_times(times, 3);
        std::set<std::size_t> seen;
        const int first[] = {0, 1, 3, 5};  // 5 integrations in three: 1, 2 and 2
        for (std::size_t k = 0; k < 3; ++k)
          for (const std::size_t row : rows_of(rows, intervals[k], with_path)) {
            BOOST_TEST(integrations[row] >= first[k]);
            BOOST_TEST(integrations[row] < first[k + 1]);
            BOOST_TEST(seen.insert(row).second);
          }
        BOOST_TEST(seen.size() == 10);
      }
}

BOOST_AUTO_TEST_CASE(a_row_without_a_time_is_in_no_interval) {
  ImagingBlock block;
  block.time_mjd_s = {NAN, 3, NAN, 1, 2};
  const BlockTimes times = times_of_block(block);
  BOOST_TEST(!times.sorted);
  BOOST_TEST(times.min_mjd_s == 1);
  BOOST_TEST(times.max_mjd_s == 3);
  std::vector<std::size_t> row;
  find_rows(block, times, {0, 3, -INFINITY, INFINITY}, row);
  BOOST_TEST(row == (std::vector<std::size_t>{1, 3, 4}), boost::test_tools::per_element());
  block.time_mjd_s = {NAN};
  BOOST_TEST(!times_of_block(block).meets({0, 3, -INFINITY, INFINITY}));
}

BOOST_AUTO_TEST_CASE(an_interval_tells_when_it_began_and_ended) {
  Rows rows({0, 1, 2, 3, 4}, {5}, false);
  const auto times = integration_times(rows, {}, 1);
  const ImageTimes second = times_of_interval(rows.info(), split_times(times, 2)[1], times);
  // Integrations 2, 3 and 4, of 2 s each. MJD seconds resolve a microsecond.
  BOOST_TEST(std::abs(second.start.mjd_seconds() - (kFirst_mjd_s + 3)) < 2e-6);
  BOOST_TEST(std::abs(second.end.mjd_seconds() - (kFirst_mjd_s + 9)) < 2e-6);
  BOOST_TEST(std::abs(second.exposure_s - 6) < 2e-5);
}

BOOST_AUTO_TEST_CASE(there_are_no_more_intervals_than_integrations) {
  BOOST_TEST(split_times({1, 2, 3}, 3).size() == 3);
  BOOST_CHECK_THROW(split_times({1, 2, 3}, 4), UsageError);
  BOOST_CHECK_THROW(split_times({}, 1), UsageError);
}

BOOST_AUTO_TEST_SUITE_END()
