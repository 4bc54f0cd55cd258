// SPDX-License-Identifier: GPL-3.0-or-later
// Recordings in packets (as ingest_packets.cpp): inputs beside each other, in another order, and parts of
// them.
#include <fmt/core.h>

#include <boost/test/unit_test.hpp>

#include <algorithm>

#include "libcore/base/error.h"
#include "libcore/formats/capture/capture.h"
#include "tests/reference/scratch.h"
#include "tests/support/packet_captures.h"

using namespace apsyn;
using reference::PacketRecording;
using namespace apsyn::support;

BOOST_AUTO_TEST_SUITE(packet_parts)

BOOST_AUTO_TEST_CASE(several_inputs_are_aligned) {
  const reference::Scratch scratch;
  for (const PacketRecording& r : reference::packet_recordings()) {
    BOOST_TEST_CONTEXT(r.format) {
      // Lane 0 in an input of its own, which begins five packets late and ends early.
      std::string own, others;
      Missing missing;
      for (std::size_t time = 0; time < 20; ++time) {
        for (std::size_t lane = 1; lane < r.n_lanes; ++lane) others += r.packet(lane, time);
        if (time >= 5 && time < 18)
          own += r.packet(0, time);
        else
          missing.insert({0, time});
      }
      const std::string a = scratch.file("a", own), b = scratch.file("b", others);
      const Taken taken = take(request_for(r, {a, b}));
      check_header(r, taken.header);
      BOOST_TEST((taken.bytes == expected_bytes(r, 20, missing)));
      BOOST_TEST(taken.reports[0].intact == 13u);
      BOOST_TEST(taken.reports[0].lost == 7u);
      BOOST_TEST(!taken.reports[1].troubled());
      BOOST_CHECK_THROW(take(request_for(r, {a, b, a})), UsageError);
    }
  }
}

BOOST_AUTO_TEST_CASE(inputs_are_put_in_the_order_that_is_asked_for) {
  const reference::Scratch scratch;
  for (const PacketRecording& r : reference::packet_recordings()) {
    if (r.format == "drx") continue;
    BOOST_TEST_CONTEXT(r.format) {
      const std::size_t sample_bytes = r.n_bit / 4, n_inputs = r.time_bytes / sample_bytes / r.n_chan;
      CaptureRequest request = request_for(r, {scratch.file("a", joined(packets_of(r, 4)))});
      for (std::size_t input = 0; input < n_inputs; ++input)
        request.facts.input_order.push_back(n_inputs - 1 - input);
      const Taken taken = take(request);
      BOOST_REQUIRE(taken.bytes.size() == 4 * r.packet_samples * r.time_bytes);
      bool same = true;
      for (std::size_t i = 0; i < taken.bytes.size(); ++i) {
        const std::size_t byte = i % r.time_bytes, cell = byte / sample_bytes;
        const std::size_t input = n_inputs - 1 - cell % n_inputs;
        const std::size_t from = (cell / n_inputs * n_inputs + input) * sample_bytes + byte % sample_bytes;
        same &= taken.bytes[i] == r.output(i / r.time_bytes, from);
      }
      BOOST_TEST(same);
    }
  }
}

BOOST_AUTO_TEST_CASE(channels_tunings_and_rates_can_be_chosen) {
  const reference::Scratch scratch;
  // Channels of TBX: groups of 5 from 1000 on.
  const PacketRecording tbx = reference::packet_recordings()[1];
  const std::string name = scratch.file("a", joined(packets_of(tbx, 6)));
  CaptureRequest request = request_for(tbx, {name});
  request.facts.first_channel = 1005;
  request.facts.n_chan = 10;
  const Taken taken = take(request);
  BOOST_TEST(taken.header.freq_hz == 1009.5 * 25e3, boost::test_tools::tolerance(1e-12));
  BOOST_REQUIRE(taken.bytes.size() == 6u * 10 * 16);
  for (std::size_t i = 0; i < taken.bytes.size(); ++i)
    BOOST_REQUIRE(taken.bytes[i] == tbx.output(i / 160, 5 * 16 + i % 160));
  BOOST_TEST(taken.reports[0].intact == 12u);
  BOOST_TEST(!taken.reports[0].troubled());
  for (const auto& [first, n] : {std::pair{1001, 5}, {1005, 7}, {1015, 10}, {2000, 5}}) {
    request.facts.first_channel = first;
    request.facts.n_chan = static_cast<std::size_t>(n);
    BOOST_CHECK_THROW(take(request), UsageError);
  }
  // A group that is nowhere leaves a hole: the neighbours must be chosen.
  Packets holed;
  for (std::size_t time = 0; time < 6; ++time)
    for (std::size_t lane : {0, 1, 3}) holed.push_back(tbx.packet(lane, time));
  request = request_for(tbx, {scratch.file("h", joined(holed))});
  BOOST_CHECK_THROW(take(request), UsageError);
  request.facts.n_chan = 10;
  BOOST_TEST(take(request).bytes.size() == 6u * 10 * 16);

  // Two tunings of DRX.
  const PacketRecording drx = reference::packet_recordings()[4];
  std::string both;
  for (std::size_t time = 0; time < 6; ++time)
    for (std::size_t lane = 0; lane < 4; ++lane) {
      std::string second = drx.packet(lane, time + 100);
      second[4] = static_cast<char>((second[4] & ~0x38) | 2 << 3);
      second.replace(16, 8, drx.packet(lane, time).substr(16, 8));
      second[24] = 0x40;  // 2^30 / 2^32 of 196 MHz
      both += drx.packet(lane, time) + second;
    }
  request = request_for(drx, {scratch.file("d", both)});
  BOOST_CHECK_THROW(take(request), UsageError);
  request.facts.tuning = 1;
  BOOST_TEST((take(request).bytes == expected_bytes(drx, 6, {})));
  request.facts.tuning = 2;
  const Taken second = take(request);
  BOOST_TEST(second.header.freq_hz == 49e6);
  BOOST_TEST(second.bytes[0] == drx.output(100 * 4096, 0));
  request.facts.tuning = 3;
  BOOST_CHECK_THROW(take(request), UsageError);

  // TBN's rate: the frames', which options must not contradict.
  const PacketRecording tbn = reference::packet_recordings()[3];
  request = request_for(tbn, {scratch.file("t", joined(packets_of(tbn, 1)))});
  BOOST_CHECK_THROW(take(request), UsageError);
  request.facts.sample_s = 1e-5;
  request.facts.bandwidth_hz = 1e5;
  BOOST_TEST((take(request).bytes == expected_bytes(tbn, 1, {})));
  request.inputs = {scratch.file("t", joined(packets_of(tbn, 2)))};
  BOOST_TEST((take(request).bytes == expected_bytes(tbn, 2, {})));
  request.facts.sample_s = 2e-5;
  BOOST_CHECK_THROW(take(request), UsageError);
}

namespace {

/// A Mark 5B frame of the second so many after MJD 57999 began, 5 of them in a second.
struct Mark5bFrame {
  unsigned n_bit = 2;
  std::size_t n_chan = 4;
  std::size_t n_samples() const { return 80000 / (n_chan * n_bit); }
  static unsigned code(std::size_t frame, std::size_t at, unsigned n_bit) {
    const std::uint64_t hash = (frame * 100003 + at + 1) * 0x9E3779B97F4A7C15u;
    return static_cast<unsigned>(hash >> 40) & ((1u << n_bit) - 1);
  }
  std::string bytes(std::size_t frame, const char* fraction) const {
    const std::size_t second = frame / 5, day = 57999 + second / 86400;
    const std::string digits = fmt::format("{:03}{:05}", day % 1000, second % 86400);
    std::string out = little(0xABADDEED) + little(0xF00F0000u | static_cast<std::uint32_t>(frame % 5)) +
                      little(static_cast<std::uint32_t>(std::stoul(digits, nullptr, 16))) +
                      little(static_cast<std::uint32_t>(std::stoul(fraction, nullptr, 16)) << 16 | 0x1234);
    std::string payload(10000, '\0');
    for (std::size_t at = 0; at < 80000 / n_bit; ++at)
      payload[at * n_bit / 8] =
          static_cast<char>(payload[at * n_bit / 8] | code(frame, at, n_bit) << at * n_bit % 8);
    return out + payload;
  }
  /// By the tables of the Mark 5B User's Manual: sign in the lower bit, levels in thirds of the lower one.
  std::string samples(std::size_t frame) const {
    std::string out;
    for (std::size_t at = 0; at < 80000 / n_bit; ++at) {
      const unsigned code = Mark5bFrame::code(frame, at, n_bit), sign = code & 1, magnitude = code >> 1;
      const int level = n_bit == 1  ? (sign == 1 ? -1 : 1)
                        : sign == 1 ? (magnitude == 1 ? 10 : 3)
                                    : (magnitude == 1 ? -3 : -10);
      out += static_cast<char>(level);
    }
    return out;
  }
  static std::string little(std::uint32_t word) {
    std::string bytes;
    for (int i = 0; i < 4; ++i) bytes += static_cast<char>(word >> (8 * i));
    return bytes;
  }
};

constexpr std::size_t kBeforeMidnight = 5 * 86400 - 7;  // frames
const char* const kFractions[] = {"0000", "2000", "4000", "6000", "8000"};

CaptureRequest mark5b_request(const std::string& file, const Mark5bFrame& f) {
  CaptureRequest request = support::request("mark5b", {file});
  request.facts.freq_hz = 1.4e9;
  request.facts.n_chan = f.n_chan;
  request.facts.sample_s = 0.2 / static_cast<double>(f.n_samples());
  request.facts.start = parse_utc("2018-06-01T00:00:00");
  request.raw.n_bit = f.n_bit;
  return request;
}

}  // namespace

BOOST_AUTO_TEST_CASE(mark5b_goes_on_over_midnight) {
  const reference::Scratch scratch;
  for (const unsigned n_bit : {1u, 2u})
    for (const std::size_t n_chan : {1, 4, 16}) {
      const Mark5bFrame f{n_bit, n_chan};
      // Frames 4 and 5 are lost, junk stands before frame 9.
      std::string bytes, wanted;
      for (std::size_t i = 0; i < 12; ++i) {
        const std::size_t frame = kBeforeMidnight + i;
        if (i != 4 && i != 5) bytes += (i == 9 ? "junk" : "") + f.bytes(frame, kFractions[frame % 5]);
        wanted += i == 4 || i == 5 ? std::string(f.samples(0).size(), '\0') : f.samples(frame);
      }
      const Taken taken = take(mark5b_request(scratch.file("m", bytes), f));
      BOOST_TEST((taken.bytes == std::vector<std::uint8_t>(wanted.begin(), wanted.end())));
      BOOST_TEST((taken.header.start == parse_utc("2017-09-03T23:59:58.6")));
      BOOST_TEST(taken.header.n_chan == n_chan);
      BOOST_TEST(taken.header.n_dim == 1u);
      BOOST_TEST(taken.header.bandwidth_hz == static_cast<double>(n_chan * f.n_samples()) * 2.5,
                 boost::test_tools::tolerance(1e-12));
      BOOST_TEST(taken.header.scale == (n_bit == 2 ? 1.0 / 3 : 1.0));
      BOOST_TEST(taken.header.missing_samples == f.n_samples());
      BOOST_TEST(taken.reports[0].intact == 10u);
      BOOST_TEST(taken.reports[0].lost == 2u);
      BOOST_TEST(taken.reports[0].damaged == 0u);
      BOOST_TEST(taken.reports[0].skipped_bytes == 4u);
    }
}

BOOST_AUTO_TEST_CASE(mark5b_asks_for_what_it_lacks) {
  const reference::Scratch scratch;
  const Mark5bFrame f;
  std::string bytes;
  for (std::size_t i = 0; i < 4; ++i)
    bytes += f.bytes(kBeforeMidnight + i, kFractions[(kBeforeMidnight + i) % 5]);
  const std::string file = scratch.file("m", bytes);
  BOOST_TEST(take(mark5b_request(file, f)).reports[0].intact == 4u);
  CaptureRequest request = mark5b_request(file, f);
  request.facts.start.reset();
  BOOST_CHECK_THROW(take(request), UsageError);
  request = mark5b_request(file, f);
  request.facts.n_chan = 0;
  BOOST_CHECK_THROW(take(request), UsageError);
  request.facts.n_chan = 3;
  BOOST_CHECK_THROW(take(request), UsageError);
  // The wrong rate, and channels that make it wrong, do not fit the second's fraction.
  request = mark5b_request(file, f);
  request.facts.sample_s /= 2;
  BOOST_CHECK_THROW(take(request), UsageError);
  request = mark5b_request(file, f);
  request.facts.n_chan = 8;
  BOOST_CHECK_THROW(take(request), UsageError);
  for (const std::string& wrong : {std::string(), std::string(30000, 'x')})
    BOOST_CHECK_THROW(take(mark5b_request(scratch.file("w", wrong), f)), DataError);
}

BOOST_AUTO_TEST_SUITE_END()
