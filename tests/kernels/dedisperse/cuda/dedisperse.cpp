// SPDX-License-Identifier: GPL-3.0-or-later
// Dedispersion and matched filters with CUDA: sums against brute force in float64 and against the CPU's,
// integer for integer, however the samples arrive; hits against the CPU's.
#include "kernels/common/cuda/transfer.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

#include "kernels/dedisperse/dedisperse_cuda.h"
#include "kernels/search/series_cuda.h"
#include "tests/reference/dispersion.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(dedisperse)

namespace {

DispersionBand kernel_band(const reference::Band& band) {
  return {band.first_mhz * 1e6, band.step_mhz * 1e6, band.n_chan, band.sample_s};
}

Buffer<std::int8_t, 2> random_samples(std::size_t n_chan, std::size_t n_time, unsigned seed) {
  Buffer<std::int8_t, 2> samples({n_chan, n_time});
  std::mt19937 random(seed);
  for (std::int8_t& x : samples) x = static_cast<std::int8_t>(static_cast<int>(random() % 255) - 127);
  return samples;
}

/// Sums of `factor` over its root, rounded half up, at most 127; what is beyond the end counts as 0.
std::int8_t averaged(const Buffer<std::int8_t, 2>& samples, std::size_t chan, std::size_t t,
                     std::size_t factor) {
  std::int64_t sum = 0;
  for (std::size_t i = t * factor; i < std::min((t + 1) * factor, samples.extent(1)); ++i)
    sum += samples(chan, i);
  if (factor == 1) return static_cast<std::int8_t>(sum);
  const std::int64_t scale = std::lround(65536 / std::sqrt(static_cast<double>(factor)));
  return static_cast<std::int8_t>(std::clamp<std::int64_t>((sum * scale + 32768) >> 16, -127, 127));
}

/// Sums of a batch from the device, poisoned before.
Buffer<float, 2> sums_of(CudaDedisperser& dedisperser, const DedispersionPlan& plan, std::size_t batch,
                         std::int64_t first, std::size_t n_time, unsigned lane) {
  const std::size_t n_trial = plan.batches[batch].dm.size(), stride = n_time + 37;
  DeviceArray<float> out(n_trial * stride);
  CopyStream stream;
  fill_bytes(out.data(), 0xff, out.size());
  cuda_check(cudaDeviceSynchronize(), "poisoning");
  dedisperser.dedisperse(batch, first, {out.data(), n_trial, n_time, stride, stream.get(), lane});
  cuda_check(cudaStreamSynchronize(stream.get()), "dedispersing");
  Buffer<float, 2> all({n_trial, stride}), sums({n_trial, n_time});
  cuda_check(cudaMemcpy(all.data(), out.data(), out.size() * sizeof(float), cudaMemcpyDeviceToHost),
             "copying");
  std::size_t n_outside = 0;
  for (std::size_t trial = 0; trial < n_trial; ++trial) {
    for (std::size_t t = n_time; t < stride; ++t) n_outside += !std::isnan(all(trial, t));
    std::copy_n(&all(trial, 0), n_time, &sums(trial, 0));
  }
  BOOST_TEST(n_outside == 0u, "values are written beyond the series");
  return sums;
}

const reference::Band kBands[] = {
    {1500, -1, 200, 256e-6}, {388, 0.0195, 1024, 51.2e-6}, {4030, -4, 833, 512e-6}};

}  // namespace

BOOST_AUTO_TEST_CASE(exact_delays_give_exact_sums) {
  for (const reference::Band& band : kBands) {
    TrialSettings settings;
    settings.dm_low = 3, settings.dm_high = 60, settings.dm_step = 9.3, settings.max_factor = 1;
    const DedispersionPlan plan = plan_dedispersion(
        kernel_band(band), plan_trials(kernel_band(band), settings), DedispersionMethod::exact);
    const std::size_t n_time = 2501, n_in = n_time + plan.max_delay[0];
    const auto samples = random_samples(band.n_chan, n_in, 3);
    Buffer<double, 2> truth_in({band.n_chan, n_in});
    std::copy(samples.begin(), samples.end(), truth_in.begin());
    const auto dedisperser = make_cuda_dedisperser(plan, n_in + 5000, n_time, 1, 0);
    dedisperser->append(samples.data(), n_in, n_in);
    const Buffer<float, 2> got = sums_of(*dedisperser, plan, 0, 0, n_time, 0);
    for (std::size_t trial = 0; trial < plan.n_trial; ++trial) {
      const std::vector<double> truth = reference::dedisperse(band, plan.batches[0].dm[trial], truth_in);
      std::size_t n_wrong = 0, where = 0;
      for (std::size_t t = n_time; t-- > 0;)
        if (static_cast<double>(got(trial, t)) != truth[t]) ++n_wrong, where = t;
      BOOST_TEST(n_wrong == 0u, n_wrong << " of trial " << trial << ", the first at " << where << ": "
                                        << got(trial, where) << " instead of " << truth[where]);
    }
  }
}

// Partial sums at several time resolutions, samples arriving in blocks of any length, rings going round more
// than once, and nothing after the end: the CPU's sums, integer for integer.
BOOST_AUTO_TEST_CASE(arrivals_do_not_matter) {
  std::mt19937 random(8);
  for (const reference::Band& band : kBands) {
    TrialSettings settings;
    settings.dm_high = band.n_chan == 200 ? 900 : 100, settings.max_factor = 8;
    const auto levels = plan_trials(kernel_band(band), settings);
    const DedispersionPlan plan = plan_dedispersion(kernel_band(band), levels);
    const std::size_t gulp = 4096, n_gulp = 5;
    const std::size_t reach = plan.max_delay_samples(), n_real = gulp * n_gulp - 1003;
    const auto samples = random_samples(band.n_chan, n_real, 5);
    const auto dedisperser = make_cuda_dedisperser(plan, gulp + reach + 2 * 3072, gulp, 2, 0);
    std::size_t arrived = 0, n_wrong = 0, n_checked = 0;
    for (std::size_t g = 0; g < n_gulp; ++g) {
      while (arrived < (g + 1) * gulp + reach) {
        const std::size_t n = std::min(n_real - std::min(arrived, n_real), 8 * (1 + random() % 384));
        if (n == 0) {
          const std::size_t rest = (g + 1) * gulp + reach - arrived;
          dedisperser->append_missing(rest);
          arrived += rest;
        } else {
          if (random() % 2 == 0) {
            dedisperser->append(&samples(0, arrived), n_real, n);
          } else {
            Buffer<std::int8_t, 2> part({band.n_chan, n});
            for (std::size_t chan = 0; chan < band.n_chan; ++chan)
              std::copy_n(&samples(chan, arrived), n, &part(chan, 0));
            const auto on_device = uploaded(std::vector<std::int8_t>(part.begin(), part.end()));
            dedisperser->append_from_device(on_device.data(), n);
          }
          arrived += n;
        }
      }
      for (std::size_t index = 0; index < plan.batches.size(); index += 1 + plan.batches.size() / 6) {
        const DedispersionBatch& batch = plan.batches[index];
        const std::size_t factor = plan.levels[batch.level].factor, n_out = gulp / factor;
        Buffer<std::int8_t, 2> rows({band.n_chan, n_out + plan.max_delay[batch.level]});
        for (std::size_t chan = 0; chan < band.n_chan; ++chan)
          for (std::size_t t = 0; t < rows.extent(1); ++t)
            rows(chan, t) = averaged(samples, chan, g * n_out + t, factor);
        DedispersionScratch scratch;
        Buffer<float, 2> wanted({batch.dm.size(), n_out});
        apsyn::dedisperse(plan, batch, {rows.data(), rows.extent(1)}, n_out, scratch, wanted);
        const Buffer<float, 2> got = sums_of(*dedisperser, plan, index, static_cast<std::int64_t>(g * gulp),
                                             n_out, static_cast<unsigned>(index % 2));
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          if (got.data()[i] != wanted.data()[i] && n_wrong++ == 0)
            BOOST_TEST_MESSAGE("gulp " << g << " batch " << index << " factor " << factor << " trial "
                                       << i / n_out << " sample " << i % n_out << ": " << got.data()[i]
                                       << " instead of " << wanted.data()[i]);
          ++n_checked;
        }
      }
    }
    BOOST_TEST_MESSAGE(plan.batches.size()
                       << " batches at " << levels.size() << " resolutions, " << n_checked << " sums");
    BOOST_TEST(n_wrong == 0u);
  }
}

namespace {

struct Series {
  Buffer<float, 2> values;                         ///< [series][time]
  std::vector<std::vector<WeightChange>> changes;  ///< of the whole series, by sample
  float weight = 100;
  std::vector<float> weights(std::size_t s, std::size_t from, std::size_t to) const {
    std::vector<float> all(values.extent(1));
    float now = weight;
    std::size_t next = 0;
    for (std::size_t t = 0; t < all.size(); ++t) {
      for (; next < changes[s].size() && changes[s][next].at == t; ++next) now += changes[s][next].step;
      all[t] = now;
    }
    return {all.begin() + static_cast<long>(from), all.begin() + static_cast<long>(to)};
  }
};

/// Noise with a level, a slope and pulses; every third series with weights that change, every fifth with a
/// random walk.
Series make_series(std::size_t n_series, std::size_t n_time, unsigned seed) {
  Series series;
  series.values.resize({n_series, n_time});
  series.changes.resize(n_series);
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  for (std::size_t s = 0; s < n_series; ++s) {
    if (s % 3 == 2)
      for (std::uint32_t t = 300 + static_cast<std::uint32_t>(s) * 7; t + 900 < n_time; t += 2100) {
        series.changes[s].push_back({t, -40});
        series.changes[s].push_back({t + 350, t % 4200 < 2100 ? -60.f : 0.f});
        series.changes[s].push_back({t + 360, t % 4200 < 2100 ? 100.f : 40.f});
      }
    const std::vector<float> weights = series.weights(s, 0, n_time);
    double walk = 0;
    for (std::size_t t = 0; t < n_time; ++t) {
      const double w = static_cast<double>(weights[t]);
      if (s % 5 == 4) walk += 0.2 * normal(random);
      series.values(s, t) = static_cast<float>(
          std::round(8 * std::sqrt(w) * normal(random) + 3 * w + walk + 0.002 * double(t)));
    }
    for (std::size_t at = 700 + 13 * s; at + 80 < n_time; at += 1900) {
      const std::size_t width = 1 + random() % 60;
      for (std::size_t t = at; t < at + width; ++t)
        series.values(s, t) += static_cast<float>(80 * (6 + random() % 14) / std::sqrt(double(width)) *
                                                  double(weights[t]) / 100);
    }
  }
  return series;
}

}  // namespace

// Hits of series in gulps that end inside a segment: the CPU's, S/N to 2e-5 of it. Where windows are as good
// as each other to rounding, another one may win. Measured: see the message.
BOOST_AUTO_TEST_CASE(hits_are_the_cpus) {
  for (const std::size_t segment : {2048ul, 4096ul, 6144ul}) {
    const SeriesPlan plan = plan_series(segment, default_widths(64), 5.5);
    const std::size_t n_series = 41, gulp = 3 * segment, n_time = 4 * gulp + segment + 700;
    const Series series = make_series(n_series, n_time, static_cast<unsigned>(segment));
    const auto search = make_cuda_series_search({{n_series, &plan, gulp}}, 2, 0);
    std::vector<SeriesState> states(n_series);
    SeriesScratch scratch;
    std::size_t n_hit = 0, n_other = 0;
    double worst = 0;
    unsigned lane = 0;
    for (std::size_t from = 0; from < n_time; from += gulp, lane = 1 - lane) {
      const std::size_t n = std::min(gulp, n_time - from);
      const bool ends = from + n == n_time;
      const auto kept_from = static_cast<std::size_t>(search->begin(0));
      BOOST_REQUIRE_EQUAL(kept_from + search->n_kept(0), from);
      const DeviceSeries out = search->next(0, n, lane);
      cuda_check(cudaMemcpy2DAsync(out.first, out.stride * sizeof(float), &series.values(0, from),
                                   n_time * sizeof(float), n * sizeof(float), n_series,
                                   cudaMemcpyHostToDevice, out.stream),
                 "copying");
      std::vector<std::vector<WeightChange>> changes(n_series);
      std::vector<SeriesWeights> weights(n_series);
      for (std::size_t s = 0; s < n_series; ++s) {
        float first = series.weight;
        for (const WeightChange& change : series.changes[s]) {
          if (change.at <= kept_from)
            first += change.step;
          else if (change.at < from + n)
            changes[s].push_back({change.at - static_cast<std::uint32_t>(kept_from), change.step});
        }
        weights[s] = {first, changes[s]};
      }
      search->search(weights, ends, lane);
      const std::vector<BatchHit> found = search->finish(lane);
      auto next = found.begin();
      for (std::size_t s = 0; s < n_series; ++s) {
        BOOST_REQUIRE_EQUAL(static_cast<std::size_t>(states[s].begin), kept_from);
        std::vector<SeriesHit> wanted;
        const std::vector<float> own =
            changes[s].empty() ? std::vector<float>() : series.weights(s, kept_from, from + n);
        search_series(plan, states[s], {&series.values(s, from), n}, own, weights[s].first, ends, scratch,
                      wanted);
        std::vector<SeriesHit> got;
        for (; next != found.end() && next->series == s; ++next) got.push_back(next->hit);
        n_hit += wanted.size();
        BOOST_TEST(got.size() == wanted.size(), "series " << s << " from " << from << ": " << got.size()
                                                          << " hits instead of " << wanted.size());
        for (std::size_t i = 0; i < std::min(got.size(), wanted.size()); ++i) {
          n_other += got[i].begin != wanted[i].begin || got[i].width != wanted[i].width;
          worst = std::max(worst, std::abs(double(got[i].sn) / double(wanted[i].sn) - 1));
        }
      }
      BOOST_TEST((next == found.end()));
    }
    BOOST_TEST_MESSAGE("segments of " << segment << ": " << n_hit << " hits, " << n_other
                                      << " at other windows, S/N differs by up to " << worst);
    BOOST_TEST(n_hit > 200u);
    BOOST_TEST(static_cast<double>(n_other) <= 0.01 * static_cast<double>(n_hit));
    BOOST_TEST(worst < 2e-5);
  }
}

BOOST_AUTO_TEST_SUITE_END()
