// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/array/gains.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "libcore/base/error.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(gains)

namespace {

ArrayLayout three_antennas() {
  return parse_antennas_csv("name,east,north,up\nant0,0,0,0\nant1,1,0,0\nant2,2,0,0\n", "a.csv");
}

void malformed(const std::string& csv, std::string_view offending) {
  BOOST_CHECK_EXCEPTION(parse_gains_csv(csv, "g.csv", three_antennas(), 2, 4), Error, [&](const Error& e) {
    BOOST_TEST_MESSAGE(e.what());
    return e.status() == ExitStatus::malformed &&
           std::string_view(e.what()).find(offending) != std::string::npos;
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_gain_without_pol_and_channel_is_for_all) {
  const auto gains = parse_gains_csv("# measured\nantenna,gain_amplitude,phase_rad\n1,2,0.5\nant2,0.5,-3\n",
                                     "g.csv", three_antennas(), 2, 4);
  for (std::size_t pol = 0; pol < 2; ++pol)
    for (std::size_t chan = 0; chan < 4; ++chan) {
      BOOST_TEST(gains(0, pol, chan) == std::complex<double>(1, 0));
      BOOST_TEST(std::abs(gains(1, pol, chan) - std::polar(2.0, 0.5)) < 1e-15);
      BOOST_TEST(std::abs(gains(2, pol, chan) - std::polar(0.5, -3.0)) < 1e-15);
    }
}

BOOST_AUTO_TEST_CASE(gains_may_be_of_one_polarisation_and_channel) {
  const auto gains = parse_gains_csv(
      "pol,antenna,phase_rad,channel,gain_amplitude\n0,ant0,0.1,3,1\n1,0,0.2,,3\n,2,0.3,0,4\n", "g.csv",
      three_antennas(), 2, 4);
  for (std::size_t ant = 0; ant < 3; ++ant)
    for (std::size_t pol = 0; pol < 2; ++pol)
      for (std::size_t chan = 0; chan < 4; ++chan) {
        std::complex<double> expected = 1;
        if (ant == 0 && pol == 0 && chan == 3) expected = std::polar(1.0, 0.1);
        if (ant == 0 && pol == 1) expected = std::polar(3.0, 0.2);
        if (ant == 2 && chan == 0) expected = std::polar(4.0, 0.3);
        BOOST_TEST(std::abs(gains(ant, pol, chan) - expected) < 1e-15);
      }
}

BOOST_AUTO_TEST_CASE(later_rows_refine_and_none_repeats) {
  const auto gains =
      parse_gains_csv("antenna,pol,channel,gain_amplitude,phase_rad\n1,,,2,0\n1,1,,3,0\n1,1,2,4,0\n", "g.csv",
                      three_antennas(), 2, 4);
  BOOST_TEST(gains(1, 0, 2).real() == 2);
  BOOST_TEST(gains(1, 1, 3).real() == 3);
  BOOST_TEST(gains(1, 1, 2).real() == 4);
  malformed("antenna,gain_amplitude,phase_rad\n1,2,0\n0,1,0\nant1,3,0\n", "line 4: antenna 'ant1'");
  malformed("antenna,pol,gain_amplitude,phase_rad\n1,X,2,0\n1,0,3,0\n", "in line 2");
}

BOOST_AUTO_TEST_CASE(polarisations_may_be_named) {
  for (const char* names : {"XY", "RL"}) {
    const std::string csv =
        std::string("antenna,pol,gain_amplitude,phase_rad\n0,") + names[0] + ",2,0\n0," + names[1] + ",3,0\n";
    const auto gains = parse_gains_csv(csv, "g.csv", three_antennas(), 2, 1);
    BOOST_TEST(gains(0, 0, 0) == std::complex<double>(2, 0));
    BOOST_TEST(gains(0, 1, 0) == std::complex<double>(3, 0));
  }
  BOOST_CHECK_THROW(
      parse_gains_csv("antenna,pol,gain_amplitude,phase_rad\n0,Y,2,0\n", "g.csv", three_antennas(), 1, 1),
      DataError);
}

// A gain that is not there, with whatever phase, is not one of 1.
BOOST_AUTO_TEST_CASE(gains_may_be_missing) {
  const auto gains = parse_gains_csv(
      "antenna,pol,channel,gain_amplitude,phase_rad\n0,,,nan,nan\n1,0,,2,0\n1,1,,2,0\n1,1,3,NaN,0.5\n",
      "g.csv", three_antennas(), 2, 4);
  for (std::size_t pol = 0; pol < 2; ++pol)
    for (std::size_t chan = 0; chan < 4; ++chan) {
      BOOST_TEST(std::isnan(gains(0, pol, chan).real()));
      BOOST_TEST(std::isnan(gains(1, pol, chan).real()) == (pol == 1 && chan == 3));
      BOOST_TEST(gains(2, pol, chan) == std::complex<double>(1, 0));
    }
  BOOST_TEST(antennas_without_gains(gains) == (std::vector<std::uint8_t>{1, 1, 0}));
  malformed("antenna,gain_amplitude,phase_rad\n0,nan,0\n1,nan,0\n2,nan,0\n", "no antenna has a gain");
}

// What voltages are multiplied by: a scale over the gain, and 1 for what is left out anyway.
BOOST_AUTO_TEST_CASE(inverse_gains_undo_gains) {
  Buffer<std::complex<double>, 3> gains({2, 1, 2});
  gains(0, 0, 0) = 2;
  gains(0, 0, 1) = {0, 0.5};
  gains(1, 0, 0) = {3, -4};
  gains(1, 0, 1) = std::nan("");
  const auto inverse = inverse_gains(gains, 5);
  const std::complex<double> expected[] = {2.5, {0, -10}, {0.6, 0.8}, 1};
  for (std::size_t i = 0; i < 4; ++i) BOOST_TEST(std::abs(inverse.data()[i] - expected[i]) < 1e-14);
}

BOOST_AUTO_TEST_CASE(malformed_gains_are_refused_with_their_place) {
  const std::string header = "antenna,pol,channel,gain_amplitude,phase_rad\n";
  malformed("antenna,gain_amplitude\n0,1\n", "incomplete");
  malformed("antenna,gain_amplitude,phase_rad,phase_deg\n0,1,0,0\n", "phase_deg");
  malformed(header + "3,0,0,1,0\n", "antenna '3'");
  malformed(header + "ant9,0,0,1,0\n", "ant9");
  malformed(header + "0,2,0,1,0\n", "pol '2'");
  malformed(header + "0,XX,0,1,0\n", "pol 'XX': give 0 or 1, or X or Y");
  malformed(header + "0,0,4,1,0\n", "channel '4'");
  malformed(header + "0,0,-1,1,0\n", "channel '-1'");
  malformed(header + "0,0,0,0,0\n", "gain_amplitude 0");
  malformed(header + "0,0,0,1,nan\n", "nan");
  malformed(header + "0,0,0,1,inf\n", "inf");
  malformed(header + "0,0,0,1\n", "line 2");
}

BOOST_AUTO_TEST_SUITE_END()
