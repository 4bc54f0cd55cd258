// SPDX-License-Identifier: GPL-3.0-or-later
// Frames of 10016 bytes (Mark 5B User's Manual, MIT Haystack), words of 32 bits, little-endian:
//   sync 0xABADDEED; frame of the second in 15 bits; digits JJJSSSSS, the day's last three of the modified
//   Julian date and the second of the day; four digits of the second's fraction, cut off, and a checksum;
//   2500 words of up to 32 bit streams: samples from the lowest bits on, in each the channels.
// 1 bit: 0 is 1, 1 is -1. 2 bits, sign (lowest) and magnitude: 0 is the lowest level, 2 the next, 1 and 3 the
// levels above zero; with SCALE 1/3 as those of VDIF. Neither channels, bits nor rate are told.
#include "libcore/formats/capture/vlbi/mark5b.h"

#include <cmath>

#include "libcore/base/error.h"
#include "libcore/formats/capture/frames/packets.h"
#include "libcore/formats/capture/vlbi/word.h"

namespace apsyn {
namespace {

constexpr std::size_t kHeaderBytes = 16, kPayloadBytes = 10000, kStreams = 32;
constexpr std::uint32_t kSync = 0xABADDEED;
constexpr std::int64_t kMaxFrames = 1 << 15;  // of a second
constexpr std::int64_t kDay_s = 86400, kPs = 1'000'000'000'000;

/// A number of decimal digits in 4 bits each; -1 when one of them is none.
std::int64_t decimal(std::uint32_t digits) {
  std::int64_t value = 0, place = 1;
  for (; digits != 0; digits >>= 4, place *= 10) {
    if ((digits & 15) > 9) return -1;
    value += (digits & 15) * place;
  }
  return value;
}

class Mark5bFormat final : public PacketFormat {
 public:
  /// `near_mjd`: less than 500 days from the recording.
  Mark5bFormat(std::size_t n_chan, unsigned n_bit, std::int64_t frames_per_second, std::int64_t near_mjd)
      : PacketFormat(kHeaderBytes, kPayloadBytes, 8 * kPayloadBytes / (n_chan * n_bit)),
        frames_per_second_(frames_per_second),
        near_mjd_(near_mjd),
        n_chan_(n_chan),
        n_bit_(n_bit) {}
  std::optional<PacketTag> tag(const std::uint8_t* header) const override {
    const std::uint32_t time = word_at(header, 2);
    const std::int64_t frame = word_at(header, 1) & 0x7FFF, day = decimal(time >> 20),
                       second = decimal(time & 0xFFFFF);
    if (word_at(header, 0) != kSync || frame >= frames_per_second_ || day < 0 || second < 0 ||
        second > kDay_s)
      return std::nullopt;
    const std::int64_t mjd = near_mjd_ + (day - near_mjd_ % 1000 + 1500) % 1000 - 500;
    return PacketTag{(mjd * kDay_s + second) * frames_per_second_ + frame, 0};
  }
  void decode(const std::uint8_t* payload, std::size_t place, std::size_t time_bytes,
              std::uint8_t* out) const override {
    static constexpr std::int8_t kOneBit[] = {1, -1}, kTwoBits[] = {-10, 3, -3, 10};
    const std::int8_t* levels = n_bit_ == 1 ? kOneBit : kTwoBits;
    std::size_t bit = 0;
    for (std::size_t t = 0; t < samples; ++t, out += time_bytes)
      for (std::size_t chan = 0; chan < n_chan_; ++chan, bit += n_bit_)
        out[place + chan] =
            static_cast<std::uint8_t>(levels[payload[bit / 8] >> bit % 8 & ((1u << n_bit_) - 1)]);
  }

 private:
  std::int64_t frames_per_second_, near_mjd_;
  std::size_t n_chan_, n_bit_;
};

/// A frame tells its time in two ways: by its number, and by the second's fraction where a recorder wrote it.
void check_rate(InputWindow& input, std::int64_t frames_per_second, double sample_s) {
  constexpr std::size_t kLook = 64, kFrame = kHeaderBytes + kPayloadBytes;
  const std::size_t held = input.hold(kLook * kFrame);
  for (std::size_t at = 0; at + kFrame <= held;) {
    const std::uint8_t* header = input.data() + at;
    const std::int64_t tenths_ms = decimal(word_at(header, 3) >> 16);
    if (word_at(header, 0) != kSync || tenths_ms <= 0) {
      at += word_at(header, 0) == kSync ? kFrame : 1;
      continue;
    }
    const std::int64_t frame = word_at(header, 1) & 0x7FFF;
    const double told_s = 1e-4 * static_cast<double>(tenths_ms),
                 counted_s = static_cast<double>(frame) / static_cast<double>(frames_per_second);
    if (counted_s < told_s - 1e-4 || counted_s > told_s + 2e-4)
      throw UsageError(
          "--sample-rate: {} samples in a second make frame {} begin {:.4f} s after its second, but its "
          "header says {:.4f} s: check --sample-rate, --channels and --bits",
          1 / sample_s, frame, counted_s, told_s);
    return;
  }
}

}  // namespace

std::unique_ptr<Capture> open_mark5b(const CaptureRequest& request) {
  const CaptureFacts& facts = request.facts;
  const unsigned n_bit = request.raw.n_bit == 0 ? 2 : request.raw.n_bit;
  const std::size_t n_chan = facts.n_chan;
  if (n_chan == 0) throw UsageError("--channels: missing: Mark 5B does not tell how many: give --channels");
  if (n_bit > 2 || n_chan * n_bit > kStreams || kStreams % (n_chan * n_bit) != 0)
    throw UsageError(
        "--bits {}, --channels {}: Mark 5B has 1 or 2 bits and 1, 2, 4, 8, 16 or 32 streams of bits", n_bit,
        n_chan);
  if (!facts.start)
    throw UsageError(
        "--start: missing: Mark 5B tells the last three digits of the day: give a time less than 500 "
        "days from the recording");
  VoltageHeader header;
  header.n_chan = n_chan;
  header.n_dim = 1;
  header.scale = n_bit == 2 ? 1.0 / 3 : 1;
  if (!std::isnan(facts.sample_s)) header.bandwidth_hz = static_cast<double>(n_chan) / (2 * facts.sample_s);
  const std::size_t frame_samples = 8 * kPayloadBytes / (n_chan * n_bit);
  header.missing_samples = facts.missing_samples > 0 ? facts.missing_samples : frame_samples;
  apply_facts(header, facts);
  const double per_second = 1 / header.sample_s / static_cast<double>(frame_samples);
  const std::int64_t frames_per_second =
      per_second < static_cast<double>(kMaxFrames) + 0.5 ? std::llround(per_second) : 0;
  if (frames_per_second < 1 || std::abs(per_second / static_cast<double>(frames_per_second) - 1) > 1e-9)
    throw UsageError(
        "--sample-rate: {} samples in a second are {} frames of {}: 1 to {} whole ones are needed",
        1 / header.sample_s, per_second, frame_samples, kMaxFrames);

  PacketInputs inputs = open_packet_inputs(request.inputs);
  auto format = std::make_unique<Mark5bFormat>(n_chan, n_bit, frames_per_second, facts.start->mjd);
  check_rate(*inputs[0], frames_per_second, header.sample_s);
  const PacketSurvey survey = survey_packets(inputs, *format);
  const std::int64_t second = survey.first_tick / frames_per_second,
                     frame = survey.first_tick % frames_per_second;
  header.start = sample_time({second / kDay_s, second % kDay_s * kPs},
                             frame * static_cast<std::int64_t>(frame_samples), header.sample_s);
  PacketPlan plan;
  plan.first_tick = survey.first_tick;
  plan.max_gap_s = facts.max_gap_s;
  plan.lanes.push_back({0, 0, {{0, n_chan}}});
  return make_packet_capture(header, plan, survey, std::move(inputs), std::move(format));
}

}  // namespace apsyn
