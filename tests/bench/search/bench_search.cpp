// SPDX-License-Identifier: GPL-3.0-or-later
// bench_search [THREADS|cuda[:N]]: dedispersion and matched filters on samples in memory, one JSON line per
// case: on the CPU, sub-bands against brute force with the same loops, rates in trial samples (of the input's
// resolution) a second, and what the sub-bands lose; on a GPU, samples on their way there, trials, and trials
// with their filters. The first case is one beam of BEST-2 as in Magro et al. 2014: 1024 channels, 20 MHz,
// 864 trials up to DM 86.4.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
#include <string_view>

#include "kernels/dedisperse/dedisperse.h"
#include "kernels/search/series.h"
#include "libcore/system/device.h"
#include "libcore/system/parallel.h"
#include "tests/bench/search/device_case.h"

using namespace apsyn;

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kGulp = 32768;

using Case = bench::SearchCase;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Timing {
  double dedispersion_s = 0, search_s = 0;
  double peak = 0;  ///< of two neighbouring samples
};

/// All trials of a gulp; the series are searched, too, when there are filters.
Timing run(const DedispersionPlan& plan, const std::vector<Buffer<std::int8_t, 2>>& rows,
           const SeriesPlan* filters, unsigned n_threads) {
  struct Work {
    DedispersionScratch scratch;
    Buffer<float, 2> out;
    SeriesScratch series;
    std::vector<SeriesHit> hits;
    double dedispersion_s = 0, peak = 0;
  };
  std::vector<Work> work(n_threads);
  std::vector<SeriesState> states(plan.n_trial);
  const Clock::time_point begin = Clock::now();
  parallel_for(n_threads, plan.batches.size(), [&](std::size_t i, unsigned thread) {
    const DedispersionBatch& batch = plan.batches[i];
    Work& w = work[thread];
    const std::size_t n = kGulp / plan.levels[batch.level].factor;
    w.out.resize_for_overwrite({batch.dm.size(), n});
    const Buffer<std::int8_t, 2>& in = rows[batch.level];
    const Clock::time_point start = Clock::now();
    dedisperse(plan, batch, {in.data(), in.extent(1)}, n, w.scratch, w.out);
    w.dedispersion_s += seconds_since(start);
    if (filters == nullptr) {
      for (std::size_t trial = 0; trial < batch.dm.size(); ++trial)
        for (std::size_t t = 0; t + 1 < n; ++t)
          w.peak = std::max(w.peak, static_cast<double>(w.out(trial, t) + w.out(trial, t + 1)));
      return;
    }
    for (std::size_t trial = 0; trial < batch.dm.size(); ++trial)
      search_series(*filters, states[batch.first_trial + trial], {&w.out(trial, 0), n}, {},
                    static_cast<float>(plan.band.n_chan), true, w.series, w.hits);
  });
  const double all = seconds_since(begin);
  Timing timing;
  for (const Work& w : work) {
    timing.dedispersion_s += w.dedispersion_s / n_threads;
    timing.peak = std::max(timing.peak, w.peak);
  }
  timing.search_s = all;
  return timing;
}

void run_case(const Case& c, unsigned n_threads) {
  const DispersionBand band{c.first_mhz * 1e6, c.step_mhz * 1e6, c.n_chan, c.sample_s};
  TrialSettings settings;
  settings.dm_high = c.dm_high, settings.dm_step = c.dm_step, settings.max_factor = 1;
  const auto levels = plan_trials(band, settings);
  const DedispersionPlan fast = plan_dedispersion(band, levels);
  const DedispersionPlan exact = plan_dedispersion(band, levels, DedispersionMethod::exact);
  const SeriesPlan filters = plan_series(4096, default_widths(256), 8);

  // noise, and a pulse of two samples on a trial in the middle
  std::vector<Buffer<std::int8_t, 2>> rows(1);
  const std::size_t n_in = kGulp + std::max(fast.max_delay[0], exact.max_delay[0]);
  rows[0].resize_for_overwrite({c.n_chan, n_in});
  std::mt19937 random(1);
  for (std::int8_t& x : rows[0]) {
    const std::uint32_t bits = random();
    x = static_cast<std::int8_t>(((bits & 31) + (bits >> 8 & 31) + (bits >> 16 & 31)) - 46);
  }
  const double dm = levels[0].dm[levels[0].dm.size() / 2];
  for (std::size_t chan = 0; chan < c.n_chan; ++chan)
    for (int i = 0; i < 2 * 60; ++i)  // two samples long
      rows[0](chan, static_cast<std::size_t>(1000 + band.delay_per_dm(chan) * dm + i / 60.0)) += 1;

  Timing best = run(fast, rows, nullptr, n_threads), brute = run(exact, rows, nullptr, n_threads);
  best.search_s = 1e9;
  for (int i = 0; i < 2; ++i) {
    const Timing t = run(fast, rows, &filters, n_threads);
    best.dedispersion_s = std::min(best.dedispersion_s, t.dedispersion_s);
    best.search_s = std::min(best.search_s, t.search_s);
    brute.dedispersion_s =
        std::min(brute.dedispersion_s, run(exact, rows, nullptr, n_threads).dedispersion_s);
  }
  const double work = static_cast<double>(fast.n_trial) * kGulp, data_s = kGulp * c.sample_s;
  fmt::print(
      "{{\"case\": \"{}\", \"threads\": {}, \"channels\": {}, \"trials\": {}, \"subbands\": {}, "
      "\"dedispersion_trial_samples_s\": {:.4g}, \"brute_trial_samples_s\": {:.4g}, \"speedup\": {:.3g}, "
      "\"additions_s\": {:.4g}, \"search_trial_samples_s\": {:.4g}, \"dedispersion_real_time\": {:.3g}, "
      "\"search_real_time\": {:.3g}, \"peak_over_brute\": {:.4f}}}\n",
      c.name, n_threads, c.n_chan, fast.n_trial, fast.n_subband(), work / best.dedispersion_s,
      work / brute.dedispersion_s, brute.dedispersion_s / best.dedispersion_s,
      work * static_cast<double>(c.n_chan) / best.dedispersion_s, work / best.search_s,
      data_s / best.dedispersion_s, data_s / best.search_s, best.peak / brute.peak);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  constexpr Case kBest2{"BEST-2", 408, -20.0 / 1024, 1024, 51.2e-6, 86.4, 0.1};
  constexpr Case kBest2Auto{"BEST-2, auto step", 408, -20.0 / 1024, 1024, 51.2e-6, 86.4, 0};
  constexpr Case kSurvey{"1.4 GHz survey", 1582, -0.390625, 1024, 64e-6, 1000, 0};
  const std::string_view device = argc > 1 ? argv[1] : "";
  if (device.substr(0, 4) == "cuda") {
    const int index = device.size() > 5 ? std::atoi(device.data() + 5) : 0;
    bench::bench_on_device(kBest2, 65536, index);
    bench::bench_on_device(kBest2Auto, 65536, index);
    bench::bench_on_device(kSurvey, 65536, index);
    bench::bench_on_device({"4096 channels, 2000 trials", 1500, -0.0732421875, 4096, 64e-6, 1000, 0.5002},
                           65536, index);
    return 0;
  }
  const unsigned n_threads = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : available_threads();
  run_case(kBest2, n_threads);
  run_case(kBest2Auto, n_threads);
  run_case(kSurvey, n_threads);
  run_case({"1.4 GHz, 64 channels", 1500, -4, 64, 256e-6, 1000, 0}, n_threads);
}
