// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/reference/recordings/packet_recordings.h"

namespace apsyn::reference {
namespace {

std::string big(std::uint64_t value, int n_bytes) {
  std::string bytes;
  for (int i = n_bytes - 1; i >= 0; --i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

const std::string kSync = "\xDE\xC0\xDE\x5C";

/// Any byte, but known; never 0, so that nothing present looks missing.
std::uint8_t code(std::size_t a, std::size_t b, std::size_t c) {
  const std::uint64_t hash = (a * 1000003 + b * 7919 + c * 131 + 17) * 0x9E3779B97F4A7C15u;
  return static_cast<std::uint8_t>(hash >> 40) | 1;
}

/// Packets of one time sample, [channel][input], of n_group groups of channels.
PacketRecording channelised(const std::string& format, std::size_t n_header, std::size_t n_chan,
                            std::size_t n_stand, std::size_t n_group,
                            std::function<std::string(std::size_t, std::size_t)> header) {
  PacketRecording r;
  r.format = format;
  r.n_lanes = n_group;
  r.n_ant = n_stand;
  r.n_chan = n_chan * n_group;
  r.time_bytes = r.n_chan * n_stand * 2;
  r.header_bytes = n_header;
  r.packet_bytes = n_header + n_chan * n_stand * 2;
  r.bandwidth_hz = 25e3 * static_cast<double>(r.n_chan);
  r.sample_s = 40e-6;
  r.packet = [=](std::size_t lane, std::size_t time) {
    std::string bytes = header(lane, time);
    for (std::size_t chan = 0; chan < n_chan; ++chan)
      for (std::size_t input = 0; input < 2 * n_stand; ++input)
        bytes += static_cast<char>(code(time, lane * n_chan + chan, input));
    return bytes;
  };
  r.output = [=](std::size_t sample, std::size_t byte) {
    return code(sample, byte / (2 * n_stand), byte % (2 * n_stand));
  };
  r.blanked = [](std::size_t, std::size_t) { return true; };
  return r;
}

/// 2024-06-27 17:32:27 in ticks of 1/196e6 s since 1970.
constexpr std::uint64_t kTag = 1719509547ull * 196000000;

PacketRecording tbf() {
  PacketRecording r = channelised("tbf", 24, 12, 256, 3, [](std::size_t lane, std::size_t time) {
    return kSync + big(1, 1) + big(time, 3) + big(0, 4) + big(2348 + 12 * lane, 2) + big(0, 2) +
           big(kTag + 7840 * time, 8);
  });
  r.freq_hz = (2348 + 17.5) * 25e3;
  r.start = "2024-06-27T17:32:27";
  r.time_at = 23;
  return r;
}

PacketRecording tbx() {
  PacketRecording r = channelised("tbf", 28, 5, 8, 4, [](std::size_t lane, std::size_t time) {
    return kSync + big(8, 1) + big(time, 3) + big(0, 4) + big(1000 + 5 * lane, 4) + big(8, 2) + big(5, 2) +
           big(kTag + 49 + 7840 * time, 8);
  });
  r.freq_hz = (1000 + 9.5) * 25e3;
  r.start = "2024-06-27T17:32:27.000000250";  // 49 ticks are 250 ns
  r.time_at = 27;
  return r;
}

/// Two boards of 16 stands, seven channels.
PacketRecording chips() {
  PacketRecording r = channelised("chips", 16, 7, 32, 1, nullptr);
  r.n_lanes = 2;
  r.packet_bytes = 16 + 7 * 32;
  r.freq_hz = 1503 * 25e3;
  r.start = "2020-01-01T00:00:00";
  r.has_sync = false;
  r.tells_start = false;
  r.time_at = 15;
  r.packet = [](std::size_t lane, std::size_t time) {
    std::string bytes = big(lane + 1, 1) + big(0, 1) + big(7, 1) + big(1, 1) + big(0, 1) + big(2, 1) +
                        big(1500, 2) + big(1234567890123 + time, 8);
    for (std::size_t chan = 0; chan < 7; ++chan)
      for (std::size_t input = 0; input < 32; ++input)
        bytes += static_cast<char>(code(time, chan, 32 * lane + input));
    return bytes;
  };
  r.blanked = [](std::size_t lane, std::size_t byte) { return byte % 64 / 32 == lane; };
  return r;
}

/// Three stands at 100 kHz, 1960 ticks a sample, tuned to 2^30 / 2^32 of 196 MHz.
PacketRecording tbn() {
  PacketRecording r;
  r.format = "tbn";
  r.n_lanes = 6;
  r.n_ant = 3;
  r.n_bit = 8;
  r.packet_samples = 512;
  r.time_bytes = 12;
  r.header_bytes = 24;
  r.packet_bytes = 1048;
  r.freq_hz = 49e6;
  r.bandwidth_hz = 100e3;
  r.sample_s = 1e-5;
  r.start = "2024-06-27T17:32:27";
  r.time_at = 23;
  r.packet = [](std::size_t lane, std::size_t time) {
    std::string bytes = kSync + big(time, 4) + big(1u << 30, 4) + big(lane + 1, 2) + big(20, 2) +
                        big(kTag + 512 * 1960 * time, 8);
    for (std::size_t t = 0; t < 512; ++t)
      for (std::size_t part = 0; part < 2; ++part)
        bytes += static_cast<char>(code(512 * time + t, lane, part));
    return bytes;
  };
  r.output = [](std::size_t sample, std::size_t byte) { return code(sample, byte / 2, byte % 2); };
  r.blanked = [](std::size_t lane, std::size_t byte) { return byte / 4 == lane / 2; };
  return r;
}

/// One tuning of beams 2 and 4 at 19.6 MHz, whose time tags lie 6440 ticks behind the samples.
PacketRecording drx() {
  PacketRecording r;
  r.format = "drx";
  r.n_lanes = 4;
  r.n_ant = 2;
  r.packet_samples = 4096;
  r.time_bytes = 4;
  r.header_bytes = 32;
  r.packet_bytes = 4128;
  r.freq_hz = 24.5e6;
  r.bandwidth_hz = 19.6e6;
  r.sample_s = 10 / 196e6;
  r.start = "2024-06-27T17:32:27";
  r.time_at = 23;
  r.packet = [](std::size_t lane, std::size_t time) {
    const std::size_t beam = 2 + lane / 2 * 2, pol = lane % 2;
    std::string bytes = kSync + big(pol << 7 | 1 << 3 | beam, 1) + big(0, 3) + big(0, 4) + big(10, 2) +
                        big(6440, 2) + big(kTag + 6440 + 4096 * 10 * time, 8) + big(1u << 29, 4) + big(0, 4);
    for (std::size_t t = 0; t < 4096; ++t) bytes += static_cast<char>(code(4096 * time + t, lane, 0));
    return bytes;
  };
  r.output = [](std::size_t sample, std::size_t byte) { return code(sample, byte, 0); };
  r.blanked = [](std::size_t lane, std::size_t byte) { return byte / 2 == lane / 2; };
  return r;
}

/// The last six channels of the band: 1018 .. 1023 are numbers 1013, 1015, ... 1023.
PacketRecording best2() {
  PacketRecording r;
  r.format = "best2";
  r.n_lanes = 6;
  r.n_ant = 32;
  r.n_chan = 6;
  r.packet_samples = 128;
  r.time_bytes = 6 * 32;
  r.header_bytes = 8;
  r.packet_bytes = 8 + 4096;
  r.freq_hz = 400e6;
  r.bandwidth_hz = -6 * 19531.25;
  r.sample_s = 51.2e-6;
  r.start = "2020-01-01T00:00:00";
  r.has_sync = false;
  r.tells_start = false;
  r.tells_freq = false;
  r.time_at = 4;
  r.slack = 4;
  r.packet = [](std::size_t lane, std::size_t time) {
    // Channels 509 to 514 of 1024: even numbers are those of the lower half, odd ones of the upper.
    const std::uint64_t channel = 509 + lane, number = 2 * (channel % 512) + channel / 512;
    std::string bytes = big(((std::uint64_t{1} << 33) + 77777 + time) << 26 | number << 16 | 0xABCD, 8);
    for (std::size_t pair = 0; pair < 16; ++pair)
      for (std::size_t t = 0; t < 128; ++t)
        for (std::size_t ant = 0; ant < 2; ++ant)
          bytes += static_cast<char>(code(128 * time + t, lane, 2 * pair + ant));
    return bytes;
  };
  r.output = [](std::size_t sample, std::size_t byte) { return code(sample, byte / 32, byte % 32); };
  r.blanked = [](std::size_t, std::size_t) { return true; };
  return r;
}

}  // namespace

std::vector<PacketRecording> packet_recordings() {
  return {tbf(), tbx(), chips(), tbn(), drx(), best2()};
}

}  // namespace apsyn::reference
