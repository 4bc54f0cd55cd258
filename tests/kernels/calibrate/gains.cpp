// SPDX-License-Identifier: GPL-3.0-or-later
// Diagonal gains against a least-squares fit of all samples in float64.
#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "kernels/calibrate/calibrate.h"
#include "kernels/calibrate/solve_slot.h"
#include "tests/reference/antenna_gains.h"
#include "tests/support/calibration_set.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(gains)

namespace {

/// Squared errors of the solver and of the reference, summed over blocks.
struct Errors {
  double solved = 0, fitted = 0;
  double ratio() const { return std::sqrt(solved / fitted); }
};

Errors compare(const CalibrationSet& set, const std::vector<reference::Jones>& truth, std::size_t per_block,
               const SolveSettings& settings = {}) {
  const SetSums sums(set, SumKind::diagonal, false, per_block);
  const SlotSolutions solution = solve_slot(sums.slot(), {}, settings);
  BOOST_CHECK_EQUAL(solution.n_flagged(), 0u);
  Errors errors;
  for (std::size_t block = 0; block < solution.n_blocks; ++block) {
    auto samples = fit_samples(set, block * per_block, (block + 1) * per_block);
    for (auto& s : samples) s.weight[1] = s.weight[2] = 0;
    auto start = truth;
    if (set.setup.n_products == 1)
      for (auto& j : start) j[3] = 0;
    const auto fit = reference::fit_gains(samples, start, reference::FreeElements::diagonal);
    auto solved = solved_gains(solution, block);
    auto wanted = start;
    if (set.setup.n_products == 1)
      for (auto& j : solved) j[3] = 0;
    errors.solved += reference::diagonal_error(solved, wanted);
    errors.fitted += reference::diagonal_error(fit.gain, wanted);
    // The two are the same minimum, not only of the same error.
    double chi2 = 0;
    for (std::size_t value = 0; value < solution.n_values; ++value) chi2 += solution.chi2_after(block, value);
    BOOST_CHECK_CLOSE(chi2, fit.chi2, 1e-3);
  }
  BOOST_TEST_MESSAGE("error over that of the least-squares fit: " << errors.ratio());
  return errors;
}

/// Every number of two solutions, bit by bit.
void check_same(const SlotSolutions& a, const SlotSolutions& b) {
  const auto same = [](const auto& x, const auto& y) {
    return x.shape() == y.shape() &&
           (x.size() == 0 || std::memcmp(x.data(), y.data(), x.size() * sizeof x.data()[0]) == 0);
  };
  BOOST_CHECK_EQUAL(a.reference, b.reference);
  BOOST_CHECK(same(a.value, b.value));
  BOOST_CHECK(same(a.sigma, b.sigma));
  BOOST_CHECK(same(a.snr, b.snr));
  BOOST_CHECK(same(a.weight, b.weight));
  BOOST_CHECK(same(a.reason, b.reason));
  BOOST_CHECK(same(a.chi2_before, b.chi2_before));
  BOOST_CHECK(same(a.chi2_after, b.chi2_after));
  BOOST_CHECK(same(a.n_samples, b.n_samples));
  BOOST_CHECK(same(a.noise, b.noise));
  BOOST_CHECK(same(a.n_iterations, b.n_iterations));
  BOOST_CHECK(same(a.converged, b.converged));
}

/// Gains of which some are flagged for every reason that the data give: antenna 3 has no data, 5 hardly any
/// signal in half of the channels, 7 has exchanged receptors.
CalibrationSet flawed_set(std::size_t n_channels) {
  auto truth = random_gains(12, 15);
  truth[7] = {0, truth[7][0], truth[7][3], 0};
  auto set = simulate_set({.n_antennas = 12, .n_channels = n_channels, .noise = 0.5},
                          [&](std::size_t p, std::size_t chan, std::size_t) {
                            auto j = truth[p];
                            if (p == 5 && chan % 2 == 0) j = {1e-3, 0, 0, 1e-3};
                            return j;
                          });
  const std::size_t n = n_channels * 4;
  for (std::size_t row = 0; row < set.n_rows(); ++row)
    if (set.station(row, 0) == 3 || set.station(row, 1) == 3)
      std::fill_n(set.weight.data() + row * n, n, 0.f);
  return set;
}

}  // namespace

BOOST_AUTO_TEST_CASE(four_products_reach_the_least_squares_error) {
  const auto truth = random_gains(16, 3);
  BOOST_CHECK_LE(compare(simulate_set({.n_antennas = 16}, same_gains(truth)), truth, 2).ratio(), 1.02);
}

BOOST_AUTO_TEST_CASE(two_products_and_one_reach_the_least_squares_error) {
  const auto truth = random_gains(12, 4);
  for (const std::size_t n_products : {2, 1}) {
    const auto set = simulate_set({.n_antennas = 12, .n_products = n_products}, same_gains(truth));
    BOOST_CHECK_LE(compare(set, truth, 4).ratio(), 1.02);
  }
}

BOOST_AUTO_TEST_CASE(unequal_weights_reach_the_least_squares_error) {
  // Weights of 0.1 to 10, which the noise follows: a weight that is left out or applied twice costs more than
  // 10 %.
  const auto truth = random_gains(14, 5);
  const auto set = simulate_set(
      {.n_antennas = 14}, same_gains(truth), [](std::size_t row, std::size_t chan, std::size_t product) {
        return std::pow(
            10.f, static_cast<float>(static_cast<double>((row * 7 + chan * 3 + product * 5) % 21) / 10 - 1));
      });
  BOOST_CHECK_LE(compare(set, truth, 2).ratio(), 1.02);
}

BOOST_AUTO_TEST_CASE(reversed_rows_count_as_their_adjoints) {
  const auto truth = random_gains(12, 6);
  auto set = simulate_set({.n_antennas = 12, .model = ModelKind::diagonal, .noise = 0.5}, same_gains(truth));
  const SetSums straight(set, SumKind::diagonal, false, 2);
  const auto before = solve_slot(straight.slot(), {}, {});
  for (std::size_t row = 0; row < set.n_rows(); row += 2) set.reverse(row);
  const SetSums mixed(set, SumKind::diagonal, false, 2);
  const auto after = solve_slot(mixed.slot(), {}, {});
  for (std::size_t i = 0; i < before.value.size(); ++i)
    BOOST_CHECK_SMALL(std::abs(before.value.data()[i] - after.value.data()[i]), 1e-6);
  BOOST_CHECK_LE(compare(set, truth, 2).ratio(), 1.02);
}

BOOST_AUTO_TEST_CASE(gains_have_the_sign_of_their_phases) {
  // Noise-free: a conjugated gain, exchanged antennas or a transposed model would be far off.
  const auto truth = random_gains(8, 7);
  const auto set =
      simulate_set({.n_antennas = 8, .model = ModelKind::diagonal, .noise = 0}, same_gains(truth));
  const SetSums sums(set, SumKind::diagonal, false, 8);
  const auto solution = solve_slot(sums.slot(), {}, {.reference = 2});
  for (std::size_t p = 0; p < 8; ++p)
    for (std::size_t hand = 0; hand < 2; ++hand) {
      const auto want = truth[p][3 * hand] * std::conj(truth[2][3 * hand]) / std::abs(truth[2][3 * hand]);
      BOOST_CHECK_SMALL(std::abs(solution.value(0, p, hand) - want), 3e-6);
    }
  BOOST_CHECK_EQUAL(solution.reference, 2u);
  BOOST_CHECK_EQUAL(solution.value(0, 2, 0).imag(), 0);
}

BOOST_AUTO_TEST_CASE(flags_of_single_products_cost_nothing) {
  std::mt19937_64 random(8);
  std::uniform_real_distribution<double> flat;
  const auto truth = random_gains(16, 8);
  auto set = simulate_set({.n_antennas = 16}, same_gains(truth));
  for (auto& w : set.weight) w = flat(random) < 0.2 ? 0.f : w;
  for (auto& v : set.data)
    if (flat(random) < 0.01) v = {std::numeric_limits<float>::quiet_NaN(), 1};
  for (auto& m : set.model)
    if (flat(random) < 0.002) m = {1, std::numeric_limits<float>::infinity()};
  BOOST_CHECK_LE(compare(set, truth, 2).ratio(), 1.02);
}

BOOST_AUTO_TEST_CASE(terms_of_both_hands_and_of_phases_alone) {
  auto truth = random_gains(16, 9);
  for (auto& j : truth) j[3] = j[0];
  const auto set = simulate_set({.n_antennas = 16, .noise = 0.3}, same_gains(truth));
  const SetSums sums(set, SumKind::diagonal, false, 8);
  const auto gain = solve_slot(sums.slot(), {}, {});
  const auto scalar = solve_slot(sums.slot(), {}, {.term = CalibrationTerm::scalar_gain});
  BOOST_REQUIRE_EQUAL(scalar.n_values, 1u);
  const double two = reference::diagonal_error(solved_gains(gain, 0), truth);
  const double one = reference::diagonal_error(solved_gains(scalar, 0), truth);
  BOOST_CHECK_LE(one, 0.75 * two);  // half the variance

  const auto amplitude = solve_slot(sums.slot(), {}, {.term = CalibrationTerm::amplitude});
  for (std::size_t p = 0; p < 16; ++p) {
    BOOST_CHECK_SMALL(std::abs(amplitude.value(0, p, 0) - std::abs(gain.value(0, p, 0))), 1e-12);
    BOOST_CHECK_CLOSE(amplitude.value(0, p, 0).real(), std::abs(truth[p][0]), 5);
  }

  for (auto& j : truth) j = {j[0] / std::abs(j[0]), 0, 0, j[3] / std::abs(j[3])};
  const auto turned = simulate_set({.n_antennas = 16, .noise = 0.3}, same_gains(truth));
  const SetSums turned_sums(turned, SumKind::diagonal, false, 8);
  for (const auto term : {CalibrationTerm::phase, CalibrationTerm::scalar_phase}) {
    const auto phase = solve_slot(turned_sums.slot(), {}, {.term = term});
    for (const auto& value : phase.value) BOOST_CHECK_CLOSE(std::abs(value), 1, 1e-9);
    BOOST_CHECK_LE(reference::diagonal_error(solved_gains(phase, 0), truth), 0.01);
  }
}

BOOST_AUTO_TEST_CASE(errors_are_those_of_the_fisher_matrix) {
  const auto truth = random_gains(10, 10);
  const auto set = simulate_set({.n_antennas = 10, .n_channels = 4, .n_steps = 20}, same_gains(truth));
  const SetSums sums(set, SumKind::diagonal, false, 4);
  const auto plain = solve_slot(sums.slot(), {}, {});
  const auto exact = solve_slot(sums.slot(), {}, {.exact_errors = true});
  auto samples = fit_samples(set, 0, 4);
  for (auto& s : samples) s.weight[1] = s.weight[2] = 0;
  const auto fit = reference::fit_gains(samples, truth, reference::FreeElements::diagonal, 2);
  for (std::size_t hand = 0; hand < 2; ++hand) {
    // chi^2 of weights that are inverse variances.
    BOOST_CHECK_CLOSE(plain.noise(0, hand), 1, 5);
    double of_plain = 0, of_exact = 0, of_fit = 0, of_reference = 0;
    for (std::size_t p = 0; p < 10; ++p) {
      of_plain += std::pow(plain.sigma(0, p, hand), 2);
      of_exact += std::pow(exact.sigma(0, p, hand), 2);
      of_fit += fit.variance[p][3 * hand] / 2;
      // A common turn that makes the reference's phase 0 adds the reference's error to all phases.
      of_reference +=
          std::norm(truth[p][3 * hand]) / std::norm(truth[0][3 * hand]) * fit.variance[0][3 * hand] / 4;
    }
    BOOST_CHECK_CLOSE(of_plain, of_fit, 15);
    BOOST_CHECK_GE(of_exact, of_fit);
    BOOST_CHECK_CLOSE(of_exact, of_fit + of_reference, 30);
  }
}

BOOST_AUTO_TEST_CASE(bits_do_not_depend_on_threads_and_gains_hardly_on_chunks) {
  const auto truth = random_gains(16, 11);
  const auto set = simulate_set({.n_antennas = 16, .n_channels = 37}, same_gains(truth));
  const SetSums one(set, SumKind::diagonal, true, 3, 1), many(set, SumKind::diagonal, true, 3, 3);
  const auto first = solve_slot(one.slot(), {}, {.n_threads = 1}),
             second = solve_slot(many.slot(), {}, {.n_threads = 3});
  for (std::size_t i = 0; i < first.value.size(); ++i)
    BOOST_CHECK(first.value.data()[i] == second.value.data()[i]);
  const SetSums whole(set, SumKind::diagonal, false, 3);
  const auto other = solve_slot(whole.slot(), {}, {});
  double largest = 0;
  for (std::size_t i = 0; i < first.value.size(); ++i)
    largest = std::max(largest, std::abs(first.value.data()[i] - other.value.data()[i]));
  BOOST_CHECK_LE(largest, 1e-6);
}

BOOST_AUTO_TEST_CASE(flags_and_figures_do_not_depend_on_threads) {
  const auto set = flawed_set(37);
  const SetSums one(set, SumKind::diagonal, false, 1), steps(set, SumKind::diagonal, true, 1);
  for (const auto term : {CalibrationTerm::gain, CalibrationTerm::scalar_phase})
    for (const double nu : {0.0, 2.0})
      for (const SetSums* sums : {&one, &steps}) {
        const SolveSettings alone{.term = term, .robust_nu = nu, .n_threads = 1};
        const SlotSolutions first = solve_slot(sums->slot(), {}, alone);
        std::array<std::size_t, 8> n{};
        for (const FlagReason reason : first.reason) ++n[static_cast<std::size_t>(reason)];
        BOOST_CHECK_GT(n[static_cast<std::size_t>(FlagReason::none)], 0u);
        BOOST_CHECK_GT(n[static_cast<std::size_t>(FlagReason::no_data)], 0u);
        BOOST_CHECK_GT(n[static_cast<std::size_t>(FlagReason::low_snr)], 0u);
        BOOST_CHECK_GT(n[static_cast<std::size_t>(FlagReason::swapped)], 0u);
        for (const unsigned n_threads : {2u, 5u}) {
          SolveSettings many = alone;
          many.n_threads = n_threads;
          check_same(first, solve_slot(sums->slot(), {}, many));
        }
      }
}

BOOST_AUTO_TEST_CASE(outliers_do_not_depend_on_threads) {
  // Some amplitudes stand out of all slots and antennas by a factor.
  const auto truth = random_gains(10, 16);
  std::vector<SlotSolutions> slots;
  for (unsigned slot = 0; slot < 3; ++slot) {
    const auto set = simulate_set({.n_antennas = 10, .n_channels = 24, .noise = 0.3, .seed = slot + 1},
                                  [&](std::size_t p, std::size_t chan, std::size_t) {
                                    auto j = truth[p];
                                    if ((p * 7 + chan + slot) % 23 == 0) j[3 * (p % 2)] *= 4;
                                    return j;
                                  });
    const SetSums sums(set, SumKind::diagonal, false, 1);
    slots.push_back(solve_slot(sums.slot(), {}, {}));
  }
  const auto wanted = find_outliers(slots, 1);
  for (const unsigned n_threads : {2u, 5u}) {
    const auto found = find_outliers(slots, n_threads);
    for (std::size_t slot = 0; slot < 3; ++slot) {
      BOOST_REQUIRE_GT(wanted[slot].size(), 0u);
      BOOST_REQUIRE(found[slot].shape() == wanted[slot].shape());
      BOOST_CHECK(std::equal(found[slot].begin(), found[slot].end(), wanted[slot].begin()));
      for (std::size_t chan = 0; chan < 24; ++chan)
        for (std::size_t p = 0; p < 10; ++p)
          if ((p * 7 + chan + slot) % 23 == 0)
            BOOST_CHECK(found[slot](chan, p, p % 2) == FlagReason::outlier);
    }
  }
}

BOOST_AUTO_TEST_CASE(memory_of_former_slots_changes_no_bit) {
  // Slots of different sizes, kinds and terms, one after the other in the same memory.
  const auto flawed = flawed_set(37);
  const auto truth = random_gains(8, 17);
  const auto small = simulate_set({.n_antennas = 8, .n_channels = 9, .n_products = 2}, same_gains(truth));
  const SetSums many(flawed, SumKind::diagonal, true, 1), one(flawed, SumKind::diagonal, false, 2),
      few(small, SumKind::diagonal, true, 1), matrices(flawed, SumKind::jones_unpolarised, true, 4);
  struct Slot {
    const SetSums* sums;
    const CalibrationSet* set;
    SolveSettings settings;
  };
  const Slot slots[] = {{&many, &flawed, {}},
                        {&few, &small, {.term = CalibrationTerm::phase}},
                        {&one, &flawed, {.term = CalibrationTerm::scalar_gain}},
                        {&few, &small, {.term = CalibrationTerm::delay}},
                        {&matrices, &flawed, {.term = CalibrationTerm::jones}},
                        {&many, &flawed, {.robust_nu = 2}},
                        {&few, &small, {.term = CalibrationTerm::scalar_gain}},
                        {&many, &flawed, {}}};
  SlotMemory memory;
  for (const auto& [sums, set, settings] : slots) {
    const std::span<const double> freq_hz = set->freq_hz;
    const auto freqs = spans_channels(settings.term) ? freq_hz : std::span<const double>();
    check_same(solve_slot(sums->slot(), freqs, settings),
               solve_slot(sums->slot(), freqs, settings, {}, nullptr, &memory));
  }
}

BOOST_AUTO_TEST_CASE(a_start_from_the_former_slot_ends_at_the_same_gains_sooner) {
  const auto truth = random_gains(16, 12);
  const auto set = simulate_set({.n_antennas = 16}, same_gains(truth));
  const SetSums sums(set, SumKind::diagonal, false, 8);
  const auto cold = solve_slot(sums.slot(), {}, {}), warm = solve_slot(sums.slot(), {}, {}, {}, &cold);
  for (std::size_t i = 0; i < cold.value.size(); ++i)
    BOOST_CHECK_SMALL(std::abs(cold.value.data()[i] - warm.value.data()[i]), 3e-6);
  BOOST_CHECK_LT(warm.n_iterations(0, 0), cold.n_iterations(0, 0));
}

BOOST_AUTO_TEST_CASE(small_tolerances_are_reached) {
  const auto truth = random_gains(12, 14, 0.05);
  const auto set = simulate_set({.n_antennas = 12, .noise = 0.3}, same_gains(truth));
  for (const auto term : {CalibrationTerm::gain, CalibrationTerm::jones}) {
    const SetSums sums(set, needs_jones_sums(term) ? SumKind::jones_unpolarised : SumKind::diagonal, false,
                       8);
    const auto plain = solve_slot(sums.slot(), {}, {.term = term});
    const auto fine = solve_slot(sums.slot(), {}, {.term = term, .tolerance = 1e-12});
    const auto again = solve_slot(sums.slot(), {}, {.term = term, .tolerance = 1e-12}, {}, &plain);
    double from_plain = 0, from_again = 0;
    for (std::size_t i = 0; i < fine.value.size(); ++i) {
      from_plain = std::max(from_plain, std::abs(fine.value.data()[i] - plain.value.data()[i]));
      from_again = std::max(from_again, std::abs(fine.value.data()[i] - again.value.data()[i]));
    }
    BOOST_CHECK_LE(from_plain, 3e-6);
    BOOST_CHECK_LE(from_again, 1e-10);
  }
}

BOOST_AUTO_TEST_CASE(weakly_connected_arrays_converge) {
  // Two halves that three baselines join: alternating directions take very many steps.
  const auto truth = random_gains(16, 13);
  auto set = simulate_set({.n_antennas = 16, .noise = 0.05}, same_gains(truth));
  for (std::size_t row = 0; row < set.n_rows(); ++row) {
    const auto p = set.station(row, 0), q = set.station(row, 1);
    if (p < 8 && q >= 8 && !(p < 3 && q == p + 8))
      for (std::size_t i = 0; i < 8 * 4; ++i) set.weight.data()[row * 32 + i] = 0;
  }
  const SetSums sums(set, SumKind::diagonal, false, 8);
  const auto solution = solve_slot(sums.slot(), {}, {.max_iterations = 60});
  BOOST_CHECK(solution.converged(0, 0));
  BOOST_CHECK_LE(compare(set, truth, 8, {.max_iterations = 60}).ratio(), 1.02);
}

// Complex samples have two degrees of freedom, and every unknown takes one; where none is left, the samples
// are counted.
BOOST_AUTO_TEST_CASE(noise_counts_degrees_of_freedom) {
  BOOST_TEST(std::abs(noise_of(72, 10, 4, 100) - 3) < 1e-12);  // 72 / (10 - 2)
  BOOST_TEST(std::abs(noise_of(90, 10, 20, 100) - 3) < 1e-12);
  BOOST_TEST(noise_of(0, 0, 4, 100) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
