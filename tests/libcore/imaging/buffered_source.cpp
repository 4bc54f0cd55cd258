// SPDX-License-Identifier: GPL-3.0-or-later
// The source that reads ahead: the same blocks in the same order, from the file once when they fit into the
// memory and every time when they do not; failures arrive where the block would have.
#include "libcore/imaging/buffered_source.h"

#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <thread>

#include "libcore/base/error.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(buffered_source)

namespace {

/// What happens to a source that somebody else owns.
struct Events {
  std::atomic<int> n_rewinds{0}, n_reads{0}, n_alive{0};
  int fail_at = -1;  ///< read that throws
  std::chrono::milliseconds delay{0};
};

/// Blocks of 10 rows, 2 channels and 1 plane, whose values count on.
class Counting final : public ImagingSource {
 public:
  Counting(Events& events, int n_blocks) : events_(events), n_blocks_(n_blocks) { ++events_.n_alive; }
  ~Counting() override { --events_.n_alive; }
  const ImagingInfo& info() const override { return info_; }
  void rewind(const ChannelGroup& group) override {
    ++events_.n_rewinds;
    group_ = group;
    next_ = 0;
  }
  bool read(ImagingBlock& block, std::uint64_t) override {
    std::this_thread::sleep_for(events_.delay);
    if (events_.n_reads++ == events_.fail_at) throw DataError("block {} is damaged", next_);
    if (next_ == n_blocks_) return false;
    block.uvw_m.resize({10, 3});
    block.path_m.resize({10});
    block.channel_hz.resize({2});
    block.data.resize({10, 2, 1});
    block.weight.resize({10, 2, 1});
    block.station.resize({10, 2});
    block.time_mjd_s.assign(10, next_);
    block.uvw_m.fill(100.0 * next_);
    block.path_m.fill(1.0 * next_);
    block.channel_hz.fill(group_.low_hz);
    block.data.fill({static_cast<float>(next_), 1});
    block.weight.fill(static_cast<float>(next_ + 1));
    block.station.fill(static_cast<std::uint32_t>(next_));
    ++next_;
    return true;
  }

 private:
  Events& events_;
  int n_blocks_, next_ = 0;
  ChannelGroup group_;
  ImagingInfo info_;
};

constexpr int n_blocks = 5;
/// Of one block: data, weights, and of each row u, v, w, path, time and two stations.
constexpr std::uint64_t block_bytes = 20 * (8 + 4) + 10 * (3 * 8 + 8 + 8 + 2 * 4);

/// Reads to the end; every array must be what Counting gave.
void expect_all(BufferedSource& source, const ChannelGroup& group) {
  source.rewind(group);
  for (int n = 0; n < n_blocks; ++n) {
    const ImagingBlock* block = source.next(1000);
    BOOST_REQUIRE(block != nullptr);
    const auto all = [](const auto& buffer, auto value) {
      return buffer.size() > 0 &&
             std::all_of(buffer.data(), buffer.data() + buffer.size(), [&](auto x) { return x == value; });
    };
    BOOST_TEST(all(block->uvw_m, 100.0 * n));
    BOOST_TEST(all(block->path_m, 1.0 * n));
    BOOST_TEST(all(block->channel_hz, group.low_hz));
    BOOST_TEST(all(block->data, std::complex<float>(static_cast<float>(n), 1)));
    BOOST_TEST(all(block->weight, static_cast<float>(n + 1)));
    BOOST_TEST(all(block->station, static_cast<std::uint32_t>(n)));
    BOOST_TEST(block->time_mjd_s == std::vector<double>(10, n), boost::test_tools::per_element());
  }
  BOOST_TEST(source.next(1000) == nullptr);
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_fits_is_read_once) {
  Events events;
  BufferedSource source(std::make_unique<Counting>(events, n_blocks), n_blocks * block_bytes);
  const ChannelGroup one{1e8, 1e8, 1e6, 1}, other{2e8, 2e8, 1e6, 1};
  for (int pass = 0; pass < 3; ++pass) expect_all(source, one);
  BOOST_TEST(events.n_rewinds == 1);
  BOOST_TEST(events.n_reads == n_blocks + 1);
  BOOST_TEST(source.bytes() == n_blocks * block_bytes);
  // Other channels are others' blocks.
  expect_all(source, other);
  BOOST_TEST(events.n_rewinds == 2);
  expect_all(source, one);
  BOOST_TEST(events.n_rewinds == 3);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_read_every_time) {
  Events events;
  BufferedSource source(std::make_unique<Counting>(events, n_blocks), n_blocks * block_bytes - 1);
  for (int pass = 0; pass < 3; ++pass) expect_all(source, {1e8, 1e8, 1e6, 1});
  BOOST_TEST(events.n_rewinds == 3);
  BOOST_TEST(source.bytes() == 0u);
}

BOOST_AUTO_TEST_CASE(a_pass_that_is_cut_short_is_not_the_whole) {
  Events events;
  BufferedSource source(std::make_unique<Counting>(events, n_blocks), 1 << 20);
  const ChannelGroup group{1e8, 1e8, 1e6, 1};
  source.rewind(group);
  BOOST_REQUIRE(source.next(1000) != nullptr);
  expect_all(source, group);
  BOOST_TEST(events.n_rewinds == 2);
}

BOOST_AUTO_TEST_CASE(one_block_is_read_ahead) {
  Events events;
  BufferedSource source(std::make_unique<Counting>(events, n_blocks), 0);
  source.rewind({1e8, 1e8, 1e6, 1});
  BOOST_REQUIRE(source.next(1000) != nullptr);
  for (int i = 0; i < 500 && events.n_reads < 2; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  BOOST_TEST(events.n_reads == 2);  // the next one, nobody asked for it yet, and no more than that
}

BOOST_AUTO_TEST_CASE(failures_arrive_in_their_place) {
  Events events;
  events.fail_at = 2;
  BufferedSource source(std::make_unique<Counting>(events, n_blocks), 1 << 20);
  const ChannelGroup group{1e8, 1e8, 1e6, 1};
  source.rewind(group);
  BOOST_TEST(source.next(1000) != nullptr);
  BOOST_TEST(source.next(1000) != nullptr);
  BOOST_CHECK_EXCEPTION(source.next(1000), DataError, [](const DataError& error) {
    return std::string(error.what()) == "block 2 is damaged";
  });
  events.fail_at = -1;
  expect_all(source, group);  // from the start
}

BOOST_AUTO_TEST_CASE(it_may_end_while_it_reads) {
  Events events;
  events.delay = std::chrono::milliseconds(50);
  for (const int fail_at : {-1, 1}) {
    events.n_reads = 0;
    events.fail_at = fail_at;
    BufferedSource source(std::make_unique<Counting>(events, n_blocks), 1 << 20);
    source.rewind({1e8, 1e8, 1e6, 1});
    BOOST_REQUIRE(source.next(1000) != nullptr);
  }
  BOOST_TEST(events.n_alive == 0);
}

/// What was kept is read again, and not kept again.
BOOST_AUTO_TEST_CASE(nothing_is_kept_any_more) {
  Events events;
  BufferedSource source(std::make_unique<Counting>(events, n_blocks), n_blocks * block_bytes);
  ChannelGroup group;
  group.low_hz = 1e8;
  expect_all(source, group);
  BOOST_TEST(source.bytes() == n_blocks * block_bytes);
  source.keep_none();
  BOOST_TEST(source.bytes() == 0u);
  for (int pass = 0; pass < 2; ++pass) {
    const int before = events.n_rewinds;
    expect_all(source, group);
    BOOST_TEST(events.n_rewinds == before + 1);
    BOOST_TEST(source.bytes() == 0u);
  }
}

BOOST_AUTO_TEST_SUITE_END()
