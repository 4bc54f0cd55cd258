// SPDX-License-Identifier: GPL-3.0-or-later
// Sub-files of the MWA's MWAX, written byte by byte: of several coarse channels, with files missing and cut.
#include <boost/test/unit_test.hpp>

#include <sys/resource.h>

#include <algorithm>

#include "libcore/base/error.h"
#include "libcore/formats/capture/capture.h"
#include "libcore/formats/capture/mwa/mwa_time.h"
#include "tests/reference/scratch.h"
#include "tests/support/captured.h"

using namespace apsyn;
using support::Taken, support::take, support::value;

BOOST_AUTO_TEST_SUITE(mwax)

namespace {

constexpr std::size_t kInputs = 6, kBlock = 256, kBlocks = 5;  // a sub-file of 1280 samples: 1 ms
constexpr std::int64_t kSubobs = 1342177288;

std::string sub_file(std::int64_t channel, std::int64_t second, const std::string& change = "",
                     const std::string& to = "") {
  std::string header = "HDR_SIZE 4096\nPOPULATED 1\nOBS_ID 1342177280\nSUBOBS_ID " +
                       std::to_string(kSubobs + second) + "\nUTC_START 2022-07-18-11:01:02\nOBS_OFFSET 8\n" +
                       "NBIT 8\nNPOL 2\nNTIMESAMPLES 256\nNINPUTS 6\nCOARSE_CHANNEL " +
                       std::to_string(channel) +
                       "\nSECS_PER_SUBOBS 1\nSAMPLE_RATE 1280\nTRANSFER_SIZE 18432\n";
  if (!change.empty()) header.replace(header.find(change), change.size(), to);
  header.resize(4096, '\0');
  header += std::string(2 * kInputs * kBlock, 'm');  // metadata
  for (std::size_t i = 0; i < kBlocks * kInputs * kBlock * 2; ++i)
    header += static_cast<char>(value(channel, second, i));
  return header;
}

/// Blocks of channels 109 .. 108 + n; those of seconds that are not in `present` are missing.
std::vector<std::uint8_t> expected_blocks(std::int64_t n_channels, const std::vector<std::int64_t>& present) {
  const std::size_t block = kInputs * kBlock * 2;
  std::vector<std::uint8_t> bytes;
  for (std::int64_t second = 0; second <= present.back(); ++second)
    for (std::size_t b = 0; b < kBlocks; ++b)
      for (std::int64_t channel = 109; channel < 109 + n_channels; ++channel)
        for (std::size_t i = 0; i < block; ++i) {
          const bool there = std::find(present.begin(), present.end(), second) != present.end();
          bytes.push_back(there ? value(channel, second, b * block + i) : 0);
        }
  return bytes;
}

}  // namespace

BOOST_AUTO_TEST_CASE(gps_seconds_become_utc) {
  // The times are those of the metafits of the first observation, and of astropy for the others.
  BOOST_TEST((mwa_time(1090008640) == parse_utc("2014-07-21T20:10:24")));
  BOOST_TEST((mwa_time(kSubobs) == parse_utc("2022-07-18T11:01:10")));
  BOOST_TEST((mwa_time(kGpsOf2000_s) == parse_utc("2000-01-01T00:00:00")));
}

BOOST_AUTO_TEST_CASE(sub_files_of_one_channel_become_a_stream) {
  const reference::Scratch scratch;
  std::vector<std::string> names;
  for (std::int64_t second : {0, 1, 4})
    names.push_back(scratch.file("s" + std::to_string(second), sub_file(109, second)));
  const Taken taken = take(support::request("mwax", names));
  BOOST_TEST((taken.bytes == expected_blocks(1, {0, 1, 4})));
  BOOST_TEST(taken.header.n_ant == 3u);
  BOOST_TEST(taken.header.n_pol == 2u);
  BOOST_TEST(taken.header.order == "FAPT");
  BOOST_TEST(taken.header.block_samples == kBlock);
  BOOST_TEST(taken.header.missing_samples == 128u);
  BOOST_TEST(taken.header.freq_hz == 109 * 1.28e6);
  BOOST_TEST(1 / taken.header.sample_s == 1280.0);
  BOOST_TEST((taken.header.start == parse_utc("2022-07-18T11:01:10")));
  BOOST_TEST(taken.reports[0].intact == 15u);
  BOOST_TEST(taken.reports[0].lost == 10u);
  // The same through one pipe.
  Taken piped;
  reference::with_stdin(sub_file(109, 0) + sub_file(109, 1) + sub_file(109, 4),
                        [&] { piped = take(support::request("mwax", {"-"})); });
  BOOST_TEST((piped.bytes == taken.bytes));
}

BOOST_AUTO_TEST_CASE(more_sub_files_than_descriptors_are_read) {
  const reference::Scratch scratch;
  std::vector<std::string> names;
  std::vector<std::int64_t> seconds;
  for (std::int64_t second = 0; second < 60; ++second) {
    seconds.push_back(second);
    names.push_back(scratch.file("s" + std::to_string(second), sub_file(109, second)));
  }
  rlimit before{};
  BOOST_REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit few{40, before.rlim_max};
  BOOST_REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
  Taken taken;
  BOOST_CHECK_NO_THROW(taken = take(support::request("mwax", names)));
  setrlimit(RLIMIT_NOFILE, &before);
  BOOST_TEST((taken.bytes == expected_blocks(1, seconds)));
}

BOOST_AUTO_TEST_CASE(sub_files_of_two_channels_are_interleaved) {
  const reference::Scratch scratch;
  std::vector<std::string> names;
  // Of the last second there is one channel only: a stream has no missing channels.
  for (std::int64_t second : {0, 1, 2})
    for (std::int64_t channel : {110, 109})
      if (second < 2 || channel == 109)
        names.push_back(scratch.file("c" + std::to_string(channel * 10 + second), sub_file(channel, second)));
  CaptureRequest request = support::request("mwax", names);
  // Wider channels than 1.28 MHz critically sampled would overlap.
  BOOST_CHECK_THROW(take(request), UsageError);
  for (std::string& name : names) {
    std::string bytes;
    for (std::int64_t second : {0, 1, 2})
      for (std::int64_t channel : {109, 110})
        if (name.ends_with("c" + std::to_string(channel * 10 + second)))
          bytes = sub_file(channel, second, "SECS_PER_SUBOBS 1\nSAMPLE_RATE 1280\nTRANSFER_SIZE 18432",
                           "SECS_PER_SUBOBS 1\nSAMPLE_RATE 1280000");
    bytes.resize(4096 + 2 * kInputs * kBlock * 3);  // two of 5000 blocks
    name = scratch.file(name.substr(name.rfind('/') + 1), bytes);
  }
  const Taken taken = take(support::request("mwax", {names[0], names[1]}));
  const std::size_t block = kInputs * kBlock * 2;
  BOOST_REQUIRE(taken.bytes.size() == 4 * block);
  for (std::size_t i = 0; i < taken.bytes.size(); ++i) {
    const std::int64_t channel = 109 + static_cast<std::int64_t>(i / block % 2);
    BOOST_REQUIRE(taken.bytes[i] == value(channel, 0, i / block / 2 * block + i % block));
  }
  BOOST_TEST(taken.header.n_chan == 2u);
  BOOST_TEST(taken.header.freq_hz == 109.5 * 1.28e6, boost::test_tools::tolerance(1e-15));
}

BOOST_AUTO_TEST_CASE(wrong_sub_files_are_refused_and_cut_ones_end_early) {
  const reference::Scratch scratch;
  const std::string good = sub_file(109, 0);
  for (std::size_t cut = 0; cut < good.size(); cut += cut < 4200 ? 7 : 1009) {
    const CaptureRequest request = support::request("mwax", {scratch.file("a", good.substr(0, cut))});
    if (cut < 4096) {
      BOOST_CHECK_THROW(take(request), DataError);
      continue;
    }
    const Taken taken = take(request);
    const std::size_t blocks = (cut - 4096) / (2 * kInputs * kBlock);
    BOOST_TEST(taken.reports[0].intact == (blocks > 0 ? blocks - 1 : 0));
  }
  for (const auto& [change, to] : {std::pair{"NBIT 8", "NBIT 4"},
                                   {"NINPUTS 6", "NINPUTS 5"},
                                   {"NINPUTS 6", "NINPUTS 0"},
                                   {"NTIMESAMPLES 256", "NTIMESAMPLES 255"},
                                   {"NTIMESAMPLES 256", "NTIMESAMPLES 99999999999"},
                                   {"COARSE_CHANNEL 109", "COARSE_CHANNEL 300"},
                                   {"TRANSFER_SIZE 18432", "TRANSFER_SIZE 18433"},
                                   {"SUBOBS_ID 1342177288", "SUBOBS_ID x"},
                                   {"SECS_PER_SUBOBS 1", "SECS_PER_SUBOBS 0"}})
    BOOST_CHECK_THROW(take(support::request("mwax", {scratch.file("a", sub_file(109, 0, change, to))})),
                      DataError);
  // Out of order, too far apart, another channel that is no neighbour.
  const std::string a = scratch.file("a", good), b = scratch.file("b", sub_file(109, 1)),
                    far = scratch.file("far", sub_file(109, 700)),
                    other = scratch.file("o", sub_file(111, 0));
  BOOST_CHECK_THROW(take(support::request("mwax", {b, a})), DataError);
  BOOST_CHECK_THROW(take(support::request("mwax", {a, far})), DataError);
  CaptureRequest filled = support::request("mwax", {a, far});
  filled.facts.max_gap_s = 1000;
  BOOST_TEST((take(filled).bytes == expected_blocks(1, {0, 700})));
  BOOST_CHECK_THROW(take(support::request("mwax", {a, other})), UsageError);
}

BOOST_AUTO_TEST_SUITE_END()
