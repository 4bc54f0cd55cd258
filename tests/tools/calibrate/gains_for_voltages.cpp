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

BOOST_AUTO_TEST_SUITE_END()
