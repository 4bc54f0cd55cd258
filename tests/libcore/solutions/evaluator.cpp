// SPDX-License-Identifier: GPL-3.0-or-later
// Matrices at times and frequencies of data against the equations of apsyn-solutions(5), written out here.
#include "libcore/solutions/evaluator.h"

#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numbers>

#include "libcore/base/error.h"
#include "tests/support/some_solutions.h"

using namespace apsyn;
using some_solutions::kFirst_hz;
using some_solutions::kFirst_mjd_s;
using some_solutions::kInterval_s;
using some_solutions::kWidth_hz;

BOOST_AUTO_TEST_SUITE(evaluator)

namespace {

using Complex = std::complex<double>;
using Matrix = std::array<Complex, 4>;

constexpr double kRounding = 1e-13;  // of a few products of numbers of order 1, and of phases of up to 10 rad
constexpr double kPi = std::numbers::pi;

std::vector<std::string> names_of(const Solutions& solutions) {
  std::vector<std::string> names;
  for (const SolutionAntenna& antenna : solutions.antennas) names.push_back(antenna.name);
  return names;
}

struct Result {
  Buffer<Complex, 3> jones;
  Buffer<std::uint8_t, 2> flagged;
  SolutionReach reach;

  Matrix at(std::size_t ant, std::size_t chan) const {
    return {jones(ant, chan, 0), jones(ant, chan, 1), jones(ant, chan, 2), jones(ant, chan, 3)};
  }
};

Result evaluate(const Solutions& solutions, double time_mjd_s, const std::vector<double>& freq_hz,
                Interpolation interpolation = Interpolation::nearest,
                std::optional<std::size_t> direction = {}, std::vector<std::string> names = {}) {
  if (names.empty()) names = names_of(solutions);
  const SolutionEvaluator evaluator(solutions, names, interpolation);
  Result result;
  result.jones.resize({names.size(), freq_hz.size(), 4});
  result.jones.fill(Complex(std::nan(""), 0));
  result.flagged.resize({names.size(), freq_hz.size()});
  result.flagged.fill(7);
  result.reach = evaluator.evaluate(time_mjd_s, freq_hz, direction, result.jones, result.flagged);
  return result;
}

double distance(const Matrix& a, const Matrix& b) {
  double worst = 0;
  for (std::size_t i = 0; i < 4; ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

Matrix product(const Matrix& a, const Matrix& b) {
  return {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
          a[2] * b[1] + a[3] * b[3]};
}

const Matrix kUnity{1, 0, 0, 1};

SolutionTable table_of(SolutionType type, const some_solutions::Shape& shape, std::size_t seed = 1) {
  return some_solutions::table(type, shape, seed);
}

}  // namespace

BOOST_AUTO_TEST_CASE(flagged_fractions_are_counted_for_each_antenna_over_all_tables) {
  SolutionTable gain = table_of(SolutionType::gain, {}),
                tec = table_of(SolutionType::tec_tecu, {1, 4, 1, 1, {}});
  some_solutions::flag(gain, 0, 1, 0, 0, SolutionFlag::low_snr);
  some_solutions::flag(gain, 2, 1, 1, 1, SolutionFlag::low_snr);
  some_solutions::flag(gain, 1, 3, 0, 1, SolutionFlag::low_snr);
  some_solutions::flag(tec, 0, 2, 0, 0, SolutionFlag::low_snr);
  // Three times, two channels and two polarisations of gains, and one TEC.
  const std::vector<double> expected{0, 2.0 / 13, 1.0 / 13, 1.0 / 13};
  BOOST_TEST(flagged_fraction(some_solutions::solutions(std::move(gain), std::move(tec))) == expected,
             boost::test_tools::per_element());
}

// Receiver first: the delay's matrix stands to the left of the leakage's, which does not commute with gains.
BOOST_AUTO_TEST_CASE(the_chain_is_multiplied_from_the_receiver_to_the_sky) {
  const some_solutions::Shape diagonal{3, 4, 2, 2, {}}, matrices{3, 4, 2, 4, {}}, patches{3, 4, 1, 1, {0, 1}};
  const Solutions solutions = some_solutions::solutions(
      table_of(SolutionType::delay_s, {1, 4, 1, 2, {}}), table_of(SolutionType::gain, diagonal),
      table_of(SolutionType::leakage, matrices), table_of(SolutionType::tec_tecu, patches));
  BOOST_TEST(!solutions.is_diagonal());
  const double freq_hz = kFirst_hz + 0.9e6;  // in channel 1
  for (std::size_t dir = 0; dir < 2; ++dir) {
    const Result result = evaluate(solutions, kFirst_mjd_s + 8.5, {freq_hz}, Interpolation::nearest, dir);
    for (std::size_t ant = 0; ant < 4; ++ant) {
      const auto& t = solutions.tables;
      const auto turn = [](double phase_rad) { return Complex(std::cos(phase_rad), std::sin(phase_rad)); };
      const Matrix delay{turn(2 * kPi * freq_hz * t[0].values(0, 0, ant, 0, 0).real()), 0, 0,
                         turn(2 * kPi * freq_hz * t[0].values(0, 0, ant, 0, 1).real())};
      const Matrix gain{t[1].values(1, 0, ant, 1, 0), 0, 0, t[1].values(1, 0, ant, 1, 1)};
      Matrix leakage;
      for (std::size_t i = 0; i < 4; ++i) leakage[i] = t[2].values(1, 0, ant, 1, i);
      const Complex ionosphere = turn(-8.44797245e9 * t[3].values(1, dir, ant, 0, 0).real() / freq_hz);
      const Matrix expected =
          product(product(product(delay, gain), leakage), Matrix{ionosphere, 0, 0, ionosphere});
      BOOST_TEST(distance(result.at(ant, 0), expected) < kRounding);
      BOOST_TEST(result.flagged(ant, 0) == 0);
    }
  }
  // Without a direction the tables of patches are left out.
  const Result field = evaluate(solutions, kFirst_mjd_s + 8.5, {freq_hz});
  const Result east = evaluate(solutions, kFirst_mjd_s + 8.5, {freq_hz}, Interpolation::nearest, 0);
  const Complex tec =
      std::polar(1.0, -8.44797245e9 * solutions.tables[3].values(1, 0, 2, 0, 0).real() / freq_hz);
  BOOST_TEST(std::abs(field.jones(2, 0, 0) * tec - east.jones(2, 0, 0)) < kRounding);
}

// A longer cable delays the signal: its phase falls with frequency, and tau is negative.
BOOST_AUTO_TEST_CASE(a_positive_delay_turns_the_phase_up_with_frequency) {
  SolutionTable delay = table_of(SolutionType::delay_s, {1, 4, 1, 1, {}});
  delay.values.fill(1e-9);
  const Result result = evaluate(some_solutions::solutions(std::move(delay)), kFirst_mjd_s, {150e6, 160e6});
  BOOST_TEST(std::abs(std::arg(result.jones(0, 1, 0) / result.jones(0, 0, 0)) - 2 * kPi * 10e6 * 1e-9) <
             kRounding);
}

BOOST_AUTO_TEST_CASE(diagonal_chains_give_the_same_as_gains) {
  const Solutions solutions = some_solutions::solutions(table_of(SolutionType::gain, {}),
                                                        table_of(SolutionType::tec_tecu, {3, 4, 1, 1, {}}));
  const SolutionEvaluator evaluator(solutions, names_of(solutions), Interpolation::linear);
  BOOST_TEST(evaluator.is_diagonal());
  const std::vector<double> freq_hz{150.2e6, 150.9e6};
  Buffer<Complex, 3> gains({4, 2, 2});
  Buffer<std::uint8_t, 2> flagged({4, 2});
  gains.fill(9);
  evaluator.evaluate_diagonal(kFirst_mjd_s + 3, freq_hz, std::nullopt, gains, flagged);
  const Result matrices = evaluate(solutions, kFirst_mjd_s + 3, freq_hz, Interpolation::linear);
  for (std::size_t ant = 0; ant < 4; ++ant)
    for (std::size_t chan = 0; chan < 2; ++chan) {
      BOOST_TEST(gains(ant, chan, 0) == matrices.jones(ant, chan, 0));
      BOOST_TEST(gains(ant, chan, 1) == matrices.jones(ant, chan, 3));
      BOOST_TEST(matrices.jones(ant, chan, 1) == 0.0);
    }
}

// 20 degrees and a factor of 2 apart: a quarter of the way in amplitude and in phase. 100 degrees apart the
// numbers themselves are interpolated.
BOOST_AUTO_TEST_CASE(linear_interpolation_goes_along_amplitude_and_phase) {
  const double degree = kPi / 180;
  for (const double step : {20.0, 59.0, 61.0, 100.0}) {
    SolutionTable gain = table_of(SolutionType::gain, {2, 4, 1, 1, {}});
    const Complex first = std::polar(1.0, 175 * degree), second = std::polar(2.0, (175 + step) * degree);
    for (std::size_t ant = 0; ant < 4; ++ant) {
      gain.values(0, 0, ant, 0, 0) = first;
      gain.values(1, 0, ant, 0, 0) = second;
    }
    const Solutions solutions = some_solutions::solutions(std::move(gain));
    const Complex found =
        evaluate(solutions, kFirst_mjd_s + 2, {kFirst_hz}, Interpolation::linear).jones(0, 0, 0);
    const Complex expected =
        step < 60 ? std::polar(1.25, (175 + 0.25 * step) * degree) : 0.75 * first + 0.25 * second;
    BOOST_TEST(std::abs(found - expected) < kRounding);
    const Complex nearest = evaluate(solutions, kFirst_mjd_s + 2, {kFirst_hz}).jones(0, 0, 0);
    BOOST_TEST(std::abs(nearest - first) < kRounding);
    // The same from the other side.
    const Complex later =
        evaluate(solutions, kFirst_mjd_s + 6, {kFirst_hz}, Interpolation::linear).jones(0, 0, 0);
    const Complex expected_later =
        step < 60 ? std::polar(1.75, (175 + 0.75 * step) * degree) : 0.25 * first + 0.75 * second;
    BOOST_TEST(std::abs(later - expected_later) < kRounding);
  }
}

BOOST_AUTO_TEST_CASE(linear_interpolation_goes_along_both_axes) {
  SolutionTable amplitude = table_of(SolutionType::amplitude, {2, 4, 2, 1, {}});
  for (std::size_t ant = 0; ant < 4; ++ant)
    for (std::size_t time = 0; time < 2; ++time)
      for (std::size_t chan = 0; chan < 2; ++chan)
        amplitude.values(time, 0, ant, chan, 0) =
            1.0 + static_cast<double>(time) + 10.0 * static_cast<double>(chan);
  const Solutions solutions = some_solutions::solutions(std::move(amplitude));
  const Result result = evaluate(solutions, kFirst_mjd_s + 2, {kFirst_hz + 0.4e6}, Interpolation::linear);
  BOOST_TEST(std::abs(result.jones(1, 0, 0) - (1 + 0.25 + 4)) < kRounding);
}

// Delays are interpolated as they are, whatever their phases do.
BOOST_AUTO_TEST_CASE(delays_and_tec_are_interpolated_as_numbers) {
  SolutionTable tec = table_of(SolutionType::tec_tecu, {2, 4, 1, 1, {}});
  for (std::size_t ant = 0; ant < 4; ++ant) {
    tec.values(0, 0, ant, 0, 0) = 0.1;
    tec.values(1, 0, ant, 0, 0) = 0.3;  // 11 rad more
  }
  const Result result = evaluate(some_solutions::solutions(std::move(tec)), kFirst_mjd_s + 4, {kFirst_hz},
                                 Interpolation::linear);
  BOOST_TEST(std::abs(result.jones(0, 0, 0) - std::polar(1.0, -8.44797245e9 * 0.2 / kFirst_hz)) < kRounding);
}

BOOST_AUTO_TEST_CASE(outside_the_nearest_holds_for_one_interval) {
  const Solutions solutions = some_solutions::solutions(table_of(SolutionType::gain, {}));
  struct Case {
    double offset_s;
    bool outside, beyond;
  };
  // Solutions reach from -4 to 20 s.
  for (const Interpolation interpolation : {Interpolation::nearest, Interpolation::linear})
    for (const Case& c : {Case{-3.9, false, false}, Case{-4.1, true, false}, Case{-11.9, true, false},
                          Case{-12.1, true, true}, Case{19.9, false, false}, Case{27.9, true, false},
                          Case{28.1, true, true}}) {
      const Result result = evaluate(solutions, kFirst_mjd_s + c.offset_s, {kFirst_hz}, interpolation);
      BOOST_TEST(result.reach.time_outside == c.outside);
      BOOST_TEST(result.reach.time_beyond == c.beyond);
      BOOST_TEST(int{result.flagged(1, 0)} == int{c.beyond});
      const Complex expected =
          c.beyond ? 1.0 : solutions.tables[0].values(c.offset_s < 0 ? 0 : 2, 0, 1, 0, 0);
      BOOST_TEST(std::abs(result.jones(1, 0, 0) - expected) < kRounding);
    }
  // Channels reach from -0.5 to 1.5 MHz about the first one's middle.
  const Result result =
      evaluate(solutions, kFirst_mjd_s,
               {kFirst_hz - 1.6e6, kFirst_hz - 1.4e6, kFirst_hz, kFirst_hz + 2.4e6, kFirst_hz + 2.6e6});
  BOOST_TEST(result.reach.n_chan_outside == 4u);
  BOOST_TEST(result.reach.n_chan_beyond == 2u);
  for (const std::size_t chan : {0u, 1u, 2u, 3u, 4u})
    BOOST_TEST(int{result.flagged(0, chan)} == int{chan % 4 == 0});
  BOOST_TEST(std::abs(result.jones(0, 3, 0) - solutions.tables[0].values(0, 0, 0, 1, 0)) < kRounding);
}

// A minute without solutions between two of them: no line is drawn through it.
BOOST_AUTO_TEST_CASE(gaps_are_not_bridged) {
  SolutionTable gain = table_of(SolutionType::gain, {2, 4, 1, 2, {}});
  gain.time_mjd_s[1] = gain.time_mjd_s[0] + 60;
  const Solutions solutions = some_solutions::solutions(std::move(gain));
  const auto value = [&](double offset_s) {
    return evaluate(solutions, kFirst_mjd_s + offset_s, {kFirst_hz}, Interpolation::linear);
  };
  BOOST_TEST(value(3).jones(0, 0, 0) == solutions.tables[0].values(0, 0, 0, 0, 0));
  BOOST_TEST(value(11).jones(0, 0, 0) == solutions.tables[0].values(0, 0, 0, 0, 0));
  BOOST_TEST(value(11).reach.time_outside);
  BOOST_TEST(int{value(30).flagged(0, 0)} == 1);
  BOOST_TEST(value(52).jones(0, 0, 0) == solutions.tables[0].values(1, 0, 0, 0, 0));
}

// The interval that holds a time counts, even where the centre of a shorter one is nearer.
BOOST_AUTO_TEST_CASE(a_short_last_interval_does_not_reach_into_the_one_before) {
  SolutionTable gain = table_of(SolutionType::gain, {2, 4, 1, 2, {}});
  gain.interval_s = {8, 2};
  gain.time_mjd_s = {kFirst_mjd_s, kFirst_mjd_s + 5};
  const Solutions solutions = some_solutions::solutions(std::move(gain));
  BOOST_TEST(evaluate(solutions, kFirst_mjd_s + 3.5, {kFirst_hz}).jones(0, 0, 0) ==
             solutions.tables[0].values(0, 0, 0, 0, 0));
}

BOOST_AUTO_TEST_CASE(flagged_solutions_flag_their_antenna_only) {
  SolutionTable gain = table_of(SolutionType::gain, {});
  some_solutions::flag(gain, 1, 2, 0, 1, SolutionFlag::low_snr);
  gain.values(1, 0, 3, 1, 0) = Complex(std::nan(""), 0);
  gain.values(1, 0, 1, 1, 0) = 0;  // data cannot be divided by it
  const Solutions solutions = some_solutions::solutions(std::move(gain));
  const Result result = evaluate(solutions, kFirst_mjd_s + 8, {kFirst_hz, kFirst_hz + kWidth_hz});
  for (std::size_t ant = 0; ant < 4; ++ant)
    for (std::size_t chan = 0; chan < 2; ++chan) {
      const bool flagged = (ant == 2 && chan == 0) || (ant == 3 && chan == 1) || (ant == 1 && chan == 1);
      BOOST_TEST(int{result.flagged(ant, chan)} == int{flagged});
      if (flagged) BOOST_TEST(distance(result.at(ant, chan), kUnity) == 0);
    }
  // The good neighbour of a flagged one stands alone.
  const Result beside = evaluate(solutions, kFirst_mjd_s + 3, {kFirst_hz}, Interpolation::linear);
  BOOST_TEST(int{beside.flagged(2, 0)} == 0);
  BOOST_TEST(std::abs(beside.jones(2, 0, 3) - solutions.tables[0].values(0, 0, 2, 0, 1)) < kRounding);
}

BOOST_AUTO_TEST_CASE(singular_matrices_are_flagged) {
  SolutionTable gain = table_of(SolutionType::gain, {3, 4, 2, 4, {}});
  for (std::size_t pol = 0; pol < 4; ++pol) gain.values(0, 0, 1, 0, pol) = 2;
  const Result result = evaluate(some_solutions::solutions(std::move(gain)), kFirst_mjd_s, {kFirst_hz});
  BOOST_TEST(int{result.flagged(1, 0)} == 1);
  BOOST_TEST(int{result.flagged(0, 0)} == 0);
}

BOOST_AUTO_TEST_CASE(antennas_are_matched_by_name) {
  const Solutions solutions = some_solutions::solutions(table_of(SolutionType::gain, {}));
  const std::vector<std::string> names{"ant3", "another", "ant0"};
  const SolutionEvaluator evaluator(solutions, names, Interpolation::nearest);
  BOOST_TEST(evaluator.missing_antennas() == std::vector<std::size_t>{1});
  const Result result = evaluate(solutions, kFirst_mjd_s, {kFirst_hz}, Interpolation::nearest, {}, names);
  BOOST_TEST(result.jones(0, 0, 0) == solutions.tables[0].values(0, 0, 3, 0, 0));
  BOOST_TEST(int{result.flagged(1, 0)} == 1);
  BOOST_TEST(result.jones(2, 0, 0) == solutions.tables[0].values(0, 0, 0, 0, 0));
  BOOST_CHECK_THROW(SolutionEvaluator(solutions, {"x", "y"}, Interpolation::nearest), DataError);
}

// One gain for all times and frequencies, and a delay from one band at any frequency.
BOOST_AUTO_TEST_CASE(constant_solutions_hold_everywhere) {
  SolutionTable gain = table_of(SolutionType::gain, {1, 4, 1, 2, {}}),
                delay = table_of(SolutionType::delay_s, {1, 4, 1, 1, {}});
  gain.interval_s = gain.width_hz = delay.interval_s = {0};
  const Solutions solutions = some_solutions::solutions(std::move(gain), std::move(delay));
  const Result result = evaluate(solutions, 1.0, {3e9});
  BOOST_TEST(!result.reach.time_outside);
  BOOST_TEST(result.reach.n_chan_outside == 0u);
  BOOST_TEST(int{result.flagged(0, 0)} == 0);
}

BOOST_AUTO_TEST_CASE(slots_change_where_results_do) {
  const auto count_changes = [](const Solutions& solutions) {
    const SolutionEvaluator evaluator(solutions, names_of(solutions), Interpolation::nearest);
    std::int64_t last = evaluator.slot_of(kFirst_mjd_s - 100);
    Result before = evaluate(solutions, kFirst_mjd_s - 100, {kFirst_hz});
    std::size_t n_changes = 0;
    for (double offset_s = -99.95; offset_s < 200; offset_s += 0.1) {
      const std::int64_t slot = evaluator.slot_of(kFirst_mjd_s + offset_s);
      Result now = evaluate(solutions, kFirst_mjd_s + offset_s, {kFirst_hz});
      const bool same =
          distance(before.at(1, 0), now.at(1, 0)) == 0 && before.flagged(1, 0) == now.flagged(1, 0);
      BOOST_TEST(slot >= last);
      if (slot == last) BOOST_TEST(same);
      n_changes += !same;
      last = slot;
      before = std::move(now);
    }
    return n_changes;
  };
  SolutionTable slow = table_of(SolutionType::gain, {2, 4, 1, 2, {}}, 2);
  slow.interval_s = {12, 12};
  slow.time_mjd_s = {kFirst_mjd_s + 2, kFirst_mjd_s + 14};
  // Good from the later beginning to the earlier end, in between steps at 4, 8 and 12 s.
  BOOST_TEST(count_changes(some_solutions::solutions(table_of(SolutionType::gain, {}), std::move(slow))) ==
             5u);
  SolutionTable scans = table_of(SolutionType::gain, {2, 4, 1, 2, {}}, 2);
  scans.time_mjd_s = {kFirst_mjd_s, kFirst_mjd_s + 100};
  BOOST_TEST(count_changes(some_solutions::solutions(std::move(scans))) == 4u);  // on and off, twice
}

BOOST_AUTO_TEST_CASE(tables_that_contradict_themselves_are_refused) {
  const auto refused = [](const auto& damage) {
    Solutions solutions = some_solutions::solutions(table_of(SolutionType::gain, {3, 4, 2, 2, {0, 1}}));
    damage(solutions, solutions.tables[0]);
    BOOST_CHECK_THROW(check_solutions(solutions), DataError);
  };
  refused([](Solutions&, SolutionTable& table) { std::swap(table.time_mjd_s[0], table.time_mjd_s[1]); });
  refused([](Solutions&, SolutionTable& table) { table.freq_hz.push_back(160e6); });
  refused([](Solutions&, SolutionTable& table) { table.interval_s[0] = 0; });
  refused([](Solutions&, SolutionTable& table) { table.direction = {0, 2}; });
  refused([](Solutions&, SolutionTable& table) { table.direction = {1, 1}; });
  refused([](Solutions&, SolutionTable& table) { table.weight(0, 0, 0, 0, 0) = -1; });
  refused([](Solutions& solutions, SolutionTable&) { solutions.antennas.pop_back(); });
  refused([](Solutions& solutions, SolutionTable&) { solutions.antennas[1].name = "ant0"; });
  refused([](Solutions& solutions, SolutionTable&) { solutions.directions[1].name = "east"; });
  refused([](Solutions& solutions, SolutionTable&) { solutions.tables.clear(); });
  refused([](Solutions&, SolutionTable& table) { table.type = SolutionType::leakage; });
}

BOOST_AUTO_TEST_CASE(names_of_interpolations) {
  BOOST_TEST((parse_interpolation("linear") == Interpolation::linear));
  BOOST_TEST((parse_interpolation("nearest") == Interpolation::nearest));
  BOOST_CHECK_THROW(parse_interpolation("cubic"), UsageError);
}

BOOST_AUTO_TEST_SUITE_END()
