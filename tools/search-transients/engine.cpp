// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/search-transients/engine.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

/// Raw samples of a file as the cleaner wants them.
class RawSamples final : public BlockSamples {
 public:
  RawSamples(const FilterbankInput& input, IntensityKind kind, const RawBlock& block)
      : input_(input), kind_(kind), block_(block) {}
  std::size_t n_time() const override { return block_.n_time; }
  void channels(std::size_t first, View<float, 2> out) const override {
    decode_filterbank_channels(input_, block_.bytes, kind_, first, out);
  }

 private:
  const FilterbankInput& input_;
  IntensityKind kind_;
  const RawBlock& block_;
};

/// Of each trial over the band, in samples.
std::vector<double> band_delays(const SearchPlan& plan) {
  const DispersionBand& band = plan.dedispersion.band;
  const double per_dm = std::max(band.delay_per_dm(0), band.delay_per_dm(band.n_chan - 1));
  std::vector<double> delays;
  for (double dm : plan.dm) delays.push_back(dm * per_dm);
  return delays;
}

}  // namespace

TransientSearch::TransientSearch(const SearchPlan& plan, const FilterbankInput& input, const Device& device,
                                 unsigned n_threads, bool cutouts)
    : plan_(plan),
      input_(input),
      n_threads_(n_threads),
      cutouts_(cutouts),
      weights_(plan.dedispersion),
      clusters_(band_delays(plan), static_cast<std::int64_t>(plan.longest_width() + plan.coarsest()),
                static_cast<std::int64_t>(plan.coarsest())),
      series_(plan.dm.size()),
      work_(n_threads) {
  if (device.kind == Device::Kind::cuda)
    device_search_ = std::make_unique<DeviceSearch>(plan, input, device.index);
  if (!device_search_ || cutouts) history_.emplace(plan.dedispersion, plan.history(), n_threads);
}

void TransientSearch::measure(RawBlock& block) {
  block.statistics = device_search_ ? device_search_->measure(block.bytes)
                                    : measure_block(plan_.excise, RawSamples(input_, plan_.intensity, block));
}

void TransientSearch::push(RawBlock& block) {
  const bool last = block.last;
  Measured next;
  next.statistics = std::move(block.statistics);
  if (!device_search_) next.raw = std::move(block);
  if (pending_) {
    clean(*pending_, &next.statistics);
    before_ = std::move(pending_->statistics);
    if (!device_search_) block = std::move(pending_->raw);
  }
  pending_ = std::move(next);
  if (last) {
    search_ready();  // the history has room for one block more than a gulp and its delays
    clean(*pending_, nullptr);
    const std::int64_t end = end_;
    // what arrives after the end is missing, so that the last pulses are searched in the part of the band
    // that is there
    while (searched_ < end) {
      const std::size_t n = std::min<std::size_t>(plan_.gulp, static_cast<std::size_t>(end - searched_));
      const std::int64_t needed =
          searched_ + static_cast<std::int64_t>(n + plan_.dedispersion.max_delay_samples());
      if (end_ < needed) append_missing(static_cast<std::size_t>(needed - end_));
      search(n, searched_ + static_cast<std::int64_t>(n) == end);
    }
    wait_for_search();
    return;
  }
  search_ready();
}

void TransientSearch::clean(const Measured& block, const BlockStatistics* after) {
  const BlockStatistics* before = before_ ? &*before_ : nullptr;
  const std::size_t n_time = block.statistics.n_time;
  reserve_samples(n_time);
  good_time_.resize(n_time);
  if (history_) clean_.resize_for_overwrite({plan_.excise.n_chan, n_time});
  if (device_search_) {
    device_search_->clean(before, block.statistics, after, good_time_, report_);
    if (history_) device_search_->copy_clean(clean_.data());
  } else {
    clean_block(plan_.excise, RawSamples(input_, plan_.intensity, block.raw), before, block.statistics, after,
                clean_.data(), n_time, good_time_, report_);
  }
  if (history_) history_->append(clean_.data(), n_time, n_time);
  weights_.append(block.statistics.good, good_time_);
  end_ += static_cast<std::int64_t>(n_time);
}

void TransientSearch::append_missing(std::size_t n_time) {
  reserve_samples(n_time);
  if (history_) history_->append_missing(n_time);
  if (device_search_) device_search_->append_missing(n_time);
  end_ += static_cast<std::int64_t>(n_time);
}

void TransientSearch::search_ready() {
  const auto needed = static_cast<std::int64_t>(plan_.gulp + plan_.dedispersion.max_delay_samples());
  while (end_ - searched_ >= needed) search(plan_.gulp, false);
}

std::vector<Hit> TransientSearch::search_on_cpu(std::int64_t first, std::size_t n_time, bool ends) {
  const std::size_t n_batch = plan_.dedispersion.batches.size();
  std::vector<std::vector<Hit>> hits(n_batch);
  parallel_for(n_threads_, n_batch, [&](std::size_t batch, unsigned thread) {
    hits[batch] = search_batch(batch, first, n_time, ends, thread);
  });
  std::vector<Hit> all;
  for (const auto& of_batch : hits) all.insert(all.end(), of_batch.begin(), of_batch.end());
  return all;
}

void TransientSearch::search(std::size_t n_time, bool ends) {
  const std::int64_t first = searched_;
  searched_ += static_cast<std::int64_t>(n_time);
  if (!device_search_) return search_ended(search_on_cpu(first, n_time, ends), searched_, n_time, ends);
  wait_for_search();
  const auto work = [this, first, n_time, ends, weights = weights_] {
    return device_search_->search(first, n_time, ends, weights);
  };
  // cutouts are made of samples that the cleaning would move
  if (history_) return search_ended(work(), searched_, n_time, ends);
  running_ = Running{first, searched_, ends, std::async(std::launch::async, work)};
}

void TransientSearch::wait_for_search() {
  if (!running_) return;
  Running running = std::move(*running_);
  running_.reset();
  search_ended(running.hits.get(), running.end, static_cast<std::size_t>(running.end - running.first),
               running.ends);
}

void TransientSearch::search_ended(std::vector<Hit> hits, std::int64_t end, std::size_t n_time, bool ends) {
  for (const DedispersionBatch& batch : plan_.dedispersion.batches)
    trial_samples_ += static_cast<double>(batch.dm.size() * n_time) /
                      static_cast<double>(plan_.dedispersion.levels[batch.level].factor);
  const auto block = static_cast<std::int64_t>(plan_.block);
  clusters_.add(std::move(hits), ends ? end : end - block);
  for (Candidate& candidate : clusters_.take(ends)) {
    FoundCandidate& found = found_.emplace_back();
    if (cutouts_) found.cutout = cut_out(candidate.best);
    found.candidate = std::move(candidate);
  }
  if (history_) history_->release(end - 3 * block);
  weights_.release(end - 3 * block);
}

void TransientSearch::reserve_samples(std::size_t n_time) {
  if (running_ &&
      end_ + static_cast<std::int64_t>(n_time) > running_->first + static_cast<std::int64_t>(plan_.history()))
    wait_for_search();
}

std::vector<Hit> TransientSearch::search_batch(std::size_t index, std::int64_t first, std::size_t n_time,
                                               bool ends, unsigned thread) {
  ThreadWork& work = work_[thread];
  const DedispersionBatch& batch = plan_.dedispersion.batches[index];
  const std::size_t factor = plan_.dedispersion.levels[batch.level].factor;
  const std::size_t n = (n_time + factor - 1) / factor, n_trial = batch.dm.size();
  work.sums.resize_for_overwrite({n_trial, n});
  dedisperse(plan_.dedispersion, batch, history_->rows(batch.level, first), n, work.dedispersion, work.sums);
  std::vector<Hit> hits;
  for (std::size_t trial = 0; trial < n_trial; ++trial) {
    const std::size_t number = batch.first_trial + trial;
    SeriesState& state = series_[number];
    work.weights.resize(state.kept.size() + n);
    const bool one_weight = weights_.weights(batch, trial, state.begin, work.weights);
    const std::span<const float> weights =
        one_weight ? std::span<const float>() : std::span<const float>(work.weights);
    work.hits.clear();
    search_series(plan_.series[batch.level], state, {&work.sums(trial, 0), n}, weights, work.weights[0], ends,
                  work.series, work.hits);
    for (const SeriesHit& hit : work.hits)
      hits.push_back({static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(factor),
                      hit.begin * static_cast<std::int64_t>(factor),
                      static_cast<std::int64_t>(hit.width) * static_cast<std::int64_t>(factor), hit.sn});
  }
  return hits;
}

std::vector<FoundCandidate> TransientSearch::take() {
  return std::exchange(found_, {});
}

}  // namespace apsyn
