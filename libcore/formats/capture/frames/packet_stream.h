// SPDX-License-Identifier: GPL-3.0-or-later
// One input's packets: found, checked, placed on the common clock. See packets.h for the rules.
#pragma once

#include <limits>

#include "libcore/formats/capture/frames/interleave.h"
#include "libcore/formats/capture/frames/packets.h"

namespace apsyn {

struct StreamPlan {
  static constexpr std::size_t kIgnored = std::numeric_limits<std::size_t>::max();
  struct Lane {
    std::uint32_t key = 0;
    std::size_t lane = 0;   ///< of the interleaver, or kIgnored
    std::size_t place = 0;  ///< first byte in a time sample
  };
  std::int64_t first_tick = 0, packet_ticks = 1;
  std::int64_t slack = 0, max_gap = 0;  ///< in packets
  double packet_s = 0, max_gap_s = 0;
  std::size_t time_bytes = 0;
  std::vector<Lane> lanes;  ///< rising keys
};

class PacketStream final : public PacketSource {
 public:
  PacketStream(std::unique_ptr<InputWindow> window, const PacketFormat& format, const StreamPlan& plan);
  bool next(PacketRun& run) override;
  void decode(std::size_t skip, std::size_t n, std::uint8_t* out) const override;
  StreamReport report() const override { return report_; }

 private:
  struct Placed {
    std::int64_t at = 0;
    const StreamPlan::Lane* lane = nullptr;
  };
  std::optional<Placed> known_header(std::size_t at);
  std::optional<Placed> good_header(std::size_t at);
  bool follows(std::size_t at);
  std::size_t find(std::size_t from);
  bool is_astray(const Placed& packet);
  void check_gap();
  void drop_damaged(std::size_t n_bytes);
  void resynchronise();
  void trouble();

  std::unique_ptr<InputWindow> window_;
  const PacketFormat& format_;
  StreamPlan plan_;
  std::int64_t last_ = 0;              ///< place of the last packet
  std::vector<std::int64_t> next_of_;  ///< [lane of the plan] place behind its last packet
  std::uint64_t frames_ = 0;           ///< packets and pieces of them before the front
  std::size_t taken_ = 0, place_ = 0;
  StreamReport report_;
};

}  // namespace apsyn
