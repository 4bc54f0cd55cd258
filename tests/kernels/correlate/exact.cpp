// SPDX-License-Identifier: GPL-3.0-or-later
// Integers in, int64 sums out: every pair, every extreme, with data missing; and nothing may depend on
// threads or on how the stream is cut.
#include <boost/test/unit_test.hpp>
#include <limits>

#include "kernels/common/spectra/multiply_codes.h"
#include "tests/reference/correlate.h"
#include "tests/support/correlate_setup.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(exact)

namespace {

enum class Fill { random, max_negative, alternating };

Recording integer_recording(const VoltageHeader& header, std::size_t n_time, int low, int high, Fill fill) {
  Recording recording(header, n_time);
  recording.integer = true;
  std::mt19937 random(11);
  std::uniform_int_distribution<int> uniform(low, high);
  std::size_t i = 0;
  for (auto& sample : recording.samples) {
    if (fill == Fill::random)
      sample = {static_cast<float>(uniform(random)), static_cast<float>(uniform(random))};
    else if (fill == Fill::max_negative)
      sample = {static_cast<float>(low), static_cast<float>(low)};
    else
      sample = {static_cast<float>(i % 2 ? low : high), static_cast<float>(i % 3 ? low : high)};
    ++i;
  }
  return recording;
}

void drop_some(Recording& recording) {
  std::mt19937 random(5);
  for (std::size_t row = 0; row < recording.valid.size() / recording.header.n_ant; ++row)
    for (std::size_t ant = 0; ant < recording.header.n_ant; ++ant)
      recording.valid[row * recording.header.n_ant + ant] = random() % 4 != 0;
}

void check_exact(const Recording& recording, const Run& run) {
  const VoltageHeader& header = recording.header;
  const std::size_t n_input = header.n_ant * header.n_pol;
  std::size_t mismatches = 0, integrations = 0;
  correlate(recording, run, [&](const Correlator& correlator, const Integrator& integrator) {
    const std::size_t first =
        run.first + static_cast<std::size_t>(integrator.next_spectrum() - integrator.spectra_taken());
    const auto n = static_cast<std::size_t>(integrator.spectra_taken());
    ++integrations;
    for (std::size_t chan = 0; chan < header.n_chan; ++chan)
      for (std::size_t i = 0; i < n_input; ++i)
        for (std::size_t j = i; j < n_input; ++j) {
          std::vector<std::int64_t> a, b;
          std::vector<bool> a_valid, b_valid;
          auto& source = const_cast<Recording&>(recording);
          for (std::size_t t = first; t < first + n; ++t) {
            const auto x = source.at(t, chan, i / header.n_pol, i % header.n_pol);
            const auto y = source.at(t, chan, j / header.n_pol, j % header.n_pol);
            a.insert(a.end(), {static_cast<std::int64_t>(x.real()), static_cast<std::int64_t>(x.imag())});
            b.insert(b.end(), {static_cast<std::int64_t>(y.real()), static_cast<std::int64_t>(y.imag())});
            a_valid.push_back(recording.is_valid(t, i / header.n_pol));
            b_valid.push_back(recording.is_valid(t, j / header.n_pol));
          }
          const auto truth = reference::cross_sum(a, b, a_valid, b_valid);
          const auto sum = correlator.sum(chan, i, j);
          mismatches += sum.real() != static_cast<double>(truth.re) ||
                        sum.imag() != static_cast<double>(truth.im) ||
                        correlator.count(chan, i / header.n_pol, j / header.n_pol) != truth.count;
          const auto turned = correlator.sum(chan, j, i);
          mismatches += turned.real() != sum.real() || turned.imag() != -sum.imag();
        }
  });
  BOOST_TEST(integrations > 0);
  BOOST_TEST(mismatches == 0);
}

}  // namespace

BOOST_AUTO_TEST_CASE(codes_are_exact) {
  if (!multiplies_codes()) {
    BOOST_TEST_MESSAGE("not looked at: this processor has no dot products of bytes and never meets codes");
    return;
  }
  for (const auto& [low, high] : {std::pair{-8, 7}, std::pair{-128, 127}})
    for (const std::size_t n_ant : {1, 3, 9, 17}) {
      auto recording =
          integer_recording(voltage_header(2, n_ant, 2, 2e6, 150e6), 1001, low, high, Fill::random);
      check_exact(recording, {.codes = true});
      drop_some(recording);
      check_exact(recording, {.n_spectra = 301, .gulp = 256, .n_threads = 2, .codes = true});
    }
  for (const Fill fill : {Fill::max_negative, Fill::alternating})
    check_exact(integer_recording(voltage_header(1, 3, 1, 1e6, 150e6), 70000, -128, 127, fill),
                {.codes = true});
}

// A part of a stream that begins, and whose pieces end, inside spans of missing samples.
BOOST_AUTO_TEST_CASE(missing_spans_need_not_be_aligned) {
  auto recording = integer_recording(voltage_header(2, 5, 2, 2e6, 150e6), 1500, -8, 7, Fill::random);
  drop_some(recording);
  for (const std::size_t first : {0, 100, 128, 255})
    for (const std::size_t gulp : {0, 64, 100, 333})
      check_exact(recording, {.n_spectra = 210, .gulp = gulp, .first = first});
}

BOOST_AUTO_TEST_CASE(codes_fill_their_accumulators_exactly) {
  // the most spectra that int32 holds, all at the extremes that make each sum largest
  if (!multiplies_codes()) {
    BOOST_TEST_MESSAGE("not looked at: this processor has no dot products of bytes");
    return;
  }
  constexpr std::size_t n_pair = 32896 / 2;
  for (const int row : {-128, 127})
    for (const int column : {-128, 127}) {
      std::vector<std::int8_t> codes(2 * n_pair * kCodeBytes, static_cast<std::int8_t>(row));
      std::fill(codes.begin() + n_pair * kCodeBytes, codes.end(), static_cast<std::int8_t>(column));
      std::vector<std::int32_t> row_sums(4 * kPanelInputs);
      for (std::size_t panel = 0; panel < 2; ++panel)
        sum_codes(codes.data() + panel * n_pair * kCodeBytes, n_pair, &row_sums[panel * 2 * kPanelInputs]);
      std::vector<double> sums(2 * kPanelInputs * 2 * kPanelInputs, 1.0);
      multiply_codes({codes.data(), n_pair * kCodeBytes, n_pair}, 1, 2 * kPanelInputs, row_sums.data(),
                     sums.data());
      const double n = 2.0 * n_pair;
      for (std::size_t i = 0; i < 2 * kPanelInputs; ++i)
        for (std::size_t j = 0; j < kPanelInputs; ++j) {
          const double other = i < kPanelInputs ? row : column;
          BOOST_REQUIRE(sums[i * 2 * kPanelInputs + j] == 1 + 2 * n * other * column);
          BOOST_REQUIRE(sums[i * 2 * kPanelInputs + kPanelInputs + j] == 1);
        }
    }
}

BOOST_AUTO_TEST_CASE(four_and_eight_bits_are_exact) {
  for (const auto& [low, high] : {std::pair{-8, 7}, std::pair{-16, 15}, std::pair{-128, 127}})
    for (const std::size_t n_ant : {1, 3, 9, 17}) {
      auto recording =
          integer_recording(voltage_header(2, n_ant, 2, 2e6, 150e6), 1000, low, high, Fill::random);
      check_exact(recording, {});
      drop_some(recording);
      check_exact(recording, {.n_spectra = 300, .gulp = 256});
    }
}

BOOST_AUTO_TEST_CASE(extremes_are_exact_over_long_blocks) {
  for (const Fill fill : {Fill::max_negative, Fill::alternating})
    check_exact(integer_recording(voltage_header(1, 3, 1, 1e6, 150e6), 70000, -128, 127, fill), {});
}

BOOST_AUTO_TEST_CASE(float_samples_meet_their_bound) {
  Recording recording(voltage_header(1, 5, 2, 1e6, 150e6), 20000);
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (auto& sample : recording.samples) sample = {normal(random), normal(random)};
  double worst = 0;
  correlate(recording, {}, [&](const Correlator& correlator, const Integrator&) {
    for (std::size_t i = 0; i < 10; ++i)
      for (std::size_t j = i; j < 10; ++j) {
        std::complex<double> truth = 0;
        double magnitude = 0;
        for (std::size_t t = 0; t < recording.n_time; ++t) {
          const std::complex<double> a(recording.at(t, 0, i / 2, i % 2)), b(recording.at(t, 0, j / 2, j % 2));
          truth += a * std::conj(b);
          magnitude += std::abs(a) * std::abs(b);
        }
        worst = std::max(worst, std::abs(correlator.sum(0, i, j) - truth) / magnitude);
      }
  });
  BOOST_TEST_MESSAGE("float sums: " << worst << " of the sum of |products|");
  BOOST_TEST(worst > 0.0);
  BOOST_TEST(worst < 1e-6);  // bound (2 * 512 + 1) 2^-24 = 6e-5; measured 1.6e-7
}

BOOST_AUTO_TEST_CASE(means_heed_gains_weights_and_flags) {
  auto header = voltage_header(1, 3, 2, 1e6, 150e6);
  header.layout.antennas[1].flagged = true;
  auto recording = integer_recording(header, 1280, -8, 7, Fill::random);
  for (std::size_t row = 0; row < 4; ++row) recording.valid[row * 3 + 2] = 0;
  correlate(recording, {}, [&](const Correlator& correlator, const Integrator&) {
    MeanPlan plan;
    plan.baselines = {{0, 0}, {0, 1}, {0, 2}, {2, 2}};
    plan.n_spectra = 2560;
    plan.scale = 0.5;
    plan.gains.resize({3, 2, 1});
    plan.gains.fill(std::polar(2.0, 0.3));
    plan.gains(2, 1, 0) = std::polar(4.0, -0.7);
    VisibilityRecord record;
    BOOST_TEST(correlator.mean(plan, record));
    for (std::size_t product = 0; product < 4; ++product) {
      BOOST_TEST(record.weight(0, 0, product) == 0.5f);
      BOOST_TEST(record.weight(1, 0, product) == 0.0f);
      BOOST_TEST((record.data(1, 0, product) == 0.0f));
      BOOST_TEST(record.weight(2, 0, product) == 0.3f);
    }
    BOOST_TEST(record.data(0, 0, 0).imag() == 0.0f);
    BOOST_TEST(record.data(0, 0, 3).imag() == 0.0f);
    BOOST_TEST(record.data(3, 0, 0).imag() == 0.0f);
    BOOST_TEST((record.data(0, 0, 1) == std::conj(record.data(0, 0, 2))));
    const auto expected =
        correlator.sum(0, 0, 5) / 768.0 * 0.25 / (std::polar(2.0, 0.3) * std::polar(4.0, 0.7));
    BOOST_TEST(std::abs(std::complex<double>(record.data(2, 0, 1)) - expected) < 1e-6 * std::abs(expected));
  });
}

// Of an average over channels only those count in which both inputs have a gain.
BOOST_AUTO_TEST_CASE(products_of_inputs_without_gains_have_no_weight) {
  const auto recording = integer_recording(voltage_header(2, 2, 2, 2e6, 150e6), 1280, -8, 7, Fill::random);
  correlate(recording, {}, [&](const Correlator& correlator, const Integrator&) {
    MeanPlan plan;
    plan.baselines = {{0, 0}, {0, 1}};
    plan.n_spectra = 1280;
    plan.n_average = 2;
    plan.gains.resize({2, 2, 2});
    plan.gains.fill(2.0);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    plan.gains(0, 1, 0) = plan.gains(0, 1, 1) = plan.gains(1, 0, 0) = {nan, nan};
    VisibilityRecord record;
    BOOST_TEST(correlator.mean(plan, record));
    const float expected[2][4] = {{1, 0, 0, 0}, {0.5f, 1, 0, 0}};  // XX, XY, YX, YY
    for (std::size_t baseline = 0; baseline < 2; ++baseline)
      for (std::size_t product = 0; product < 4; ++product)
        BOOST_TEST(record.weight(baseline, 0, product) == expected[baseline][product]);
    const auto xx = correlator.sum(1, 0, 2) / 1280.0 / 4.0;
    BOOST_TEST(std::abs(std::complex<double>(record.data(1, 0, 0)) - xx) < 1e-6 * std::abs(xx));
  });
}

BOOST_AUTO_TEST_CASE(gulps_and_threads_change_nothing) {
  Recording recording(voltage_header(3, 9, 2, 3e6, 150e6), 128 * 40);
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (auto& sample : recording.samples) sample = {normal(random), normal(random)};
  drop_some(recording);
  StaticDelays delays({0, 1e-6, -3e-6, 5.5e-6, 0.4e-6, 0, 1e-7, -1e-7, 2e-6});
  const auto sums = [&](const Run& run) {
    std::vector<std::complex<double>> all;
    correlate(recording, run, [&](const Correlator& correlator, const Integrator&) {
      for (std::size_t channel = 0; channel < 3 * run.n_fine; ++channel)
        for (std::size_t i = 0; i < 18; ++i)
          for (std::size_t j = i; j < 18; ++j) all.push_back(correlator.sum(channel, i, j));
    });
    return all;
  };
  const auto one = sums({.n_fine = 16, .n_spectra = 100, .delays = &delays});
  BOOST_TEST(one.size() > 0u);
  BOOST_TEST((one == sums({.n_fine = 16, .n_spectra = 100, .n_threads = 2, .delays = &delays})));
  BOOST_TEST((one == sums({.n_fine = 16, .n_spectra = 100, .n_threads = 7, .delays = &delays})));
  BOOST_TEST((one == sums({.n_fine = 16, .n_spectra = 100, .gulp = 128, .delays = &delays})));
  BOOST_TEST(
      (one == sums({.n_fine = 16, .n_spectra = 100, .gulp = 1280, .n_threads = 3, .delays = &delays})));
}

BOOST_AUTO_TEST_SUITE_END()
