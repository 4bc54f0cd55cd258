// SPDX-License-Identifier: GPL-3.0-or-later
// Frames, byte offsets in brackets; big-endian:
//   TBN: sync [0], frame count [5], tuning word (in old files seconds) [8], input from 1 in 14 bits [12],
//   gain
//        [14], time tag [16], 512 samples of 8+8 bits
//   DRX: sync [0], polarisation 1 bit, 1 bit, tuning 3, beam 3 [4], frame count [5], seconds [8], decimation
//        [12], ticks by which the samples lie before the time tag [14], time tag [16], tuning word [24],
//        flags [28], 4096 samples of 4+4 bits
// A tuning word counts 196 MHz / 2^32; the samples are complex, 196 MHz / decimation of them in a second.
#include "libcore/formats/capture/lwa/lwa_samples.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "libcore/base/error.h"
#include "libcore/formats/capture/lwa/lwa_frames.h"

namespace apsyn {
namespace {

constexpr std::size_t kTbnHeader = 24, kTbnSamples = 512, kDrxHeader = 32, kDrxSamples = 4096;
constexpr std::uint32_t kMaxInputs = 4096;

double tuning_hz(std::uint64_t word) {
  return static_cast<double>(word) * kLwaClock_hz / 4294967296.0;
}

/// One input's samples of `sample_bytes` each, which go into every time sample at the same place.
template <std::size_t sample_bytes>
void scatter(const std::uint8_t* payload, std::size_t n, std::size_t time_bytes, std::uint8_t* out) {
  for (std::size_t t = 0; t < n; ++t, payload += sample_bytes, out += time_bytes)
    std::memcpy(out, payload, sample_bytes);
}

class TbnFormat final : public PacketFormat {
 public:
  TbnFormat() : PacketFormat(kTbnHeader, 2 * kTbnSamples, kTbnSamples) {}
  std::optional<PacketTag> tag(const std::uint8_t* header) const override {
    const auto id = static_cast<std::uint32_t>(big_endian(header + 12, 2));
    if (!is_lwa_frame(header) || header[4] != 0 || (id & 0x8000) != 0 || (id & 0x3FFF) == 0 ||
        (id & 0x3FFF) > kMaxInputs)
      return std::nullopt;
    return PacketTag{static_cast<std::int64_t>(big_endian(header + 16, 8)), (id & 0x3FFF) - 1};
  }
  void decode(const std::uint8_t* payload, std::size_t place, std::size_t time_bytes,
              std::uint8_t* out) const override {
    scatter<2>(payload, kTbnSamples, time_bytes, out + place);
  }
};

class DrxFormat final : public PacketFormat {
 public:
  explicit DrxFormat(std::int64_t decimation)
      : PacketFormat(kDrxHeader, kDrxSamples, kDrxSamples), decimation_(decimation) {}
  static std::int64_t decimation(const std::uint8_t* header) {
    return static_cast<std::int64_t>(big_endian(header + 12, 2));
  }
  static std::uint32_t key(std::uint32_t beam, std::uint32_t tuning, std::uint32_t pol) {
    return beam << 4 | tuning << 1 | pol;
  }
  static std::uint32_t beam(std::uint32_t key) { return key >> 4; }
  static std::uint32_t tuning(std::uint32_t key) { return key >> 1 & 7; }
  std::optional<PacketTag> tag(const std::uint8_t* header) const override {
    const std::uint32_t id = header[4];
    if (!is_lwa_frame(header) || decimation(header) != decimation_ || (id & 7) == 0 || (id >> 3 & 7) == 0)
      return std::nullopt;
    const auto time = static_cast<std::int64_t>(big_endian(header + 16, 8) & (~std::uint64_t{0} >> 1));
    return PacketTag{time - static_cast<std::int64_t>(big_endian(header + 14, 2)),
                     key(id & 7, id >> 3 & 7, id >> 7)};
  }
  void decode(const std::uint8_t* payload, std::size_t place, std::size_t time_bytes,
              std::uint8_t* out) const override {
    scatter<1>(payload, kDrxSamples, time_bytes, out + place);
  }

 private:
  std::int64_t decimation_;
};

VoltageHeader describe(const CaptureFacts& facts, const PacketSurvey& survey, std::size_t n_ant,
                       unsigned n_bit, double freq_hz, std::int64_t decimation, std::size_t packet_samples) {
  VoltageHeader header;
  header.telescope = "LWA";
  header.n_ant = n_ant;
  header.n_pol = 2;
  header.n_bit = n_bit;
  header.missing_samples = facts.missing_samples > 0 ? facts.missing_samples : packet_samples;
  header.freq_hz = freq_hz;
  if (decimation > 0) {
    header.sample_s = static_cast<double>(decimation) / kLwaClock_hz;
    header.bandwidth_hz = kLwaClock_hz / static_cast<double>(decimation);
  }
  header.start = lwa_time(survey.first_tick);
  apply_facts(header, facts);
  return header;
}

/// Ticks of a TBN sample, from the spacing of the frames or from the options.
std::int64_t tbn_decimation(const PacketSurvey& survey, const CaptureFacts& facts) {
  const std::int64_t seen = survey.step_ticks / static_cast<std::int64_t>(kTbnSamples);
  if (std::isnan(facts.sample_s)) return seen;
  const double in_ticks = facts.sample_s * kLwaClock_hz;
  const std::int64_t ticks = in_ticks > 0.5 && in_ticks < 1e9 ? std::llround(in_ticks) : 0;
  if (ticks == 0 || std::abs(in_ticks / static_cast<double>(ticks) - 1) > 1e-6 || (seen > 0 && ticks != seen))
    throw UsageError("--sample-rate: {} samples in a second: {}", 1 / facts.sample_s,
                     seen > 0 ? fmt::format("the frames have {}", kLwaClock_hz / static_cast<double>(seen))
                              : "it must be a whole part of 196 MHz");
  return ticks;
}

/// From the first frame of the wanted key; 0 when there is none.
double drx_frequency_hz(InputWindow& input, const DrxFormat& format, std::uint32_t key) {
  constexpr std::size_t kLookFrames = 256;
  const std::size_t held = input.hold(kLookFrames * format.packet_bytes);
  for (std::size_t at = 0; at + format.packet_bytes <= held; at += format.packet_bytes)
    if (const auto tag = format.tag(input.data() + at); tag && tag->key == key)
      return tuning_hz(big_endian(input.data() + at + 24, 4));
  return 0;
}

/// The tuning that was asked for, or the only one.
std::uint32_t wanted_tuning(const PacketSurvey& survey, const CaptureFacts& facts) {
  std::map<std::uint32_t, bool> tunings;
  for (const auto& [key, input] : survey.keys) tunings[DrxFormat::tuning(key)] = true;
  if (facts.tuning == 0 && tunings.size() > 1)
    throw UsageError("--tuning: missing: the capture has {} tunings, one stream holds one: give --tuning {}",
                     tunings.size(), tunings.begin()->first);
  const std::uint32_t tuning = facts.tuning > 0 ? facts.tuning : tunings.begin()->first;
  if (tunings.count(tuning) == 0)
    throw UsageError("--tuning {}: the capture has no such tuning: {} is there", tuning,
                     tunings.begin()->first);
  return tuning;
}

}  // namespace

std::unique_ptr<Capture> open_tbn(const CaptureRequest& request) {
  const CaptureFacts& facts = request.facts;
  PacketInputs inputs = open_packet_inputs(request.inputs);
  auto format = std::make_unique<TbnFormat>();
  find_lwa_frames(*inputs[0], "TBN", "tbn",
                  [&](const std::uint8_t* header) { return format->tag(header) ? format->packet_bytes : 0; });
  const std::uint64_t word = big_endian(inputs[0]->data() + 8, 4);
  const PacketSurvey survey = survey_packets(inputs, *format);
  // Old frames have the seconds of the time tag here.
  const double seconds = static_cast<double>(survey.first_tick) / kLwaClock_hz;
  const double freq_hz = std::abs(static_cast<double>(word) - seconds) < 100 ? 0 : tuning_hz(word);
  const std::int64_t decimation = tbn_decimation(survey, facts);
  const std::size_t n_ant = (survey.keys.rbegin()->first + 2) / 2;
  const VoltageHeader header = describe(facts, survey, n_ant, 8, freq_hz, decimation, kTbnSamples);

  const std::vector<std::size_t> places = input_places(facts.input_order, 2 * n_ant);
  PacketPlan plan;
  plan.first_tick = survey.first_tick;
  plan.packet_ticks = decimation * static_cast<std::int64_t>(kTbnSamples);
  plan.max_gap_s = facts.max_gap_s;
  for (std::uint32_t input = 0; input < 2 * n_ant; ++input)
    plan.lanes.push_back({input, 2 * places[input], {{places[input] / 2 * 4, 4}}});
  return make_packet_capture(header, plan, survey, std::move(inputs), std::move(format));
}

std::unique_ptr<Capture> open_drx(const CaptureRequest& request) {
  const CaptureFacts& facts = request.facts;
  PacketInputs inputs = open_packet_inputs(request.inputs);
  find_lwa_frames(*inputs[0], "DRX", "drx", [](const std::uint8_t* header) {
    const DrxFormat format(DrxFormat::decimation(header));
    return format.tag(header) && DrxFormat::decimation(header) > 0 ? format.packet_bytes : 0;
  });
  const std::int64_t decimation = DrxFormat::decimation(inputs[0]->data());
  auto format = std::make_unique<DrxFormat>(decimation);
  const PacketSurvey survey = survey_packets(inputs, *format);
  const std::uint32_t tuning = wanted_tuning(survey, facts);
  PacketPlan plan;
  plan.first_tick = survey.first_tick;
  plan.packet_ticks = decimation * static_cast<std::int64_t>(kDrxSamples);
  plan.max_gap_s = facts.max_gap_s;
  std::map<std::uint32_t, std::size_t> beams;  // -> antenna of the output
  for (const auto& [key, input] : survey.keys) {
    if (DrxFormat::tuning(key) == tuning)
      beams.emplace(DrxFormat::beam(key), beams.size());
    else
      plan.ignored.push_back(key);
  }
  double freq_hz = 0;
  for (const auto& [key, input] : survey.keys) {
    if (DrxFormat::tuning(key) != tuning) continue;
    const double hz = drx_frequency_hz(*inputs[input], *format, key);
    if (freq_hz != 0 && hz != 0 && hz != freq_hz)
      throw UsageError("--tuning {}: beams are at {} and at {}: ingest each by itself", tuning,
                       format_frequency(freq_hz), format_frequency(hz));
    if (hz != 0) freq_hz = hz;
  }
  const VoltageHeader header = describe(facts, survey, beams.size(), 4, freq_hz, decimation, kDrxSamples);
  for (const auto& [beam, antenna] : beams)
    for (std::uint32_t pol = 0; pol < 2; ++pol)
      plan.lanes.push_back({DrxFormat::key(beam, tuning, pol), 2 * antenna + pol, {{2 * antenna, 2}}});
  return make_packet_capture(header, plan, survey, std::move(inputs), std::move(format));
}

}  // namespace apsyn
