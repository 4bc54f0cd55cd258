// SPDX-License-Identifier: GPL-3.0-or-later
// A packet is a big-endian word, the heap's number in its upper 38 bits and the channel's in bits 25 to 16,
// and 4096 samples of 4+4 bits, [pair of antennas][spectrum][antenna of the pair]. Channels are numbered the
// even ones first: number 2 k is channel k of the band, 2 k + 1 is channel 512 + k. The band descends.
#include "libcore/formats/capture/best2.h"

#include <algorithm>

#include "libcore/base/error.h"
#include "libcore/formats/capture/frames/packets.h"
#include "libcore/formats/capture/lwa/lwa_frames.h"

namespace apsyn {
namespace {

constexpr std::size_t kHeader = 8, kAntennas = 32, kSpectra = 128;
constexpr std::uint32_t kChannels = 1024;
constexpr double kSample_s = 51.2e-6;
constexpr std::size_t kSlackHeaps = 4;
constexpr std::int64_t kReachHeaps = 1024;

class Best2Format final : public PacketFormat {
 public:
  explicit Best2Format(std::vector<std::size_t> places)
      : PacketFormat(kHeader, kAntennas * kSpectra, kSpectra, kReachHeaps), places_(std::move(places)) {}
  std::optional<PacketTag> tag(const std::uint8_t* header) const override {
    const std::uint64_t word = big_endian(header, kHeader);
    const auto number = static_cast<std::uint32_t>(word >> 16 & 0x3FF);
    return PacketTag{static_cast<std::int64_t>(word >> 26), number / 2 + number % 2 * kChannels / 2};
  }
  void decode(const std::uint8_t* payload, std::size_t place, std::size_t time_bytes,
              std::uint8_t* out) const override {
    for (std::size_t pair = 0; pair < kAntennas / 2; ++pair) {
      std::uint8_t* at = out + place;
      for (std::size_t t = 0; t < kSpectra; ++t, payload += 2, at += time_bytes) {
        at[places_[2 * pair]] = payload[0];
        at[places_[2 * pair + 1]] = payload[1];
      }
    }
  }

 private:
  std::vector<std::size_t> places_;
};

}  // namespace

std::unique_ptr<Capture> open_best2(const CaptureRequest& request) {
  const CaptureFacts& facts = request.facts;
  PacketInputs inputs = open_packet_inputs(request.inputs);
  auto format = std::make_unique<Best2Format>(input_places(facts.input_order, kAntennas));
  const PacketSurvey survey = survey_packets(inputs, *format);
  std::uint32_t first = survey.keys.begin()->first;
  const std::uint32_t end = survey.keys.rbegin()->first + 1;
  if (facts.first_channel >= 0) first = static_cast<std::uint32_t>(facts.first_channel);
  const std::size_t n_chan = facts.n_chan > 0 ? facts.n_chan : end - std::min(end, first);
  if (n_chan == 0 || first + n_chan > kChannels)
    throw UsageError("--first-channel {}, --channels {}: there are {}", first, n_chan, kChannels);
  for (std::uint32_t chan = first; chan < first + n_chan; ++chan)
    if (survey.keys.count(chan) == 0)
      throw UsageError(
          "channel {}: the capture has no packets of it: choose others by --first-channel and --channels",
          chan);
  VoltageHeader header;
  header.telescope = "BEST-2";
  header.n_ant = kAntennas;
  header.n_chan = n_chan;
  header.n_bit = 4;
  header.missing_samples = facts.missing_samples > 0 ? facts.missing_samples : kSpectra;
  header.sample_s = kSample_s;
  header.bandwidth_hz = -static_cast<double>(n_chan) / kSample_s;
  apply_facts(header, facts);

  PacketPlan plan;
  plan.first_tick = survey.first_tick;
  plan.slack = kSlackHeaps;
  plan.max_gap_s = facts.max_gap_s;
  for (std::uint32_t chan = 0; chan < kChannels; ++chan) {
    if (chan < first || chan >= first + n_chan)
      plan.ignored.push_back(chan);
    else
      plan.lanes.push_back({chan, (chan - first) * kAntennas, {{0, n_chan * kAntennas}}});
  }
  return make_packet_capture(header, plan, survey, std::move(inputs), std::move(format));
}

}  // namespace apsyn
