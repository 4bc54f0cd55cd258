// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/search/device_case.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "kernels/common/cuda/transfer.h"
#include "kernels/dedisperse/dedisperse_cuda.h"
#include "kernels/search/series_cuda.h"
#include "libcore/system/device.h"

namespace apsyn::bench {

namespace {

using Clock = std::chrono::steady_clock;
constexpr unsigned kLanes = 2;
constexpr int kRuns = 5;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// The middle of kRuns after one that warms up.
template <class Run>
double median_seconds(Run run) {
  run();
  std::vector<double> seconds;
  for (int i = 0; i < kRuns; ++i) {
    const Clock::time_point begin = Clock::now();
    run();
    seconds.push_back(seconds_since(begin));
  }
  std::nth_element(seconds.begin(), seconds.begin() + kRuns / 2, seconds.end());
  return seconds[kRuns / 2];
}

}  // namespace

void bench_on_device(const SearchCase& c, std::size_t gulp, int device_index) {
  const DispersionBand band{c.first_mhz * 1e6, c.step_mhz * 1e6, c.n_chan, c.sample_s};
  TrialSettings settings;
  settings.dm_high = c.dm_high, settings.dm_step = c.dm_step, settings.max_factor = 1;
  const auto levels = plan_trials(band, settings);
  const DedispersionPlan plan = plan_dedispersion(band, levels);
  const SeriesPlan filters = plan_series(4096, default_widths(256), 8);
  const std::size_t reach = plan.max_delay_samples(), n_batch = plan.batches.size();

  Buffer<std::int8_t, 2> samples;
  samples.resize_for_overwrite({c.n_chan, gulp});
  std::mt19937 random(1);
  for (std::int8_t& x : samples) {
    const std::uint32_t bits = random();
    x = static_cast<std::int8_t>(((bits & 31) + (bits >> 8 & 31) + (bits >> 16 & 31)) - 46);
  }
  const auto dedisperser = make_cuda_dedisperser(plan, 2 * gulp + reach, gulp, kLanes, device_index);
  std::vector<CudaSeriesGroup> groups;
  for (const DedispersionBatch& batch : plan.batches) groups.push_back({batch.dm.size(), &filters, gulp});
  std::size_t arrived = 0;
  const double upload_s = median_seconds([&] {
    dedisperser->append(samples.data(), gulp, gulp);
    arrived += gulp;
  });
  while (arrived < gulp + reach) {
    dedisperser->append(samples.data(), gulp, gulp);
    arrived += gulp;
  }
  const auto first = static_cast<std::int64_t>(arrived - gulp - reach);

  // series that are overwritten again and again
  struct Out {
    DeviceArray<float> values;
    CopyStream stream;
  };
  Out outs[kLanes];
  for (Out& out : outs) out.values = DeviceArray<float>(128 * gulp);
  const double dedispersion_s = median_seconds([&] {
    for (std::size_t i = 0; i < n_batch; ++i) {
      const auto lane = static_cast<unsigned>(i % kLanes);
      dedisperser->dedisperse(
          i, first,
          {outs[lane].values.data(), plan.batches[i].dm.size(), gulp, gulp, outs[lane].stream.get(), lane});
    }
    cuda_check(cudaDeviceSynchronize(), "waiting for the device");
  });
  for (Out& out : outs) out.values = DeviceArray<float>();

  const auto search = make_cuda_series_search(groups, kLanes, device_index);
  const std::vector<SeriesWeights> weights(128, {static_cast<float>(c.n_chan), {}});
  std::size_t n_hit = 0;
  const double search_s = median_seconds([&] {
    for (std::size_t i = 0; i < n_batch + kLanes; ++i) {
      const auto lane = static_cast<unsigned>(i % kLanes);
      if (i >= kLanes) n_hit += search->finish(lane).size();
      if (i >= n_batch) continue;
      dedisperser->dedisperse(i, first, search->next(i, gulp, lane));
      search->search({weights.data(), plan.batches[i].dm.size()}, false, lane);
    }
  });
  const double work = static_cast<double>(plan.n_trial) * static_cast<double>(gulp),
               data_s = static_cast<double>(gulp) * c.sample_s;
  fmt::print(
      "{{\"case\": \"{}\", \"device\": \"{}\", \"channels\": {}, \"trials\": {}, \"subbands\": {}, "
      "\"gulp\": {}, \"upload_s\": {:.4g}, \"dedispersion_s\": {:.4g}, \"search_s\": {:.4g}, "
      "\"dedispersion_trial_samples_s\": {:.4g}, \"brute_force_additions_s\": {:.4g}, "
      "\"search_trial_samples_s\": {:.4g}, \"dedispersion_real_time\": {:.4g}, \"search_real_time\": {:.4g}, "
      "\"with_upload_real_time\": {:.4g}, \"hits\": {}}}\n",
      c.name, cuda_device_name(device_index), c.n_chan, plan.n_trial, plan.n_subband(), gulp, upload_s,
      dedispersion_s, search_s, work / dedispersion_s, work * static_cast<double>(c.n_chan) / dedispersion_s,
      work / search_s, data_s / dedispersion_s, data_s / search_s, data_s / (search_s + upload_s), n_hit);
  std::fflush(stdout);
}

}  // namespace apsyn::bench
