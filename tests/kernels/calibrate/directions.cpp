// SPDX-License-Identifier: GPL-3.0-or-later
// Several directions, each with gains of its own: against the bound of the data, computed here in float64.
#include "kernels/calibrate/directions.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

#include "tests/reference/antenna_gains.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(directions)

namespace {

using Complex = std::complex<double>;
constexpr double two_pi = 6.283185307179586, tec_phase = 8.44797245e9;

struct Setup {
  std::size_t n_antennas = 20, n_directions = 3, n_channels = 16, n_steps = 5, n_products = 2;
  double noise = 1, tec_rms = 0.05;
  unsigned seed = 1;
};

struct Set {
  Setup setup;
  Buffer<std::uint32_t, 2> station;
  Buffer<Complex, 4> exact_model;  ///< [direction][row][chan]
  std::vector<Buffer<std::complex<float>, 3>> model;
  std::vector<View<const std::complex<float>, 3>> models;
  Buffer<std::complex<float>, 3> data;
  Buffer<float, 3> weight;
  std::vector<double> freq_hz;
  std::vector<std::vector<double>> tec;  ///< [direction][antenna]
};

/// Sources of fluxes 1, 1/2 .. at random places, seen by stations that turn by 30 degrees.
Set simulate(const Setup& setup) {
  Set set;
  set.setup = setup;
  std::mt19937_64 random(setup.seed);
  std::normal_distribution<double> gauss;
  std::uniform_real_distribution<double> flat(-1, 1);
  const std::size_t n = setup.n_antennas, n_rows = n * (n - 1) / 2 * setup.n_steps;
  for (std::size_t c = 0; c < setup.n_channels; ++c)
    set.freq_hz.push_back(120e6 + 2.5e6 * static_cast<double>(c));
  set.tec.assign(setup.n_directions, std::vector<double>(n));
  for (auto& of_direction : set.tec)
    for (std::size_t p = 1; p < n; ++p) of_direction[p] = setup.tec_rms * gauss(random);
  std::vector<std::array<double, 2>> place(setup.n_directions), position(n);
  for (auto& at : place) at = {0.02 * flat(random), 0.02 * flat(random)};
  for (auto& at : position) at = {5000 * gauss(random), 5000 * gauss(random)};
  set.station.resize({n_rows, 2});
  set.data.resize({n_rows, setup.n_channels, setup.n_products});
  set.weight.resize(set.data.shape());
  set.weight.fill(1);
  set.exact_model.resize({setup.n_directions, n_rows, setup.n_channels, 1});
  for (std::size_t d = 0; d < setup.n_directions; ++d)
    set.model.emplace_back(std::array<std::size_t, 3>{n_rows, setup.n_channels, 1});
  std::size_t row = 0;
  for (std::size_t step = 0; step < setup.n_steps; ++step)
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q, ++row) {
        // Every third row is reversed.
        const bool reversed = row % 3 == 2;
        set.station(row, reversed) = static_cast<std::uint32_t>(p);
        set.station(row, !reversed) = static_cast<std::uint32_t>(q);
        const double turn = 0.1 * static_cast<double>(step);
        const double dx = position[p][0] - position[q][0], dy = position[p][1] - position[q][1];
        const double x = dx * std::cos(turn) - dy * std::sin(turn),
                     y = dx * std::sin(turn) + dy * std::cos(turn);
        for (std::size_t c = 0; c < setup.n_channels; ++c) {
          const double f = set.freq_hz[c];
          Complex v = 0;
          for (std::size_t d = 0; d < setup.n_directions; ++d) {
            const Complex m =
                std::polar(1 / (1 + static_cast<double>(d)) / (setup.n_directions > 5 ? 0.5 : 1),
                           two_pi * f / 3e8 * (x * place[d][0] + y * place[d][1]));
            set.exact_model(d, row, c, 0) = m;
            set.model[d](row, c, 0) = std::complex<float>(reversed ? std::conj(m) : m);
            v += m * std::polar(1.0, -tec_phase / f * (set.tec[d][p] - set.tec[d][q]));
          }
          for (std::size_t hand = 0; hand < setup.n_products; ++hand) {
            const double re = gauss(random), im = gauss(random);
            const Complex noisy = v + setup.noise * std::sqrt(0.5) * Complex(re, im);
            set.data(row, c, hand) = std::complex<float>(reversed ? std::conj(noisy) : noisy);
          }
        }
      }
  for (const auto& m : set.model) set.models.push_back(m);
  return set;
}

DirectionSums sums_of(const Set& set, unsigned n_threads = 1) {
  DirectionLayout layout;
  layout.n_antennas = set.setup.n_antennas;
  layout.n_directions = set.setup.n_directions;
  layout.n_products = set.setup.n_products;
  layout.n_blocks = set.setup.n_channels;
  for (std::uint32_t c = 0; c < set.setup.n_channels; ++c) layout.block.push_back(c);
  DirectionSums sums(layout);
  add_direction_samples({set.station, set.data, set.weight, set.models}, sums, n_threads);
  return sums;
}

/// RMS errors of TEC that the data allow, over directions and antennas (the first one's is 0): from the
/// Fisher matrix of all samples, inverted by elimination. With the mean over antennas taken out, which the
/// first one's error dominates, and as they are.
struct Bound {
  double centred = 0, plain = 0;
};

Bound bound(const Set& set) {
  const std::size_t n = set.setup.n_antennas, nd = set.setup.n_directions, size = (n - 1) * nd;
  std::vector<std::vector<double>> f(size, std::vector<double>(2 * size));
  for (std::size_t row = 0; row < set.station.extent(0); ++row) {
    const std::size_t a = std::min(set.station(row, 0), set.station(row, 1));
    const std::size_t b = std::max(set.station(row, 0), set.station(row, 1));
    for (std::size_t c = 0; c < set.freq_hz.size(); ++c) {
      std::vector<std::pair<std::size_t, Complex>> slope;
      for (std::size_t d = 0; d < nd; ++d) {
        const double k = -tec_phase / set.freq_hz[c];
        const Complex s = Complex(0, k) * set.exact_model(d, row, c, 0) *
                          std::polar(1.0, k * (set.tec[d][a] - set.tec[d][b]));
        if (a > 0) slope.emplace_back((a - 1) * nd + d, s);
        slope.emplace_back((b - 1) * nd + d, -s);
      }
      for (const auto& [i, x] : slope)
        for (const auto& [j, y] : slope)
          f[i][j] += 2 * static_cast<double>(set.setup.n_products) * (std::conj(x) * y).real() /
                     (set.setup.noise * set.setup.noise);
    }
  }
  for (std::size_t i = 0; i < size; ++i) f[i][size + i] = 1;
  for (std::size_t i = 0; i < size; ++i) {
    const double pivot = f[i][i];
    for (double& x : f[i]) x /= pivot;
    for (std::size_t j = 0; j < size; ++j) {
      if (j == i) continue;
      const double factor = f[j][i];
      for (std::size_t k = i; k < 2 * size; ++k) f[j][k] -= factor * f[i][k];
    }
  }
  double trace = 0, means = 0;
  for (std::size_t i = 0; i < size; ++i) trace += f[i][size + i];
  for (std::size_t p = 0; p + 1 < n; ++p)
    for (std::size_t q = 0; q + 1 < n; ++q)
      for (std::size_t d = 0; d < nd; ++d) means += f[p * nd + d][size + q * nd + d] / static_cast<double>(n);
  return {std::sqrt((trace - means) / static_cast<double>(n * nd)),
          std::sqrt(trace / static_cast<double>(size))};
}

/// Errors of TEC over the bound, of several noises; none is off by a turn of phase.
double compare(Setup setup, unsigned n_sets) {
  double squares = 0, bounds = 0;
  for (unsigned seed = 0; seed < n_sets; ++seed) {
    setup.seed = seed;
    const Set set = simulate(setup);
    const auto solutions = solve_directions(sums_of(set), set.freq_hz, {.term = CalibrationTerm::tec});
    double own = 0, n_wrong = 0, sigma = 0;
    const double n = static_cast<double>(setup.n_antennas), nd = static_cast<double>(setup.n_directions);
    for (std::size_t d = 0; d < setup.n_directions; ++d) {
      BOOST_CHECK_EQUAL(solutions[d].n_flagged(), 0u);
      double mean = 0;
      for (std::size_t p = 0; p < setup.n_antennas; ++p) {
        const double off = solutions[d].value(0, p, 0).real() - set.tec[d][p];
        own += off * off;
        mean += off / n;
        sigma += std::pow(solutions[d].sigma(0, p, 0), 2);
        n_wrong += !(std::abs(off) < 7e-3);
      }
      own -= n * mean * mean;
    }
    BOOST_CHECK_EQUAL(n_wrong, 0);
    const Bound best = bound(set);
    squares += own / (n * nd);
    bounds += best.centred * best.centred;
    BOOST_CHECK_CLOSE(std::sqrt(sigma / ((n - 1) * nd)), best.plain, 15);
    BOOST_CHECK_CLOSE(solutions[0].noise(0, 0), setup.noise, 5);
  }
  BOOST_TEST_MESSAGE(setup.n_directions << " directions: error over the bound " << std::sqrt(squares / bounds)
                                        << ", bound " << 1e3 * std::sqrt(bounds / n_sets) << " mTECU");
  return std::sqrt(squares / bounds);
}

}  // namespace

BOOST_AUTO_TEST_CASE(tec_of_three_directions_reaches_the_bound) {
  BOOST_CHECK_LE(compare({.n_directions = 3}, 4), 1.1);
}

BOOST_AUTO_TEST_CASE(tec_of_ten_directions_reaches_the_bound) {
  BOOST_CHECK_LE(compare({.n_antennas = 24, .n_directions = 10, .n_channels = 20, .noise = 0.5}, 2), 1.15);
}

BOOST_AUTO_TEST_CASE(one_direction_is_the_solution_without_directions) {
  const Set set = simulate({.n_directions = 1, .noise = 0.5});
  const auto solutions = solve_directions(sums_of(set), set.freq_hz, {.term = CalibrationTerm::tec});
  for (std::size_t p = 0; p < set.setup.n_antennas; ++p)
    BOOST_CHECK_SMALL(solutions[0].value(0, p, 0).real() - set.tec[0][p], 1e-3);
}

BOOST_AUTO_TEST_CASE(a_former_slot_helps_and_does_no_harm) {
  const Set set = simulate({.noise = 0.5});
  const auto sums = sums_of(set, 1), again = sums_of(set, 3);
  for (std::size_t i = 0; i < sums.sums().size(); ++i)
    BOOST_REQUIRE_EQUAL(sums.sums().data()[i], again.sums().data()[i]);
  auto cold = solve_directions(sums, set.freq_hz, {.term = CalibrationTerm::tec});
  auto bad = solve_directions(sums, set.freq_hz, {.term = CalibrationTerm::tec});
  bad[0].value(0, 5, 0) += 0.1;
  for (const auto* start : {&cold, &bad}) {
    const auto warm = solve_directions(sums, set.freq_hz, {.term = CalibrationTerm::tec}, *start);
    for (std::size_t d = 0; d < 3; ++d)
      for (std::size_t p = 0; p < 20; ++p)
        BOOST_CHECK_SMALL(std::abs(warm[d].value(0, p, 0) - cold[d].value(0, p, 0)), 2e-5);
  }
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_as_the_former_slot_did_starts_from_nothing_too) {
  // With so much noise that starts end in different maxima.
  for (unsigned seed = 0; seed < 3; ++seed) {
    const Set set =
        simulate({.n_antennas = 24, .n_directions = 10, .n_channels = 20, .noise = 8, .seed = seed});
    const auto sums = sums_of(set);
    const SolveSettings settings{.term = CalibrationTerm::tec, .min_snr = 0};
    const auto cold = solve_directions(sums, set.freq_hz, settings);
    auto start = solve_directions(sums, set.freq_hz, settings);
    for (std::size_t d = 0; d < 10; ++d) {
      for (std::size_t p = 0; p < 24; ++p)
        start[d].value(0, p, 0) += 0.1 * (static_cast<double>((7 * p + 3 * d) % 11) - 5);
      start[d].noise.fill(7);
    }
    const auto found = solve_directions(sums, set.freq_hz, settings, start);
    BOOST_CHECK_LE(found[0].chi2_after(0, 0), cold[0].chi2_after(0, 0));
  }
}

BOOST_AUTO_TEST_CASE(the_reference_antenna_is_searched_for_too) {
  // All other antennas are off by a turn of phase at the middle of the band: not one of them, but the
  // reference is wrong.
  const Set set = simulate({.n_directions = 1, .noise = 0.5});
  const auto sums = sums_of(set);
  auto start = solve_directions(sums, set.freq_hz, {.term = CalibrationTerm::tec});
  const double turn = two_pi * set.freq_hz[8] / tec_phase;
  for (std::size_t p = 1; p < 20; ++p) start[0].value(0, p, 0) += turn;
  start[0].noise.fill(1e9);  // whatever it leads to is taken
  const auto found = solve_directions(sums, set.freq_hz, {.term = CalibrationTerm::tec}, start);
  for (std::size_t p = 0; p < 20; ++p)
    BOOST_CHECK_SMALL(found[0].value(0, p, 0).real() - set.tec[0][p], 1e-3);
}

BOOST_AUTO_TEST_CASE(chi2_is_that_of_the_samples) {
  Set set = simulate({.n_channels = 21, .n_steps = 3});
  for (std::size_t row = 0; row < set.station.extent(0); ++row)
    for (std::size_t i = 0; i < 2 * 21; ++i)
      if (set.station(row, 0) == 4 || set.station(row, 1) == 4 || (row + i) % 7 == 0)
        set.weight.data()[row * 42 + i] = 0;
  const auto solutions = solve_directions(sums_of(set), set.freq_hz, {.term = CalibrationTerm::tec});
  double after = 0, before = 0, n = 0;
  for (std::size_t row = 0; row < set.station.extent(0); ++row) {
    const std::size_t a = set.station(row, 0), b = set.station(row, 1);
    for (std::size_t c = 0; c < 21; ++c) {
      Complex model = 0, unit = 0;
      for (std::size_t d = 0; d < 3; ++d) {
        const Complex m(set.model[d](row, c, 0));
        const double tec = (solutions[d].value(0, a, 0) - solutions[d].value(0, b, 0)).real();
        model += m * std::polar(1.0, -tec_phase / set.freq_hz[c] * tec);
        unit += m;
      }
      for (std::size_t hand = 0; hand < 2; ++hand) {
        if (set.weight(row, c, hand) == 0) continue;
        after += std::norm(Complex(set.data(row, c, hand)) - model);
        before += std::norm(Complex(set.data(row, c, hand)) - unit);
        n += 1;
      }
    }
  }
  // Sums of float32: 1e-6 of the power, which is four times the noise's.
  BOOST_CHECK_CLOSE(solutions[1].chi2_after(0, 0), after, 1e-3);
  BOOST_CHECK_CLOSE(solutions[1].chi2_before(0, 0), before, 1e-3);
  BOOST_CHECK_EQUAL(solutions[1].n_samples(0, 0), n);
  BOOST_CHECK(solutions[2].reason(0, 4, 0) != FlagReason::none);
}

BOOST_AUTO_TEST_CASE(phases_of_directions_by_block) {
  // Without a law over frequency: each block for itself.
  Set set = simulate({.n_antennas = 24, .n_directions = 2, .n_channels = 4, .n_steps = 20, .noise = 0.2});
  const auto solutions = solve_directions(sums_of(set), {}, {.term = CalibrationTerm::scalar_phase}, {}, 30);
  double squares = 0, n = 0;
  for (std::size_t d = 0; d < 2; ++d)
    for (std::size_t c = 0; c < 4; ++c)
      for (std::size_t p = 1; p < 24; ++p) {
        const Complex want = std::polar(1.0, -tec_phase / set.freq_hz[c] * set.tec[d][p]);
        squares += std::pow(std::arg(solutions[d].value(c, p, 0) * std::conj(want)), 2);
        n += 1;
      }
  BOOST_TEST_MESSAGE("phase error " << std::sqrt(squares / n));
  BOOST_CHECK_LE(std::sqrt(squares / n), 0.02);
}

BOOST_AUTO_TEST_CASE(garbage_has_no_solution) {
  Set set = simulate({.noise = 0.5});
  set.weight.fill(0);
  const auto solutions = solve_directions(sums_of(set), set.freq_hz, {.term = CalibrationTerm::tec});
  for (const auto& s : solutions) BOOST_CHECK_EQUAL(s.n_flagged(), s.reason.size());
  BOOST_CHECK_THROW(solve_directions(sums_of(set), set.freq_hz, {.term = CalibrationTerm::jones}),
                    std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()
