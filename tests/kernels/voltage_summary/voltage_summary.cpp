// SPDX-License-Identifier: GPL-3.0-or-later
// Powers, levels, gaps and spectra of voltages against literal counting, and the figure.
#include "kernels/voltage_summary/voltage_summary.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <utility>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/plot/figures/voltage_figure.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(voltage_summary)

namespace {

VoltageHeader header_of(std::size_t n_chan, std::size_t n_ant, std::size_t n_pol, unsigned n_bit) {
  VoltageHeader h;
  h.n_chan = n_chan, h.n_ant = n_ant, h.n_pol = n_pol, h.n_bit = n_bit;
  h.freq_hz = 150e6, h.bandwidth_hz = 1e6, h.sample_s = static_cast<double>(n_chan) / 1e6;
  h.missing_samples = 8;
  return h;
}

VoltageBlock random_block(const VoltageHeader& h, std::size_t n_time, unsigned seed) {
  VoltageBlock block;
  block.n_time = n_time;
  block.missing_samples = h.missing_samples;
  block.integer = h.n_bit <= 8;
  block.valid.resize({(n_time + 7) / 8, h.n_ant});
  block.valid.fill(1);
  std::mt19937 random(seed);
  const int limit = (1 << (h.n_bit - 1)) - 1;
  if (block.integer) {
    block.samples_i8.resize({n_time, h.n_chan, h.n_ant, h.n_pol, 2});
    std::uniform_int_distribution<int> value(-limit, limit);
    for (auto& sample : block.samples_i8) sample = static_cast<std::int8_t>(value(random));
  } else {
    block.samples_f32.resize({n_time, h.n_chan, h.n_ant, h.n_pol, 2});
    std::normal_distribution<float> value(0, 3);
    for (auto& sample : block.samples_f32) sample = value(random);
  }
  return block;
}

}  // namespace

// Antennas are shared among threads; bins of time widen within a block and between two.
BOOST_AUTO_TEST_CASE(threads_change_nothing) {
  for (const unsigned n_bit : {8u, 32u})
    for (const std::size_t n_chan : {std::size_t{2}, std::size_t{40}}) {
      const VoltageHeader h = header_of(n_chan, 5, 2, n_bit);
      const auto summary_of = [&](unsigned n_threads) {
        auto summariser = std::make_unique<VoltageSummariser>(h, n_threads);
        for (unsigned seed = 0; seed < 3; ++seed) {
          VoltageBlock block = random_block(h, 700, seed);
          block.valid(3, seed) = 0;
          if (n_bit == 32) {
            block.not_finite.resize({700, n_chan, 5});
            block.not_finite(10, 1, 4) = 1;
          }
          summariser->add(block);
        }
        return summariser;
      };
      const auto alone = summary_of(1);
      const VoltageSummary& one = alone->summary();
      BOOST_TEST(one.time.width == 16);
      for (const unsigned n_threads : {2u, 3u, 9u}) {
        const auto together = summary_of(n_threads);
        const VoltageSummary& many = together->summary();
        BOOST_TEST(many.n_time == one.n_time);
        const auto same = [](const auto& a, const auto& b) {
          return std::equal(a.begin(), a.end(), b.begin(), b.end());
        };
        BOOST_TEST(same(many.power_sum, one.power_sum));
        BOOST_TEST(same(many.n_power, one.n_power));
        BOOST_TEST(same(many.levels, one.levels));
        BOOST_TEST(same(many.spectrum, one.spectrum));
        BOOST_TEST(same(many.n_spectrum, one.n_spectrum));
        BOOST_TEST(same(many.n_values, one.n_values));
        BOOST_TEST(same(many.n_saturated, one.n_saturated));
        BOOST_TEST(same(many.n_missing, one.n_missing));
      }
    }
}

BOOST_AUTO_TEST_CASE(integers_are_counted_exactly) {
  const VoltageHeader h = header_of(32, 3, 2, 4);
  VoltageBlock block = random_block(h, 400, 1);
  block.valid(5, 1) = 0;  // samples 40..47 of antenna 1
  VoltageSummariser summariser(h);
  summariser.add(block);
  summariser.add(block);
  const VoltageSummary& s = summariser.summary();
  BOOST_CHECK_EQUAL(s.n_time, 800);
  BOOST_CHECK_EQUAL(s.n_missing[0], 0u);
  BOOST_CHECK_EQUAL(s.n_missing[1], 2u * 8 * 32 * 2);
  for (std::size_t ant = 0; ant < 3; ++ant)
    for (std::size_t pol = 0; pol < 2; ++pol) {
      const std::size_t input = ant * 2 + pol;
      std::vector<std::uint64_t> levels(256, 0);
      std::uint64_t saturated = 0, n = 0;
      double power = 0, channel5 = 0;
      for (std::size_t t = 0; t < 400; ++t) {
        if (ant == 1 && t >= 40 && t < 48) continue;
        for (std::size_t c = 0; c < 32; ++c)
          for (std::size_t part = 0; part < 2; ++part) {
            const int v = block.samples_i8(t, c, ant, pol, part);
            levels[static_cast<std::size_t>(v + 128)] += 2, n += 2;
            if (std::abs(v) == 7) saturated += 2;
            power += 2. * v * v;
            if (c == 5) channel5 += 2. * v * v;
          }
      }
      BOOST_CHECK_EQUAL(s.n_values[input], n);
      BOOST_CHECK_EQUAL(s.n_saturated[input], saturated);
      for (std::size_t b = 0; b < 256; ++b) BOOST_CHECK_EQUAL(s.levels(input, b), levels[b]);
      BOOST_CHECK_EQUAL(std::accumulate(&s.power_sum(input, 0), &s.power_sum(input, 0) + s.time.n, 0.0),
                        power);
      BOOST_CHECK_EQUAL(s.spectrum(input, 5), channel5);
      BOOST_CHECK_EQUAL(s.n_spectrum(input, 5), ant == 1 ? 784u : 800u);
    }
  BOOST_CHECK_EQUAL(s.freq_hz.size(), 32u);
  BOOST_CHECK_EQUAL(s.freq_hz[5], h.channel_freq_hz(5));
}

BOOST_AUTO_TEST_CASE(a_tone_appears_at_its_frequency) {
  for (double band : {1.0, -1.0})
    for (const auto& [n_chan, conjugated] :
         {std::pair{std::size_t{1}, false}, {std::size_t{4}, false}, {std::size_t{4}, true}}) {
      VoltageHeader h = header_of(n_chan, 1, 1, 32);
      h.bandwidth_hz *= band;
      h.sideband_conj = conjugated;  // was so in the file; blocks have it undone
      VoltageBlock block = random_block(h, 4096, 2);
      const std::size_t chan = n_chan / 2;
      const double offset = 0.21;  // of the sampling rate, above the channel's centre
      for (std::size_t t = 0; t < block.n_time; ++t) {
        const double phase = kTwoPi * offset * static_cast<double>(t);
        block.samples_f32(t, chan, 0, 0, 0) += static_cast<float>(30 * std::cos(phase));
        block.samples_f32(t, chan, 0, 0, 1) += static_cast<float>(30 * std::sin(phase));
      }
      VoltageSummariser summariser(h);
      summariser.add(block);
      const VoltageSummary& s = summariser.summary();
      std::size_t best = 0;
      for (std::size_t i = 0; i < s.freq_hz.size(); ++i)
        if (s.spectrum(0, i) / static_cast<double>(s.n_spectrum(0, i)) >
            s.spectrum(0, best) / static_cast<double>(s.n_spectrum(0, best)))
          best = i;
      const double bin = 1 / (h.sample_s * static_cast<double>(summariser.segment()));
      BOOST_CHECK_SMALL(s.freq_hz[best] - (h.channel_freq_hz(chan) + offset / h.sample_s), bin / 2 * 1.001);
    }
}

BOOST_AUTO_TEST_CASE(a_real_tone_appears_above_or_below_its_mixer) {
  for (double band : {1.0, -1.0}) {
    VoltageHeader h = header_of(1, 1, 1, 32);
    h.n_dim = 1;
    h.bandwidth_hz *= band;
    h.sample_s /= 2;
    VoltageBlock block = random_block(h, 4096, 2);
    const double offset_hz = 0.21e6;
    for (std::size_t t = 0; t < block.n_time; ++t) {
      block.samples_f32(t, 0, 0, 0, 0) +=
          static_cast<float>(30 * std::cos(kTwoPi * offset_hz * h.sample_s * static_cast<double>(t)));
      block.samples_f32(t, 0, 0, 0, 1) = 0;
    }
    VoltageSummariser summariser(h);
    summariser.add(block);
    const VoltageSummary& s = summariser.summary();
    std::size_t best = 0;
    for (std::size_t i = 0; i < s.freq_hz.size(); ++i)
      if (s.spectrum(0, i) > s.spectrum(0, best)) best = i;
    const double bin = 1 / (h.sample_s * static_cast<double>(summariser.segment()));
    const double mixer_hz = h.freq_hz - h.bandwidth_hz / 2;
    BOOST_CHECK_SMALL(s.freq_hz[best] - (mixer_hz + band * offset_hz), bin / 2 * 1.001);
  }
}

BOOST_AUTO_TEST_CASE(long_streams_fold_and_not_finite_samples_are_missing) {
  const VoltageHeader h = header_of(1, 2, 1, 32);
  VoltageBlock block = random_block(h, 512, 3);
  block.not_finite.resize({512, 1, 2});
  block.not_finite(100, 0, 1) = 1;
  VoltageSummariser summariser(h);
  for (int i = 0; i < 20; ++i) summariser.add(block);
  const VoltageSummary& s = summariser.summary();
  BOOST_CHECK_EQUAL(s.n_time, 10240);
  BOOST_CHECK_EQUAL(s.time.width, 64);
  BOOST_CHECK_EQUAL(s.n_power(0, 0), 64u);
  BOOST_CHECK_EQUAL(s.n_missing[1], 20u);
  BOOST_CHECK_EQUAL(s.n_values[1], 2u * (10240 - 20));
  BOOST_CHECK_EQUAL(s.n_spectrum(0, 0), 20u);
  BOOST_CHECK_EQUAL(s.n_spectrum(1, 0), 0u);  // its only segment of each block holds the bad sample
  BOOST_CHECK_EQUAL(std::accumulate(&s.levels(0, 0), &s.levels(0, 0) + 256, std::uint64_t{0}), 2u * 10240);
  BOOST_CHECK_NO_THROW(draw_voltage_figure(s, {.title = "t", .size = 150}));
}

BOOST_AUTO_TEST_CASE(figures_of_streams_with_little_data_are_drawn_or_refused) {
  for (unsigned n_bit : {4u, 8u, 32u}) {
    const VoltageHeader h = header_of(2, 1, 1, n_bit);
    VoltageBlock block = random_block(h, 16, 4);
    VoltageSummariser some(h), none(h);
    some.add(block);
    BOOST_CHECK_NO_THROW(draw_voltage_figure(some.summary(), {.title = "", .size = 150}));
    BOOST_CHECK_THROW(draw_voltage_figure(none.summary(), {}), FailureError);
    block.valid.fill(0);
    none.add(block);
    BOOST_CHECK_THROW(draw_voltage_figure(none.summary(), {}), FailureError);
  }
}

BOOST_AUTO_TEST_SUITE_END()
