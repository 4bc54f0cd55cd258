// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/capture/frames/packets.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "libcore/base/error.h"
#include "libcore/formats/capture/frames/packet_stream.h"

namespace apsyn {
namespace {

constexpr std::size_t kLookBytes = 8u << 20;  // at the beginning, to see what there is
constexpr std::int64_t kReachSteps = 32;      // by which neighbours in a recording may be apart in time

/// Of two times, without overflow.
std::int64_t distance(const PacketTag& a, const PacketTag& b) {
  std::int64_t apart = 0;
  if (__builtin_sub_overflow(a.tick, b.tick, &apart) || apart == std::numeric_limits<std::int64_t>::min())
    return std::numeric_limits<std::int64_t>::max();
  return std::abs(apart);
}

/// Tags of the packets at the beginning of one input.
std::vector<PacketTag> first_tags(InputWindow& input, const PacketFormat& format) {
  const std::size_t held = input.hold(std::max(kLookBytes, 4 * format.packet_bytes));
  // Without a sync word anything may pass for packets.
  if (format.reach_ticks > 0 && recognise(input.beginning()).certain)
    throw DataError("{}: byte 0: no packets{}", input.source().name(), foreign_hint(input.beginning(), ""));
  std::vector<PacketTag> tags;
  const auto tag_at = [&](std::size_t at) {
    return at + format.header_bytes <= held ? format.tag(input.data() + at) : std::nullopt;
  };
  const auto agree = [&](const PacketTag& a, const PacketTag& b) {
    return format.reach_ticks == 0 || distance(a, b) <= format.reach_ticks;
  };
  // Its time must agree with a neighbour's where there is no sync word.
  const auto confirmed = [&](std::size_t at) {
    const auto tag = tag_at(at), next = tag_at(at + format.packet_bytes);
    if (!tag || at + format.packet_bytes + format.header_bytes > held) return tag.has_value();
    return (next && agree(*tag, *next)) || (!tags.empty() && agree(*tag, tags.back()));
  };
  for (std::size_t at = 0; at + format.packet_bytes <= held;) {
    const bool good = confirmed(at);
    if (good) tags.push_back(*tag_at(at));
    at += good || confirmed(at + format.packet_bytes) ? format.packet_bytes : 1;
  }
  return tags;
}

/// The most frequent step from one packet of a key to its next.
std::int64_t usual_step(const std::vector<PacketTag>& tags) {
  std::map<std::uint32_t, std::int64_t> last;
  std::map<std::int64_t, std::size_t> steps;
  for (const PacketTag& tag : tags) {
    const auto [seen, is_new] = last.emplace(tag.key, tag.tick);
    std::int64_t step = 0;
    if (!is_new && !__builtin_sub_overflow(tag.tick, seen->second, &step) && step > 0) ++steps[step];
    seen->second = tag.tick;
  }
  const auto most = std::max_element(steps.begin(), steps.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == steps.end() ? 0 : most->first;
}

/// The earliest time; one that neither neighbour confirms is damage.
std::int64_t earliest_tick(const std::vector<PacketTag>& tags, std::int64_t step) {
  const std::int64_t reach =
      kReachSteps * std::clamp<std::int64_t>(step, 1, std::numeric_limits<std::int64_t>::max() / kReachSteps);
  std::optional<std::int64_t> earliest;
  for (std::size_t i = 0; i < tags.size(); ++i) {
    const bool before = i > 0 && distance(tags[i], tags[i - 1]) <= reach;
    const bool behind = i + 1 < tags.size() && distance(tags[i], tags[i + 1]) <= reach;
    if (before || behind) earliest = std::min(earliest.value_or(tags[i].tick), tags[i].tick);
  }
  return earliest.value_or(tags[0].tick);
}

class PacketCapture final : public Capture {
 public:
  PacketCapture(const VoltageHeader& header, const PacketPlan& packets, const PacketSurvey& survey,
                PacketInputs inputs, std::unique_ptr<PacketFormat> format)
      : header_(header), format_(std::move(format)) {
    const std::size_t packet = format_->samples, missing = header_.missing_samples;
    if (packet % missing != 0 && missing % packet != 0)
      throw UsageError("--missing-block {}: give a multiple or a divisor of the {} samples of a packet",
                       missing, packet);
    InterleavePlan plan;
    plan.time_bytes = header_.bits_per_time() / 8;
    plan.packet_samples = packet;
    plan.missing_samples = missing;
    plan.slack = packets.slack;
    StreamPlan streams{packets.first_tick,
                       packets.packet_ticks,
                       static_cast<std::int64_t>(packets.slack),
                       0,
                       header_.sample_s * static_cast<double>(packet),
                       packets.max_gap_s,
                       plan.time_bytes,
                       {}};
    streams.max_gap = static_cast<std::int64_t>(std::min(1e15, packets.max_gap_s / streams.packet_s)) + 1;
    for (const PacketLane& lane : packets.lanes) {
      const auto seen = survey.keys.find(lane.key);
      const std::size_t source = seen == survey.keys.end() ? 0 : seen->second;
      streams.lanes.push_back({lane.key, plan.lanes.size(), lane.place});
      plan.lanes.push_back({source, lane.blank});
    }
    for (std::uint32_t key : packets.ignored) streams.lanes.push_back({key, StreamPlan::kIgnored, 0});
    std::sort(streams.lanes.begin(), streams.lanes.end(),
              [](const auto& a, const auto& b) { return a.key < b.key; });
    std::uint64_t n_bytes = 0;
    bool known = true;
    for (const auto& input : inputs) {
      known &= input->source().size().has_value();
      n_bytes += input->source().size().value_or(0);
    }
    if (known && packets.ignored.empty())
      expected_ = n_bytes / (format_->packet_bytes * packets.lanes.size()) * packet;
    memory_ = inputs.size() * ((PrefetchSource::kPieces + 4) * PrefetchSource::kPieceBytes +
                               2 * std::max(kLookBytes, 4 * format_->packet_bytes));
    std::vector<std::unique_ptr<PacketSource>> sources;
    for (auto& input : inputs)
      sources.push_back(std::make_unique<PacketStream>(std::move(input), *format_, streams));
    interleaver_ = std::make_unique<Interleaver>(std::move(sources), std::move(plan));
    memory_ += interleaver_->memory_bytes();
  }
  const VoltageHeader& header() const override { return header_; }
  bool read(std::vector<std::uint8_t>& samples) override { return interleaver_->read(samples); }
  std::vector<StreamReport> reports() const override { return interleaver_->reports(); }
  std::optional<std::uint64_t> expected_samples() const override { return expected_; }
  std::uint64_t memory_bytes() const override { return memory_; }

 private:
  VoltageHeader header_;
  std::unique_ptr<PacketFormat> format_;
  std::unique_ptr<Interleaver> interleaver_;
  std::optional<std::uint64_t> expected_;
  std::uint64_t memory_ = 0;
};

}  // namespace

PacketInputs open_packet_inputs(const std::vector<std::string>& inputs) {
  std::vector<std::unique_ptr<PrefetchSource>> sources;
  for (const std::string& input : inputs) sources.push_back(std::make_unique<PrefetchSource>(input));
  PacketInputs windows;
  for (auto& source : sources) windows.push_back(std::make_unique<InputWindow>(std::move(source)));
  return windows;
}

PacketSurvey survey_packets(const PacketInputs& inputs, const PacketFormat& format) {
  PacketSurvey survey;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::vector<PacketTag> tags = first_tags(*inputs[i], format);
    const std::string& name = inputs[i]->source().name();
    if (tags.empty())
      throw DataError("{}: byte 0: no whole frame of {} bytes of the kind of the first input{}", name,
                      format.packet_bytes, foreign_hint(inputs[i]->beginning(), ""));
    std::map<std::uint32_t, std::size_t> counts;
    for (const PacketTag& tag : tags) ++counts[tag.key];
    std::size_t most = 0;
    for (const auto& [key, n] : counts) most = std::max(most, n);
    for (const auto& [key, n] : counts) {
      if (n * 4 < most) continue;
      const auto [other, is_new] = survey.keys.emplace(key, i);
      if (!is_new)
        throw UsageError(
            "{}: it carries what {} carries: give the pieces of one recording through one pipe: cat A B | "
            "ingest",
            name, inputs[other->second]->source().name());
    }
    const std::int64_t step = usual_step(tags), tick = earliest_tick(tags, step);
    if (survey.step_ticks == 0) survey.step_ticks = step;
    survey.first_tick = i == 0 ? tick : std::min(survey.first_tick, tick);
  }
  return survey;
}

std::unique_ptr<Capture> make_packet_capture(const VoltageHeader& header, const PacketPlan& plan,
                                             const PacketSurvey& survey, PacketInputs inputs,
                                             std::unique_ptr<PacketFormat> format) {
  return std::make_unique<PacketCapture>(header, plan, survey, std::move(inputs), std::move(format));
}

}  // namespace apsyn
