// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/dedisperse/weights.h"

#include <algorithm>
#include <stdexcept>

namespace apsyn {

DedispersedWeights::DedispersedWeights(const DedispersionPlan& plan)
    : plan_(plan), steps_(plan.levels.size(), std::vector<std::vector<Step>>(plan.n_subband())) {}

void DedispersedWeights::append(std::span<const std::uint8_t> good_channel,
                                std::span<const std::uint8_t> good_time) {
  if (good_channel.size() != plan_.band.n_chan)
    throw std::length_error("DedispersedWeights: channels differ");
  std::vector<float> count(plan_.n_subband());
  for (std::size_t s = 0; s < count.size(); ++s)
    for (std::size_t chan = plan_.first_chan[s]; chan < plan_.first_chan[s + 1]; ++chan)
      count[s] += good_channel[chan] != 0;
  for (std::size_t level = 0; level < steps_.size(); ++level) {
    const std::size_t factor = plan_.levels[level].factor;
    const std::int64_t first = end_ / static_cast<std::int64_t>(factor);
    std::vector<Step> changes;  // of the good fraction of a sample
    for (std::size_t i = 0; i < good_time.size(); i += factor) {
      const auto* from = good_time.data() + i;
      const auto n_good = std::count_if(from, from + std::min(factor, good_time.size() - i),
                                        [](std::uint8_t good) { return good != 0; });
      const float fraction = static_cast<float>(n_good) / static_cast<float>(factor);
      if (changes.empty() || changes.back().weight != fraction)
        changes.push_back({first + static_cast<std::int64_t>(i / factor), fraction});
    }
    for (std::size_t s = 0; s < count.size(); ++s)
      for (const Step& change : changes) {
        auto& steps = steps_[level][s];
        const float weight = change.weight * count[s];
        if (steps.empty() || steps.back().weight != weight) steps.push_back({change.time, weight});
      }
  }
  end_ += static_cast<std::int64_t>(good_time.size());
}

void DedispersedWeights::release(std::int64_t sample) {
  for (std::size_t level = 0; level < steps_.size(); ++level) {
    const std::int64_t before = sample / static_cast<std::int64_t>(plan_.levels[level].factor);
    for (auto& steps : steps_[level]) {
      const auto after = std::partition_point(steps.begin(), steps.end(),
                                              [&](const Step& step) { return step.time <= before; });
      if (after - steps.begin() > 1) steps.erase(steps.begin(), after - 1);
    }
  }
}

DedispersedWeights::Changes DedispersedWeights::changes(const DedispersionBatch& batch, std::size_t trial,
                                                        std::int64_t first, std::int64_t n) const {
  const auto factor = static_cast<std::int64_t>(plan_.levels[batch.level].factor);
  const std::int64_t end = (end_ + factor - 1) / factor;
  Changes changes;
  for (std::size_t s = 0; s < plan_.n_subband(); ++s) {
    const PartialUse& use = batch.uses(trial, s);
    const auto& offset = batch.sums[use.row].offset;
    const std::int64_t shift = use.shift + offset[offset.size() / 2];
    const auto& steps = steps_[batch.level][s];
    auto step = std::partition_point(steps.begin(), steps.end(),
                                     [&](const Step& x) { return x.time - shift <= first; });
    float weight = step == steps.begin() ? 0 : step[-1].weight;
    if (first + shift >= end) weight = 0;
    changes.first += weight;
    const auto change = [&](std::int64_t at, float to) {
      if (at >= n || to == weight) return;
      changes.later.push_back({at, to - weight});
      weight = to;
    };
    for (; step != steps.end() && step->time - shift < first + n; ++step)
      change(step->time - shift - first, step->weight);
    if (end - shift > first) change(end - shift - first, 0);
  }
  return changes;
}

bool DedispersedWeights::weights(const DedispersionBatch& batch, std::size_t trial, std::int64_t first,
                                 std::span<float> out) const {
  const Changes all = changes(batch, trial, first, static_cast<std::int64_t>(out.size()));
  std::fill(out.begin(), out.end(), 0.0f);
  for (const auto& [at, step] : all.later) out[static_cast<std::size_t>(at)] += step;
  float sum = all.first;
  for (float& value : out) value = sum += value;
  return all.later.empty();
}

}  // namespace apsyn
