// SPDX-License-Identifier: GPL-3.0-or-later
// Terms of different intervals and channel blocks one after the other, from one set of cells.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

#include "kernels/calibrate/calibrate.h"
#include "tests/support/calibration_set.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(chains)

namespace {

using Complex = std::complex<double>;
constexpr double two_pi = 6.283185307179586;

}  // namespace

BOOST_AUTO_TEST_CASE(delay_then_bandpass_then_phases_give_the_product_of_all) {
  const std::size_t n = 14, n_channels = 16, n_steps = 6;
  std::mt19937_64 random(101);
  std::normal_distribution<double> gauss;
  const auto base = random_gains(n, 102);
  std::vector<std::array<double, 2>> tau(n);
  std::vector<std::vector<double>> drift(n_steps, std::vector<double>(n));
  std::vector<std::vector<Complex>> ripple(n_channels, std::vector<Complex>(n));
  for (std::size_t p = 0; p < n; ++p) {
    tau[p] = {p == 0 ? 0 : 60e-9 * gauss(random), p == 0 ? 0 : 60e-9 * gauss(random)};
    for (std::size_t t = 0; t < n_steps; ++t) drift[t][p] = p == 0 ? 0 : 0.1 * gauss(random);
    for (std::size_t c = 0; c < n_channels; ++c)
      ripple[c][p] = std::polar(1 + 0.1 * gauss(random), 0.1 * gauss(random));
  }
  CalibrationSetup setup{
      .n_antennas = n, .n_channels = n_channels, .n_steps = n_steps, .n_sources = 3, .noise = 0.1};
  setup.channel_hz = 1e6;
  const auto gain = [&](std::size_t p, std::size_t chan, std::size_t step) {
    const double f = setup.low_hz + setup.channel_hz * static_cast<double>(chan);
    reference::Jones j{};
    for (std::size_t hand = 0; hand < 2; ++hand)
      j[3 * hand] =
          base[p][3 * hand] * ripple[chan][p] * std::polar(1.0, two_pi * f * tau[p][hand] + drift[step][p]);
    return j;
  };
  const auto set = simulate_set(setup, gain);
  const SetSums sums(set, SumKind::diagonal, true, 1);
  std::vector<KnownGains> known(n_steps);
  std::vector<const KnownGains*> pointers;
  for (const auto& k : known) pointers.push_back(&k);
  SlotCells slot = sums.slot();
  slot.known = pointers;

  const auto delay = solve_slot(slot, set.freq_hz, {.term = CalibrationTerm::delay});
  for (auto& k : known) multiply_gains(gains_of(delay, sums.block, set.freq_hz), k);
  const auto bandpass = solve_slot(slot, {}, {});
  BOOST_CHECK_EQUAL(bandpass.n_flagged(), 0u);
  for (auto& k : known) multiply_gains(gains_of(bandpass, sums.block, {}), k);
  // What is left of the bandpass's phase has no slope: the delay took it.
  for (std::size_t p = 1; p < n; ++p)
    for (std::size_t c = 1; c < n_channels; ++c) {
      const Complex turn = bandpass.value(c, p, 0) * std::conj(bandpass.value(c - 1, p, 0));
      BOOST_CHECK_SMALL(std::arg(turn), 0.9);
    }

  // Phases of single steps, in two blocks of channels whose phases are alike.
  std::vector<std::uint32_t> halves(n_channels);
  for (std::uint32_t c = 0; c < n_channels; ++c) halves[c] = c / 8;
  for (std::size_t t = 0; t < n_steps; ++t) {
    const SlotCells own{std::span(sums.pointers).subspan(t, 1), std::span(pointers).subspan(t, 1), halves, 2};
    const auto phase = solve_slot(own, {}, {.term = CalibrationTerm::scalar_phase});
    multiply_gains(gains_of(phase, halves, {}), known[t]);
    // With all gains known, nothing but noise is left.
    const auto rest = solve_slot(own, {}, {.term = CalibrationTerm::scalar_phase});
    for (std::size_t b = 0; b < 2; ++b) {
      BOOST_CHECK_CLOSE(std::sqrt(rest.chi2_before(b, 0) / rest.n_samples(b, 0)), 0.1, 6);
      for (std::size_t p = 0; p < n; ++p) BOOST_CHECK_SMALL(std::arg(rest.value(b, p, 0)), 1e-3);
    }
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t c = 0; c < n_channels; ++c)
        for (std::size_t hand = 0; hand < 2; ++hand) {
          const Complex zero = gain(0, c, t)[3 * hand];
          const Complex want = gain(p, c, t)[3 * hand] * std::conj(zero) / std::abs(zero);
          BOOST_CHECK_SMALL(std::abs(Complex(known[t].value(c, p, hand)) - want), 0.12);
        }
  }
}

BOOST_AUTO_TEST_CASE(steps_with_other_known_gains_solve_to_the_same) {
  // Gains that are known in part, differently in each cell: the rest is what was left out.
  const auto truth = random_gains(12, 103);
  const auto set = simulate_set({.n_antennas = 12, .noise = 0.5}, same_gains(truth));
  const SetSums sums(set, SumKind::diagonal, true, 2);
  const auto direct = solve_slot(sums.slot(), {}, {});
  std::vector<KnownGains> known(set.setup.n_steps);
  std::vector<const KnownGains*> pointers;
  for (std::size_t t = 0; t < known.size(); ++t) {
    known[t].value.resize({4, 12, 1});
    // Common factors of steps change nothing but the amplitude.
    known[t].value.fill({2, 0});
    pointers.push_back(&known[t]);
  }
  SlotCells slot = sums.slot();
  slot.known = pointers;
  const auto half = solve_slot(slot, {}, {});
  for (std::size_t i = 0; i < half.value.size(); ++i)
    BOOST_CHECK_SMALL(std::abs(2.0 * half.value.data()[i] - direct.value.data()[i]), 3e-6);
}

BOOST_AUTO_TEST_CASE(matrices_multiply_in_the_order_of_the_chain) {
  KnownGains nearer, known;
  nearer.value.resize({1, 2, 2});
  known.value.resize({1, 2, 4});
  const std::complex<float> i(0, 1);
  nearer.value(0, 0, 0) = 2;
  nearer.value(0, 0, 1) = i;
  known.value(0, 0, 0) = 1;
  known.value(0, 0, 1) = 0.5f * i;
  known.value(0, 0, 2) = 3;
  known.value(0, 0, 3) = 1;
  nearer.value(0, 1, 0) = std::numeric_limits<float>::quiet_NaN();
  multiply_gains(nearer, known);
  const std::complex<float> want[] = {2.f, i, 3.f * i, i};
  for (std::size_t k = 0; k < 4; ++k) BOOST_CHECK_SMALL(std::abs(known.value(0, 0, k) - want[k]), 1e-6f);
  BOOST_CHECK(std::isnan(known.value(0, 1, 0).real()));
  KnownGains empty;
  multiply_gains(known, empty);
  BOOST_CHECK_EQUAL(empty.value.size(), 8u);
  multiply_gains({}, empty);
  BOOST_CHECK_EQUAL(empty.value.size(), 8u);
}

BOOST_AUTO_TEST_CASE(gains_follow_leakages_and_leakages_gains) {
  // Leakages that are known turn the model: gains nearer to the receiver come out as if there were none.
  const auto truth = random_gains(10, 104, 0.1);
  std::vector<reference::Jones> gains(10), leakages(10), all(10);
  for (std::size_t p = 0; p < 10; ++p) {
    gains[p] = {truth[p][0], 0, 0, truth[p][3]};
    leakages[p] = {1, truth[p][1], truth[p][2], 1};
    all[p] = {truth[p][0], truth[p][0] * truth[p][1], truth[p][3] * truth[p][2], truth[p][3]};
  }
  for (const auto model : {ModelKind::unpolarised, ModelKind::diagonal, ModelKind::general}) {
    const auto set =
        simulate_set({.n_antennas = 10, .n_channels = 2, .model = model, .noise = 0.001}, same_gains(all));
    const SumKind kind = model == ModelKind::unpolarised ? SumKind::jones_unpolarised
                         : model == ModelKind::diagonal  ? SumKind::jones_diagonal
                                                         : SumKind::jones_general;
    const SetSums sums(set, kind, true, 2);
    KnownGains known;
    known.value.resize({1, 10, 4});
    for (std::size_t p = 0; p < 10; ++p)
      for (std::size_t k = 0; k < 4; ++k) known.value(0, p, k) = std::complex<float>(leakages[p][k]);
    const std::vector<const KnownGains*> pointers(set.setup.n_steps, &known);
    SlotCells slot = sums.slot();
    slot.known = pointers;
    const auto solution = solve_slot(slot, {}, {});
    BOOST_CHECK_LE(reference::diagonal_error(solved_gains(solution, 0), gains), 1e-4);
    BOOST_CHECK_CLOSE(solution.noise(0, 0), 0.001, 15);
  }
}

BOOST_AUTO_TEST_SUITE_END()
