// SPDX-License-Identifier: GPL-3.0-or-later
// 2x2 gains and leakages against a least-squares fit of all samples in float64.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "kernels/calibrate/calibrate.h"
#include "tests/reference/antenna_gains.h"
#include "tests/support/calibration_set.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(jones)

namespace {

SumKind kind_of(ModelKind model) {
  return model == ModelKind::unpolarised ? SumKind::jones_unpolarised
         : model == ModelKind::diagonal  ? SumKind::jones_diagonal
                                         : SumKind::jones_general;
}

/// RMS error over that of the reference's fit of the same data, all blocks.
double compare(const CalibrationSet& set, const std::vector<reference::Jones>& truth, std::size_t per_block,
               SumKind kind, const SolveSettings& settings = {.term = CalibrationTerm::jones}) {
  const SetSums sums(set, kind, false, per_block);
  const SlotSolutions solution = solve_slot(sums.slot(), {}, settings);
  BOOST_CHECK_EQUAL(solution.n_flagged(), 0u);
  double solved = 0, fitted = 0;
  for (std::size_t block = 0; block < solution.n_blocks; ++block) {
    BOOST_CHECK(solution.converged(block, 0));
    const auto fit = reference::fit_gains(fit_samples(set, block * per_block, (block + 1) * per_block), truth,
                                          reference::FreeElements::all);
    solved += reference::jones_error(solved_gains(solution, block), truth);
    fitted += reference::jones_error(fit.gain, truth);
    BOOST_CHECK_CLOSE(solution.chi2_after(block, 0), fit.chi2, 1e-3);
  }
  BOOST_TEST_MESSAGE("error over that of the least-squares fit: " << std::sqrt(solved / fitted));
  return std::sqrt(solved / fitted);
}

}  // namespace

BOOST_AUTO_TEST_CASE(models_of_all_kinds_reach_the_least_squares_error) {
  const auto truth = random_gains(10, 21, 0.1);
  for (const auto model : {ModelKind::unpolarised, ModelKind::diagonal, ModelKind::general}) {
    const auto set =
        simulate_set({.n_antennas = 10, .n_channels = 4, .model = model, .noise = 0.5}, same_gains(truth));
    BOOST_CHECK(jones_kind(set.samples()) == kind_of(model));
    // Every kind may be treated as one of the more general ones.
    for (const auto kind : {SumKind::jones_unpolarised, SumKind::jones_diagonal, SumKind::jones_general})
      if (kind >= kind_of(model)) BOOST_CHECK_LE(compare(set, truth, 2, kind), 1.02);
  }
}

BOOST_AUTO_TEST_CASE(flags_weights_and_reversed_rows_of_products) {
  std::mt19937_64 random(22);
  std::uniform_real_distribution<double> flat;
  const auto truth = random_gains(10, 22, 0.1);
  for (const auto model : {ModelKind::unpolarised, ModelKind::diagonal, ModelKind::general}) {
    auto set = simulate_set({.n_antennas = 10, .n_channels = 4, .model = model, .noise = 0.5},
                            same_gains(truth), [](std::size_t row, std::size_t chan, std::size_t product) {
                              return 0.2f + static_cast<float>((row * 5 + chan * 11 + product * 7) % 13) / 3;
                            });
    for (auto& w : set.weight) w = flat(random) < 0.2 ? 0.f : w;
    for (auto& v : set.data)
      if (flat(random) < 0.01) v = {1, std::numeric_limits<float>::quiet_NaN()};
    for (std::size_t row = 0; row < set.n_rows(); row += 2) set.reverse(row);
    BOOST_CHECK_LE(compare(set, truth, 2, kind_of(model)), 1.02);
  }
}

BOOST_AUTO_TEST_CASE(errors_reach_the_bound) {
  // The mean over many fits of the same array: their scatter about the bound is 1 / sqrt(2 n), here 2 %.
  const auto truth = random_gains(12, 23, 0.05);
  double squares = 0, bound = 0;
  for (unsigned seed = 0; seed < 6; ++seed) {
    const auto set = simulate_set(
        {.n_antennas = 12, .n_channels = 4, .n_steps = 10, .noise = 0.5, .seed = seed}, same_gains(truth));
    const SetSums sums(set, SumKind::jones_unpolarised, false, 4);
    const auto solution = solve_slot(sums.slot(), {}, {.term = CalibrationTerm::jones});
    squares += reference::jones_error(solved_gains(solution, 0), truth);
    auto samples = fit_samples(set, 0, 4);
    for (auto& s : samples)
      for (auto& w : s.weight) w /= 0.25;
    const auto fit = reference::fit_gains(samples, truth, reference::FreeElements::all, 4);
    for (const auto& antenna : fit.variance)
      for (const double v : antenna) bound += v;
    double of_solution = 0, of_fit = 0;
    for (std::size_t p = 0; p < 12; ++p)
      for (std::size_t k = 0; k < 4; ++k) {
        of_solution += std::pow(solution.sigma(0, p, k), 2);
        of_fit += fit.variance[p][k] / 2;
      }
    BOOST_CHECK_CLOSE(of_solution, of_fit, 20);
    BOOST_CHECK_CLOSE(solution.noise(0, 0), 0.5, 5);
  }
  BOOST_TEST_MESSAGE("error over the bound: " << std::sqrt(squares / bound));
  BOOST_CHECK_LE(std::sqrt(squares / bound), 1.03 + 0.04);
}

BOOST_AUTO_TEST_CASE(the_reference_is_hermitian) {
  const auto truth = random_gains(8, 24, 0.2);
  const auto set = simulate_set({.n_antennas = 8, .noise = 0.1}, same_gains(truth));
  const SetSums sums(set, SumKind::jones_unpolarised, false, 8);
  const auto solution = solve_slot(sums.slot(), {}, {.term = CalibrationTerm::jones, .reference = 3});
  const auto j = [&](std::size_t k) { return solution.value(0, 3, k); };
  BOOST_CHECK_SMALL(std::abs(j(1) - std::conj(j(2))), 1e-12);
  BOOST_CHECK_SMALL(std::abs(j(0).imag()) + std::abs(j(3).imag()), 1e-12);
  BOOST_CHECK_GT(j(0).real(), 0);
  BOOST_CHECK_GT((j(0) * j(3) - j(1) * j(2)).real(), 0);
}

BOOST_AUTO_TEST_CASE(exchanged_receptors_are_solved) {
  auto truth = random_gains(10, 25, 0.05);
  truth[4] = {truth[4][1], truth[4][0], truth[4][3], truth[4][2]};
  const auto set = simulate_set({.n_antennas = 10, .noise = 0.3}, same_gains(truth));
  BOOST_CHECK_LE(compare(set, truth, 8, SumKind::jones_unpolarised), 1.02);
}

BOOST_AUTO_TEST_CASE(a_dead_receptor_is_flagged_alone) {
  auto truth = random_gains(10, 26, 0.05);
  truth[4][2] = truth[4][3] = 0;
  const auto set = simulate_set({.n_antennas = 10, .noise = 0.5}, same_gains(truth));
  const SetSums sums(set, SumKind::jones_unpolarised, false, 8);
  const auto solution = solve_slot(sums.slot(), {}, {.term = CalibrationTerm::jones});
  BOOST_CHECK_EQUAL(solution.n_flagged(), 2u);
  BOOST_CHECK(solution.reason(0, 4, 2) == FlagReason::low_snr &&
              solution.reason(0, 4, 3) == FlagReason::low_snr);
  const auto fit = reference::fit_gains(fit_samples(set, 0, 8), truth, reference::FreeElements::all);
  auto solved = solved_gains(solution, 0), fitted = fit.gain;
  fitted[4][2] = fitted[4][3] = 0;
  BOOST_CHECK_LE(reference::jones_error(solved, truth), 1.02 * 1.02 * reference::jones_error(fitted, truth));
}

BOOST_AUTO_TEST_CASE(leakages_come_out_up_to_what_no_data_show) {
  auto truth = random_gains(12, 27, 0.05);
  std::vector<reference::Jones> gains = truth;
  for (std::size_t p = 0; p < 12; ++p) {
    const auto g0 = truth[p][0], g1 = truth[p][3];
    truth[p] = {1, truth[p][1], truth[p][2], 1};
    gains[p] = {g0, g0 * truth[p][1], g1 * truth[p][2], g1};
  }
  const auto set = simulate_set({.n_antennas = 12, .noise = 0.02}, same_gains(gains));
  const SetSums sums(set, SumKind::jones_unpolarised, false, 8);
  // The chain: gains first, then leakages with these applied.
  KnownGains known;
  known.value.resize({1, 12, 2});
  for (std::size_t p = 0; p < 12; ++p)
    for (std::size_t hand = 0; hand < 2; ++hand)
      known.value(0, p, hand) = std::complex<float>(gains[p][3 * hand]);
  const KnownGains* const knowns[] = {&known};
  SlotCells slot = sums.slot();
  slot.known = knowns;
  const auto solution = solve_slot(slot, {}, {.term = CalibrationTerm::leakage});
  BOOST_CHECK_EQUAL(solution.n_flagged(), 0u);
  BOOST_CHECK(solution.converged(0, 0));
  // d_01 of all may have a common e, d_10 its -conj(e).
  std::complex<double> e = 0;
  for (std::size_t p = 0; p < 12; ++p)
    e += (solution.value(0, p, 1) - truth[p][1] - std::conj(solution.value(0, p, 2) - truth[p][2])) / 24.0;
  double worst = 0;
  for (std::size_t p = 0; p < 12; ++p) {
    worst = std::max(worst, std::abs(solution.value(0, p, 1) - truth[p][1] - e));
    worst = std::max(worst, std::abs(solution.value(0, p, 2) - truth[p][2] + std::conj(e)));
    BOOST_CHECK(solution.value(0, p, 0) == 1.0 && solution.value(0, p, 3) == 1.0);
  }
  BOOST_TEST_MESSAGE("worst leakage error " << worst << ", common part " << std::abs(e) << ", sigma "
                                            << solution.sigma(0, 1, 1));
  // The common turn is of second order in the leakages: 0.05^2.
  BOOST_CHECK_LE(worst, 5 * solution.sigma(0, 1, 1) + 0.01);
  BOOST_CHECK_CLOSE(solution.noise(0, 0), 0.02, 5);
  // The reference is Hermitian, but for what its diagonal of ones takes of that: 4e-7 here.
  BOOST_CHECK_SMALL(std::abs(solution.value(0, 0, 1) - std::conj(solution.value(0, 0, 2))), 1e-5);
}

BOOST_AUTO_TEST_SUITE_END()
