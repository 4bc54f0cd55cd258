// SPDX-License-Identifier: GPL-3.0-or-later
// Recordings that are packets of one length, each with a header that tells its time and what it carries: how
// they are found, checked and put in their places. A format adds what its header means.
//
// A header is good when the format knows it and its time is possible. A packet counts when its header is good
// and another follows behind it. Where none does, the next place is looked for, byte by byte, at which two
// good headers follow each other: what lies before it is skipped, and a packet that reaches into it is
// damaged. A packet whose time is far from its neighbours', which agree, is damaged too.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libcore/formats/capture/capture.h"
#include "libcore/formats/capture/frames/input_window.h"

namespace apsyn {

struct PacketTag {
  std::int64_t tick = 0;  ///< of the first sample, in units of the recorder's clock
  std::uint32_t key = 0;  ///< what the packet carries: channels, inputs
};

class PacketFormat {
 public:
  PacketFormat(std::size_t n_header, std::size_t n_payload, std::size_t n_samples, std::int64_t reach = 0)
      : header_bytes(n_header), packet_bytes(n_header + n_payload), samples(n_samples), reach_ticks(reach) {}
  virtual ~PacketFormat() = default;
  const std::size_t header_bytes, packet_bytes;
  const std::size_t samples;  ///< time samples of a packet
  /// Headers without a sync word are believed when the next is not further away in time; 0: they have one.
  const std::int64_t reach_ticks;

  /// Empty unless a packet of this recording may begin with these header_bytes.
  virtual std::optional<PacketTag> tag(const std::uint8_t* header) const = 0;
  /// Writes what the payload holds into whole time samples of time_bytes each; `place`: where in a time
  /// sample the packet's part begins.
  virtual void decode(const std::uint8_t* payload, std::size_t place, std::size_t time_bytes,
                      std::uint8_t* out) const = 0;
};

/// All inputs of a capture, read ahead from before any is waited for: one program may fill several pipes by
/// turns.
using PacketInputs = std::vector<std::unique_ptr<InputWindow>>;
PacketInputs open_packet_inputs(const std::vector<std::string>& inputs);

/// What the beginnings of the inputs hold.
struct PacketSurvey {
  std::map<std::uint32_t, std::size_t> keys;  ///< what is carried -> in which input
  std::int64_t first_tick = 0;                ///< the earliest of all inputs
  std::int64_t step_ticks = 0;  ///< the usual time between packets of one key; 0: none was seen twice
};
/// Looks at some MiB. Keys that come far less often than the others are damage. DataError when an input has
/// no whole packet, UsageError when two inputs carry the same.
PacketSurvey survey_packets(const PacketInputs& inputs, const PacketFormat& format);

/// Where the packets of one key go.
struct PacketLane {
  std::uint32_t key = 0;
  std::size_t place = 0;                                   ///< first byte in a time sample
  std::vector<std::pair<std::size_t, std::size_t>> blank;  ///< as Lane::blank
};

struct PacketPlan {
  std::vector<PacketLane> lanes;       ///< of keys without packets, too: they are lost
  std::vector<std::uint32_t> ignored;  ///< keys of intact packets that nobody wants
  std::int64_t first_tick = 0, packet_ticks = 1;
  double max_gap_s = 600;  ///< as CaptureFacts::max_gap_s
  std::size_t slack = 32;  ///< packets of a key by which they may be out of order
};

/// `header` must be complete. Memory: what Interleaver and the look ahead of the inputs need.
std::unique_ptr<Capture> make_packet_capture(const VoltageHeader& header, const PacketPlan& plan,
                                             const PacketSurvey& survey, PacketInputs inputs,
                                             std::unique_ptr<PacketFormat> format);

}  // namespace apsyn
