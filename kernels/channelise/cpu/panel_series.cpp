// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/channelise/cpu/panel_series.h"

#include <algorithm>
#include <limits>

namespace apsyn {

namespace {

/// Room for the samples of a chunk's spectra, as long as it stays in the cache.
std::size_t run_samples(const ChannelisePlan& plan) {
  if (plan.filterbank.n_taps == 0) return 0;
  return plan.n_span() + std::min<std::size_t>((kChunkSpectra - 1) * plan.n_sample + kChunkSpectra, 8192);
}

std::size_t run_stride(const ChannelisePlan& plan) {
  const std::size_t floats = run_samples(plan) * plan.values_per_sample();
  return floats == 0 ? 0 : (floats + 15) / 16 * 16 + 16;
}

}  // namespace

std::size_t series_stride(const ChannelisePlan& plan) {
  const std::size_t floats = 2 * (plan.real_input ? plan.n_fine + 1 : plan.n_sample);
  const std::size_t time_floats = plan.real_input ? plan.n_sample : floats;
  return (std::max(floats, time_floats) + 15) / 16 * 16 + 16;
}

PanelSeries::PanelSeries(const ChannelisePlan& plan)
    : n_sample_(plan.n_sample),
      n_taps_(plan.filterbank.n_taps),
      span_(plan.n_span()),
      values_(plan.values_per_sample()),
      room_(static_cast<std::int64_t>(run_samples(plan))) {
  series_.resize({kPanelInputs, series_stride(plan)});
  if (n_taps_ > 0) run_.resize({kPanelInputs, run_stride(plan)});
  restart();
}

std::uint64_t PanelSeries::bytes(const ChannelisePlan& plan) {
  return kPanelInputs * (series_stride(plan) + run_stride(plan)) * sizeof(float);
}

void PanelSeries::restart() {
  std::fill_n(run_end_, kPanelInputs, std::numeric_limits<std::int64_t>::min());
}

void PanelSeries::copy(const Source& source, std::size_t input, std::int64_t first, std::size_t n,
                       float* to) const {
  if (values_ == 1)
    source.store.copy_real(first, n, source.chan, source.panel * kPanelInputs + input, to);
  else
    source.store.copy_complex(first, n, source.chan, source.panel * kPanelInputs + input, to);
}

void PanelSeries::fill(const Source& source, std::size_t input, std::int64_t start) {
  float* out = series_.data() + input * series_.extent(1);
  if (n_taps_ == 0) return copy(source, input, start, n_sample_, out);
  float* run = run_.data() + input * run_.extent(1);
  std::int64_t& first = run_first_[input];
  std::int64_t& end = run_end_[input];
  const std::int64_t past = start + static_cast<std::int64_t>(span_);
  // `start` advances by n_sample, give or take what a delay has changed, and jumps over missing data
  if (start > end || start < first || past - first > room_) first = end = start;
  if (end < past) {
    copy(source, input, end, static_cast<std::size_t>(past - end),
         run + static_cast<std::size_t>(end - first) * values_);
    end = past;
  }
  FoldTask task;
  task.samples = run + static_cast<std::size_t>(start - first) * values_;
  task.weights = source.taps.data();
  task.n_taps = n_taps_;
  task.n_value = n_sample_ * values_;
  task.out = out;
  fold_taps(task);
}

}  // namespace apsyn
