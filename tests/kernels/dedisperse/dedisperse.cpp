// SPDX-License-Identifier: GPL-3.0-or-later
// Dedispersion against brute force: exact delays exactly, partial sums within the stated loss.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <random>

#include "kernels/dedisperse/dedisperse.h"
#include "kernels/dedisperse/weights.h"
#include "tests/reference/dispersion.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(dedisperse)

namespace {

DispersionBand kernel_band(const reference::Band& band) {
  return {band.first_mhz * 1e6, band.step_mhz * 1e6, band.n_chan, band.sample_s};
}

/// Sums of `factor` samples over its root, as int8.
Buffer<std::int8_t, 2> averaged(View<const double, 2> samples, std::size_t factor, std::size_t n_time) {
  Buffer<std::int8_t, 2> out({samples.extent(0), n_time});
  for (std::size_t chan = 0; chan < samples.extent(0); ++chan)
    for (std::size_t t = 0; t < n_time && (t + 1) * factor <= samples.extent(1); ++t) {
      double sum = 0;
      for (std::size_t i = 0; i < factor; ++i) sum += samples(chan, t * factor + i);
      out(chan, t) = static_cast<std::int8_t>(std::lround(sum / std::sqrt(double(factor))));
    }
  return out;
}

Buffer<float, 2> run(const DedispersionPlan& plan, const DedispersionBatch& batch,
                     const Buffer<std::int8_t, 2>& rows, std::size_t n_time) {
  DedispersionScratch scratch;
  Buffer<float, 2> out({batch.dm.size(), n_time});
  out.fill(NAN);
  apsyn::dedisperse(plan, batch, {rows.data(), rows.extent(1)}, n_time, scratch, out);
  return out;
}

const reference::Band kBands[] = {
    {1500, -1, 200, 256e-6}, {388, 0.0195, 1024, 51.2e-6}, {4030, -4, 832, 512e-6}};

}  // namespace

BOOST_AUTO_TEST_CASE(exact_delays_give_exact_sums) {
  std::mt19937 random(3);
  for (const reference::Band& band : kBands) {
    TrialSettings settings;
    settings.dm_low = 3, settings.dm_high = 60, settings.dm_step = 9.3, settings.max_factor = 1;
    const DedispersionPlan plan = plan_dedispersion(
        kernel_band(band), plan_trials(kernel_band(band), settings), DedispersionMethod::exact);
    BOOST_REQUIRE(plan.n_trial == 7);
    const std::size_t n_time = 2500, n_in = n_time + plan.max_delay[0];
    Buffer<double, 2> samples({band.n_chan, n_in});
    for (double& x : samples) x = static_cast<double>(random() % 255) - 127;
    const Buffer<std::int8_t, 2> rows = averaged(samples, 1, n_in);
    const Buffer<float, 2> got = run(plan, plan.batches[0], rows, n_time);
    for (std::size_t trial = 0; trial < plan.n_trial; ++trial) {
      const std::vector<double> truth = reference::dedisperse(band, plan.batches[0].dm[trial], samples);
      std::size_t n_wrong = 0;
      for (std::size_t t = 0; t < n_time; ++t) n_wrong += static_cast<double>(got(trial, t)) != truth[t];
      BOOST_TEST(n_wrong == 0u);
    }
  }
}

// The extremes of int8 in every sample of a sub-band as wide as it may be.
BOOST_AUTO_TEST_CASE(sums_do_not_overflow) {
  const reference::Band band{1500, -0.1, 1000, 256e-6};
  TrialSettings settings;
  settings.dm_high = 0;
  const auto levels = plan_trials(kernel_band(band), settings);
  for (std::size_t n_chan : {0, 1, 7, 100, 258}) {
    const DedispersionPlan plan =
        plan_dedispersion(kernel_band(band), levels, DedispersionMethod::partial, n_chan);
    for (int extreme : {-127, 127}) {
      Buffer<std::int8_t, 2> rows({band.n_chan, 300 + plan.max_delay[0]});
      rows.fill(static_cast<std::int8_t>(extreme));
      const Buffer<float, 2> got = run(plan, plan.batches[0], rows, 300);
      for (float value : got) BOOST_REQUIRE_EQUAL(value, static_cast<float>(1000 * extreme));
    }
  }
  BOOST_CHECK_THROW(plan_dedispersion(kernel_band(band), levels, DedispersionMethod::partial, 259),
                    std::invalid_argument);
}

// Pulses anywhere between trials and samples, against brute force at the pulse's own dispersion measure: 85 %
// of its signal-to-noise ratio is left at worst for one sample, the shortest there is, 90 % from two samples
// on. Measured over 60 pulses of each: worst 0.876 and 0.914, mean 0.955 to 0.975; over
// these: 0.873 and 0.912, 0.958 to 0.987.
BOOST_AUTO_TEST_CASE(short_pulses_lose_less_than_stated) {
  std::mt19937 random(11);
  const auto uniform = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random()) / 4294967295.0;
  };
  for (const reference::Band& band : kBands) {
    TrialSettings settings;
    settings.dm_high = band.n_chan == 200 ? 1500 : 120, settings.max_factor = 8;
    const auto levels = plan_trials(kernel_band(band), settings);
    const DedispersionPlan plan = plan_dedispersion(kernel_band(band), levels);
    double worst[2] = {1, 1}, mean = 0;
    constexpr int kPulses = 12;
    for (int i = 0; i < kPulses; ++i) {
      reference::Pulse pulse{uniform(0.0995, 0.1005), uniform(0, settings.dm_high),
                             (1 + i % 2) * band.sample_s, 100};
      const double last_mhz = band.step_mhz > 0 ? band.first_mhz : band.mhz(double(band.n_chan - 1));
      const std::size_t n_time =
          (static_cast<std::size_t>(0.12 / band.sample_s + band.delay_samples(pulse.dm, last_mhz) * 1.1) +
           64) /
          8 * 8;
      Buffer<double, 2> samples({band.n_chan, n_time});
      add_pulse(band, pulse, samples);

      const double truth = reference::best_boxcar(reference::dedisperse(band, pulse.dm, samples), 64).sn;
      // the nearest trials: four above it and four below
      std::vector<double> apart;
      for (const DedispersionBatch& batch : plan.batches)
        for (const double dm : batch.dm) apart.push_back(std::abs(dm - pulse.dm));
      std::nth_element(apart.begin(), apart.begin() + 8, apart.end());
      double found = 0;
      for (const DedispersionBatch& batch : plan.batches) {
        const double reach = apart[8];
        if (batch.dm.front() > pulse.dm + reach || batch.dm.back() < pulse.dm - reach) continue;
        const std::size_t factor = plan.levels[batch.level].factor, n_out = n_time / factor;
        const Buffer<std::int8_t, 2> rows = averaged(samples, factor, n_out + plan.max_delay[batch.level]);
        const Buffer<float, 2> got = run(plan, batch, rows, n_out);
        for (std::size_t trial = 0; trial < batch.dm.size(); ++trial)
          if (std::abs(batch.dm[trial] - pulse.dm) < reach)
            found = std::max(
                found,
                reference::best_boxcar({got.view()[trial].begin(), got.view()[trial].end()}, 64 / factor).sn);
      }
      worst[i % 2] = std::min(worst[i % 2], found / truth);
      mean += found / truth / kPulses;
    }
    BOOST_TEST_MESSAGE(levels.size() << " levels, " << plan.n_trial << " trials: worst " << worst[0]
                                     << " and " << worst[1] << ", mean " << mean);
    BOOST_TEST(worst[0] > 0.85);
    BOOST_TEST(worst[1] > 0.90);
    BOOST_TEST(mean > 0.94);
  }
}

BOOST_AUTO_TEST_CASE(trials_cover_the_range) {
  const DispersionBand band = kernel_band(kBands[0]);
  TrialSettings settings;
  settings.dm_low = 12, settings.dm_high = 900;
  const auto levels = plan_trials(band, settings);
  BOOST_TEST(levels.front().dm.front() == 12);
  double last = 0;
  for (std::size_t level = 0; level < levels.size(); ++level) {
    if (level > 0) BOOST_TEST(levels[level].factor > levels[level - 1].factor);
    for (double dm : levels[level].dm) {
      BOOST_TEST(dm > last);
      last = dm;
    }
  }
  BOOST_TEST(last <= 900);
  BOOST_TEST(last > 890);
  settings.dm_low = settings.dm_high = 26.76;
  BOOST_TEST(plan_trials(band, settings)[0].dm.size() == 1u);
  settings.dm_low = 30;
  BOOST_CHECK_THROW(plan_trials(band, settings), std::invalid_argument);
  settings.dm_high = 1e6, settings.dm_step = 1e-3;
  BOOST_CHECK_THROW(plan_trials(band, settings), std::length_error);
}

BOOST_AUTO_TEST_CASE(weights_count_what_is_there) {
  const reference::Band band{1500, -1, 96, 256e-6};
  TrialSettings settings;
  settings.dm_low = 20, settings.dm_high = 90, settings.dm_step = 17, settings.max_factor = 1;
  // sub-bands of one channel, so that the count is exact
  const DedispersionPlan plan = plan_dedispersion(kernel_band(band), plan_trials(kernel_band(band), settings),
                                                  DedispersionMethod::exact, 1);
  const std::size_t n_block = 128, n_all = 3 * n_block + 40;
  std::mt19937 random(5);
  Buffer<double, 2> mask({band.n_chan, n_all});
  DedispersedWeights weights(plan);
  for (std::size_t begin = 0; begin < n_all; begin += n_block) {
    std::vector<std::uint8_t> channel(band.n_chan), time(std::min(n_block, n_all - begin));
    for (auto& good : channel) good = random() % 5 != 0;
    for (auto& good : time) good = random() % 9 != 0;
    weights.append(channel, time);
    for (std::size_t chan = 0; chan < band.n_chan; ++chan)
      for (std::size_t t = 0; t < time.size(); ++t) mask(chan, begin + t) = channel[chan] && time[t];
  }
  for (std::size_t first : {0, 100}) {
    weights.release(static_cast<std::int64_t>(first));
    for (std::size_t trial = 0; trial < plan.n_trial; ++trial) {
      std::vector<float> got(n_all - first, -1.f);
      weights.weights(plan.batches[0], trial, static_cast<std::int64_t>(first), got);
      const std::vector<double> truth = reference::dedisperse(band, plan.batches[0].dm[trial], mask);
      std::size_t n_wrong = 0;
      for (std::size_t t = 0; t < got.size(); ++t) n_wrong += static_cast<double>(got[t]) != truth[first + t];
      BOOST_TEST(n_wrong == 0u);
    }
  }
}

// Of means of two samples, one that lacks half of them weighs half, in every channel once.
BOOST_AUTO_TEST_CASE(weights_of_averaged_samples_are_shares) {
  const reference::Band band{1500, -1, 96, 256e-6};
  const DedispersionPlan plan =
      plan_dedispersion(kernel_band(band), {{2, {20, 37}}}, DedispersionMethod::exact, 1);
  DedispersedWeights weights(plan);
  std::vector<std::uint8_t> channel(band.n_chan, 1), time(512, 1);
  time[400] = 0;
  weights.append(channel, time);
  for (std::size_t trial = 0; trial < 2; ++trial) {
    std::vector<float> got(220);  // the latest channel is 19 of these behind the first
    weights.weights(plan.batches[0], trial, 0, got);
    BOOST_TEST(got[0] == 96.0f);
    double lost = 0;
    for (const float weight : got) lost += 96 - static_cast<double>(weight);
    BOOST_TEST(lost == 96 / 2.0);
  }
}

// Means over the whole band, of channels that are smeared more the lower they are.
BOOST_AUTO_TEST_CASE(what_is_left_of_a_signal_is_that_of_all_channels) {
  const DispersionBand band{400e6, -1e6, 200, 100e-6};
  double with = 0, without = 0;
  for (std::size_t chan = 0; chan < band.n_chan; ++chan) {
    const double high_hz = band.channel_hz(chan) + 0.5e6, low_hz = band.channel_hz(chan) - 0.5e6;
    const double smear = 10 * 4.148808e15 * (1 / (low_hz * low_hz) - 1 / (high_hz * high_hz)) / band.sample_s;
    const double own = (3 + smear * smear) / 12;
    without += 1 / std::sqrt(own);
    with += 1 / std::sqrt(own + 100);
  }
  BOOST_TEST_MESSAGE("left " << signal_left(band, 10, 100) << ", of all channels "
                             << std::sqrt(with / without));
  BOOST_TEST(std::abs(signal_left(band, 10, 100) / std::sqrt(with / without) - 1) < 1e-3);  // of 64 channels
}

BOOST_AUTO_TEST_SUITE_END()
