// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <tuple>

#include "kernels/dedisperse/dedisperse.h"
#include "kernels/dedisperse/dedisperse_cuda.h"
#include "kernels/dedisperse/tile.h"

namespace apsyn {
namespace {

/// Trials of a batch: enough that partial sums made twice, at its ends, are few.
constexpr std::size_t kBatchTrials = 128;

/// Delays of a level, in its samples.
class LevelDelays {
 public:
  LevelDelays(const DispersionBand& band, const std::vector<std::size_t>& first_chan, std::size_t factor) {
    for (std::size_t chan = 0; chan < band.n_chan; ++chan)
      per_dm_.push_back(band.delay_per_dm(chan) / static_cast<double>(factor));
    for (std::size_t s = 0; s + 1 < first_chan.size(); ++s) {
      const double a = per_dm_[first_chan[s]], b = per_dm_[first_chan[s + 1] - 1];
      middle_.push_back((a + b) / 2);
      width_.push_back(std::abs(a - b));
    }
  }
  double channel(std::size_t chan) const { return per_dm_[chan]; }
  double middle(std::size_t s) const { return middle_[s]; }
  double width(std::size_t s) const { return width_[s]; }  ///< from end to end of a sub-band

 private:
  std::vector<double> per_dm_, middle_, width_;
};

/// Builds the partial sums of one batch.
class BatchBuilder {
 public:
  BatchBuilder(const DedispersionPlan& plan, const LevelDelays& delays, DedispersionMethod method,
               DedispersionBatch& batch)
      : plan_(plan),
        delays_(delays),
        method_(method),
        batch_(batch),
        steps_(partial_steps(plan.band, batch.dm.front(), plan.levels[batch.level].factor)) {}

  void build() {
    batch_.uses.resize({batch_.dm.size(), plan_.n_subband()});
    for (std::size_t trial = 0; trial < batch_.dm.size(); ++trial)
      for (std::size_t s = 0; s < plan_.n_subband(); ++s)
        batch_.uses(trial, s) =
            method_ == DedispersionMethod::exact ? exact(batch_.dm[trial], s) : partial(batch_.dm[trial], s);
    for (std::size_t trial = 0; trial < batch_.dm.size(); ++trial)
      for (std::size_t s = 0; s < plan_.n_subband(); ++s) {
        const PartialUse& use = batch_.uses(trial, s);
        PartialSum& sum = batch_.sums[use.row];
        sum.first_shift = std::min(sum.first_shift, use.shift);
        sum.last_shift = std::max(sum.last_shift, use.shift);
      }
  }

 private:
  PartialUse partial(double dm, std::size_t s) {
    const double at = delays_.middle(s) * dm;
    auto whole = static_cast<std::int64_t>(std::floor(at));
    auto phase = std::lround((at - std::floor(at)) * static_cast<double>(steps_.phases));
    if (phase == static_cast<long>(steps_.phases)) ++whole, phase = 0;
    const double step = delays_.width(s) > 0 ? steps_.spread / delays_.width(s) : 1e30;
    const auto coarse = std::llround(dm / step);
    const auto [known, is_new] = by_key_.try_emplace({s, coarse, phase});
    if (is_new)
      known->second = row(s, static_cast<double>(coarse) * step, delays_.middle(s),
                          static_cast<double>(phase) / static_cast<double>(steps_.phases));
    return {known->second.row,
            static_cast<std::uint32_t>(std::max<std::int64_t>(0, whole + known->second.base))};
  }
  PartialUse exact(double dm, std::size_t s) {
    const Row made = row(s, dm, 0, 0);
    return {made.row, static_cast<std::uint32_t>(made.base)};
  }

  struct Row {
    std::uint32_t row = 0;
    std::int64_t base = 0;  ///< the smallest offset, which was taken away
  };
  Row row(std::size_t s, double dm, double middle, double phase) {
    std::vector<std::int64_t> offset;
    for (std::size_t chan = plan_.first_chan[s]; chan < plan_.first_chan[s + 1]; ++chan)
      offset.push_back(std::llround((delays_.channel(chan) - middle) * dm + phase));
    const std::int64_t base = *std::min_element(offset.begin(), offset.end());
    PartialSum sum{s, {}, std::numeric_limits<std::uint32_t>::max(), 0};
    for (std::int64_t value : offset) sum.offset.push_back(static_cast<std::uint32_t>(value - base));
    const auto [known, is_new] =
        by_offsets_.try_emplace({s, sum.offset}, static_cast<std::uint32_t>(batch_.sums.size()));
    if (is_new) batch_.sums.push_back(std::move(sum));
    return {known->second, base};
  }

  const DedispersionPlan& plan_;
  const LevelDelays& delays_;
  DedispersionMethod method_;
  DedispersionBatch& batch_;
  PartialSteps steps_;
  std::map<std::tuple<std::size_t, long long, long>, Row> by_key_;
  std::map<std::pair<std::size_t, std::vector<std::uint32_t>>, std::uint32_t> by_offsets_;
};

/// Additions for an output sample of a trial are about 1.2 Q n_ch of int8 and n_chan / n_ch of int16 (1.2:
/// trials are about 1.65 samples of delay apart over the band, a partial sum's dispersion measures 1 sample
/// over a sub-band); one of the latter takes as long as 2.8 of the former, measured.
std::size_t cheapest_subband(std::size_t n_chan) {
  const double best = std::sqrt(static_cast<double>(n_chan) * 2.8 / 2.4);
  return std::clamp<std::size_t>(std::bit_ceil(static_cast<std::size_t>(best * 0.75) + 1), 1,
                                 std::min<std::size_t>(n_chan, 256));
}

}  // namespace

std::size_t DedispersionPlan::max_delay_samples() const {
  std::size_t most = 0;
  for (std::size_t level = 0; level < levels.size(); ++level)
    most = std::max(most, (max_delay[level] + 1) * levels[level].factor);
  return most;
}

std::size_t DedispersionPlan::scratch_bytes() const {
  std::size_t most = 0;
  for (const DedispersionBatch& batch : batches) most = std::max(most, tile_samples(batch));
  return most * sizeof(std::int16_t);
}

DedispersionPlan plan_dedispersion(const DispersionBand& band, const std::vector<TrialLevel>& levels,
                                   DedispersionMethod method, std::size_t chan_per_subband) {
  if (chan_per_subband == 0)
    chan_per_subband = method == DedispersionMethod::exact ? 256 : cheapest_subband(band.n_chan);
  if (chan_per_subband > kMaxSubbandChannels)
    throw std::invalid_argument("plan_dedispersion: a sub-band of more than 258 channels overflows");
  if (band.n_chan > (std::size_t{1} << 17))
    throw std::invalid_argument("plan_dedispersion: more than 131072 channels");
  DedispersionPlan plan;
  plan.band = band, plan.levels = levels;
  for (std::size_t chan = 0; chan < band.n_chan; chan += chan_per_subband) plan.first_chan.push_back(chan);
  plan.first_chan.push_back(band.n_chan);
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const LevelDelays delays(band, plan.first_chan, levels[level].factor);
    const auto& dm = levels[level].dm;
    std::size_t most = 0;
    for (std::size_t first = 0; first < dm.size(); first += kBatchTrials) {
      DedispersionBatch& batch = plan.batches.emplace_back();
      batch.level = level, batch.first_trial = plan.n_trial + first;
      batch.dm.assign(dm.begin() + static_cast<std::ptrdiff_t>(first),
                      dm.begin() + static_cast<std::ptrdiff_t>(std::min(dm.size(), first + kBatchTrials)));
      BatchBuilder(plan, delays, method, batch).build();
      for (const PartialSum& sum : batch.sums)
        most = std::max<std::size_t>(
            most, sum.last_shift + *std::max_element(sum.offset.begin(), sum.offset.end()));
    }
    plan.max_delay.push_back(most);
    plan.n_trial += dm.size();
  }
  return plan;
}

std::size_t row_samples(const DedispersionBatch& batch, std::size_t n_time) {
  std::uint32_t spread = 0;
  for (const PartialSum& sum : batch.sums) spread = std::max(spread, sum.last_shift - sum.first_shift);
  return (n_time + spread + 4 + 3) / 4 * 4;
}

std::size_t sums_of(const DedispersionPlan& plan, std::size_t n_time) {
  std::size_t most = 0;
  for (const DedispersionBatch& batch : plan.batches) {
    const std::size_t factor = plan.levels[batch.level].factor;
    most = std::max(most, batch.sums.size() * row_samples(batch, (n_time + factor - 1) / factor));
  }
  return most;
}

std::size_t ring_samples(std::size_t capacity, std::size_t factor) {
  return std::bit_ceil(capacity / factor + 64);
}

std::uint64_t cuda_dedisperser_bytes(const DedispersionPlan& plan, std::size_t capacity, std::size_t n_time,
                                     unsigned n_lane) {
  std::uint64_t bytes = plan.band.n_chan * n_time;  // samples that arrive
  for (const TrialLevel& level : plan.levels)
    bytes += plan.band.n_chan * ring_samples(capacity, level.factor);
  return bytes + n_lane * sums_of(plan, n_time) * sizeof(std::int16_t);
}

}  // namespace apsyn
