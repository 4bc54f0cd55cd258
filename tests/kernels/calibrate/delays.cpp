// SPDX-License-Identifier: GPL-3.0-or-later
// Delays and TEC against the bound of the data (Cramer-Rao), in float64.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

#include "kernels/calibrate/calibrate.h"
#include "tests/support/calibration_set.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(delays)

namespace {

constexpr double two_pi = 6.283185307179586, tec_phase = 8.44797245e9;
using Complex = std::complex<double>;

/// Numbers of antennas of normal distribution, of antenna 0 none.
std::vector<double> random_numbers(std::size_t n, double rms, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> gauss;
  std::vector<double> numbers(n);
  for (std::size_t p = 1; p < n; ++p) numbers[p] = rms * gauss(random);
  return numbers;
}

/// RMS of numbers without their mean over antennas.
double centred_rms(const std::vector<double>& numbers) {
  double mean = 0, squares = 0;
  for (const double x : numbers) mean += x / static_cast<double>(numbers.size());
  for (const double x : numbers) squares += (x - mean) * (x - mean) / static_cast<double>(numbers.size());
  return std::sqrt(squares);
}

/// For one source the information is that of a complete graph, whose inverse is known: the RMS error of
/// centred numbers is sqrt((1 - 1/n) / n / (2 information of a baseline)) x noise. `information`: of a
/// number, others that are fitted taken out, for S = 1 in every channel.
double bound(const CalibrationSet& set, double information, std::size_t n_hands) {
  const double n = static_cast<double>(set.setup.n_antennas);
  double s = 0, count = 0;
  for (std::size_t row = 0; row < set.n_rows(); ++row)
    if (set.station(row, 0) != set.station(row, 1)) {
      s += std::norm(Complex(set.model(row, 0, 0)));
      count += 1;
    }
  s *= static_cast<double>(set.setup.n_steps * n_hands) / count;
  return set.setup.noise * std::sqrt((1 - 1 / n) / n / (2 * s * information));
}

/// Information of the first of two slopes, the second fitted besides (null: none).
double information(const CalibrationSet& set, const std::function<double(double)>& first,
                   const std::function<double(double)>& second) {
  double a = 0, b = 0, c = 0;
  for (const double f : set.freq_hz) {
    a += first(f) * first(f);
    if (!second) continue;
    b += first(f) * second(f);
    c += second(f) * second(f);
  }
  return second ? a - b * b / c : a;
}

}  // namespace

BOOST_AUTO_TEST_CASE(delays_reach_the_bound_with_any_constant_phase_and_amplitudes) {
  // Each hand for itself, cables of +- 300 ns, phases and amplitudes as they come.
  const std::size_t n = 24;
  const std::vector<double> tau[] = {random_numbers(n, 150e-9, 41), random_numbers(n, 150e-9, 42)};
  auto other = random_gains(n, 43);
  CalibrationSetup setup{
      .n_antennas = n, .n_channels = 24, .n_steps = 6, .n_products = 2, .n_sources = 1, .seed = 5};
  setup.channel_hz = 1.28e6;
  setup.low_hz = 138e6;
  const auto gain = [&](std::size_t p, std::size_t chan, std::size_t) {
    const double f = setup.low_hz + static_cast<double>(chan) * setup.channel_hz;
    return reference::Jones{other[p][0] * std::polar(1.0, two_pi * f * tau[0][p]), 0, 0,
                            other[p][3] * std::polar(1.0, two_pi * f * tau[1][p])};
  };
  const auto set = simulate_set(setup, gain);
  const SetSums sums(set, SumKind::diagonal, false, 1);
  const auto solution = solve_slot(sums.slot(), set.freq_hz, {.term = CalibrationTerm::delay});
  BOOST_CHECK_EQUAL(solution.n_flagged(), 0u);
  BOOST_REQUIRE_EQUAL(solution.n_values, 2u);
  for (std::size_t hand = 0; hand < 2; ++hand) {
    std::vector<double> off(n);
    double sigma = 0;
    for (std::size_t p = 0; p < n; ++p) {
      off[p] = solution.value(0, p, hand).real() - tau[hand][p];
      sigma += std::pow(solution.sigma(0, p, hand), 2) / static_cast<double>(n - 1);
      BOOST_CHECK_SMALL(off[p], 2e-9);
      // With the constant, the phase is that of the antenna against the reference.
      const Complex want = gain(p, 10, 0)[3 * hand] * std::conj(gain(0, 10, 0)[3 * hand]);
      const Complex got = std::polar(
          1.0, two_pi * set.freq_hz[10] * solution.value(0, p, hand).real() + solution.phase_rad(p, hand));
      BOOST_CHECK_SMALL(std::arg(got * std::conj(want)), 0.3);
    }
    const double best = bound(set,
                              information(
                                  set, [](double f) { return two_pi * f; }, [](double) { return 1.0; }),
                              1);
    BOOST_TEST_MESSAGE("delay error " << centred_rms(off) * 1e12 << " ps, bound " << best * 1e12
                                      << " ps, sigma " << std::sqrt(sigma / 2) * 1e12);
    // The amplitudes' spread of 20 % changes the bound a little; 1 / sqrt(2 n) is 14 %.
    BOOST_CHECK_LE(centred_rms(off), 1.3 * best);
    // Errors against the reference are sqrt(2) of centred ones.
    BOOST_CHECK_CLOSE(std::sqrt(sigma / 2), best, 25);
  }
  // The sign: a longer cable has a negative delay.
  BOOST_CHECK_EQUAL(solution.value(0, 0, 0).real(), 0);
}

BOOST_AUTO_TEST_CASE(uneven_channels_and_narrow_ranges) {
  const std::size_t n = 12;
  const auto tau = random_numbers(n, 50e-9, 44);
  CalibrationSetup setup{
      .n_antennas = n, .n_channels = 20, .n_steps = 6, .n_products = 1, .n_sources = 1, .noise = 0.3};
  setup.channel_hz = 1e6;
  auto set = simulate_set(setup, [&](std::size_t p, std::size_t chan, std::size_t) {
    const double f = 150e6 + 1e6 * static_cast<double>(chan);
    return reference::Jones{std::polar(1.0, two_pi * f * tau[p]), 0, 0, 0};
  });
  const SetSums sums(set, SumKind::diagonal, false, 1);
  // Channels out of order, some left out.
  SlotCells slot = sums.slot();
  slot.n_blocks = 15;
  std::vector<double> freq(15);
  for (std::uint32_t c = 0; c < 20; ++c) slot.block[c] = c % 4 == 1 ? kNoBlock : (c - (c + 2) / 4) * 7 % 15;
  for (std::size_t c = 0; c < 20; ++c)
    if (slot.block[c] != kNoBlock) freq[slot.block[c]] = set.freq_hz[c];
  const auto solution = solve_slot(slot, freq, {.term = CalibrationTerm::delay, .max_delay_s = 300e-9});
  for (std::size_t p = 0; p < n; ++p) BOOST_CHECK_SMALL(solution.value(0, p, 0).real() - tau[p], 1e-9);
}

BOOST_AUTO_TEST_CASE(tec_reaches_the_bound_without_wrong_wraps) {
  const std::size_t n = 24;
  CalibrationSetup setup{
      .n_antennas = n, .n_channels = 20, .n_steps = 5, .n_products = 2, .n_sources = 1, .noise = 2};
  setup.low_hz = 120e6;
  setup.channel_hz = 2e6;
  double squares = 0, bounds = 0;
  for (unsigned seed = 0; seed < 5; ++seed) {
    const auto tec = random_numbers(n, 0.1, 50 + seed);
    setup.seed = seed;
    const auto set = simulate_set(setup, [&](std::size_t p, std::size_t chan, std::size_t) {
      const double f = setup.low_hz + static_cast<double>(chan) * setup.channel_hz;
      const Complex g = std::polar(1.0, -tec_phase * tec[p] / f);
      return reference::Jones{g, 0, 0, g};
    });
    const SetSums sums(set, SumKind::diagonal, false, 1);
    const auto solution = solve_slot(sums.slot(), set.freq_hz, {.term = CalibrationTerm::tec});
    BOOST_CHECK_EQUAL(solution.n_flagged(), 0u);
    BOOST_REQUIRE_EQUAL(solution.n_values, 1u);
    std::vector<double> off(n);
    for (std::size_t p = 0; p < n; ++p) {
      off[p] = solution.value(0, p, 0).real() - tec[p];
      // Another turn of phase would be 15 mTECU.
      BOOST_CHECK_SMALL(off[p], 7e-3);
    }
    const double best = bound(set,
                              information(
                                  set, [](double f) { return tec_phase / f; }, nullptr),
                              2);
    squares += std::pow(centred_rms(off), 2);
    bounds += best * best;
  }
  BOOST_TEST_MESSAGE("TEC error over the bound: " << std::sqrt(squares / bounds) << ", bound "
                                                  << 1e3 * std::sqrt(bounds / 5) << " mTECU");
  BOOST_CHECK_LE(std::sqrt(squares / bounds), 1.1);
}

BOOST_AUTO_TEST_CASE(tec_and_delay_are_told_apart) {
  const std::size_t n = 16;
  CalibrationSetup setup{
      .n_antennas = n, .n_channels = 24, .n_steps = 5, .n_products = 4, .n_sources = 1, .noise = 0.5};
  setup.low_hz = 115e6;
  setup.channel_hz = 3e6;
  const auto tec = random_numbers(n, 0.1, 61), tau = random_numbers(n, 20e-9, 62);
  const auto set = simulate_set(setup, [&](std::size_t p, std::size_t chan, std::size_t) {
    const double f = setup.low_hz + static_cast<double>(chan) * setup.channel_hz;
    const Complex g = std::polar(1.0, -tec_phase * tec[p] / f + two_pi * f * tau[p]);
    return reference::Jones{g, 0, 0, g};
  });
  const SetSums sums(set, SumKind::diagonal, false, 1);
  const auto solution =
      solve_slot(sums.slot(), set.freq_hz, {.term = CalibrationTerm::tec_delay, .max_delay_s = 150e-9});
  BOOST_CHECK_EQUAL(solution.n_flagged(), 0u);
  std::vector<double> off_tec(n), off_tau(n);
  for (std::size_t p = 0; p < n; ++p) {
    off_tec[p] = solution.value(0, p, 0).real() - tec[p];
    off_tau[p] = solution.value(0, p, 1).real() - tau[p];
    BOOST_CHECK_SMALL(off_tec[p], 5e-3);
    BOOST_CHECK_SMALL(off_tau[p], 1e-9);
  }
  const auto of_tec = [](double f) { return tec_phase / f; };
  const auto of_tau = [](double f) { return two_pi * f; };
  BOOST_TEST_MESSAGE(
      "TEC " << centred_rms(off_tec) / bound(set, information(set, of_tec, of_tau), 2) << " and delay "
             << centred_rms(off_tau) / bound(set, information(set, of_tau, of_tec), 2) << " of the bounds");
  BOOST_CHECK_LE(centred_rms(off_tec), 1.4 * bound(set, information(set, of_tec, of_tau), 2));
  BOOST_CHECK_LE(centred_rms(off_tau), 1.4 * bound(set, information(set, of_tau, of_tec), 2));

  // The gains that stand for it, in the cells.
  const KnownGains gains = gains_of(solution, sums.block, set.freq_hz);
  BOOST_REQUIRE_EQUAL(gains.value.extent(2), 1u);
  for (std::size_t p = 0; p < n; ++p) {
    const Complex want = std::polar(1.0, -tec_phase * solution.value(0, p, 0).real() / set.freq_hz[7] +
                                             two_pi * set.freq_hz[7] * solution.value(0, p, 1).real());
    BOOST_CHECK_SMALL(std::abs(Complex(gains.value(7, p, 0)) - want), 1e-6);
  }
}

BOOST_AUTO_TEST_CASE(antennas_without_signal_have_no_tec) {
  const std::size_t n = 12;
  CalibrationSetup setup{
      .n_antennas = n, .n_channels = 20, .n_steps = 5, .n_products = 2, .n_sources = 1, .noise = 0.5};
  setup.channel_hz = 2e6;
  const auto tec = random_numbers(n, 0.05, 71);
  const auto set = simulate_set(setup, [&](std::size_t p, std::size_t chan, std::size_t) {
    const double f = setup.low_hz + static_cast<double>(chan) * setup.channel_hz;
    const Complex g = p == 5 ? 0 : std::polar(1.0, -tec_phase * tec[p] / f);
    return reference::Jones{g, 0, 0, g};
  });
  const SetSums sums(set, SumKind::diagonal, false, 1);
  const auto solution = solve_slot(sums.slot(), set.freq_hz, {.term = CalibrationTerm::tec, .reference = 5});
  BOOST_CHECK_EQUAL(solution.n_flagged(), 1u);
  BOOST_CHECK(solution.reason(0, 5, 0) == FlagReason::low_snr);
  BOOST_CHECK_NE(solution.reference, 5u);
  const double zero = tec[solution.reference];
  for (std::size_t p = 0; p < n; ++p)
    if (p != 5) BOOST_CHECK_SMALL(solution.value(0, p, 0).real() - (tec[p] - zero), 5e-3);
}

BOOST_AUTO_TEST_SUITE_END()
