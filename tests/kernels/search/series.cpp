// SPDX-License-Identifier: GPL-3.0-or-later
// Matched filters on series, clusters of their hits, and the cleaning of samples before.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "kernels/excise/excise.h"
#include "kernels/search/cluster.h"
#include "kernels/search/series.h"
#include "tests/reference/dispersion.h"
#include "tools/search-transients/history.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(series)

namespace {

std::vector<float> noise(std::size_t n, unsigned seed, double sigma) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, sigma);
  std::vector<float> values(n);
  for (float& value : values) value = static_cast<float>(normal(random));
  return values;
}

/// Hits of a series that arrives in pieces of `gulp` samples.
std::vector<SeriesHit> search(const SeriesPlan& plan, const std::vector<float>& values,
                              const std::vector<float>& weights, std::size_t gulp) {
  SeriesState state;
  SeriesScratch scratch;
  std::vector<SeriesHit> hits;
  for (std::size_t begin = 0; begin < values.size(); begin += gulp) {
    const std::size_t end = std::min(values.size(), begin + gulp);
    const auto kept = static_cast<std::size_t>(state.begin);
    std::vector<float> part;
    if (!weights.empty())
      part.assign(weights.begin() + static_cast<long>(kept), weights.begin() + static_cast<long>(end));
    search_series(plan, state, {values.data() + begin, end - begin}, part, 1, end == values.size(), scratch,
                  hits);
  }
  std::sort(hits.begin(), hits.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
  return hits;
}

class Samples final : public BlockSamples {
 public:
  Buffer<float, 2> values;  ///< [chan][time]
  std::size_t n_time() const override { return values.extent(1); }
  void channels(std::size_t first, View<float, 2> out) const override {
    for (std::size_t i = 0; i < out.extent(0); ++i)
      std::copy_n(&values(first + i, 0), values.extent(1), &out(i, 0));
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(boxcars_are_sums) {
  for (const std::vector<std::size_t>& widths :
       {default_widths(300), std::vector<std::size_t>{1}, {7}, {5, 23, 24, 190}, {3, 100}}) {
    const BoxcarProgram program = plan_boxcars(widths);
    BOOST_REQUIRE(program.wanted.size() == widths.size());
    for (std::size_t i = 0; i < widths.size(); ++i)
      BOOST_TEST(program.steps[program.wanted[i]].width == widths[i]);
    for (std::size_t i = 1; i < program.steps.size(); ++i) {
      const BoxcarStep& step = program.steps[i];
      BOOST_TEST(step.first < i);
      BOOST_TEST(step.second < i);
      BOOST_TEST(program.steps[step.first].width + program.steps[step.second].width == step.width);
    }
  }
  BOOST_CHECK_THROW(plan_boxcars(std::vector<std::size_t>{}), std::invalid_argument);
  BOOST_CHECK_THROW(plan_boxcars(std::vector<std::size_t>{4, 2}), std::invalid_argument);
}

// Powers of two and the middles between them, up to the longest, which counts.
BOOST_AUTO_TEST_CASE(widths_are_a_factor_of_a_third_to_a_half_apart) {
  using Widths = std::vector<std::size_t>;
  BOOST_TEST((default_widths(1) == Widths{1}));
  BOOST_TEST((default_widths(2) == Widths{1, 2}));
  BOOST_TEST((default_widths(3) == Widths{1, 2, 3}));
  BOOST_TEST((default_widths(11) == Widths{1, 2, 3, 4, 6, 8}));
  BOOST_TEST((default_widths(12) == Widths{1, 2, 3, 4, 6, 8, 12}));
}

// A series with a level, a slope and a noise of its own; pulses of known S/N, one of them near the end.
BOOST_AUTO_TEST_CASE(pulses_come_out_with_their_sn) {
  const SeriesPlan plan = plan_series(4096, default_widths(64), 7);
  std::vector<float> values = noise(4 * 4096 + 1000, 2, 25);
  const auto add = [&](std::size_t begin, std::size_t width, double sn) {
    for (std::size_t t = begin; t < begin + width; ++t)
      values[t] += static_cast<float>(sn * 25 / std::sqrt(double(width)));
  };
  add(3000, 1, 14), add(8100, 8, 20), add(13000, 64, 17), add(values.size() - 20, 16, 15);
  for (std::size_t t = 0; t < values.size(); ++t) values[t] += static_cast<float>(900 + 0.002 * double(t));
  const auto hits = search(plan, values, {}, 2 * 4096);
  BOOST_REQUIRE_EQUAL(hits.size(), 4u);
  const std::int64_t begin[] = {3000, 8100, 13000, static_cast<std::int64_t>(values.size()) - 20};
  const double sn[] = {14, 20, 17, 15};
  for (std::size_t i = 0; i < 4; ++i) {
    BOOST_TEST(std::abs(hits[i].begin - begin[i]) <= 8);
    BOOST_TEST(std::abs(double(hits[i].sn) - sn[i]) < 2.6);  // +-1 of noise, and its best window
  }
  for (std::size_t gulp : {4096ul, 3 * 4096ul, values.size()}) {
    const auto again = search(plan, values, {}, gulp);
    BOOST_REQUIRE_EQUAL(again.size(), hits.size());
    for (std::size_t i = 0; i < hits.size(); ++i) {
      BOOST_TEST(again[i].begin == hits[i].begin);
      BOOST_TEST(again[i].sn == hits[i].sn);
    }
  }
}

// Half of the channels for half of the time: noise falls with the root of the weight, a pulse with the
// weight.
BOOST_AUTO_TEST_CASE(weights_scale_noise) {
  const SeriesPlan plan = plan_series(4096, {1, 4, 16}, 6);
  std::vector<float> values = noise(3 * 4096, 9, 1), weights(values.size());
  for (std::size_t t = 0; t < values.size(); ++t) {
    weights[t] = t % 700 < 350 ? 100.f : 50.f;
    if (t % 1000 == 500) weights[t] = 0;
    values[t] *= std::sqrt(weights[t]);
    if (t >= 5000 && t < 5016) values[t] += weights[t] * 0.3f;
    values[t] += 20 * weights[t];  // a level per channel
  }
  double signal = 0, square = 0;
  for (std::size_t t = 5000; t < 5016; ++t) signal += 0.3 * double(weights[t]), square += double(weights[t]);
  const auto hits = search(plan, values, weights, 4096);
  BOOST_REQUIRE_EQUAL(hits.size(), 1u);
  BOOST_TEST(hits[0].width == 16u);
  BOOST_TEST(std::abs(double(hits[0].sn) - signal / std::sqrt(square)) < 2.5);
}

// A random walk must not become candidates, and must not hide a short pulse.
BOOST_AUTO_TEST_CASE(drifts_are_no_pulses) {
  const SeriesPlan plan = plan_series(4096, default_widths(256), 7);
  std::vector<float> values = noise(8 * 4096, 4, 1);
  const std::vector<float> steps = noise(values.size(), 5, 0.02);
  double walk = 0;
  for (std::size_t t = 0; t < values.size(); ++t) values[t] += static_cast<float>(walk += double(steps[t]));
  values[20000] += 12;
  const auto hits = search(plan, values, {}, 4096);
  BOOST_REQUIRE_EQUAL(hits.size(), 1u);
  BOOST_TEST(hits[0].begin == 20000);
  BOOST_TEST(hits[0].width == 1u);
}

BOOST_AUTO_TEST_CASE(nothing_is_found_in_nothing) {
  const SeriesPlan plan = plan_series(4096, {1, 4}, 3);
  BOOST_TEST(search(plan, std::vector<float>(9000, 7.f), {}, 4096).empty());
  BOOST_TEST(search(plan, std::vector<float>(9000, 0.f), std::vector<float>(9000, 0.f), 4096).empty());
  BOOST_TEST(search(plan, std::vector<float>(3, 1.f), {}, 4096).empty());
  BOOST_CHECK_THROW(plan_series(1000, {100}, 8), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(friends_of_friends_are_one_candidate) {
  std::vector<double> delay(100);
  std::iota(delay.begin(), delay.end(), 0.0);
  // a pulse over neighbouring trials, one wide hit far away in trials but not in delay, and a lone one
  const std::vector<Hit> pulse = {{10, 1, 1000, 4, 8}, {11, 1, 1001, 4, 12}, {13, 1, 1003, 8, 9}},
                         wide = {{30, 1, 990, 32, 7}}, lone = {{80, 1, 1000, 4, 10}, {12, 1, 1400, 4, 11}};
  for (int pieces : {1, 2}) {
    HitClusters clusters(delay, 64, 1);
    std::vector<Hit> all = pulse;
    all.insert(all.end(), wide.begin(), wide.end());
    all.insert(all.end(), lone.begin(), lone.end());
    std::vector<Candidate> found;
    const auto take = [&](bool ends) {
      for (Candidate& c : clusters.take(ends)) found.push_back(std::move(c));
    };
    if (pieces == 1) {
      clusters.add(all, 2000);
    } else {
      std::vector<Hit> first, second;
      for (const Hit& hit : all) (hit.begin < 1001 ? first : second).push_back(hit);
      clusters.add(first, 1001);
      take(false);
      BOOST_TEST(found.empty());
      clusters.add(second, 2000);
    }
    take(false);
    BOOST_REQUIRE_EQUAL(found.size(), 3u);
    BOOST_TEST(found[0].best.trial == 80u);
    BOOST_TEST(found[1].best.sn == 12.f);
    BOOST_TEST(found[1].n_hits == 4u);
    BOOST_TEST(found[1].first_trial == 10u);
    BOOST_TEST(found[1].last_trial == 30u);
    BOOST_TEST(found[1].begin == 990);
    BOOST_TEST(found[1].end == 1022);
    BOOST_TEST(found[1].trials.size() == 4u);
    BOOST_TEST(found[2].best.begin == 1400);
    take(true);
    BOOST_TEST(found.size() == 3u);
  }
}

// Hits on either side of every limit of friendship: gaps of half the longer window and two samples of the
// coarser resolution, two trials or as many as are closer in delay than the longer window.
BOOST_AUTO_TEST_CASE(friendship_ends_where_it_says) {
  std::vector<double> delay(40);
  for (std::size_t i = 0; i < delay.size(); ++i) delay[i] = 10.0 * static_cast<double>(i);
  const auto candidates = [&](const Hit& a, const Hit& b) {
    HitClusters clusters(delay, 64, 4);
    clusters.add({a, b}, 100000);
    return clusters.take(true).size();
  };
  for (const auto& [width, factor] : {std::pair{1, 1}, {8, 1}, {9, 1}, {8, 4}, {64, 4}}) {
    const std::int64_t reach = width / 2 + 2 * factor;
    for (const auto& [trial, other] : {std::pair{5u, 5u}, {5u, 6u}, {6u, 5u}}) {
      const Hit early{trial, static_cast<std::uint32_t>(factor), 1000, width, 9};
      for (const std::int64_t small : {std::int64_t{1}, std::int64_t{width}}) {
        BOOST_TEST(candidates(early, {other, 1, 1000 + width + reach, small, 8}) == 1u);
        BOOST_TEST(candidates(early, {other, 1, 1000 + width + reach + 1, small, 8}) == 2u);
        BOOST_TEST(candidates(early, {other, 1, 1000 - reach - small, small, 8}) == 1u);
        BOOST_TEST(candidates(early, {other, 1, 1000 - reach - small - 1, small, 8}) == 2u);
      }
    }
  }
  // two trials whatever the delay; more while it is less than the longer window
  BOOST_TEST(candidates({5, 1, 1000, 1, 9}, {7, 1, 1000, 1, 8}) == 1u);
  BOOST_TEST(candidates({5, 1, 1000, 1, 9}, {8, 1, 1000, 1, 8}) == 2u);
  BOOST_TEST(candidates({5, 1, 1000, 31, 9}, {8, 1, 1000, 1, 8}) == 1u);
  BOOST_TEST(candidates({5, 1, 1000, 30, 9}, {8, 1, 1000, 1, 8}) == 2u);
}

// A cluster is complete when no later hit can join it, and not before: `until` on either side of that.
BOOST_AUTO_TEST_CASE(clusters_wait_for_hits_that_may_join) {
  const std::vector<double> delay{0, 1, 2};
  constexpr std::int64_t kLongest = 16, kReach = kLongest / 2 + 2;
  for (const std::int64_t until : {std::int64_t{1004} + kReach, std::int64_t{1004} + kReach + 1})
    for (const auto& [trial, other] : {std::pair{1u, 1u}, {1u, 2u}, {2u, 1u}}) {
      HitClusters clusters(delay, kLongest, 1);
      clusters.add({{trial, 1, 1000, 4, 9}}, until);
      const bool complete = until > 1004 + kReach;
      BOOST_TEST(clusters.take(false).size() == (complete ? 1u : 0u));
      clusters.add({{other, 1, until, kLongest, 8}}, until + 1000);
      const std::vector<Candidate> rest = clusters.take(true);
      BOOST_TEST_REQUIRE(rest.size() == 1u);
      BOOST_TEST(rest[0].n_hits == (complete ? 1u : 2u));
      BOOST_TEST(rest[0].end == until + kLongest);
    }
}

// Sums of `factor` samples over its root; what is left at the end of the data makes a last one of its own.
BOOST_AUTO_TEST_CASE(the_last_partial_sample_is_kept) {
  DedispersionPlan plan;
  plan.band.n_chan = 2;
  plan.levels = {{1, {0}}, {2, {1}}, {4, {2}}};
  std::vector<std::int8_t> samples(2 * 16);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<std::int8_t>(1 + i * 3);
  for (const std::size_t n_last : {1, 2, 3, 4, 7}) {
    SampleHistory history(plan, 64, 1);
    history.append(samples.data(), 16, 8);
    history.append(samples.data() + 8, 16, n_last);
    history.append_missing(8);
    BOOST_TEST(history.end() == static_cast<std::int64_t>(16 + n_last));
    for (std::size_t level = 0; level < 3; ++level) {
      const std::size_t factor = plan.levels[level].factor, n = 8 + n_last;
      const SampleRows rows = history.rows(level, 0);
      for (std::size_t chan = 0; chan < 2; ++chan)
        for (std::size_t t = 0; t * factor < n + 8; ++t) {
          int sum = 0;
          for (std::size_t i = t * factor; i < std::min(n, (t + 1) * factor); ++i)
            sum += samples[chan * 16 + i];
          const double wanted = std::min(127.0, sum / std::sqrt(static_cast<double>(factor)));
          BOOST_TEST(std::abs(rows.first[chan * rows.stride + t] - wanted) <= 0.5 + 1e-3,
                     "level " << level << ", sample " << t << " behind " << n_last);
        }
    }
  }
}

// Interference that fills neighbouring channels does not become what they are measured by.
BOOST_AUTO_TEST_CASE(adjacent_bad_channels_are_all_taken_out) {
  constexpr std::size_t n_chan = 96, n_time = 4096;
  for (const std::size_t n_bad : {2, 5, 9}) {
    for (const bool drifting : {false, true}) {
      Samples samples;
      samples.values.resize({n_chan, n_time});
      for (std::size_t chan = 0; chan < n_chan; ++chan) {
        const bool bad = chan >= 40 && chan < 40 + n_bad;
        const std::vector<float> x = noise(n_time, unsigned(chan), bad && !drifting ? 12 : 3);
        for (std::size_t t = 0; t < n_time; ++t)
          samples.values(chan, t) = 40 + x[t] + (bad && drifting && t % 1024 < 500 ? 4.f : 0.f);
      }
      for (std::size_t t = 0; t < n_time; ++t) samples.values(38, t) = 7;  // dead, close by
      const BlockStatistics s = measure_block({n_chan, 5, false, 2}, samples);
      for (std::size_t chan = 0; chan < n_chan; ++chan)
        BOOST_TEST(bool(s.good[chan]) == !(chan == 38 || (chan >= 40 && chan < 40 + n_bad)),
                   "channel " << chan << " of " << n_bad << (drifting ? " that drift" : " that are noisy"));
    }
  }
}

// Channels without data are no neighbours: a few at the band's edge are measured by each other.
BOOST_AUTO_TEST_CASE(channels_beside_a_gap_are_kept) {
  constexpr std::size_t n_chan = 96, n_time = 4096;
  Samples samples;
  samples.values.resize({n_chan, n_time});
  const auto dead = [](std::size_t chan) { return chan >= 4 && chan < 24; };
  for (std::size_t chan = 0; chan < n_chan; ++chan) {
    const std::vector<float> x = noise(n_time, unsigned(chan), 12);
    for (std::size_t t = 0; t < n_time; ++t) samples.values(chan, t) = dead(chan) ? 0 : 40 + x[t];
  }
  const BlockStatistics s = measure_block({n_chan, 5, false, 2}, samples);
  for (std::size_t chan = 0; chan < n_chan; ++chan)
    BOOST_TEST(bool(s.good[chan]) == !dead(chan), "channel " << chan);
}

// A level that rises steadily is taken off along lines from block to block, in both halves of each.
BOOST_AUTO_TEST_CASE(rising_levels_become_level) {
  constexpr std::size_t n_chan = 8, n_time = 4096;
  const ExciseSettings settings{n_chan, 0, false, 1};
  Samples blocks[3];
  BlockStatistics s[3];
  for (std::size_t b = 0; b < 3; ++b) {
    blocks[b].values.resize({n_chan, n_time});
    for (std::size_t chan = 0; chan < n_chan; ++chan) {
      const std::vector<float> x = noise(n_time, unsigned(10 * chan + b), 3);
      for (std::size_t t = 0; t < n_time; ++t)
        blocks[b].values(chan, t) = 40 + 0.004f * static_cast<float>(b * n_time + t) + x[t];
    }
    s[b] = measure_block(settings, blocks[b]);
  }
  Buffer<std::int8_t, 2> out({n_chan, n_time});
  std::vector<std::uint8_t> good_time(n_time);
  ExciseReport report;
  clean_block(settings, blocks[1], &s[0], s[1], &s[2], out.data(), n_time, good_time, report);
  constexpr std::size_t kPiece = 256;
  std::vector<double> means;  // of all channels, in units of their noise
  for (std::size_t first = 0; first < n_time; first += kPiece) {
    double mean = 0;
    for (std::size_t chan = 0; chan < n_chan; ++chan)
      for (std::size_t t = first; t < first + kPiece; ++t) mean += static_cast<double>(out(chan, t));
    means.push_back(mean / (n_chan * kPiece * static_cast<double>(kStepsPerSigma)));
  }
  // 0.022 is the noise of a mean, and half of a piece's rise what a level is off by: 0.17; without lines the
  // block rises by 5.5
  const auto [least, most] = std::minmax_element(means.begin(), means.end());
  BOOST_TEST(*most - *least < 0.15);  // measured: 0.07
  BOOST_TEST(std::abs(*least) < 0.25);
}

BOOST_AUTO_TEST_CASE(interference_is_taken_out) {
  constexpr std::size_t n_chan = 96, n_time = 4096;
  Samples samples;
  samples.values.resize({n_chan, n_time});
  for (std::size_t chan = 0; chan < n_chan; ++chan) {
    const double gain = 1 + 0.5 * std::sin(0.1 * double(chan));
    const std::vector<float> x = noise(n_time, unsigned(chan), 3 * gain);
    for (std::size_t t = 0; t < n_time; ++t) samples.values(chan, t) = static_cast<float>(40 * gain) + x[t];
  }
  for (std::size_t t = 0; t < n_time; ++t) {
    samples.values(10, t) *= 3;                           // noisy
    samples.values(20, t) = 5;                            // dead
    samples.values(30, t) += t % 1024 < 500 ? 4.f : 0.f;  // comes and goes
    if (t % 50 == 0) samples.values(40, t) = NAN;
  }
  for (std::size_t chan = 0; chan < n_chan; ++chan) samples.values(chan, 777) += 20;
  // dispersed: a quarter of the channels at a time
  for (std::size_t chan = 0; chan < n_chan; ++chan) samples.values(chan, 2000 + chan / 24) += 20;
  samples.values(50, 3000) += 120;
  samples.values(60, 3100) = INFINITY;

  ExciseSettings settings{n_chan, 5, false, 2};
  const BlockStatistics s = measure_block(settings, samples);
  for (std::size_t chan = 0; chan < n_chan; ++chan)
    BOOST_TEST(bool(s.good[chan]) == !(chan == 10 || chan == 20 || chan == 30 || chan == 40),
               "channel " << chan);
  BOOST_TEST(s.n_not_finite == n_time / 50 + 2);
  Buffer<std::int8_t, 2> out({n_chan, n_time});
  out.fill(99);
  std::vector<std::uint8_t> good_time(n_time, 9);
  ExciseReport report;
  clean_block(settings, samples, nullptr, s, nullptr, out.data(), n_time, good_time, report);
  BOOST_TEST(report.n_bad_channel_blocks == 4u);
  BOOST_TEST(report.n_bad_time == 1u);
  BOOST_TEST(report.n_clipped >= 1u);
  BOOST_TEST(good_time[777] == 0);
  BOOST_TEST(int(out(50, 3000)) == 127);
  BOOST_TEST(int(out(60, 3100)) == 0);
  double square = 0, n = 0;
  for (std::size_t chan = 0; chan < n_chan; ++chan)
    for (std::size_t t = 0; t < n_time; ++t) {
      if (!s.good[chan] || t == 777) {
        BOOST_REQUIRE_EQUAL(int(out(chan, t)), 0);
        continue;
      }
      square += double(out(chan, t)) * double(out(chan, t)), n += 1;
    }
  BOOST_TEST(std::abs(std::sqrt(square / n) / kStepsPerSigma - 1) < 0.02);

  settings.zero_dm = true;
  clean_block(settings, samples, nullptr, s, nullptr, out.data(), n_time, good_time, report);
  double worst = 0;
  for (std::size_t t = 0; t < n_time; ++t) {
    double sum = 0;
    for (std::size_t chan = 0; chan < n_chan; ++chan) sum += double(out(chan, t));
    if (t != 3000) worst = std::max(worst, std::abs(sum));
  }
  BOOST_TEST(worst < 5 * std::sqrt(double(n_chan) / 6));  // rounding, of the samples and of their mean
  Samples few;
  few.values.resize({n_chan, 31});
  BOOST_CHECK_THROW(measure_block(settings, few), std::invalid_argument);
}

// Data of a filter bank whose every eighth channel has another gain and offset: neither is interference,
// and channels that are brought to one level and one noise lose nothing by it. Noise that is added is, from
// twice the others' on.
BOOST_AUTO_TEST_CASE(gains_and_offsets_of_their_own_cost_no_channel) {
  constexpr std::size_t n_chan = 336, n_time = 4096;
  for (const double added : {0.0, 1.3, 2.5}) {
    Samples samples;
    samples.values.resize({n_chan, n_time});
    for (std::size_t chan = 0; chan < n_chan; ++chan) {
      const std::vector<float> x = noise(n_time, unsigned(chan), 10),
                               y = noise(n_time, unsigned(1000 + chan), 10 * added);
      const float gain = chan % 8 == 3   ? 0.6f
                         : chan % 8 == 5 ? 1.5f
                                         : 1,
                  offset = chan % 8 == 3 ? 90.f : 128.f;
      for (std::size_t t = 0; t < n_time; ++t)
        samples.values(chan, t) = offset + gain * (x[t] + (chan == 100 ? y[t] : 0));
    }
    const BlockStatistics s = measure_block({n_chan, 5, false, 2}, samples);
    for (std::size_t chan = 0; chan < n_chan; ++chan)
      BOOST_TEST(bool(s.good[chan]) == !(chan == 100 && added > 2), "channel " << chan << ", " << added);
  }
}

BOOST_AUTO_TEST_CASE(times_without_data_take_no_channel_with_them) {
  constexpr std::size_t n_chan = 64, n_time = 4096;
  const ExciseSettings settings{n_chan, 5, false, 2, true};
  for (const float value : {NAN, 0.0f}) {
    Samples samples;
    samples.values.resize({n_chan, n_time});
    for (std::size_t chan = 0; chan < n_chan; ++chan) {
      const std::vector<float> x = noise(n_time, unsigned(chan), 3);
      for (std::size_t t = 0; t < n_time; ++t) samples.values(chan, t) = 40 + x[t];
    }
    const auto missing = [](std::size_t t) { return t >= 1000 && t < 2500; };  // six pieces of 16
    for (std::size_t chan = 0; chan < n_chan; ++chan)
      for (std::size_t t = 0; t < n_time; ++t)
        if (missing(t)) samples.values(chan, t) = value;
    for (std::size_t t = 0; t < n_time; ++t) samples.values(7, t) = 0;  // dead besides
    const BlockStatistics s = measure_block(settings, samples);
    BOOST_TEST(s.missing.size() == 1500u);
    Buffer<std::int8_t, 2> out({n_chan, n_time});
    out.fill(99);
    std::vector<std::uint8_t> good_time(n_time, 9);
    ExciseReport report;
    clean_block(settings, samples, nullptr, s, nullptr, out.data(), n_time, good_time, report);
    for (std::size_t chan = 0; chan < n_chan; ++chan) BOOST_TEST(bool(s.good[chan]) == (chan != 7));
    for (std::size_t t = 0; t < n_time; ++t) {
      BOOST_REQUIRE_EQUAL(bool(good_time[t]), !missing(t));
      if (missing(t)) BOOST_REQUIRE_EQUAL(int(out(3, t)), 0);
    }
    BOOST_TEST(report.n_bad_time == 1500u);
    BOOST_TEST(report.n_clipped == 0u);
  }
}

// What is left at the end is a segment of its own from half of one on, and part of the last before.
BOOST_AUTO_TEST_CASE(the_rest_of_a_series_is_half_a_segment_or_part_of_the_last) {
  using Ends = std::vector<std::size_t>;
  BOOST_TEST((segment_ends(249, 100, true) == Ends{100, 249}));
  BOOST_TEST((segment_ends(250, 100, true) == Ends{100, 200, 250}));
  BOOST_TEST((segment_ends(30, 100, true) == Ends{30}));
  BOOST_TEST((segment_ends(300, 100, true) == Ends{100, 200, 300}));
  BOOST_TEST((segment_ends(250, 100, false) == Ends{100, 200}));
}

// A channel is left out whose noise is more than twice its neighbours', or less than a quarter: what is
// nearer does no harm, however far it is beyond chance.
BOOST_AUTO_TEST_CASE(channels_of_much_noise_are_left_out_before_those_of_little) {
  for (const auto& [factor, good] :
       {std::pair{1 / 3.8f, true}, {1 / 4.2f, false}, {1.9f, true}, {2.1f, false}}) {
    BlockStatistics statistics;
    statistics.n_time = 100000;
    statistics.level.assign(64, 0.0f);
    statistics.noise.assign(64, 1.0f);
    statistics.drift.assign(64, 1.0f);
    statistics.good.assign(64, 1);
    statistics.noise[20] = factor;
    find_bad_channels(5, statistics);
    for (std::size_t chan = 0; chan < 64; ++chan)
      BOOST_TEST((statistics.good[chan] != 0) == (chan != 20 || good));
  }
}

BOOST_AUTO_TEST_SUITE_END()
