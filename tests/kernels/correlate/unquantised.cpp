// SPDX-License-Identifier: GPL-3.0-or-later
// Correlations of quantised noise, corrected, against those of the same noise before it was quantised.
#include <boost/test/unit_test.hpp>

#include <cmath>

#include "tests/support/correlate_setup.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(unquantised)

namespace {

struct Pair {
  Recording plain, coarse;
};

/// Three inputs that share a part of their noise, at levels `rms` (steps of a component).
Pair shared_noise(unsigned n_bit, const std::vector<double>& rms, double share, double phase,
                  std::size_t n_time) {
  const auto header = voltage_header(1, rms.size(), 1, 1e6, 150e6);
  Pair pair{Recording(header, n_time), Recording(header, n_time)};
  pair.coarse.integer = true;
  std::mt19937_64 random(n_bit);
  std::normal_distribution<double> normal;
  const double high = std::exp2(n_bit - 1) - 1;
  for (std::size_t t = 0; t < n_time; ++t) {
    const std::complex<double> common(normal(random), normal(random));
    for (std::size_t ant = 0; ant < rms.size(); ++ant) {
      const std::complex<double> own(normal(random), normal(random));
      const auto turned = std::polar(std::sqrt(share), phase * static_cast<double>(ant)) * common;
      const std::complex<double> x = rms[ant] * (turned + std::sqrt(1 - share) * own);
      pair.plain.at(t, 0, ant, 0) = std::complex<float>(x);
      const auto q = [&](double v) { return std::clamp(std::nearbyint(v), -high - 1, high); };
      pair.coarse.at(t, 0, ant, 0) = std::complex<float>(std::complex<double>(q(x.real()), q(x.imag())));
    }
  }
  return pair;
}

/// Largest difference of crosses and of autos, relative to the power; spectra of the coarse samples are
/// themselves rounded to `rounded_bit` bits (0 = not).
std::pair<double, double> differences(const Pair& pair, unsigned n_bit, std::size_t n_fine, bool correct,
                                      unsigned rounded_bit = 0) {
  const Run run{.n_fine = n_fine, .n_threads = 2};
  Run coarse = run;
  coarse.requantise.n_bit = rounded_bit;
  const std::size_t n_ant = pair.plain.header.n_ant;
  const CorrelatorPlan plan = correlator_plan(pair.plain.header, run);
  MeanPlan mean;
  mean.baselines = all_baselines(n_ant, true);
  mean.n_spectra = static_cast<std::int64_t>(pair.plain.n_time / n_fine);
  VisibilityRecord truth, found;
  correlate(pair.plain, run, [&](const Correlator& x, const Integrator&) { mean_of(x, plan, mean, truth); });
  if (correct) {
    mean.quantisers.recorder = std::make_shared<QuantiserCurve>(twos_complement(n_bit));
    mean.quantisers.of_samples = n_fine == 1;
    if (rounded_bit > 0)
      mean.quantisers.requantiser = std::make_shared<QuantiserCurve>(
          Quantiser{requantise_low(rounded_bit), requantise_high(rounded_bit), false});
  }
  correlate(pair.coarse, coarse,
            [&](const Correlator& x, const Integrator&) { mean_of(x, plan, mean, found); });
  double cross = 0, self = 0;
  for (std::size_t b = 0; b < mean.baselines.size(); ++b) {
    const auto power = [&](int ant) {
      const auto i = static_cast<std::size_t>(ant);
      double sum = 0;
      for (std::size_t fine = 0; fine < n_fine; ++fine)
        sum += truth.data(i * n_ant - i * (i + 1) / 2 + i, fine, 0).real() / static_cast<double>(n_fine);
      return sum;
    };
    std::complex<double> difference = 0;
    for (std::size_t fine = 0; fine < n_fine; ++fine)
      difference +=
          std::complex<double>(found.data(b, fine, 0) - truth.data(b, fine, 0)) / static_cast<double>(n_fine);
    const auto [ant1, ant2] = mean.baselines[b];
    const double relative = std::abs(difference) / std::sqrt(power(ant1) * power(ant2));
    (ant1 == ant2 ? self : cross) = std::max(ant1 == ant2 ? self : cross, relative);
  }
  return {cross, self};
}

}  // namespace

BOOST_AUTO_TEST_CASE(samples_are_corrected_exactly) {
  for (const auto& [n_bit, level] : {std::pair{2u, 0.9}, {4u, 2.95}, {8u, 30.0}})
    for (const double share : {0.1, 0.5, 0.95}) {
      const auto pair = shared_noise(n_bit, {level, 0.7 * level, 1.2 * level}, share, 0.7, 1 << 20);
      const auto [cross, self] = differences(pair, n_bit, 1, true);
      const auto [cross_before, self_before] = differences(pair, n_bit, 1, false);
      BOOST_TEST_MESSAGE(n_bit << " bits, share " << share << ": crosses off by " << cross_before << " -> "
                               << cross << " of the power, autos " << self_before << " -> " << self);
      // rounding errors of a million samples leave some sqrt(1 / efficiency - 1) / 1024: measured up to
      // 2.1e-3 and 4.2e-4
      const double left = n_bit == 2 ? 2.5e-3 : 6e-4;
      BOOST_TEST(cross < left);
      BOOST_TEST(self < left);
      if (n_bit < 8) BOOST_TEST(cross_before > 5 * cross);
    }
}

BOOST_AUTO_TEST_CASE(spectra_are_corrected_by_gains) {
  const auto pair = shared_noise(4, {2.95, 2.0, 3.5}, 0.1, 0.7, 1 << 20);
  const auto [cross, self] = differences(pair, 4, 16, true);
  const auto [cross_before, self_before] = differences(pair, 4, 16, false);
  BOOST_TEST_MESSAGE("16 channels: crosses off by " << cross_before << " -> " << cross
                                                    << " of the power, autos " << self_before << " -> "
                                                    << self);
  BOOST_TEST(cross < 3e-4);  // measured 1.6e-4
  BOOST_TEST(self < 5e-4);   // measured 3.6e-4
  BOOST_TEST(cross_before > 1.5e-3);
  BOOST_TEST(self_before > 5e-3);
}

// The recorder's gain follows from the power in steps of the samples, which the spectra's own steps hide.
BOOST_AUTO_TEST_CASE(rounded_spectra_are_corrected_for_both_quantisers) {
  const auto pair = shared_noise(4, {2.95, 2.0, 3.5}, 0.1, 0.7, 1 << 20);
  const auto [cross, self] = differences(pair, 4, 16, true, 8);
  BOOST_TEST_MESSAGE("16 channels of 8 bits: crosses off by " << cross << " of the power, autos " << self);
  BOOST_TEST(cross < 3e-4);
  BOOST_TEST(self < 5e-4);
}

BOOST_AUTO_TEST_CASE(levels_beyond_correcting_have_no_weight) {
  auto pair = shared_noise(4, {2.95, 2.95, 2.95}, 0.1, 0.0, 4096);
  for (std::size_t t = 0; t < 4096; ++t) {
    pair.coarse.at(t, 0, 1, 0) = 0;
    pair.coarse.at(t, 0, 2, 0) = {t % 2 ? -8.0f : 7.0f, t % 3 ? -8.0f : 7.0f};
  }
  for (const std::size_t n_fine : {1, 8}) {
    const Run run{.n_fine = n_fine};
    MeanPlan mean;
    mean.baselines = all_baselines(3, true);
    mean.n_spectra = static_cast<std::int64_t>(4096 / n_fine);
    mean.quantisers.recorder = std::make_shared<QuantiserCurve>(twos_complement(4));
    mean.quantisers.of_samples = n_fine == 1;
    VisibilityRecord record;
    correlate(pair.coarse, run, [&](const Correlator& x, const Integrator&) {
      BOOST_TEST(mean_of(x, correlator_plan(pair.coarse.header, run), mean, record));
    });
    for (std::size_t b = 0; b < 6; ++b) BOOST_TEST(record.weight(b, 0, 0) == (b == 0 ? 1.0f : 0.0f));
  }
}

BOOST_AUTO_TEST_SUITE_END()
