// SPDX-License-Identifier: GPL-3.0-or-later
// Tiles of the MWA against hyperbeam, on a file of made-up coefficients.
#include "libcore/beams/mwa_fee.h"

#include <fmt/core.h>

#include <cmath>

#include "libcore/array/array_layout.h"
#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/formats/beam_files/beam_files.h"
#include "tests/libcore/beams/truth.h"

using namespace apsyn;
using namespace beam_test;

BOOST_AUTO_TEST_SUITE(mwa_fee)

BOOST_AUTO_TEST_CASE(tiles_are_those_of_hyperbeam) {
  const Truth truth("beams-mwa-fee-synthetic.csv");
  const auto source = open_mwa_fee(APSYN_TEST_DATA "/mwa-fee-synthetic.h5");
  double worst = 0, peak = 0;
  for (const CsvRow& row : truth.rows()) {
    MwaTile tile;
    for (std::size_t d = 0; d < kMwaDipoles; ++d)
      for (std::size_t pol = 0; pol < 2; ++pol) {
        tile.delays[pol][d] = static_cast<int>(truth.number(row, fmt::format("delay{}", d)));
        tile.amplitudes[pol][d] = truth.number(row, fmt::format("amp{}", 16 * pol + d));
      }
    const double az = truth.number(row, "az_rad"), za = truth.number(row, "za_rad"),
                 latitude = truth.number(row, "latitude_rad");
    const Jones e = MwaFeeBeam(source->nearest(truth.number(row, "freq_hz")), tile).response(az, za);
    // The parallactic angle, from the triangle of the pole, the zenith and the direction.
    const double q =
        std::atan2(-std::sin(az) * std::cos(latitude),
                   std::sin(latitude) * std::sin(za) - std::cos(latitude) * std::cos(za) * std::cos(az));
    const Jones j = product(e, {-std::cos(q), -std::sin(q), std::sin(q), -std::cos(q)});
    const Jones expected = truth.jones(row, "xn", "xe", "yn", "ye");
    worst = std::max(worst, difference(j, expected));
    for (const auto& value : expected) peak = std::max(peak, std::abs(value));
  }
  BOOST_TEST_MESSAGE(worst / peak);
  BOOST_TEST(worst < 1e-5 * peak, worst / peak);
}

BOOST_AUTO_TEST_CASE(dead_dipoles_and_wrong_files_are_told) {
  const auto source = open_mwa_fee(APSYN_TEST_DATA "/mwa-fee-synthetic.h5");
  MwaTile dead;
  for (auto& delays : dead.delays) delays.fill(kMwaDeadDipole);
  BOOST_TEST(squared_norm(MwaFeeBeam(source->nearest(150e6), dead).response(1, 0.5)) == 0);
  BOOST_CHECK_THROW(open_mwa_fee(find_beam_file("oskar.h5", beam_data_folders(""))), DataError);
  BOOST_CHECK_THROW(open_mwa_fee(APSYN_TEST_DATA "/beams-dishes.csv"), DataError);
  BOOST_CHECK_THROW(open_mwa_fee("none.h5"), FailureError);
}

BOOST_AUTO_TEST_SUITE_END()
