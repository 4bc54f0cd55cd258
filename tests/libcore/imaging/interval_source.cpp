// SPDX-License-Identifier: GPL-3.0-or-later
// Intervals of time of a source: which rows each has, whatever the blocks that they come in and their order,
// and the times that images of them are labelled with.
#include "libcore/imaging/interval_source.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "libcore/base/error.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(interval_source)

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

/// The rows that come, all of whose values are checked; `own` reads into a block of its own.
std::vector<std::size_t> rows_of(ImagingSource& source, bool with_path, bool own) {
  std::vector<std::size_t> rows;
  source.rewind({});
  ImagingBlock block;
  for (;;) {
    const ImagingBlock* lent = own ? (source.read(block, 1) ? &block : nullptr) : source.next(1);
    if (lent == nullptr) return rows;
    const std::size_t n = lent->time_mjd_s.size();
    BOOST_REQUIRE(n > 0);
    BOOST_REQUIRE_EQUAL(lent->uvw_m.extent(0), n);
    BOOST_REQUIRE_EQUAL(lent->path_m.extent(0), with_path ? n : 0);
    BOOST_REQUIRE_EQUAL(lent->data.extent(0), n);
    BOOST_REQUIRE_EQUAL(lent->channel_hz.size(), 2);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t row = lent->station(i, 0);
      rows.push_back(row);
      const auto value = static_cast<double>(row);
      BOOST_TEST(lent->station(i, 1) == row + 1);
      BOOST_TEST(lent->uvw_m(i, 2) == value + 0.2);
      if (with_path) BOOST_TEST(lent->path_m(i) == value);
      for (std::size_t chan = 0; chan < 2; ++chan) {
        BOOST_TEST(lent->data(i, chan, 0).real() == static_cast<float>(value));
        BOOST_TEST(lent->data(i, chan, 0).imag() == static_cast<float>(chan));
        BOOST_TEST(lent->weight(i, chan, 0) == static_cast<float>(value + 1));
      }
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_row_is_in_the_interval_of_its_integration) {
  // Sorted by time, and two sets end to end, the second of which begins again.
  for (const std::vector<int>& integrations :
       {std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3, 4, 4}, std::vector<int>{0, 1, 2, 3, 4, 0, 1, 2, 3, 4},
        std::vector<int>{4, 0, 3, 1, 2, 2, 1, 3, 0, 4}})
    for (const std::vector<std::size_t>& blocks :
         {std::vector<std::size_t>{10}, std::vector<std::size_t>{3, 3, 4}, std::vector<std::size_t>(10, 1)})
      for (const bool with_path : {false, true}) {
        Rows rows(integrations, blocks, with_path);
        const auto times = integration_times(rows, {}, 1);
        BOOST_REQUIRE_EQUAL(times.size(), 5);
        IntervalSource source(rows);
        const auto intervals = split_times(times, 3);
        std::set<std::size_t> seen;
        const int first[] = {0, 1, 3, 5};  // 5 integrations in three: 1, 2 and 2
        for (std::size_t k = 0; k < 3; ++k) {
          source.choose(intervals[k], times);
          const auto found = rows_of(source, with_path, false);
          BOOST_TEST(found == rows_of(source, with_path, true), boost::test_tools::per_element());
          for (const std::size_t row : found) {
            BOOST_TEST(integrations[row] >= first[k]);
            BOOST_TEST(integrations[row] < first[k + 1]);
            BOOST_TEST(seen.insert(row).second);
          }
        }
        BOOST_TEST(seen.size() == 10);
        source.choose_all();
        BOOST_TEST(rows_of(source, with_path, false).size() == 10);
      }
}

BOOST_AUTO_TEST_CASE(an_interval_tells_when_it_began_and_ended) {
  Rows rows({0, 1, 2, 3, 4}, {5}, false);
  const auto times = integration_times(rows, {}, 1);
  IntervalSource source(rows);
  source.choose(split_times(times, 2)[1], times);
  // Integrations 2, 3 and 4, of 2 s each. MJD seconds resolve a microsecond.
  BOOST_TEST(std::abs(source.info().start.mjd_seconds() - (kFirst_mjd_s + 3)) < 2e-6);
  BOOST_REQUIRE(source.info().end);
  BOOST_TEST(std::abs(source.info().end->mjd_seconds() - (kFirst_mjd_s + 9)) < 2e-6);
  BOOST_TEST(std::abs(source.info().exposure_s - 6) < 2e-5);
  source.choose_all();
  BOOST_TEST(source.info().exposure_s == 1000);
}

BOOST_AUTO_TEST_CASE(there_are_no_more_intervals_than_integrations) {
  BOOST_TEST(split_times({1, 2, 3}, 3).size() == 3);
  BOOST_CHECK_THROW(split_times({1, 2, 3}, 4), UsageError);
  BOOST_CHECK_THROW(split_times({}, 1), UsageError);
}

BOOST_AUTO_TEST_SUITE_END()
