// SPDX-License-Identifier: GPL-3.0-or-later
// What solutions become when they go back to the voltages.
#include <boost/test/unit_test.hpp>

#include <complex>

#include "tests/support/some_solutions.h"
#include "tools/calibrate/outputs.h"

using namespace apsyn;
using namespace apsyn::calibrate;

BOOST_AUTO_TEST_SUITE(gains_for_voltages)

// Gains of data with UVW = r_2 - r_1 are the conjugate, and so are the phases of delays and of the
// ionosphere.
BOOST_AUTO_TEST_CASE(solutions_of_conjugated_data_are_conjugated) {
  const Solutions solved = some_solutions::solutions(
      some_solutions::table(SolutionType::gain, {}, 1), some_solutions::table(SolutionType::delay_s, {}, 2),
      some_solutions::table(SolutionType::tec_tecu, {3, 4, 1, 1, {}}, 3));
  for (const bool conjugated : {false, true}) {
    const Solutions made = for_voltages(solved, {conjugated, 0, 0});
    BOOST_TEST_REQUIRE(made.tables.size() == 3u);
    for (std::size_t i = 0; i < 3; ++i) {
      const SolutionTable &from = solved.tables[i], &to = made.tables[i];
      BOOST_TEST_REQUIRE((to.values.shape() == from.values.shape()));
      for (std::size_t k = 0; k < from.values.size(); ++k) {
        const std::complex<double> value = from.values.data()[k];
        BOOST_TEST(to.values.data()[k] == (!conjugated ? value : i == 0 ? std::conj(value) : -value));
        BOOST_TEST(to.weight.data()[k] == from.weight.data()[k]);
      }
      BOOST_TEST(to.freq_hz == from.freq_hz, boost::test_tools::per_element());
    }
  }
}

// One gain of all frequencies is of the band that it was found in, where that is known.
BOOST_AUTO_TEST_CASE(gains_of_all_frequencies_are_limited_to_the_band) {
  const Solutions solved =
      some_solutions::solutions(some_solutions::table(SolutionType::gain, {1, 4, 1, 2, {}}, 1));
  const Solutions limited = for_voltages(solved, {false, 140e6, 170e6}), other = for_voltages(solved, {});
  BOOST_TEST(limited.tables[0].freq_hz[0] == 155e6);
  BOOST_TEST(limited.tables[0].width_hz[0] == 30e6);
  BOOST_TEST(other.tables[0].freq_hz[0] == solved.tables[0].freq_hz[0]);
  BOOST_TEST(other.tables[0].width_hz[0] == 0);
}

// Everything else of the solutions stays: patches, flags, times, the antennas.
BOOST_AUTO_TEST_CASE(what_solutions_are_of_stays_with_them) {
  Solutions solved =
      some_solutions::solutions(some_solutions::table(SolutionType::gain, {3, 4, 2, 2, {0, 1}}, 1));
  solved.basis = ReceptorBasis::circular;
  some_solutions::flag(solved.tables[0], 1, 2, 1, 0, SolutionFlag::outlier);
  const Solutions made = for_voltages(solved, {true, 0, 0});
  BOOST_TEST(made.source == solved.source);
  BOOST_TEST(made.antennas.size() == 4u);
  BOOST_TEST(made.antennas[3].name == "ant3");
  BOOST_TEST_REQUIRE(made.directions.size() == 2u);
  BOOST_TEST(made.directions[1].name == "west");
  BOOST_TEST(made.field_centre->dec_rad == -0.5);
  BOOST_TEST((made.basis == ReceptorBasis::circular));
  BOOST_TEST(made.history == solved.history, boost::test_tools::per_element());
  const SolutionTable &from = solved.tables[0], &to = made.tables[0];
  BOOST_TEST((to.type == from.type));
  BOOST_TEST(to.term == from.term);
  BOOST_TEST(to.direction == from.direction, boost::test_tools::per_element());
  BOOST_TEST(to.time_mjd_s == from.time_mjd_s, boost::test_tools::per_element());
  BOOST_TEST(to.interval_s == from.interval_s, boost::test_tools::per_element());
  BOOST_TEST(to.width_hz == from.width_hz, boost::test_tools::per_element());
  BOOST_TEST((to.flag(1, 0, 2, 1, 0) == SolutionFlag::outlier));
  BOOST_TEST(to.weight(1, 0, 2, 1, 0) == 0);
  BOOST_TEST((to.flag(1, 0, 2, 1, 1) == SolutionFlag::good));
}

BOOST_AUTO_TEST_SUITE_END()
