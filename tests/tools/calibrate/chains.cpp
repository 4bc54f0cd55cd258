// SPDX-License-Identifier: GPL-3.0-or-later
// calibrate on sets whose gains are known: each term, chains, both signs of UVW, and data without use.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "libcore/formats/solution_files/solution_files.h"
#include "libcore/solutions/evaluator.h"
#include "tests/tools/calibrate/distorted_set.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(chains)

namespace {

struct Run {
  reference::Scratch scratch;
  std::string ms = scratch.path("obs.ms"), sky, solutions = scratch.path("cal.h5");
  int status = -1;

  explicit Run(const DistortedSet& set, const std::string& arguments)
      : sky(scratch.file("sky.txt", set.sky_text())) {
    set.write(ms);
    status = run_calibrate("'" + ms + "' --sky '" + sky + "' -o '" + solutions + "' " + arguments,
                           scratch.path("log"));
    if (status != 0) BOOST_TEST_MESSAGE(scratch.read("log"));
  }
};

/// A complex gain of an antenna and receptor that changes with time and frequency.
Complex gain_of(std::size_t ant, std::size_t pol, std::size_t time, double freq_hz) {
  const double a = static_cast<double>(ant), p = static_cast<double>(pol), t = static_cast<double>(time);
  return std::polar(1 + 0.3 * std::sin(3 * a + p), 2 * std::sin(5 * a + 2 * p) + 0.2 * t * std::cos(a) +
                                                       (freq_hz - 150e6) / 1e6 * std::cos(2 * a + p));
}
Matrix2 diagonal(std::size_t ant, std::size_t time, double hz) {
  return {gain_of(ant, 0, time, hz), 0, 0, gain_of(ant, 1, time, hz)};
}

/// The gains that a file gives at a time and the channels: [antenna][chan][2].
Buffer<Complex, 3> gains_at(const Solutions& solutions, const DistortedSet& set, std::size_t time,
                            std::size_t window = 0) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < set.n_antennas; ++i) names.push_back("A" + std::to_string(i));
  const SolutionEvaluator evaluator(solutions, names, Interpolation::nearest);
  std::vector<double> hz;
  for (std::size_t chan = 0; chan < set.n_channels; ++chan) hz.push_back(set.channel_hz(chan, window));
  Buffer<Complex, 3> gains({set.n_antennas, hz.size(), 2});
  Buffer<std::uint8_t, 2> flagged({set.n_antennas, hz.size()});
  evaluator.evaluate_diagonal(set.time_s(time), hz, {}, gains, flagged);
  for (std::size_t i = 0; i < flagged.size(); ++i)
    if (flagged.data()[i]) gains.data()[2 * i] = gains.data()[2 * i + 1] = {NAN, NAN};
  return gains;
}

/// The largest difference from the true gains, after each receptor's phase has been referred to antenna 0.
double largest_error(const Solutions& solutions, const DistortedSet& set, bool conjugate = false) {
  double worst = 0;
  for (std::size_t item = 0; item < set.n_times * set.n_windows; ++item) {
    const std::size_t time = item / set.n_windows, window = item % set.n_windows;
    const Buffer<Complex, 3> found = gains_at(solutions, set, time, window);
    for (std::size_t ant = 0; ant < set.n_antennas; ++ant)
      for (std::size_t chan = 0; chan < set.n_channels; ++chan)
        for (std::size_t pol = 0; pol < 2; ++pol) {
          const auto truth = [&](std::size_t a) {
            const Complex g = set.jones(a, time, set.channel_hz(chan, window))[3 * pol];
            return conjugate ? std::conj(g) : g;
          };
          const Complex reference = truth(0) / std::abs(truth(0)), own = found(0, chan, pol);
          const Complex error = found(ant, chan, pol) / (own / std::abs(own)) - truth(ant) / reference;
          if (!std::isfinite(std::abs(error))) return INFINITY;
          worst = std::max(worst, std::abs(error));
        }
  }
  BOOST_TEST_MESSAGE("largest error: " << worst);
  return worst;
}

}  // namespace

BOOST_AUTO_TEST_CASE(gains_of_each_interval_and_channel_are_found) {
  DistortedSet set;
  set.jones = diagonal;
  set.n_antennas = 16;
  set.flagged_fraction = 0.2;
  set.reversed_rows = set.with_autos = true;
  const Run run(set, "--solve gain:interval=8s");
  BOOST_TEST_REQUIRE(run.status == 0);
  BOOST_TEST(largest_error(read_solutions(run.solutions), set) < 2e-5);  // float32 data
}

BOOST_AUTO_TEST_CASE(two_products_and_one_are_enough) {
  for (const std::vector<Product>& products :
       {std::vector<Product>{Product::XX, Product::YY}, std::vector<Product>{Product::RR, Product::LL}}) {
    DistortedSet set;
    set.products = products;
    set.jones = diagonal;
    const Run run(set, "--solve gain:interval=8s");
    BOOST_TEST_REQUIRE(run.status == 0);
    const Solutions solutions = read_solutions(run.solutions);
    BOOST_TEST((solutions.basis == ReceptorBasis::circular) == (products[0] == Product::RR));
    BOOST_TEST(largest_error(solutions, set) < 2e-5);
  }
}

BOOST_AUTO_TEST_CASE(each_spectral_window_has_gains_of_its_own) {
  DistortedSet set;
  set.n_windows = 3;
  set.jones = diagonal;
  const Run run(set, "--solve gain:interval=8s");
  BOOST_TEST_REQUIRE(run.status == 0);
  const Solutions solutions = read_solutions(run.solutions);
  BOOST_TEST(solutions.tables[0].freq_hz.size() == 3 * set.n_channels);
  BOOST_TEST(std::is_sorted(solutions.tables[0].freq_hz.begin(), solutions.tables[0].freq_hz.end()));
  BOOST_TEST(largest_error(solutions, set) < 2e-5);
}

/// Of data that are the conjugate, the file has the gains that fit them; tables for voltages the true ones.
BOOST_AUTO_TEST_CASE(gains_of_conjugated_data_are_the_conjugate) {
  DistortedSet set;
  set.conjugated = true;
  set.n_times = 1;
  set.jones = diagonal;
  const reference::Scratch scratch;
  const std::string csv = scratch.path("gains.csv");
  const Run run(set, "--reference-antenna 0 --export '" + csv + "'");
  BOOST_TEST_REQUIRE(run.status == 0);
  BOOST_TEST(largest_error(read_solutions(run.solutions), set, true) < 2e-5);
  SolutionReadOptions options;
  options.context.emplace();
  for (std::size_t i = 0; i < set.n_antennas; ++i)
    options.context->antenna_names.push_back("A" + std::to_string(i));
  for (std::size_t chan = 0; chan < set.n_channels; ++chan)
    options.context->freq_hz.push_back(set.channel_hz(chan));
  BOOST_TEST(largest_error(read_solutions(csv, options), set) < 2e-5);
  // The file knows what it is of.
  BOOST_TEST_REQUIRE(run_calibrate("'" + run.solutions + "' --overwrite --export '" + csv + "'",
                                   run.scratch.path("log")) == 0);
  BOOST_TEST(largest_error(read_solutions(csv, options), set) < 2e-5);
}

BOOST_AUTO_TEST_CASE(a_longer_cable_has_a_delay_below_zero) {
  DistortedSet set;
  set.n_channels = 16;
  const auto delay_s = [](std::size_t ant, std::size_t pol) {
    return 40e-9 * std::sin(1.0 + 2.0 * static_cast<double>(ant) + static_cast<double>(pol));
  };
  set.jones = [&](std::size_t ant, std::size_t, double hz) {
    return Matrix2{std::polar(1.0, kTwoPi * hz * delay_s(ant, 0)), 0, 0,
                   std::polar(1.0, kTwoPi * hz * delay_s(ant, 1))};
  };
  const Run run(set, "--solve delay --reference-antenna A0");
  BOOST_TEST_REQUIRE(run.status == 0);
  const Solutions solutions = read_solutions(run.solutions);
  BOOST_TEST_REQUIRE(solutions.tables.size() == 1u);
  BOOST_TEST((solutions.tables[0].type == SolutionType::delay_s));
  for (std::size_t ant = 0; ant < set.n_antennas; ++ant)
    for (std::size_t pol = 0; pol < 2; ++pol)
      BOOST_TEST(std::abs(solutions.tables[0].values(0, 0, ant, 0, pol).real() -
                          (delay_s(ant, pol) - delay_s(0, pol))) < 1e-12);
}

BOOST_AUTO_TEST_CASE(tec_delays_low_frequencies_by_more) {
  DistortedSet set;
  set.n_channels = 12;
  set.first_hz = 120e6;
  set.step_hz = 4e6;
  const auto tec = [](std::size_t ant) { return 0.1 * std::sin(1.0 + 2.0 * static_cast<double>(ant)); };
  set.jones = [&](std::size_t ant, std::size_t, double hz) {
    const Complex g = std::polar(1.0, -8.44797245e9 * tec(ant) / hz);
    return Matrix2{g, 0, 0, g};
  };
  const Run run(set, "--solve tec --reference-antenna 3");
  BOOST_TEST_REQUIRE(run.status == 0);
  const Solutions solutions = read_solutions(run.solutions);
  BOOST_TEST((solutions.tables[0].type == SolutionType::tec_tecu));
  for (std::size_t ant = 0; ant < set.n_antennas; ++ant)
    BOOST_TEST(std::abs(solutions.tables[0].values(0, 0, ant, 0, 0).real() - (tec(ant) - tec(3))) < 1e-5);
}

BOOST_AUTO_TEST_CASE(a_chain_multiplies_to_the_gains) {
  DistortedSet set;
  set.n_channels = 8;
  set.n_times = 6;
  set.jones = [](std::size_t ant, std::size_t time, double hz) {
    const double a = static_cast<double>(ant);
    const Complex band = std::polar(1 + 0.2 * std::cos(a + hz / 3e5), std::sin(a * 2 + hz / 4e5)),
                  drift = std::polar(1.0, 0.1 * static_cast<double>(time) * std::sin(a));
    return Matrix2{band * drift, 0, 0, std::conj(band) * drift};
  };
  const Run run(set, "--solve bandpass --solve phase:interval=8s --iterations 1000");
  BOOST_TEST_REQUIRE(run.status == 0);
  const Solutions solutions = read_solutions(run.solutions);
  BOOST_TEST(solutions.tables.size() == 2u);
  // The phases within the whole time cost the bandpass some amplitude, which nothing gives back.
  double worst_phase = 0;
  for (std::size_t time = 0; time < set.n_times; ++time) {
    const Buffer<Complex, 3> found = gains_at(solutions, set, time);
    for (std::size_t ant = 0; ant < set.n_antennas; ++ant)
      for (std::size_t chan = 0; chan < set.n_channels; ++chan)
        for (std::size_t pol = 0; pol < 2; ++pol) {
          const auto truth = [&](std::size_t a) { return set.jones(a, time, set.channel_hz(chan))[3 * pol]; };
          worst_phase = std::max(worst_phase, std::abs(std::arg(found(ant, chan, pol) / found(0, chan, pol) /
                                                                (truth(ant) / truth(0)))));
        }
  }
  BOOST_TEST_MESSAGE("largest phase error: " << worst_phase);
  BOOST_TEST(worst_phase < 0.05);  // measured 0.029
}

BOOST_AUTO_TEST_CASE(less_memory_and_more_threads_change_nothing_of_note) {
  DistortedSet set;
  set.n_times = 8;
  set.jones = diagonal;
  set.noise_jy = 1;
  const Run one(set, "--solve gain:interval=16s --solve phase:interval=8s --threads 1"),
      three(set, "--solve gain:interval=16s --solve phase:interval=8s --threads 3");
  BOOST_TEST_REQUIRE((one.status == 0 && three.status == 0));
  BOOST_TEST(one.scratch.read("cal.h5").size() > 1000u);
  const Solutions a = read_solutions(one.solutions), b = read_solutions(three.solutions);
  for (std::size_t table = 0; table < a.tables.size(); ++table)
    BOOST_TEST(std::equal(a.tables[table].values.begin(), a.tables[table].values.end(),
                          b.tables[table].values.begin()));
}

BOOST_AUTO_TEST_CASE(antennas_without_data_are_flagged_and_leave_the_others_alone) {
  DistortedSet set;
  set.n_times = 1;
  set.jones = diagonal;
  set.has_data = [](std::size_t p, std::size_t q, std::size_t) { return p != 4 && q != 4; };
  const Run run(set, "");
  BOOST_TEST_REQUIRE(run.status == 0);
  const Solutions solutions = read_solutions(run.solutions);
  BOOST_TEST(solutions.tables[0].weight(0, 0, 4, 0, 0) == 0.0f);
  BOOST_TEST(solutions.tables[0].weight(0, 0, 5, 0, 0) > 0.0f);
  BOOST_TEST(run.scratch.read("log").find("A4") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(each_patch_has_a_tec_of_its_own) {
  DistortedSet set;
  set.n_antennas = 14;
  set.n_channels = 12;
  set.first_hz = 120e6;
  set.step_hz = 2e6;
  const auto tec = [](std::size_t ant, std::size_t source) {
    return 0.05 * std::sin(1.0 + 2.0 * static_cast<double>(ant) + static_cast<double>(source * ant));
  };
  set.direction_gain = [&](std::size_t ant, std::size_t source, double hz) {
    return std::polar(1.0, -8.44797245e9 * tec(ant, source) / hz);
  };
  const Run run(set, "--solve tec:interval=16s --directions patches --reference-antenna 2");
  BOOST_TEST_REQUIRE(run.status == 0);
  const Solutions solutions = read_solutions(run.solutions);
  BOOST_TEST_REQUIRE(solutions.tables.size() == 1u);
  BOOST_TEST_REQUIRE(solutions.directions.size() == 3u);
  double worst = 0;
  for (std::size_t source = 0; source < 3; ++source) {
    const auto direction = solutions.find_direction("p" + std::to_string(source));
    BOOST_TEST_REQUIRE(direction.has_value());
    for (std::size_t time = 0; time < 2; ++time)
      for (std::size_t ant = 0; ant < set.n_antennas; ++ant)
        worst = std::max(worst, std::abs(solutions.tables[0].values(time, *direction, ant, 0, 0).real() -
                                         (tec(ant, source) - tec(2, source))));
  }
  BOOST_TEST_MESSAGE("largest error: " << worst << " TECU");
  BOOST_TEST(worst < 1e-4);
  // Data are corrected for one of them.
  BOOST_TEST(run_calibrate("'" + run.ms + "' --apply '" + run.solutions + "'", run.scratch.path("log")) == 2);
  BOOST_TEST(run_calibrate("'" + run.ms + "' --apply '" + run.solutions + "' --direction p1",
                           run.scratch.path("log")) == 0);
  // All patches subtracted leave nothing.
  BOOST_TEST_REQUIRE(run_calibrate("'" + run.ms + "' --apply '" + run.solutions + "' --sky '" + run.sky +
                                       "' --subtract patches --output-column REST",
                                   run.scratch.path("log")) == 0,
                     run.scratch.read("log"));
  MsSelection selection;
  selection.column = "REST";
  MeasurementSetReader reader(run.ms, selection);
  MsRows rows;
  double largest = 0;
  while (reader.read(rows, 1000))
    for (const std::complex<float>& value : rows.data) largest = std::max(largest, std::abs(Complex(value)));
  BOOST_TEST(largest < 1e-4);  // of 16 Jy
}

BOOST_AUTO_TEST_CASE(no_usable_data_ends_with_status_1_and_no_file) {
  DistortedSet flagged, empty;
  flagged.flagged_fraction = 1.1;
  empty.sources = {{0, 0, 0}};
  DistortedSet alone;
  alone.n_antennas = 1;
  alone.with_autos = true;
  for (const DistortedSet* set : {&flagged, &empty, &alone}) {
    const Run run(*set, "");
    BOOST_TEST(run.status == 1);
    BOOST_TEST(!run.scratch.exists("cal.h5"));
    BOOST_TEST(run.scratch.read("log").find("no usable data") != std::string::npos);
  }
}

BOOST_AUTO_TEST_SUITE_END()
