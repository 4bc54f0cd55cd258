// SPDX-License-Identifier: GPL-3.0-or-later
// Packets of the F-engines of the LWA: one time sample, 4+4 bits, [channel][input] of a group of channels and
// of inputs.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "libcore/formats/capture/frames/packets.h"

namespace apsyn {

/// Channels are 25 kHz wide and critically sampled; channel k is centred on k times that.
constexpr double kLwaChannel_hz = 25e3;

class ChannelGroupFormat : public PacketFormat {
 public:
  ChannelGroupFormat(std::size_t n_header, std::size_t channels, std::size_t packet_inputs,
                     std::int64_t reach = 0)
      : PacketFormat(n_header, channels * packet_inputs, 1, reach),
        n_chan(channels),
        n_inputs(packet_inputs) {}
  const std::size_t n_chan, n_inputs;  ///< of a packet
  /// Key of the packets of channels from chan0 on; several groups of inputs share a chan0.
  static constexpr std::uint32_t key(std::uint32_t chan0, std::uint32_t input_group) {
    return chan0 << 8 | input_group;
  }
  static constexpr std::uint32_t chan0(std::uint32_t key) { return key >> 8; }
  static constexpr std::uint32_t input_group(std::uint32_t key) { return key & 0xFF; }

  /// The recording has so many inputs; `places` as input_places().
  void settle(std::size_t all_inputs, std::vector<std::size_t> places) {
    all_inputs_ = all_inputs;
    places_ = std::move(places);
  }
  void decode(const std::uint8_t* payload, std::size_t place, std::size_t time_bytes,
              std::uint8_t* out) const override;

 private:
  std::size_t all_inputs_ = 0;
  std::vector<std::size_t> places_;
};

/// The neighbouring channels of a recording, or those of them that were asked for.
struct ChannelRange {
  std::uint32_t first = 0;
  std::size_t n = 0;
};

/// Header, lanes and capture of a recording in such packets, `n_input_groups` of them for each channel.
/// `time_of` turns a tick into UTC; empty: the clock does not tell. UsageError when the channels are no
/// neighbours.
std::unique_ptr<Capture> open_channel_groups(const CaptureRequest& request, PacketInputs inputs,
                                             std::unique_ptr<ChannelGroupFormat> format,
                                             std::size_t n_input_groups, std::int64_t packet_ticks,
                                             const std::function<UtcTime(std::int64_t)>& time_of);

}  // namespace apsyn
