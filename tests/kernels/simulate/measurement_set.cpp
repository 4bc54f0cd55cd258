// SPDX-License-Identifier: GPL-3.0-or-later
// Simulated visibilities through a Measurement Set, against the measurement equation with directions from
// ERFA.
#include <erfa.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <filesystem>
#include <vector>

#include "kernels/simulate/visibilities.h"
#include "libcore/base/constants.h"
#include "libcore/formats/ms/measurement_set.h"
#include "libcore/measures/coordinates.h"
#include "tests/reference/measurement_equation.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(measurement_set)

namespace {

/// East, north, up of a J2000 direction: UT1 = UTC, no polar motion, no refraction.
std::array<double, 3> apparent(const Site& site, const UtcTime& time, const SkyDirection& direction) {
  double azimuth, zenith_distance, hour_angle, dec, ra, origins;
  BOOST_REQUIRE(eraAtco13(direction.ra_rad, direction.dec_rad, 0, 0, 0, 0, 2400000.5 + double(time.mjd),
                          double(time.picoseconds) / 86400e12, 0, site.lon_rad, site.lat_rad, site.height_m,
                          0, 0, 0, 0, 0, 1, &azimuth, &zenith_distance, &hour_angle, &dec, &ra,
                          &origins) >= 0);
  return {std::sin(zenith_distance) * std::sin(azimuth), std::sin(zenith_distance) * std::cos(azimuth),
          std::cos(zenith_distance)};
}

struct Folder {
  std::filesystem::path path;
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "apsyn-simulate-ms.XXXXXX").string();
    BOOST_REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(sets_agree_with_the_measurement_equation) {
  const Folder folder;
  const std::string path = folder.path / "obs.ms";
  const ArrayLayout layout = builtin_array("mwa-32t");
  const UtcTime start = parse_utc("2024-01-01T12:00:00");
  const SkyDirection centre = parse_sky_direction("02h28m00s -26d42m00s");
  const std::vector<SkyDirection> directions{parse_sky_direction("02h09m40.4s -23d31m28s"),
                                             parse_sky_direction("03h05m07s -27d48m07s")};
  const std::vector<std::array<double, 4>> stokes{{70, 3, -2, 1}, {16, 0, 0, 0}};

  simulate::VisibilitySetup setup;
  setup.channel_hz = {149.5e6, 150.1e6};
  setup.channel_width_hz = 0.6e6;
  setup.integration_s = 4;
  for (const Antenna& antenna : layout.antennas) setup.antenna_enu_m.push_back(antenna.enu_m);
  setup.baselines = all_baselines(layout.antennas.size(), false);
  setup.products = {Product::XX, Product::XY, Product::YX, Product::YY};
  for (const auto& flux : stokes) setup.sky.components.emplace_back().stokes_jy = flux;

  const SkyFrame frame(*layout.site);
  MsDescription description;
  description.layout = layout;
  description.phase_centre = centre;
  description.channel_hz = setup.channel_hz;
  description.channel_width_hz = setup.channel_width_hz;
  description.products = setup.products;
  MeasurementSetWriter writer(path, description, false);
  Buffer<std::complex<float>, 3> data({setup.baselines.size(), 2, 4});
  Buffer<float, 3> weight(data.shape());
  weight.fill(1);
  Buffer<double, 2> uvw_m({setup.baselines.size(), 3});
  std::vector<UtcTime> times;
  for (int index = 0; index < 2; ++index) {
    times.push_back(sample_time(start, 600 * index + 2, 1));
    simulate::SkyRotations rotations;
    rotations.phase_centre = frame.uvw_rotation(times.back(), centre);
    for (const auto& direction : directions)
      rotations.component.push_back(frame.uvw_rotation(times.back(), direction));
    simulate_visibilities(setup, index, rotations, 2, data, uvw_m);
    writer.write({.time_mjd_s = times.back().mjd_seconds(),
                  .interval_s = 4,
                  .exposure_s = 4,
                  .uvw_m = uvw_m,
                  .baselines = &setup.baselines,
                  .data = data,
                  .weight = weight});
  }
  writer.commit();

  MeasurementSetReader reader(path, {});
  MsRows rows;
  double worst = 0, worst_w_m = 0;
  std::size_t n_rows = 0;
  while (reader.read(rows, 1000)) {
    for (std::size_t row = 0; row < rows.ant1.size(); ++row, ++n_rows) {
      const UtcTime& time = times[rows.time_mjd_s[row] > times[0].mjd_seconds() + 1 ? 1 : 0];
      const auto s0 = apparent(*layout.site, time, centre);
      const Vec3 r_i = layout.antennas[rows.ant1[row]].enu_m, r_j = layout.antennas[rows.ant2[row]].enu_m;
      worst_w_m = std::max(worst_w_m, std::abs(rows.uvw_m(row, 2) - dot(r_i - r_j, s0)));
      for (std::size_t chan = 0; chan < 2; ++chan) {
        std::complex<double> expected[4] = {};
        for (std::size_t k = 0; k < directions.size(); ++k) {
          const auto v = reference::visibility({apparent(*layout.site, time, directions[k]), stokes[k]}, r_i,
                                               r_j, s0, setup.channel_hz[chan]);
          for (std::size_t p = 0; p < 4; ++p) expected[p] += v[p / 2][p % 2];
        }
        for (std::size_t p = 0; p < 4; ++p)
          worst = std::max(worst, std::abs(std::complex<double>(rows.data(row, chan, p)) - expected[p]) / 86);
      }
    }
  }
  BOOST_TEST_MESSAGE("visibilities: " << worst << " of the flux; w: " << worst_w_m << " m");
  BOOST_TEST(n_rows == 2 * setup.baselines.size());
  BOOST_TEST(worst < 1e-6);
  BOOST_TEST(worst_w_m <
             3e-8 * 343);  // SkyFrame agrees with ERFA to 1e-8 rad; the longest baseline has 343 m
}

BOOST_AUTO_TEST_SUITE_END()
