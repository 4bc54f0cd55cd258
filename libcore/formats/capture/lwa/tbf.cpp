// SPDX-License-Identifier: GPL-3.0-or-later
// Frames, byte offsets in brackets:
//   TBF: sync [0], id 1 [4], frame count [5], seconds [8], first channel [12], stands, 0 = 256 [14], time
//        tag [16], then 12 channels
//   TBX: sync [0], id 8 [4], frame count [5], seconds [8], first channel [12], stands [16], channels [18],
//        time tag [20]
//   CHIPS: board from 1 [0], link [1], channels [2], sub-bands [3], sub-band [4], boards [5], first channel
//        [6], sequence number [8], then 32 inputs
// All integers are big-endian; samples are 4+4 bits, [channel][stand][polarisation].
#include "libcore/formats/capture/lwa/tbf.h"

#include "libcore/base/error.h"
#include "libcore/formats/capture/frames/channel_groups.h"
#include "libcore/formats/capture/lwa/lwa_frames.h"

namespace apsyn {
namespace {

constexpr std::size_t kTbfHeader = 24, kTbxHeader = 28, kChipsHeader = 16;
constexpr std::size_t kTbfChannels = 12, kTbfStands = 256, kBoardInputs = 32;
constexpr std::int64_t kChipsReach = 1024;
constexpr std::int64_t kSampleTicks = 7840;  // 40 us
constexpr std::size_t kMaxStands = 4096;

struct FrameKind {
  bool tbx = false;
  std::size_t n_chan = 0, n_stand = 0;
  bool operator==(const FrameKind&) const = default;
  std::size_t header_bytes() const { return tbx ? kTbxHeader : kTbfHeader; }
  std::size_t frame_bytes() const { return header_bytes() + n_chan * n_stand * 2; }
};

/// Empty unless the header is that of a TBF or TBX frame; it may have fewer bytes than a TBX header when it
/// is a TBF one.
std::optional<FrameKind> frame_kind(const std::uint8_t* header) {
  FrameKind kind;
  kind.tbx = header[4] == 8;
  if (!is_lwa_frame(header) || (header[4] != 1 && header[4] != 8)) return std::nullopt;
  kind.n_stand = big_endian(header + (kind.tbx ? 16 : 14), 2);
  kind.n_chan = kind.tbx ? big_endian(header + 18, 2) : kTbfChannels;
  if (!kind.tbx && kind.n_stand == 0) kind.n_stand = kTbfStands;
  if (kind.n_stand == 0 || kind.n_stand > kMaxStands || kind.n_chan == 0 || kind.n_chan > kMaxStands)
    return std::nullopt;
  return kind;
}

class TbfFormat final : public ChannelGroupFormat {
 public:
  explicit TbfFormat(const FrameKind& kind)
      : ChannelGroupFormat(kind.header_bytes(), kind.n_chan, 2 * kind.n_stand), kind_(kind) {}
  std::optional<PacketTag> tag(const std::uint8_t* header) const override {
    if (frame_kind(header) != kind_) return std::nullopt;
    const std::uint64_t chan0 = big_endian(header + 12, kind_.tbx ? 4 : 2);
    if (chan0 > 0xFFFF) return std::nullopt;
    return PacketTag{static_cast<std::int64_t>(big_endian(header + (kind_.tbx ? 20 : 16), 8)),
                     key(static_cast<std::uint32_t>(chan0), 0)};
  }

 private:
  FrameKind kind_;
};

struct ChipsKind {
  std::uint8_t n_chan = 0, n_subband = 0, n_board = 0;
  bool operator==(const ChipsKind&) const = default;
};

class ChipsFormat final : public ChannelGroupFormat {
 public:
  explicit ChipsFormat(const ChipsKind& kind)
      : ChannelGroupFormat(kChipsHeader, kind.n_chan, kBoardInputs, kChipsReach), kind_(kind) {}
  static ChipsKind kind(const std::uint8_t* header) { return {header[2], header[3], header[5]}; }
  std::optional<PacketTag> tag(const std::uint8_t* header) const override {
    if (kind(header) != kind_ || header[0] < 1 || header[0] > kind_.n_board) return std::nullopt;
    return PacketTag{static_cast<std::int64_t>(big_endian(header + 8, 8)),
                     key(static_cast<std::uint32_t>(big_endian(header + 6, 2)), header[0] - 1u)};
  }

 private:
  ChipsKind kind_;
};

}  // namespace

std::unique_ptr<Capture> open_tbf(const CaptureRequest& request) {
  PacketInputs inputs = open_packet_inputs(request.inputs);
  find_lwa_frames(*inputs[0], "TBF or TBX", "tbf", [](const std::uint8_t* header) {
    const auto kind = frame_kind(header);
    return kind ? kind->frame_bytes() : 0;
  });
  auto format = std::make_unique<TbfFormat>(*frame_kind(inputs[0]->data()));
  return open_channel_groups(request, std::move(inputs), std::move(format), 1, kSampleTicks, lwa_time);
}

std::unique_ptr<Capture> open_chips(const CaptureRequest& request) {
  PacketInputs inputs = open_packet_inputs(request.inputs);
  InputWindow& input = *inputs[0];
  ChipsKind kind;
  if (input.hold(kChipsHeader) == kChipsHeader) kind = ChipsFormat::kind(input.data());
  // Packets have no sync word: the second one must be like the first.
  const std::size_t next = kChipsHeader + kind.n_chan * kBoardInputs;
  const bool follows = input.hold(next + kChipsHeader) == next + kChipsHeader
                           ? ChipsFormat::kind(input.data() + next) == kind
                           : input.hold(next) == next;
  if (kind.n_chan == 0 || kind.n_board == 0 || !follows)
    throw DataError(
        "{}: byte 0: no CHIPS packets: {} channels from {} boards do not go with the packet at byte {}{}",
        input.source().name(), kind.n_chan, kind.n_board, next, foreign_hint(input.beginning(), "chips"));
  auto format = std::make_unique<ChipsFormat>(kind);
  return open_channel_groups(request, std::move(inputs), std::move(format), kind.n_board, 1, nullptr);
}

}  // namespace apsyn
