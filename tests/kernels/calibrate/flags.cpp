// SPDX-License-Identifier: GPL-3.0-or-later
// What gets no solution, why, and that the others are as good as without it.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "kernels/calibrate/calibrate.h"
#include "tests/support/calibration_set.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(flags)

namespace {

void flag_baselines(CalibrationSet& set,
                    const std::function<bool(std::uint32_t p, std::uint32_t q)>& flagged) {
  const std::size_t n = set.setup.n_channels * set.setup.n_products;
  for (std::size_t row = 0; row < set.n_rows(); ++row)
    if (flagged(set.station(row, 0), set.station(row, 1)))
      for (std::size_t i = 0; i < n; ++i) set.weight.data()[row * n + i] = 0;
}

/// RMS error of the antennas but `bad` over that of a least-squares fit of the data without them.
double error_of_others(const CalibrationSet& set, const SlotSolutions& solution,
                       std::vector<reference::Jones> truth, const std::vector<std::size_t>& bad) {
  auto samples = fit_samples(set, 0, set.setup.n_channels);
  const auto is_bad = [&](std::size_t p) { return std::find(bad.begin(), bad.end(), p) != bad.end(); };
  for (auto& s : samples) {
    s.weight[1] = s.weight[2] = 0;
    if (is_bad(s.p) || is_bad(s.q)) s.weight = {};
  }
  auto fit = reference::fit_gains(samples, truth, reference::FreeElements::diagonal);
  auto solved = solved_gains(solution, 0);
  for (const std::size_t p : bad) fit.gain[p] = solved[p] = truth[p] = {};
  return std::sqrt(reference::diagonal_error(solved, truth) / reference::diagonal_error(fit.gain, truth));
}

}  // namespace

BOOST_AUTO_TEST_CASE(dead_and_lonely_antennas_leave_the_others_unharmed) {
  auto truth = random_gains(16, 81);
  truth[3] = {};
  auto set = simulate_set({.n_antennas = 16}, same_gains(truth));
  // Antenna 7 has one baseline, antenna 9 none.
  flag_baselines(
      set, [](auto p, auto q) { return p == 9 || q == 9 || ((p == 7 || q == 7) && !(p == 2 && q == 7)); });
  const SetSums sums(set, SumKind::diagonal, false, 8);
  const auto solution = solve_slot(sums.slot(), {}, {.reference = 3});
  for (std::size_t hand = 0; hand < 2; ++hand) {
    BOOST_CHECK(solution.reason(0, 3, hand) == FlagReason::low_snr);
    BOOST_CHECK(solution.reason(0, 7, hand) == FlagReason::few_baselines);
    BOOST_CHECK(solution.reason(0, 9, hand) == FlagReason::no_data);
    for (const std::size_t p : {3, 7, 9}) {
      BOOST_CHECK_EQUAL(solution.weight(0, p, hand), 0);
      BOOST_CHECK(std::isnan(solution.value(0, p, hand).real()));
    }
  }
  BOOST_CHECK_EQUAL(solution.n_flagged(), 6u);
  BOOST_CHECK_NE(solution.reference, 3u);
  BOOST_CHECK_EQUAL(solution.value(0, solution.reference, 0).imag(), 0);
  BOOST_CHECK_LE(error_of_others(set, solution, truth, {3, 7, 9}), 1.02);
}

BOOST_AUTO_TEST_CASE(the_rest_is_solved_again_without_weak_antennas) {
  // Antenna 5 has no signal in every other channel: the others' gains are as if it had been left out at
  // first.
  const auto truth = random_gains(10, 89);
  const auto set = simulate_set({.n_antennas = 10, .n_channels = 20, .noise = 0.1},
                                [&](std::size_t p, std::size_t chan, std::size_t) {
                                  return p == 5 && chan % 2 == 0 ? reference::Jones{} : truth[p];
                                });
  const SetSums sums(set, SumKind::diagonal, false, 1);
  const auto found = solve_slot(sums.slot(), {}, {.min_snr = 8, .n_threads = 2});
  Buffer<FlagReason, 3> weak(found.reason.shape());
  for (std::size_t chan = 0; chan < 20; chan += 2)
    for (std::size_t hand = 0; hand < 2; ++hand) weak(chan, 5, hand) = FlagReason::low_snr;
  BOOST_REQUIRE(std::equal(weak.begin(), weak.end(), found.reason.begin()));
  const auto without = solve_slot(sums.slot(), {}, {.min_snr = 8}, weak.view());
  for (std::size_t i = 0; i < found.value.size(); ++i)
    if (found.weight.data()[i] > 0)
      BOOST_CHECK_SMALL(std::abs(found.value.data()[i] - without.value.data()[i]), 3e-6);
}

BOOST_AUTO_TEST_CASE(exchanged_receptors_are_named) {
  auto truth = random_gains(16, 82);
  for (const std::size_t p : {4, 11}) truth[p] = {0.02, truth[p][0], truth[p][3], 0.02};
  const auto set = simulate_set({.n_antennas = 16, .n_channels = 24}, same_gains(truth));
  const SetSums sums(set, SumKind::diagonal, false, 24), blocks(set, SumKind::diagonal, true, 4);
  const auto solution = solve_slot(sums.slot(), {}, {});
  BOOST_CHECK_EQUAL(solution.n_flagged(), 4u);
  for (const std::size_t p : {4, 11})
    for (std::size_t hand = 0; hand < 2; ++hand)
      BOOST_CHECK(solution.reason(0, p, hand) == FlagReason::swapped);
  BOOST_CHECK_LE(error_of_others(set, solution, truth, {4, 11}), 1.02);
  const auto fine = solve_slot(blocks.slot(), {}, {.min_snr = 0});
  for (std::size_t b = 0; b < 6; ++b) BOOST_CHECK(fine.reason(b, 4, 0) == FlagReason::swapped);
  BOOST_CHECK_EQUAL(fine.n_flagged(), 2u * 2 * 6);

  // A dead antenna is not taken for an exchanged one, and without cross hands there is none.
  auto dead = random_gains(16, 83);
  dead[4] = {};
  const auto other = simulate_set({.n_antennas = 16, .n_channels = 24}, same_gains(dead));
  const SetSums of_dead(other, SumKind::diagonal, false, 24);
  BOOST_CHECK(solve_slot(of_dead.slot(), {}, {}).reason(0, 4, 0) == FlagReason::low_snr);
  const SetSums unmonitored(set, SumKind::diagonal, false, 24, 1, false);
  BOOST_CHECK(solve_slot(unmonitored.slot(), {}, {}).reason(0, 4, 0) != FlagReason::swapped);
}

BOOST_AUTO_TEST_CASE(parts_of_the_array_that_nothing_joins) {
  const auto truth = random_gains(16, 84);
  auto set = simulate_set({.n_antennas = 16, .noise = 0.3}, same_gains(truth));
  flag_baselines(set, [](auto p, auto q) { return (p < 6) != (q < 6); });
  const SetSums sums(set, SumKind::diagonal, false, 8);
  const auto solution = solve_slot(sums.slot(), {}, {});
  BOOST_CHECK_EQUAL(solution.n_flagged(), 12u);
  for (std::size_t p = 0; p < 6; ++p) BOOST_CHECK(solution.reason(0, p, 1) == FlagReason::few_baselines);
  BOOST_CHECK_GE(solution.reference, 6u);
}

BOOST_AUTO_TEST_CASE(one_channel_block_may_be_empty) {
  const auto truth = random_gains(8, 85);
  auto set = simulate_set({.n_antennas = 8, .noise = 0.3}, same_gains(truth));
  for (std::size_t row = 0; row < set.n_rows(); ++row)
    for (std::size_t k = 0; k < 4; ++k) set.weight(row, 2, k) = set.weight(row, 3, k) = 0;
  for (const auto kind : {SumKind::diagonal, SumKind::jones_unpolarised}) {
    const SetSums sums(set, kind, false, 2);
    const auto term = kind == SumKind::diagonal ? CalibrationTerm::gain : CalibrationTerm::jones;
    const auto solution = solve_slot(sums.slot(), {}, {.term = term});
    BOOST_CHECK_EQUAL(solution.n_flagged(), 8 * solution.n_values);
    for (std::size_t p = 0; p < 8; ++p) BOOST_CHECK(solution.reason(1, p, 0) == FlagReason::no_data);
  }
}

BOOST_AUTO_TEST_CASE(garbage_has_no_solution_and_does_no_harm) {
  const auto truth = random_gains(6, 86);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (int kind = 0; kind < 4; ++kind) {
    auto set = simulate_set({.n_antennas = 6}, same_gains(truth));
    if (kind == 0) set.weight.fill(0);
    if (kind == 1) set.data.fill({nan, nan});
    if (kind == 2) set.model.fill(0);
    if (kind == 3) set.weight.fill(nan);
    const SetSums diagonal(set, SumKind::diagonal, false, 1), matrices(set, SumKind::jones_general, false, 1);
    for (const auto term : {CalibrationTerm::gain, CalibrationTerm::phase, CalibrationTerm::amplitude,
                            CalibrationTerm::scalar_gain, CalibrationTerm::delay, CalibrationTerm::tec,
                            CalibrationTerm::tec_delay, CalibrationTerm::jones, CalibrationTerm::leakage})
      for (const double nu : {0.0, 2.0}) {
        const SetSums& sums = needs_jones_sums(term) ? matrices : diagonal;
        const auto solution = solve_slot(sums.slot(), set.freq_hz, {.term = term, .robust_nu = nu});
        BOOST_CHECK_EQUAL(solution.n_flagged(), solution.reason.size());
      }
  }
}

BOOST_AUTO_TEST_CASE(one_and_two_antennas_have_no_gains) {
  for (const std::size_t n : {1, 2}) {
    const auto truth = random_gains(n, 87);
    const auto set = simulate_set({.n_antennas = n}, same_gains(truth));
    const SetSums diagonal(set, SumKind::diagonal, false, 1),
        matrices(set, SumKind::jones_unpolarised, false, 1);
    for (const auto term : {CalibrationTerm::gain, CalibrationTerm::jones}) {
      const SetSums& sums = needs_jones_sums(term) ? matrices : diagonal;
      const auto solution = solve_slot(sums.slot(), set.freq_hz, {.term = term});
      BOOST_CHECK_EQUAL(solution.n_flagged(), solution.reason.size());
    }
  }
}

BOOST_AUTO_TEST_CASE(outlying_amplitudes_are_found_and_solved_again_without) {
  const auto truth = random_gains(10, 88);
  auto set = simulate_set({.n_antennas = 10, .n_channels = 24, .noise = 0.3},
                          [&](std::size_t p, std::size_t chan, std::size_t) {
                            auto j = truth[p];
                            if (p == 6 && chan == 13) j[0] *= 4;
                            return j;
                          });
  const SetSums sums(set, SumKind::diagonal, false, 1);
  std::vector<SlotSolutions> solutions;
  solutions.push_back(solve_slot(sums.slot(), {}, {}));
  const auto outliers = find_outliers(solutions, 2);
  BOOST_REQUIRE_EQUAL(outliers.size(), 1u);
  BOOST_REQUIRE_GT(outliers[0].size(), 0u);
  std::size_t n = 0;
  for (const FlagReason r : outliers[0]) n += r != FlagReason::none;
  BOOST_CHECK_EQUAL(n, 1u);
  BOOST_CHECK(outliers[0](13, 6, 0) == FlagReason::outlier);
  const auto again = solve_slot(sums.slot(), {}, {}, outliers[0].view());
  BOOST_CHECK(again.reason(13, 6, 0) == FlagReason::outlier);
  BOOST_CHECK(again.reason(13, 6, 1) == FlagReason::none);
  BOOST_CHECK_EQUAL(again.n_flagged(), 1u);
}

// Two amplitudes stand out by the same amount; the error of one of them is as large.
BOOST_AUTO_TEST_CASE(amplitudes_within_their_own_errors_are_no_outliers) {
  std::vector<SlotSolutions> slots(1);
  SlotSolutions& s = slots[0];
  s.term = CalibrationTerm::gain;
  s.n_blocks = 20;
  s.n_antennas = s.n_values = 1;
  s.value.resize({20, 1, 1});
  s.sigma.resize({20, 1, 1});
  s.reason.resize({20, 1, 1});
  for (std::size_t b = 0; b < 20; ++b) {
    s.value(b, 0, 0) = std::polar(b % 2 == 0 ? 0.99 : 1.01, 0.3 * static_cast<double>(b));
    s.sigma(b, 0, 0) = 0.01;
  }
  s.value(5, 0, 0) = s.value(9, 0, 0) = 1.5;
  s.sigma(9, 0, 0) = 0.5;
  const auto outliers = find_outliers(slots, 1);
  BOOST_REQUIRE_EQUAL(outliers[0].size(), 20u);
  for (std::size_t b = 0; b < 20; ++b)
    BOOST_CHECK(outliers[0](b, 0, 0) == (b == 5 ? FlagReason::outlier : FlagReason::none));
}

BOOST_AUTO_TEST_CASE(every_reason_has_a_name) {
  for (int r = 0; r <= static_cast<int>(FlagReason::excluded); ++r)
    BOOST_CHECK_NE(to_string(static_cast<FlagReason>(r)), "unknown");
}

BOOST_AUTO_TEST_SUITE_END()
