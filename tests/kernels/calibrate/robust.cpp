// SPDX-License-Identifier: GPL-3.0-or-later
// Weights of rows by Student's t: interference in few of them, and none at all.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

#include "kernels/calibrate/calibrate.h"
#include "tests/support/calibration_set.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(robust)

namespace {

struct Ratios {
  double clean = 0, disturbed = 0, plain = 0;
};

/// Errors with robust weights of clean and of disturbed data, and without of disturbed data, over the plain
/// error of clean data.
Ratios ratios(CalibrationTerm term, SumKind kind) {
  double base = 0;
  Ratios sum;
  for (unsigned seed = 0; seed < 4; ++seed) {
    const auto truth = random_gains(20, 90 + seed, term == CalibrationTerm::jones ? 0.05 : 0);
    auto set = simulate_set({.n_antennas = 20, .n_channels = 8, .n_steps = 12, .noise = 0.7, .seed = seed},
                            same_gains(truth));
    const auto error = [&](double nu) {
      const SetSums sums(set, kind, true, 4);
      const auto solution = solve_slot(sums.slot(), {}, {.term = term, .robust_nu = nu});
      double squares = 0;
      for (std::size_t b = 0; b < 2; ++b)
        squares += term == CalibrationTerm::jones
                       ? reference::jones_error(solved_gains(solution, b), truth)
                       : reference::diagonal_error(solved_gains(solution, b), truth);
      return squares;
    };
    base += error(0);
    sum.clean += error(2);
    // 1 % of the rows are 100 times too strong, with phases of their own.
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> flat;
    for (std::size_t row = 0; row < set.n_rows(); ++row) {
      if (flat(random) > 0.01) continue;
      const auto turn = std::polar(100.0, 6.283 * flat(random));
      for (std::size_t i = 0; i < 8 * 4; ++i) set.data.data()[row * 32 + i] *= std::complex<float>(turn);
    }
    sum.disturbed += error(2);
    sum.plain += error(0);
  }
  const Ratios all = {std::sqrt(sum.clean / base), std::sqrt(sum.disturbed / base),
                      std::sqrt(sum.plain / base)};
  BOOST_TEST_MESSAGE("clean " << all.clean << ", with interference " << all.disturbed
                              << ", the same without weights " << all.plain);
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(interference_costs_gains_little) {
  const Ratios r = ratios(CalibrationTerm::gain, SumKind::diagonal);
  BOOST_CHECK_LE(r.clean, 1.02);
  BOOST_CHECK_LE(r.disturbed, 1.06);
  BOOST_CHECK(!(r.plain < 3));  // or none of the antennas has a solution
}

BOOST_AUTO_TEST_CASE(interference_costs_matrices_little) {
  const Ratios r = ratios(CalibrationTerm::jones, SumKind::jones_unpolarised);
  BOOST_CHECK_LE(r.clean, 1.02);
  BOOST_CHECK_LE(r.disturbed, 1.06);
  BOOST_CHECK(!(r.plain < 3));  // or none of the antennas has a solution
}

BOOST_AUTO_TEST_CASE(interference_costs_tec_little) {
  CalibrationSetup setup{
      .n_antennas = 16, .n_channels = 12, .n_steps = 10, .n_products = 2, .n_sources = 1, .noise = 1};
  setup.channel_hz = 3e6;
  std::mt19937_64 random(99);
  std::normal_distribution<double> gauss;
  std::uniform_real_distribution<double> flat;
  std::vector<double> tec(16);
  for (std::size_t p = 1; p < 16; ++p) tec[p] = 0.05 * gauss(random);
  auto set = simulate_set(setup, [&](std::size_t p, std::size_t chan, std::size_t) {
    const auto g = std::polar(1.0, -8.44797245e9 * tec[p] / (150e6 + 3e6 * static_cast<double>(chan)));
    return reference::Jones{g, 0, 0, g};
  });
  for (std::size_t row = 0; row < set.n_rows(); ++row)
    if (flat(random) < 0.01)
      for (std::size_t i = 0; i < 24; ++i) set.data.data()[row * 24 + i] *= 100.f;
  const SetSums sums(set, SumKind::diagonal, true, 1);
  const auto solution = solve_slot(sums.slot(), set.freq_hz, {.term = CalibrationTerm::tec, .robust_nu = 2});
  BOOST_CHECK_EQUAL(solution.n_flagged(), 0u);
  for (std::size_t p = 0; p < 16; ++p)
    BOOST_CHECK_SMALL(solution.value(0, p, 0).real() - tec[p], 5 * solution.sigma(0, p, 0) + 1e-12);
  BOOST_REQUIRE_EQUAL(solution.row_weight.size(), 10u * 120);
}

// Student's t weighs a row by (nu + 2) / (nu + 2 x), x its chi^2 over that of the others: 1 at x = 1, and 4 /
// 20 for three times their noise. 512 samples scatter x by 4.4 %, the weight of the one row by 4 %.
BOOST_AUTO_TEST_CASE(rows_are_weighed_by_how_badly_they_fit) {
  const auto truth = random_gains(10, 95);
  auto set = simulate_set({.n_antennas = 10, .n_channels = 256, .n_steps = 4, .n_products = 2, .noise = 0.7},
                          same_gains(truth));
  std::size_t noisy = 70;
  while (set.station(noisy, 0) == set.station(noisy, 1)) ++noisy;
  std::mt19937_64 random(5);
  std::normal_distribution<double> gauss(0, 0.7 * std::sqrt(8.0 / 2));
  for (std::size_t i = 0; i < 512; ++i)
    set.data.data()[noisy * 512 + i] +=
        std::complex<float>(static_cast<float>(gauss(random)), static_cast<float>(gauss(random)));
  const SetSums sums(set, SumKind::diagonal, true, 256);
  const auto solution = solve_slot(sums.slot(), {}, {.robust_nu = 2});
  BOOST_REQUIRE_EQUAL(solution.row_weight.size(), 4u * 45);
  double smallest = 1, sum = 0;
  for (const float weight : solution.row_weight.view()) {
    smallest = std::min<double>(smallest, weight);
    sum += weight;
  }
  const double others = (sum - smallest) / (4 * 45 - 1);
  BOOST_TEST_MESSAGE("the noisy row weighs " << smallest << ", the others " << others);
  BOOST_CHECK_CLOSE(smallest, 0.2, 15);
  BOOST_CHECK_CLOSE(others, 1, 2);
}

BOOST_AUTO_TEST_SUITE_END()
