// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/capture/frames/interleave.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <stdexcept>

#include "libcore/base/error.h"

namespace apsyn {
namespace {

constexpr std::size_t kBlockBytes = 2u << 20;

}  // namespace

Interleaver::Interleaver(std::vector<std::unique_ptr<PacketSource>> sources, InterleavePlan plan)
    : plan_(std::move(plan)), base_(plan_.first), end_(plan_.first) {
  const std::size_t packet = plan_.packet_samples, missing = plan_.missing_samples;
  if (packet % missing != 0 && missing % packet != 0)
    throw std::invalid_argument("interleaver: packets and missing spans do not fit");
  // Blocks are whole spans, so that blanking never reaches into the next one.
  const std::size_t span = std::max<std::size_t>(1, missing / packet);
  const std::size_t packet_bytes = packet * plan_.time_bytes;
  block_ = std::max<std::size_t>(1, kBlockBytes / packet_bytes / span) * span;
  capacity_ = block_ + plan_.slack;
  window_.resize(capacity_ * packet_bytes);
  present_.assign(plan_.lanes.size(), std::vector<std::uint8_t>(capacity_));
  std::map<Lane::Ranges, std::size_t> groups;
  for (const Lane& lane : plan_.lanes) {
    const auto [group, is_new] = groups.emplace(lane.blank, groups.size());
    group_of_.push_back(group->second);
    if (is_new) groups_.push_back(&lane.blank);
  }
  for (auto& source : sources) {
    inputs_.emplace_back();
    inputs_.back().source = std::move(source);
    inputs_.back().ended = !inputs_.back().source->next(inputs_.back().run);
  }
}

Interleaver::~Interleaver() = default;

std::uint64_t Interleaver::memory_bytes() const {
  return window_.size() + present_.size() * capacity_;
}

/// Takes what of the current run lies in the window.
void Interleaver::place(Input& input) {
  const PacketRun& run = input.run;
  const std::int64_t at = run.first + static_cast<std::int64_t>(input.taken) - base_;
  std::size_t left = run.n - input.taken;
  if (at < 0) {
    const std::size_t late = std::min<std::size_t>(left, static_cast<std::size_t>(-at));
    input.late += late;
    input.taken += late;
    return;
  }
  const auto from = static_cast<std::size_t>(at);
  const std::size_t n = std::min(left, capacity_ - from);
  std::uint8_t* present = present_[run.lane].data() + from;
  const auto twice = static_cast<std::size_t>(std::count(present, present + n, 1));
  input.source->decode(input.taken, n, window_.data() + from * plan_.packet_samples * plan_.time_bytes);
  std::memset(present, 1, n);
  input.taken += n;
  input.intact += n - twice;
  input.late += twice;
  end_ = std::max(end_, base_ + at + static_cast<std::int64_t>(n));
}

/// Reads on until the source has passed the block by the slack, or ended.
void Interleaver::fill(Input& input) {
  while (!input.ended) {
    if (input.taken == input.run.n) {
      input.taken = 0;
      input.ended = !input.source->next(input.run);
      continue;
    }
    const std::int64_t at = input.run.first + static_cast<std::int64_t>(input.taken);
    if (at >= base_ + static_cast<std::int64_t>(capacity_)) return;
    place(input);
  }
}

void Interleaver::blank_missing(std::size_t n_packets) {
  const std::size_t span = std::max<std::size_t>(1, plan_.missing_samples / plan_.packet_samples);
  const std::size_t packet_bytes = plan_.packet_samples * plan_.time_bytes;
  std::vector<std::uint8_t> incomplete(groups_.size());
  for (std::size_t first = 0; first < n_packets; first += span) {
    const std::size_t n = std::min(span, n_packets - first);
    std::fill(incomplete.begin(), incomplete.end(), 0);
    for (std::size_t lane = 0; lane < plan_.lanes.size(); ++lane)
      incomplete[group_of_[lane]] |= std::memchr(present_[lane].data() + first, 0, n) != nullptr;
    for (std::size_t lane = 0; lane < plan_.lanes.size(); ++lane) {
      if (incomplete[group_of_[lane]] == 0) continue;
      const std::uint8_t* present = present_[lane].data() + first;
      inputs_[plan_.lanes[lane].source].blanked +=
          static_cast<std::uint64_t>(std::count(present, present + n, 1));
    }
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      if (incomplete[group] == 0) continue;
      for (std::size_t sample = 0; sample < n * plan_.packet_samples; ++sample)
        for (const auto& [offset, bytes] : *groups_[group])
          std::memset(window_.data() + first * packet_bytes + sample * plan_.time_bytes + offset, 0, bytes);
    }
  }
}

bool Interleaver::read(std::vector<std::uint8_t>& samples) {
  for (Input& input : inputs_) fill(input);
  std::size_t n = block_;
  const bool ended =
      std::all_of(inputs_.begin(), inputs_.end(), [](const Input& input) { return input.ended; });
  if (ended)
    n = static_cast<std::size_t>(std::min<std::int64_t>(end_ - base_, static_cast<std::int64_t>(block_)));
  if (n == 0) return false;
  blank_missing(n);
  const std::size_t packet_bytes = plan_.packet_samples * plan_.time_bytes, kept = capacity_ - block_;
  samples.assign(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(n * packet_bytes));
  std::memmove(window_.data(), window_.data() + block_ * packet_bytes, kept * packet_bytes);
  std::memset(window_.data() + kept * packet_bytes, 0, block_ * packet_bytes);
  for (auto& present : present_) {
    std::memmove(present.data(), present.data() + block_, kept);
    std::memset(present.data() + kept, 0, block_);
  }
  base_ += static_cast<std::int64_t>(n);
  end_ = std::max(end_, base_);
  return true;
}

std::vector<StreamReport> Interleaver::reports() const {
  std::vector<StreamReport> reports;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    StreamReport report = inputs_[i].source->report();
    const auto n_lanes = static_cast<std::uint64_t>(std::count_if(
        plan_.lanes.begin(), plan_.lanes.end(), [&](const Lane& lane) { return lane.source == i; }));
    const std::uint64_t expected = static_cast<std::uint64_t>(base_ - plan_.first) * n_lanes;
    report.intact = inputs_[i].intact;
    report.repeated += inputs_[i].late;
    report.blanked = inputs_[i].blanked;
    report.lost = expected - std::min(expected, report.intact + report.damaged);
    reports.push_back(report);
  }
  return reports;
}

void throw_gap(const Gap& gap) {
  const std::string parts =
      fmt::format("take the parts by themselves (head -c {}, tail -c +{})", gap.byte, gap.byte + 1);
  if (gap.seconds < 0)
    throw DataError("{}: {}: the recording goes on {:.6g} s earlier than it stopped: {}", gap.input,
                    gap.place, -gap.seconds, parts);
  throw DataError(
      "{}: {}: the recording goes on {:.6g} s after it stopped: more than --max-gap {:.6g}s: raise it to "
      "fill the pause with missing data, or {}",
      gap.input, gap.place, gap.seconds, gap.max_s, parts);
}

}  // namespace apsyn
