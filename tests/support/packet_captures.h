// SPDX-License-Identifier: GPL-3.0-or-later
// Captures of the recordings in tests/reference/recordings/packet_recordings.h, and what they should give.
#pragma once

#include <boost/test/unit_test.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/reference/recordings/packet_recordings.h"
#include "tests/support/captured.h"

namespace apsyn::support {

inline CaptureRequest request_for(const reference::PacketRecording& r,
                                  const std::vector<std::string>& inputs) {
  CaptureRequest request = support::request(r.format, inputs);
  if (!r.tells_start) request.facts.start = parse_utc(r.start);
  if (!r.tells_freq) request.facts.freq_hz = r.freq_hz;
  return request;
}

using Packets = std::vector<std::string>;  ///< [time][lane]

inline Packets packets_of(const reference::PacketRecording& r, std::size_t n_time) {
  Packets packets;
  for (std::size_t time = 0; time < n_time; ++time)
    for (std::size_t lane = 0; lane < r.n_lanes; ++lane) packets.push_back(r.packet(lane, time));
  return packets;
}

inline std::string joined(const Packets& packets) {
  std::string bytes;
  for (const std::string& packet : packets) bytes += packet;
  return bytes;
}

using Missing = std::set<std::pair<std::size_t, std::size_t>>;  ///< (lane, time)

inline std::vector<std::uint8_t> expected_bytes(const reference::PacketRecording& r, std::size_t n_time,
                                                const Missing& missing) {
  std::vector<std::uint8_t> bytes(n_time * r.packet_samples * r.time_bytes);
  for (std::size_t sample = 0; sample < n_time * r.packet_samples; ++sample)
    for (std::size_t byte = 0; byte < r.time_bytes; ++byte)
      bytes[sample * r.time_bytes + byte] = r.output(sample, byte);
  for (const auto& [lane, time] : missing)
    for (std::size_t t = 0; t < r.packet_samples; ++t)
      for (std::size_t byte = 0; byte < r.time_bytes; ++byte)
        if (r.blanked(lane, byte)) bytes[(time * r.packet_samples + t) * r.time_bytes + byte] = 0;
  return bytes;
}

inline void check_header(const reference::PacketRecording& r, const VoltageHeader& h) {
  const auto tight = boost::test_tools::tolerance(1e-12);
  BOOST_TEST(h.n_ant == r.n_ant);
  BOOST_TEST(h.n_chan == r.n_chan);
  BOOST_TEST(h.n_bit == r.n_bit);
  BOOST_TEST(h.n_pol == r.time_bytes * 8 / (2 * r.n_bit * r.n_chan * r.n_ant));
  BOOST_TEST(h.freq_hz == r.freq_hz, tight);
  BOOST_TEST(h.bandwidth_hz == r.bandwidth_hz, tight);
  BOOST_TEST(h.sample_s == r.sample_s, tight);
  BOOST_TEST(h.missing_samples == r.packet_samples);
  BOOST_TEST((h.start == parse_utc(r.start)));
}

}  // namespace apsyn::support
