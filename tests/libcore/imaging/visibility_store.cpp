// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/imaging/visibility_store.h"

#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <stdexcept>

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(visibility_store)

namespace {

constexpr std::size_t kRows = 100, kChannels = 6, kPlanes = 2;

/// Values that tell where they are from: every fifth row is flagged, rows from 60 on are of another centre.
class MadeUpSource final : public ImagingSource {
 public:
  MadeUpSource() {
    info_.planes = {"XX", "YY"};
    for (std::size_t c = 0; c < kChannels; ++c)
      info_.channel_hz.push_back(1e8 + 1e6 * static_cast<double>(c));
    info_.channel_width_hz.assign(kChannels, 1e6);
  }
  const ImagingInfo& info() const override { return info_; }
  void rewind(const ChannelGroup& group) override {
    BOOST_TEST(group.low_hz == info_.channel_hz.front());
    BOOST_TEST(group.high_hz == info_.channel_hz.back());
    ++n_passes;
    row_ = 0;
  }
  bool read(ImagingBlock& block, std::uint64_t) override {
    if (row_ == kRows) return false;
    const std::size_t n = std::min<std::size_t>(7, kRows - row_);
    const bool moved = row_ >= 60;
    block.uvw_m.resize({n, 3});
    block.path_m.resize({moved ? n : 0});
    block.channel_hz.resize({kChannels});
    block.data.resize({n, kChannels, kPlanes});
    block.weight.resize({n, kChannels, kPlanes});
    block.station.resize({n, 2});
    block.time_mjd_s.resize(n);
    for (std::size_t c = 0; c < kChannels; ++c) block.channel_hz(c) = info_.channel_hz[c];
    for (std::size_t i = 0; i < n; ++i) {
      const auto row = static_cast<double>(row_ + i);
      for (std::size_t k = 0; k < 3; ++k) block.uvw_m(i, k) = row + 0.1 * static_cast<double>(k);
      if (moved) block.path_m(i) = -row;
      block.station(i, 0) = static_cast<std::uint32_t>(row_ + i);
      block.station(i, 1) = 7;
      block.time_mjd_s[i] = 10 * row;
      for (std::size_t c = 0; c < kChannels; ++c)
        for (std::size_t p = 0; p < kPlanes; ++p) {
          block.data(i, c, p) = {static_cast<float>(row), static_cast<float>(10 * c + p)};
          block.weight(i, c, p) = (row_ + i) % 5 == 0 ? 0.0f : static_cast<float>(1 + c);
        }
    }
    row_ += n;
    return true;
  }
  int n_passes = 0;

 private:
  ImagingInfo info_;
  std::size_t row_ = 0;
};

/// Windows of 3, 3 and 2 channels, a row of one after a row of the other, as sets are that hold them
/// together.
class InterleavedSource final : public ImagingSource {
 public:
  InterleavedSource() {
    info_.planes = {"I"};
    for (const auto& window : windows)
      info_.channel_hz.insert(info_.channel_hz.end(), window.begin(), window.end());
    std::sort(info_.channel_hz.begin(), info_.channel_hz.end());
    info_.channel_width_hz.assign(info_.channel_hz.size(), 1e6);
  }
  const ImagingInfo& info() const override { return info_; }
  void rewind(const ChannelGroup&) override { row_ = 0; }
  bool read(ImagingBlock& block, std::uint64_t) override {
    if (row_ == n_rows) return false;
    const std::vector<double>& hz = windows[row_ % 3];
    block.uvw_m.resize({1, 3});
    block.path_m.resize({0});
    block.channel_hz.resize({hz.size()});
    block.data.resize({1, hz.size(), 1});
    block.weight.resize({1, hz.size(), 1});
    block.station.resize({1, 2});
    block.time_mjd_s = {static_cast<double>(row_)};
    for (std::size_t c = 0; c < hz.size(); ++c) {
      block.channel_hz(c) = hz[c];
      block.data(0, c, 0) = {static_cast<float>(row_), static_cast<float>(hz[c] / 1e6)};
      block.weight(0, c, 0) = 1;
    }
    ++row_;
    return true;
  }
  static constexpr std::size_t n_rows = 60;
  const std::vector<std::vector<double>> windows{
      {100e6, 101e6, 102e6}, {100.5e6, 101.5e6, 102.5e6}, {101.2e6, 140e6}};

 private:
  ImagingInfo info_;
  std::size_t row_ = 0;
};

std::vector<ChannelGroup> two_groups(const ImagingInfo& info) {
  return split_channels(info, 2);
}

/// Takes a group's blocks, as copies or lent, and compares everything with what the source gave.
void check_group(VisibilityStore& store, const ChannelGroup& group, std::size_t first_channel, bool lent) {
  store.rewind(group);
  ImagingBlock copy;
  std::size_t source_row = 0, n_rows = 0;
  while (const ImagingBlock* next = lent ? store.next(1) : store.read(copy, 1) ? &copy : nullptr) {
    const ImagingBlock& block = *next;
    BOOST_TEST(block.channel_hz.size() == kChannels / 2);
    for (std::size_t i = 0; i < block.uvw_m.extent(0); ++i, ++n_rows, ++source_row) {
      if (source_row % 5 == 0) ++source_row;
      const auto row = static_cast<double>(source_row);
      BOOST_TEST(block.uvw_m(i, 2) == row + 0.2);
      BOOST_TEST((block.path_m.size() == 0 ? 0 : block.path_m(i)) == (source_row >= 63 ? -row : 0));
      BOOST_TEST(block.station(i, 0) == source_row);
      BOOST_TEST(block.time_mjd_s[i] == 10 * row);
      for (std::size_t c = 0; c < kChannels / 2; ++c)
        for (std::size_t p = 0; p < kPlanes; ++p) {
          BOOST_TEST(block.data(i, c, p).real() == row);
          BOOST_TEST(block.data(i, c, p).imag() == 10 * (first_channel + c) + p);
          BOOST_TEST(block.weight(i, c, p) == 1 + first_channel + c);
        }
    }
  }
  BOOST_TEST(n_rows == kRows * 4 / 5);
}

void check_store(std::uint64_t memory_bytes, bool some_in_memory, bool some_in_file) {
  MadeUpSource source;
  const auto groups = two_groups(source.info());
  const auto folder = std::filesystem::temp_directory_path() / ("apsyn-store-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  {
    VisibilityStore store(source, groups, {memory_bytes, 2000, folder});
    BOOST_TEST(source.n_passes == 1);
    BOOST_TEST((store.bytes() > 0) == some_in_memory);
    BOOST_TEST(store.bytes() <= memory_bytes);
    BOOST_TEST((store.file_bytes() > 0) == some_in_file);
    BOOST_TEST(std::filesystem::is_empty(folder));
    for (const bool lent : {true, false, true}) {
      check_group(store, groups[0], 0, lent);
      check_group(store, groups[1], kChannels / 2, lent);
    }
    BOOST_CHECK_THROW(store.rewind({}), std::invalid_argument);
  }
  std::filesystem::remove(folder);
}

}  // namespace

// Every value keeps its row and its frequency, whatever windows come in turns: of as many channels, of fewer,
// and of a group that holds a part of each.
BOOST_AUTO_TEST_CASE(values_keep_row_and_frequency_when_windows_take_turns) {
  const auto folder = std::filesystem::temp_directory_path() / ("apsyn-turns-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  for (const std::uint64_t memory_bytes : {1'000'000u, 0u})
    for (const std::size_t n_groups : {1u, 2u}) {
      InterleavedSource source;
      const auto groups = split_channels(source.info(), n_groups);
      VisibilityStore store(source, groups, {memory_bytes, 2000, folder});
      std::size_t n_values = 0;
      for (const ChannelGroup& group : groups) {
        store.rewind(group);
        double last = -1;
        while (const ImagingBlock* block = store.next(1))
          for (std::size_t i = 0; i < block->uvw_m.extent(0); ++i) {
            const auto row = static_cast<std::size_t>(block->time_mjd_s[i]);
            BOOST_TEST(block->time_mjd_s[i] > last);
            last = block->time_mjd_s[i];
            for (std::size_t c = 0; c < block->channel_hz.size(); ++c, ++n_values) {
              const double hz = block->channel_hz(c);
              BOOST_TEST((hz >= group.low_hz && hz <= group.high_hz));
              const auto& window = source.windows[row % 3];
              BOOST_TEST((std::find(window.begin(), window.end(), hz) != window.end()));
              BOOST_TEST(block->data(i, c, 0).real() == static_cast<float>(row));
              BOOST_TEST(block->data(i, c, 0).imag() == static_cast<float>(hz / 1e6));
            }
          }
      }
      BOOST_TEST(n_values == InterleavedSource::n_rows / 3 * 8);
    }
  std::filesystem::remove(folder);
}

/// What was kept goes to the file, and is given out in blocks of the size that is asked for.
BOOST_AUTO_TEST_CASE(nothing_is_kept_any_more) {
  MadeUpSource source;
  const auto groups = two_groups(source.info());
  VisibilityStore store(source, groups, {6000, 1000, std::filesystem::temp_directory_path()});
  BOOST_TEST(store.bytes() > 0u);
  BOOST_TEST(store.file_bytes() > 0u);
  const std::uint64_t filed = store.file_bytes();
  store.keep_none();
  BOOST_TEST(store.bytes() == 0u);
  BOOST_TEST(store.file_bytes() > filed);
  for (const bool lent : {true, false}) {
    check_group(store, groups[1], kChannels / 2, lent);
    check_group(store, groups[0], 0, lent);
  }
  store.rewind(groups[0]);
  constexpr std::uint64_t row_bytes = kChannels / 2 * kPlanes * (8 + 4);
  for (std::size_t n = 0; const ImagingBlock* block = store.next(3 * row_bytes); n += block->data.extent(0))
    BOOST_TEST(block->data.extent(0) <= 3u);
}

BOOST_AUTO_TEST_CASE(what_fits_is_kept_in_memory) {
  check_store(1'000'000, true, false);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_kept_in_a_file) {
  check_store(0, false, true);
}

BOOST_AUTO_TEST_CASE(what_fits_in_part_is_kept_in_both) {
  check_store(9'000, true, true);
}

BOOST_AUTO_TEST_SUITE_END()
