// SPDX-License-Identifier: GPL-3.0-or-later
// Sub-files of the MWA's MWAX whose map says which packets never came.
#include <boost/test/unit_test.hpp>

#include <algorithm>

#include "libcore/base/error.h"
#include "libcore/formats/capture/capture.h"
#include "tests/reference/scratch.h"
#include "tests/support/captured.h"

using namespace apsyn;
using support::Taken, support::take, support::value;

BOOST_AUTO_TEST_SUITE(mwax_packets)

namespace {

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

}  // namespace

BOOST_AUTO_TEST_CASE(packets_that_never_came_are_missing) {
  const reference::Scratch scratch;
  Recorder recorder;
  // Across the blocks' edge, of one polarisation, of both in turn, first and last, and an input that is dead.
  recorder.lost = {{0, 7}, {0, 8}, {1, 3}, {2, -1}, {3, 16}, {3, 2}, {3, 4}, {2, 3}};
  Taken taken = take(support::request("mwax", {scratch.file("a", recorder.file())}));
  BOOST_TEST((taken.bytes == recorder.expected()));
  BOOST_TEST(taken.reports[0].lost_packets == 6u);
  BOOST_TEST(taken.reports[0].intact == 2u);
  BOOST_TEST(taken.reports[0].troubled());
  BOOST_TEST(taken.reports[0].first_trouble.value_or(0) == 4096u);
  for (std::int64_t packet = -1; packet <= Recorder::kPackets; ++packet)
    recorder.lost.emplace_back(1, packet);
  taken = take(support::request("mwax", {scratch.file("a", recorder.file())}));
  BOOST_TEST((taken.bytes == recorder.expected()));
  // Nothing lost: nothing is touched, and no word about it.
  recorder.lost.clear();
  taken = take(support::request("mwax", {scratch.file("a", recorder.file())}));
  BOOST_TEST((taken.bytes == recorder.expected()));
  BOOST_TEST(!taken.reports[0].troubled());
  // Shifts unknown: a packet more on either side, and the ends when they are unknown, too.
  recorder.lost = {{0, 7}, {3, 3}};
  recorder.tells_delays = false;
  taken = take(support::request("mwax", {scratch.file("a", recorder.file())}));
  BOOST_TEST((taken.bytes == recorder.expected(Recorder::kPacket)));
  recorder.tells_margin = false;
  taken = take(support::request("mwax", {scratch.file("a", recorder.file())}));
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
  taken = take(support::request("mwax", {scratch.file("a", recorder.file())}));
  recorder.lost.clear();
  std::vector<std::uint8_t> all = recorder.expected();
  recorder.lost = {{0, 7}};
  for (std::size_t i = 2 * 7 * 2048; i < 2 * 8 * 2048; ++i) all[i] = 0;  // the zeros of the recorder
  BOOST_TEST((taken.bytes == all));
  BOOST_TEST(taken.reports[0].lost_packets == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
