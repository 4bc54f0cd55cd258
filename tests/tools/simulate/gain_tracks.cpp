// SPDX-License-Identifier: GPL-3.0-or-later
// Tables of gains that change with time, and what is refused of them.
#include "tools/simulate/gain_tracks.h"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

#include "libcore/base/error.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(gain_tracks)

namespace {

std::vector<simulate::GainTrack> parse(const std::string& rows) {
  const ArrayLayout layout = parse_antennas_csv("name,east,north,up\nant0,0,0,0\nant1,1,0,0\n", "a.csv");
  return parse_gain_tracks("antenna,pol,time_s,gain_amplitude,phase_rad\n" + rows, "g.csv", layout);
}

}  // namespace

BOOST_AUTO_TEST_CASE(rows_are_those_of_their_antenna_and_polarisation) {
  const auto tracks = parse("ant1,Y,0,2,0.5\nant1,Y,10,3,0.75\nant1,X,5,4,-1\nant0,,1,5,2\n");
  BOOST_TEST_REQUIRE(tracks.size() == 4u);  // [ant * 2 + pol]
  using Numbers = std::vector<double>;
  for (const std::size_t pol : {0, 1}) {
    BOOST_TEST(tracks[pol].time_s == Numbers({1}), boost::test_tools::per_element());
    BOOST_TEST(tracks[pol].amplitude == Numbers({5}), boost::test_tools::per_element());
    BOOST_TEST(tracks[pol].phase_rad == Numbers({2}), boost::test_tools::per_element());
  }
  BOOST_TEST(tracks[2].time_s == Numbers({5}), boost::test_tools::per_element());
  BOOST_TEST(tracks[2].amplitude == Numbers({4}), boost::test_tools::per_element());
  BOOST_TEST(tracks[3].time_s == Numbers({0, 10}), boost::test_tools::per_element());
  BOOST_TEST(tracks[3].amplitude == Numbers({2, 3}), boost::test_tools::per_element());
  BOOST_TEST(tracks[3].phase_rad == Numbers({0.5, 0.75}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(times_rise_and_amplitudes_are_not_negative) {
  BOOST_CHECK_THROW(parse("ant0,X,1,1,0\nant0,X,1,1,0\n"), DataError);
  BOOST_CHECK_THROW(parse("ant0,X,2,1,0\nant0,,1,1,0\n"), DataError);
  BOOST_CHECK_THROW(parse("ant0,X,0,-1,0\n"), DataError);
  BOOST_CHECK_THROW(parse("ant2,X,0,1,0\n"), DataError);
  BOOST_TEST(parse("ant0,X,0,0,0\n")[0].amplitude[0] == 0);  // a dead antenna
}

BOOST_AUTO_TEST_SUITE_END()
