// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/search-transients/device_search.h"

#include <algorithm>

#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

/// One batch of trials is prepared and its hits are taken while the device works on another.
constexpr unsigned kLanes = 2;

std::vector<CudaSeriesGroup> groups_of(const SearchPlan& plan) {
  std::vector<CudaSeriesGroup> groups;
  for (const DedispersionBatch& batch : plan.dedispersion.batches) {
    const std::size_t factor = plan.dedispersion.levels[batch.level].factor;
    groups.push_back({batch.dm.size(), &plan.series[batch.level], (plan.gulp + factor - 1) / factor});
  }
  return groups;
}

RawSampleFormat format_of(const SearchPlan& plan, const FilterbankInput& input) {
  return {input.header.n_chan, input.header.n_if, input.header.n_bit, input.is_signed,
          plan.intensity == IntensityKind::sum};
}

/// Of a block: a rest shorter than half of one joins the last.
std::size_t max_samples(const SearchPlan& plan) {
  return plan.block + plan.block / 2;
}

}  // namespace

std::uint64_t device_search_bytes(const SearchPlan& plan, const FilterbankInput& input) {
  return cuda_exciser_bytes(format_of(plan, input), max_samples(plan)) +
         cuda_dedisperser_bytes(plan.dedispersion, plan.history(), plan.gulp, kLanes) +
         cuda_series_search_bytes(groups_of(plan), kLanes);
}

DeviceSearch::DeviceSearch(const SearchPlan& plan, const FilterbankInput& input, int device_index)
    : plan_(plan),
      exciser_(make_cuda_exciser(plan.excise, format_of(plan, input), max_samples(plan), device_index)),
      dedisperser_(make_cuda_dedisperser(plan.dedispersion, plan.history(), plan.gulp, kLanes, device_index)),
      series_(make_cuda_series_search(groups_of(plan), kLanes, device_index)) {}

std::vector<Hit> DeviceSearch::search(std::int64_t first, std::size_t n_time, bool ends,
                                      const DedispersedWeights& weights) {
  const std::size_t n_batch = plan_.dedispersion.batches.size();
  std::vector<Hit> hits;
  for (std::size_t batch = 0; batch < n_batch + kLanes; ++batch) {
    const auto lane = static_cast<unsigned>(batch % kLanes);
    if (batch >= kLanes) finish(batch - kLanes, lane, hits);
    if (batch < n_batch) start(batch, first, n_time, ends, weights, lane);
  }
  return hits;
}

void DeviceSearch::start(std::size_t index, std::int64_t first, std::size_t n_time, bool ends,
                         const DedispersedWeights& weights, unsigned lane) {
  const DedispersionBatch& batch = plan_.dedispersion.batches[index];
  const std::size_t factor = plan_.dedispersion.levels[batch.level].factor,
                    n = (n_time + factor - 1) / factor, n_trial = batch.dm.size();
  const std::int64_t begin = series_->begin(index);
  const std::size_t n_all = series_->n_kept(index) + n;
  const DeviceSeries out = series_->next(index, n, lane);
  dedisperser_->dedisperse(index, first, out);
  std::vector<std::vector<WeightChange>> changes(n_trial);
  std::vector<SeriesWeights> all(n_trial);
  constexpr std::size_t kSome = 8;  // trials that a thread takes at a time
  parallel_for(plan_.excise.n_threads, (n_trial + kSome - 1) / kSome, [&](std::size_t item, unsigned) {
    for (std::size_t trial = item * kSome; trial < std::min(n_trial, (item + 1) * kSome); ++trial) {
      const auto own = weights.changes(batch, trial, begin, static_cast<std::int64_t>(n_all));
      for (const auto& [at, step] : own.later)
        changes[trial].push_back({static_cast<std::uint32_t>(at), step});
      std::sort(changes[trial].begin(), changes[trial].end(),
                [](const WeightChange& a, const WeightChange& b) { return a.at < b.at; });
      all[trial] = {own.first, changes[trial]};
    }
  });
  series_->search(all, ends, lane);
}

void DeviceSearch::finish(std::size_t index, unsigned lane, std::vector<Hit>& hits) {
  const DedispersionBatch& batch = plan_.dedispersion.batches[index];
  const std::size_t factor = plan_.dedispersion.levels[batch.level].factor;
  const auto scale = static_cast<std::int64_t>(factor);
  for (const BatchHit& found : series_->finish(lane))
    hits.push_back({static_cast<std::uint32_t>(batch.first_trial + found.series),
                    static_cast<std::uint32_t>(factor), found.hit.begin * scale,
                    static_cast<std::int64_t>(found.hit.width) * scale, found.hit.sn});
}

}  // namespace apsyn
