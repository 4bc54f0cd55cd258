// SPDX-License-Identifier: GPL-3.0-or-later
// Recordings of the MWA's voltage captures, written byte by byte: MWAX sub-files and legacy seconds, of
// several coarse channels, with files missing and cut; times against the metafits' own.
#include <boost/test/unit_test.hpp>

#include <sys/resource.h>

#include <algorithm>

#include "libcore/core/error.h"
#include "libcore/io/capture/capture.h"
#include "libcore/io/capture/mwa_time.h"
#include "libcore/io/metafits.h"
#include "tests/reference/scratch.h"
#include "tests/support/captured.h"

using namespace apsyn;
using support::Taken, support::take;

namespace {

constexpr std::size_t kInputs = 6, kBlock = 256, kBlocks = 5;  // a sub-file of 1280 samples: 1 ms
constexpr std::int64_t kSubobs = 1342177288;

/// A sample's component: anything but zero, and known.
std::uint8_t value(std::int64_t channel, std::int64_t second, std::size_t at) {
  return static_cast<std::uint8_t>(1 + (static_cast<std::size_t>(channel * 7 + second * 13) + at * 31) % 253);
}

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

/// A recorder, literally: four inputs of two tiles send packets of 2048 samples, from one before the
/// sub-observation to one after it; some never come, and an input's packets are shifted by whole samples.
struct Recorder {
  static constexpr std::int64_t kPacket = 2048, kPackets = 16, kSamples = kPacket * kPackets, kLine = 16384;
  static constexpr std::size_t kInputsHere = 4;
  std::int64_t delay[kInputsHere] = {0, 5, -7, 300};
  std::vector<std::pair<std::size_t, std::int64_t>> lost;  ///< input, packet from -1 to kPackets
  bool tells_delays = true, tells_margin = true, wrong_map = false;

  bool came(std::size_t input, std::int64_t packet) const {
    return std::find(lost.begin(), lost.end(), std::pair{input, packet}) == lost.end();
  }
  /// A component of a sample as it was sent, from packet -1 on.
  std::uint8_t sent(std::size_t input, std::int64_t sample, std::size_t part) const {
    const std::int64_t packet = (sample + kPacket) / kPacket - 1;
    const auto at = static_cast<std::size_t>(2 * (sample + kPacket));
    return came(input, packet) ? value(1, static_cast<std::int64_t>(input), at + part) : 0;
  }
  std::string file() const {
    std::string delays, map, margin;
    for (std::size_t input = 0; input < kInputsHere; ++input) {
      const auto shift = static_cast<std::uint16_t>(delay[input]);
      delays +=
          {static_cast<char>(14 + input), 0, static_cast<char>(shift & 255), static_cast<char>(shift >> 8)};
      delays += std::string(12, 'd');
      for (std::int64_t byte = 0; byte < kPackets / 8; ++byte) {
        int bits = 0;
        for (std::int64_t bit = 0; bit < 8; ++bit) bits = bits << 1 | (came(input, byte * 8 + bit) ? 1 : 0);
        map += static_cast<char>(bits);
      }
      for (std::int64_t packet : {std::int64_t{-1}, std::int64_t{0}, kPackets - 1, kPackets})
        for (std::int64_t i = 0; i < 2 * kPacket; ++i)
          margin += static_cast<char>(sent(input, packet * kPacket + i / 2, static_cast<std::size_t>(i % 2)));
    }
    const std::string metadata = "some" + delays + map + margin;
    const auto section = [](std::size_t first, const std::string& part) {
      return std::to_string(first) + "+" + std::to_string(part.size()) + "\n";
    };
    std::string bytes =
        "HDR_SIZE 4096\nPOPULATED 1\nOBS_ID 1342177280\nSUBOBS_ID 1342177288\nNBIT 8\nNPOL 2\n"
        "NTIMESAMPLES 16384\nNINPUTS 4\nCOARSE_CHANNEL 109\nSECS_PER_SUBOBS 1\nSAMPLE_RATE 32768\n"
        "MWAX_SUB_VER 2\nIDX_PACKET_MAP " +
        (wrong_map ? "0+200860892\n" : section(4 + delays.size(), map));
    if (tells_delays) bytes += "IDX_DELAY_TABLE " + section(4, delays);
    if (tells_margin) bytes += "IDX_MARGIN_DATA " + section(4 + delays.size() + map.size(), margin);
    bytes.resize(4096, '\0');
    bytes += metadata;
    bytes.resize(4096 + 2 * kInputsHere * kLine, '\0');
    for (std::int64_t block = 0; block < kSamples / kLine; ++block)
      for (std::size_t input = 0; input < kInputsHere; ++input)
        for (std::int64_t i = 0; i < 2 * kLine; ++i)
          bytes += static_cast<char>(
              sent(input, block * kLine + i / 2 + delay[input], static_cast<std::size_t>(i % 2)));
    return bytes;
  }
  /// What a sub-file's reader should give: no 128 samples of a tile with anything from a lost packet, or from
  /// within `doubt` samples of one.
  std::vector<std::uint8_t> expected(std::int64_t doubt = 0) const {
    std::vector<std::uint8_t> bytes;
    for (std::int64_t block = 0; block < kSamples / kLine; ++block)
      for (std::size_t input = 0; input < kInputsHere; ++input)
        for (std::int64_t span = 0; span < kLine; span += 128) {
          bool missing = false;
          for (const std::size_t part : {input & ~std::size_t{1}, input | 1})
            for (std::int64_t i = span - doubt; i < span + 128 + doubt; ++i) {
              const std::int64_t sample = block * kLine + i + (doubt > 0 ? 0 : delay[part]);
              const std::int64_t packet = (sample + kPacket) / kPacket - 1;
              missing |= packet >= -1 && packet <= kPackets && !came(part, packet);
            }
          for (std::int64_t i = 2 * span; i < 2 * (span + 128); ++i)
            bytes.push_back(
                missing ? 0
                        : sent(input, block * kLine + i / 2 + delay[input], static_cast<std::size_t>(i % 2)));
        }
    return bytes;
  }
};

CaptureRequest mwax_request(const std::vector<std::string>& inputs) {
  CaptureRequest request;
  request.format = "mwax";
  request.inputs = inputs;
  return request;
}

const std::string kMetafits = APSYN_TEST_DATA "/1090008640.metafits";

CaptureRequest vcs_request(const std::vector<std::string>& inputs) {
  CaptureRequest request;
  request.format = "mwa-vcs";
  request.inputs = inputs;
  request.facts.input_order = {1, 0, 3, 2};
  return request;
}

std::string vcs_bytes(std::int64_t channel, std::int64_t second, std::size_t n_samples) {
  std::string bytes;
  for (std::size_t i = 0; i < n_samples * 128 * 4; ++i) bytes += static_cast<char>(value(channel, second, i));
  return bytes;
}

}  // namespace

BOOST_AUTO_TEST_CASE(gps_seconds) {
  // As the metafits of this observation has it, and astropy of the other.
  BOOST_TEST((mwa_time(1090008640) == parse_utc("2014-07-21T20:10:24")));
  BOOST_TEST((mwa_time(kSubobs) == parse_utc("2022-07-18T11:01:10")));
  BOOST_TEST((mwa_time(kGpsOf2000_s) == parse_utc("2000-01-01T00:00:00")));
}

BOOST_AUTO_TEST_CASE(sub_files_of_one_channel) {
  const reference::Scratch scratch;
  std::vector<std::string> names;
  for (std::int64_t second : {0, 1, 4})
    names.push_back(scratch.file("s" + std::to_string(second), sub_file(109, second)));
  const Taken taken = take(mwax_request(names));
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
                        [&] { piped = take(mwax_request({"-"})); });
  BOOST_TEST((piped.bytes == taken.bytes));
}

BOOST_AUTO_TEST_CASE(more_sub_files_than_descriptors) {
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
  BOOST_CHECK_NO_THROW(taken = take(mwax_request(names)));
  setrlimit(RLIMIT_NOFILE, &before);
  BOOST_TEST((taken.bytes == expected_blocks(1, seconds)));
}

BOOST_AUTO_TEST_CASE(sub_files_of_two_channels) {
  const reference::Scratch scratch;
  std::vector<std::string> names;
  // Of the last second there is one channel only: a stream has no missing channels.
  for (std::int64_t second : {0, 1, 2})
    for (std::int64_t channel : {110, 109})
      if (second < 2 || channel == 109)
        names.push_back(scratch.file("c" + std::to_string(channel * 10 + second), sub_file(channel, second)));
  CaptureRequest request = mwax_request(names);
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
  const Taken taken = take(mwax_request({names[0], names[1]}));
  const std::size_t block = kInputs * kBlock * 2;
  BOOST_REQUIRE(taken.bytes.size() == 4 * block);
  for (std::size_t i = 0; i < taken.bytes.size(); ++i) {
    const std::int64_t channel = 109 + static_cast<std::int64_t>(i / block % 2);
    BOOST_REQUIRE(taken.bytes[i] == value(channel, 0, i / block / 2 * block + i % block));
  }
  BOOST_TEST(taken.header.n_chan == 2u);
  BOOST_TEST(taken.header.freq_hz == 109.5 * 1.28e6, boost::test_tools::tolerance(1e-15));
}

BOOST_AUTO_TEST_CASE(sub_files_that_are_not) {
  const reference::Scratch scratch;
  const std::string good = sub_file(109, 0);
  for (std::size_t cut = 0; cut < good.size(); cut += cut < 4200 ? 7 : 1009) {
    const CaptureRequest request = mwax_request({scratch.file("a", good.substr(0, cut))});
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
    BOOST_CHECK_THROW(take(mwax_request({scratch.file("a", sub_file(109, 0, change, to))})), DataError);
  // Out of order, too far apart, another channel that is no neighbour.
  const std::string a = scratch.file("a", good), b = scratch.file("b", sub_file(109, 1)),
                    far = scratch.file("far", sub_file(109, 700)),
                    other = scratch.file("o", sub_file(111, 0));
  BOOST_CHECK_THROW(take(mwax_request({b, a})), DataError);
  BOOST_CHECK_THROW(take(mwax_request({a, far})), DataError);
  CaptureRequest filled = mwax_request({a, far});
  filled.facts.max_gap_s = 1000;
  BOOST_TEST((take(filled).bytes == expected_blocks(1, {0, 700})));
  BOOST_CHECK_THROW(take(mwax_request({a, other})), UsageError);
}

BOOST_AUTO_TEST_CASE(packets_that_never_came) {
  const reference::Scratch scratch;
  Recorder recorder;
  // Across the blocks' edge, of one polarisation, of both in turn, first and last, and an input that is dead.
  recorder.lost = {{0, 7}, {0, 8}, {1, 3}, {2, -1}, {3, 16}, {3, 2}, {3, 4}, {2, 3}};
  Taken taken = take(mwax_request({scratch.file("a", recorder.file())}));
  BOOST_TEST((taken.bytes == recorder.expected()));
  BOOST_TEST(taken.reports[0].lost_packets == 6u);
  BOOST_TEST(taken.reports[0].intact == 2u);
  BOOST_TEST(taken.reports[0].troubled());
  BOOST_TEST(taken.reports[0].first_trouble.value_or(0) == 4096u);
  for (std::int64_t packet = -1; packet <= Recorder::kPackets; ++packet)
    recorder.lost.emplace_back(1, packet);
  taken = take(mwax_request({scratch.file("a", recorder.file())}));
  BOOST_TEST((taken.bytes == recorder.expected()));
  // Nothing lost: nothing is touched, and no word about it.
  recorder.lost.clear();
  taken = take(mwax_request({scratch.file("a", recorder.file())}));
  BOOST_TEST((taken.bytes == recorder.expected()));
  BOOST_TEST(!taken.reports[0].troubled());
  // Shifts unknown: a packet more on either side, and the ends when they are unknown, too.
  recorder.lost = {{0, 7}, {3, 3}};
  recorder.tells_delays = false;
  taken = take(mwax_request({scratch.file("a", recorder.file())}));
  BOOST_TEST((taken.bytes == recorder.expected(Recorder::kPacket)));
  recorder.tells_margin = false;
  taken = take(mwax_request({scratch.file("a", recorder.file())}));
  for (std::size_t input = 0; input < Recorder::kInputsHere; ++input)
    recorder.lost.insert(recorder.lost.end(), {{input, -1}, {input, Recorder::kPackets}});
  std::vector<std::uint8_t> doubtful = recorder.expected(Recorder::kPacket);
  BOOST_REQUIRE(taken.bytes.size() == doubtful.size());
  // no sample of a doubtful packet is kept, and at most one packet's length more is blanked on either side
  const std::vector<std::uint8_t> more = recorder.expected(2 * Recorder::kPacket);
  std::size_t wrong = 0, too_few = 0, kept = 0;
  for (std::size_t i = 0; i < doubtful.size(); ++i) {
    wrong += doubtful[i] == 0 && taken.bytes[i] != 0;
    too_few += more[i] != taken.bytes[i] && more[i] != 0;
    kept += more[i] != 0;
  }
  BOOST_TEST(wrong == 0u);
  BOOST_TEST(too_few == 0u);
  BOOST_TEST(kept > 0u);
  // A header whose numbers are none, as some recorders wrote: as if there were no map.
  recorder.wrong_map = true;
  recorder.lost = {{0, 7}};
  taken = take(mwax_request({scratch.file("a", recorder.file())}));
  recorder.lost.clear();
  std::vector<std::uint8_t> all = recorder.expected();
  recorder.lost = {{0, 7}};
  for (std::size_t i = 2 * 7 * 2048; i < 2 * 8 * 2048; ++i) all[i] = 0;  // the zeros of the recorder
  BOOST_TEST((taken.bytes == all));
  BOOST_TEST(taken.reports[0].lost_packets == 0u);
}

BOOST_AUTO_TEST_CASE(legacy_seconds) {
  const reference::Scratch scratch;
  std::vector<std::string> names;
  for (std::int64_t second : {0, 2})
    for (std::int64_t channel : {132, 131})
      names.push_back(scratch.file(
          "1090008640_" + std::to_string(1090008648 + second) + "_ch" + std::to_string(channel) + ".dat",
          vcs_bytes(channel, second, 3)));
  std::reverse(names.begin(), names.end());
  const Taken taken = take(vcs_request(names));
  BOOST_REQUIRE(taken.bytes.size() == 20003u * 2 * 128 * 4);
  bool same = true;
  for (std::size_t i = 0; i < taken.bytes.size(); ++i) {
    const std::size_t sample = i / 1024, second = sample / 10000, in_second = sample % 10000;
    const std::size_t chan = i / 4 % 256, input = (i % 4) ^ 1;  // inputs 1 0 3 2
    const std::uint8_t byte =
        value(131 + static_cast<std::int64_t>(chan / 128), static_cast<std::int64_t>(second),
              (in_second * 128 + chan % 128) * 4 + input);
    const bool there = in_second < 3 && second != 1;
    same &= taken.bytes[i] == (there ? static_cast<std::uint8_t>(byte << 4 | byte >> 4) : 0);
  }
  BOOST_TEST(same);
  BOOST_TEST(taken.header.n_ant == 2u);
  BOOST_TEST(taken.header.n_chan == 256u);
  BOOST_TEST(taken.header.n_bit == 4u);
  // Channel 64 of a coarse channel lies on its centre.
  BOOST_TEST(taken.header.channel_freq_hz(64) == 131 * 1.28e6, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(taken.header.channel_freq_hz(128 + 64) == 132 * 1.28e6, boost::test_tools::tolerance(1e-12));
  BOOST_TEST((taken.header.start == parse_utc("2014-07-21T20:10:32")));
  BOOST_TEST(taken.reports[0].intact == 6u);
  BOOST_TEST(taken.reports[0].lost == 19997u);
}

BOOST_AUTO_TEST_CASE(legacy_pipe_and_mistakes) {
  const reference::Scratch scratch;
  CaptureRequest request = vcs_request({scratch.file("x", vcs_bytes(1, 1, 5) + "tail")});
  BOOST_CHECK_THROW(take(request), UsageError);  // neither --freq nor --start
  request.facts.freq_hz = 150e6;
  request.facts.start = parse_utc("2014-07-21T20:10:32");
  request.mwa_vcs = {4, 0};
  const Taken taken = take(request);
  BOOST_REQUIRE(taken.bytes.size() == 5u * 128 * 4);
  BOOST_TEST(taken.bytes[0] == value(1, 1, 1));
  BOOST_TEST(taken.reports[0].damaged == 1u);
  request.mwa_vcs = {3, 0};
  BOOST_CHECK_THROW(take(request), UsageError);
  request.mwa_vcs = {};
  request.facts.input_order.clear();
  BOOST_CHECK_THROW(take(request), UsageError);  // no metafits
  request.inputs = {request.inputs[0], request.inputs[0]};
  request.facts.input_order = {0, 1, 2, 3};
  BOOST_CHECK_THROW(take(request), UsageError);  // places unknown
  request.inputs = {APSYN_TEST_DATA "/LWA-tbf-test.dat"};
  BOOST_CHECK_THROW(take(request), DataError);
}

BOOST_AUTO_TEST_CASE(inputs_of_the_metafits) {
  const std::vector<MwaInput> inputs = read_metafits_inputs(kMetafits);
  const ArrayLayout layout = read_metafits(kMetafits);
  BOOST_REQUIRE(inputs.size() == 256u);
  // Its first rows: Tile104 Y and X, antenna 75, VCSOrder 0 and 4.
  BOOST_TEST(inputs[0].vcs_order == 0u);
  BOOST_TEST(inputs[0].pol == 1u);
  BOOST_TEST(inputs[1].vcs_order == 4u);
  BOOST_TEST(inputs[1].pol == 0u);
  BOOST_TEST(layout.antennas[inputs[0].antenna].name == "Tile104");
  // What the column holds is what the number of the input gives.
  for (std::size_t row = 0; row < 256; ++row)
    BOOST_TEST(inputs[row].vcs_order == ((row & 0xC0) | (row & 0x30) >> 4 | (row & 0x0F) << 2));
}
