// SPDX-License-Identifier: GPL-3.0-or-later
// Recordings in packets (as ingest_packets.cpp): inputs beside each other, in another order, and parts of
// them.
#include <boost/test/unit_test.hpp>

#include <algorithm>

#include "libcore/core/error.h"
#include "libcore/io/capture/capture.h"
#include "tests/reference/scratch.h"
#include "tests/support/packet_captures.h"

using namespace apsyn;
using reference::PacketRecording;
using namespace apsyn::support;

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

BOOST_AUTO_TEST_CASE(inputs_in_another_order) {
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

BOOST_AUTO_TEST_CASE(parts_of_a_recording) {
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
