// SPDX-License-Identifier: GPL-3.0-or-later
// Recordings in packets, written byte by byte from the descriptions of their formats, with what a reader must
// make of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace apsyn::reference {

struct PacketRecording {
  std::string format;
  std::size_t n_lanes = 1, packet_samples = 1, time_bytes = 1, header_bytes = 1, packet_bytes = 1;
  std::size_t n_ant = 1, n_chan = 1, n_bit = 4;
  double freq_hz = 0, bandwidth_hz = 0, sample_s = 0;
  std::string start;  ///< of packet 0, UTC
  bool has_sync = true, tells_start = true, tells_freq = true;
  std::size_t time_at = 0;  ///< where in a packet the lowest byte of the time is
  std::size_t slack = 32;
  /// Bytes of packet `time` of a lane.
  std::function<std::string(std::size_t lane, std::size_t time)> packet;
  /// Byte of the output's time sample.
  std::function<std::uint8_t(std::size_t sample, std::size_t byte)> output;
  /// Whether that byte is missing when a lane's packet is.
  std::function<bool(std::size_t lane, std::size_t byte)> blanked;
};

/// LWA TBF (256 stands, 12 channels a frame), TBX, CHIPS, TBN, DRX and BEST-2, small.
std::vector<PacketRecording> packet_recordings();

}  // namespace apsyn::reference
