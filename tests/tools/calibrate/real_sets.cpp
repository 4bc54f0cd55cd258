// SPDX-License-Identifier: GPL-3.0-or-later
// A calibrator that LOFAR observed, solved against a point: the data become those of a point, as far as what
// DP3 made of them does, whose CORRECTED_DATA come with the set.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "libcore/formats/ms/measurement_set.h"
#include "tests/tools/calibrate/distorted_set.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(real_sets)

BOOST_AUTO_TEST_CASE(three_c_48_becomes_a_point) {
  const reference::Scratch scratch;
  const std::string unpack =
      "tar xzf '" APSYN_TEST_DATA "/LOFAR-3C48-8st.MS.tgz' -C '" + scratch.path("") + "'";
  BOOST_TEST_REQUIRE(std::system(unpack.c_str()) == 0);
  const std::string ms = scratch.path("tNDPPP-generic.MS");
  const std::string sky = scratch.file(
      "sky.txt", "Format = Name, Type, Ra, Dec, I\n3C48, POINT, 01:37:41.2996, 33.09.35.079, 60\n");
  BOOST_TEST_REQUIRE(
      run_calibrate("'" + ms + "' --sky '" + sky +
                        "' --solve gain:channels=all,interval=10s --output-column OWN --report '" +
                        scratch.path("report.json") + "' -o '" + scratch.path("cal.h5") + "'",
                    scratch.path("log")) == 0,
      scratch.read("log"));
  // LOFAR stores UVW = r_2 - r_1; station RS307 has no data.
  BOOST_TEST(scratch.read("report.json").find("\"conjugated_uvw\": true") != std::string::npos);
  BOOST_TEST(scratch.read("log").find("RS307HBA") != std::string::npos);
  MsSelection own, theirs;
  own.column = "OWN", theirs.column = "CORRECTED_DATA";
  MeasurementSetReader a(ms, own), b(ms, theirs);
  MsRows rows_a, rows_b;
  Complex sum = 0, product = 0;
  double size = 0, power_a = 0, power_b = 0, n = 0;
  while (a.read(rows_a, 100) && b.read(rows_b, 100))
    for (std::size_t i = 0; i < rows_a.data.size(); ++i) {
      if (!(rows_a.weight.data()[i] > 0) || i % 4 == 1 || i % 4 == 2) continue;
      const Complex x(rows_a.data.data()[i]), y(rows_b.data.data()[i]);
      sum += x;
      size += std::abs(x);
      product += x * std::conj(y);
      power_a += std::norm(x);
      power_b += std::norm(y);
      ++n;
    }
  BOOST_TEST(n > 1500);
  BOOST_TEST(std::abs(sum) / size > 0.975);                             // measured 0.981; DP3 0.98
  BOOST_TEST(std::abs(product) / std::sqrt(power_a * power_b) > 0.98);  // measured 0.984
  BOOST_TEST(std::abs(std::abs(sum) / n - 60) < 1);                     // Jy
}

BOOST_AUTO_TEST_SUITE_END()
