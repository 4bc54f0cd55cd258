// SPDX-License-Identifier: GPL-3.0-or-later
// Files that DP3 6.6 wrote; the numbers here were read from them with h5py.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <string>

#include "libcore/base/error.h"
#include "libcore/formats/h5parm/h5parm.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(dp3_files)

namespace {

const std::string kData = APSYN_TEST_DATA;
constexpr double kRounding = 1e-15;

std::size_t n_flagged(const SolutionTable& table) {
  std::size_t n = 0;
  for (const float weight : table.weight) n += weight == 0;
  return n;
}

}  // namespace

BOOST_AUTO_TEST_CASE(diagonal_gains_of_two_patches) {
  const Solutions solutions = read_h5parm(kData + "/DP3-ddecal-diagonal.h5");
  BOOST_TEST_REQUIRE(solutions.tables.size() == 1u);
  const SolutionTable& table = solutions.tables[0];
  BOOST_TEST((table.type == SolutionType::gain));
  BOOST_TEST((table.values.shape() == std::array<std::size_t, 5>{2, 2, 8, 4, 2}));
  // [time 1][freq 2][ant 3][dir 1][pol 1] there
  BOOST_TEST(std::abs(table.values(1, 1, 3, 2, 1) - std::polar(0.011832337395569714, 0.01570188637897873)) <
             kRounding);
  BOOST_TEST(n_flagged(table) == 32u);
  BOOST_TEST(table.weight(0, 1, 7, 1, 0) == 0);
  BOOST_TEST(table.time_mjd_s[1] == 4.8712824480834045e+09);
  BOOST_TEST(table.freq_hz[3] == 1.3444671630859375e+08);
  BOOST_TEST(std::abs(table.interval_s[0] - 40.055603) < 1e-6);
  BOOST_TEST(std::abs(table.width_hz[0] - 48828.125) < 1e-3);
  BOOST_TEST(solutions.directions[1].name == "B");
  BOOST_TEST(solutions.directions[1].direction.ra_rad == 0.43497241062307007);
  BOOST_TEST(solutions.antennas[3].name == "CS004HBA1");
  BOOST_TEST(solutions.antennas[3].position_m[1] == 460917.46875);
  BOOST_TEST(!solutions.history.empty());
}

BOOST_AUTO_TEST_CASE(full_matrices_of_the_field) {
  const Solutions solutions = read_h5parm(kData + "/DP3-gaincal-fulljones.h5");
  BOOST_TEST_REQUIRE(solutions.tables.size() == 1u);
  const SolutionTable& table = solutions.tables[0];
  BOOST_TEST((table.values.shape() == std::array<std::size_t, 5>{2, 1, 8, 4, 4}));
  BOOST_TEST(table.direction.empty());
  BOOST_TEST(!solutions.is_directional());
  const std::complex<double> expected[] = {std::polar(0.0011446708809534057, 0.6327052314219058),
                                           std::polar(6.07542994465748e-05, -2.004323455358079),
                                           std::polar(0.00012049872925145505, 0.04369635370616485),
                                           std::polar(0.0012731123995317465, 0.3770140309639523)};
  for (std::size_t pol = 0; pol < 4; ++pol)
    BOOST_TEST(std::abs(table.values(1, 0, 3, 2, pol) - expected[pol]) < kRounding);
  BOOST_TEST(n_flagged(table) == 32u);
  BOOST_TEST(solutions.field_centre->dec_rad == 0.5787469737178226);
}

// In the order time, ant, dir, freq, with a soltab of errors, which is no gain.
BOOST_AUTO_TEST_CASE(tec_and_phase_of_two_patches) {
  const Solutions solutions = read_h5parm(kData + "/DP3-ddecal-tecandphase.h5");
  BOOST_TEST_REQUIRE(solutions.tables.size() == 2u);
  const SolutionTable &phase = solutions.tables[0], &tec = solutions.tables[1];
  BOOST_TEST((phase.type == SolutionType::phase));
  BOOST_TEST((tec.type == SolutionType::tec_tecu));
  BOOST_TEST(std::abs(tec.values(1, 1, 5, 0, 0).real() + 4.734779450753724) < kRounding);
  BOOST_TEST(std::abs(phase.values(1, 1, 5, 0, 0) - std::polar(1.0, -4.960617473110884)) < kRounding);
  BOOST_TEST(tec.width_hz == std::vector<double>{0});
  BOOST_TEST(n_flagged(tec) == 4u);
  BOOST_CHECK_THROW(read_h5parm(kData + "/DP3-ddecal-tecandphase.h5", {"", {"error000"}}), DataError);
}

BOOST_AUTO_TEST_SUITE_END()
