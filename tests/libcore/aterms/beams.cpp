// SPDX-License-Identifier: GPL-3.0-or-later
// A-terms from analytic beams and the thin ionosphere against their definitions in float64.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>

#include "libcore/aterms/aterms.h"
#include "libcore/base/error.h"
#include "libcore/formats/fits/ionosphere.h"
#include "libcore/formats/fits/metafits.h"
#include "libcore/measures/coordinates.h"
#include "libcore/sky/ionosphere_screen.h"
#include "libcore/sky/projection.h"
#include "tests/libcore/aterms/aterm_files.h"
#include "tests/reference/beams.h"

using namespace apsyn;
using namespace aterm_test;

BOOST_AUTO_TEST_SUITE(beams)

namespace {

constexpr double kTime_mjd_s = 56859.84 * 86400;
constexpr double kFloat = 3 * 6e-8;
using Jones = Buffer<std::complex<float>, 4>;
using Matrix = std::array<std::complex<double>, 4>;

template <class Truth>
double worst_difference(const Jones& jones, Truth truth) {
  double worst = 0;
  for (std::size_t station = 0; station < jones.extent(0); ++station)
    for (std::size_t y = 0; y < jones.extent(1); ++y)
      for (std::size_t x = 0; x < jones.extent(2); ++x) {
        const Matrix expected = truth(station, y, x);
        for (std::size_t i = 0; i < 4; ++i)
          worst = std::max(worst, std::abs(std::complex<double>(jones(station, y, x, i)) - expected[i]));
      }
  return worst;
}

/// The sky above three_stations() in the middle of a minute.
struct Sky {
  SkyFrame frame{*three_stations().site};
  UtcTime time = from_mjd_seconds((std::floor(kTime_mjd_s / 60) + 0.5) * 60);

  /// The direction and the sky's north and east there, by differences.
  std::array<Vec3, 3> at(const SkyDirection& direction) const {
    constexpr double kStep_rad = 1e-4;
    const Vec3 s = frame.enu_from_direction(time, direction);
    const Vec3 north = frame.enu_from_direction(time, {direction.ra_rad, direction.dec_rad + kStep_rad}) -
                       frame.enu_from_direction(time, {direction.ra_rad, direction.dec_rad - kStep_rad});
    const Vec3 east = frame.enu_from_direction(time, {direction.ra_rad + kStep_rad, direction.dec_rad}) -
                      frame.enu_from_direction(time, {direction.ra_rad - kStep_rad, direction.dec_rad});
    const auto unit = [](const Vec3& a) {
      const double r = std::sqrt(dot(a, a));
      return Vec3{a[0] / r, a[1] / r, a[2] / r};
    };
    return {s, unit(north), unit(east)};
  }
};

Matrix dipoles(const Vec3& x, const Vec3& y, const std::array<Vec3, 3>& sky, double height_m,
               double freq_hz) {
  const auto voltage = [&](const Vec3& dipole, const Vec3& field) {
    return reference::dipole_over_ground(dipole, sky[0], field, height_m, freq_hz);
  };
  return {voltage(x, sky[1]), voltage(x, sky[2]), voltage(y, sky[1]), voltage(y, sky[2])};
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_airy_disc_has_its_nulls_in_place) {
  const Folder folder;
  const auto model = open_aterms(
      folder.file("a.conf", "aterms = [ beam ]\nbeam.model = airy\nbeam.diameter = 13.5m"), three_stations());
  BOOST_TEST(model->slot_of(0) == model->slot_of(kTime_mjd_s));
  // The first null, x = 3.83170597, lies on the pixels (1, 3) and (5, 3).
  const double freq_hz = 1.4e9;
  const double null_rad = 3.831705970207512 * kSpeedOfLight_m_s / (kPi * 13.5 * freq_hz);
  const AtermGrid grid{{1, 0.4}, 7, null_rad / 2, null_rad / 3};
  const Jones jones = evaluate(*model, kTime_mjd_s, freq_hz, grid);
  BOOST_TEST(worst_difference(jones, [&](std::size_t, std::size_t y, std::size_t x) {
               const double voltage = reference::lit_disc(std::hypot(grid.l(x), grid.m(y)), 13.5, freq_hz);
               return Matrix{voltage, 0, 0, voltage};
             }) < kFloat);  // 3e-8
  BOOST_TEST(std::abs(jones(0, 3, 1, 0)) < 1e-9);
  BOOST_TEST(jones(0, 3, 3, 0).real() == 1);
  BOOST_TEST(jones(0, 3, 0, 0).real() < -0.1);  // the first sidelobe is negative
}

BOOST_AUTO_TEST_CASE(a_gaussian_beam_lies_where_it_points) {
  const Folder folder;
  const auto model = open_aterms(folder.file("a.conf",
                                             "aterms = [ beam ]\nbeam.model = gaussian\nbeam.fwhm = 10deg\n"
                                             "beam.frequency = 100MHz\nbeam.pointing = [ 60deg 20deg ]"),
                                 three_stations());
  const AtermGrid grid{{61 * kRadPerDeg, 22 * kRadPerDeg}, 6, 0.03, 0.03};
  BOOST_TEST(
      worst_difference(evaluate(*model, 0, 200e6, grid), [&](std::size_t, std::size_t y, std::size_t x) {
        const double distance_deg =
            separation_rad({60 * kRadPerDeg, 20 * kRadPerDeg}, unproject(grid.centre, grid.l(x), grid.m(y))) /
            kRadPerDeg;
        // power 2^-(2 distance / fwhm)^2, fwhm = 5 deg at 200 MHz
        const double power = std::exp2(-std::pow(2 * distance_deg / 5, 2));
        return Matrix{std::sqrt(power), 0, 0, std::sqrt(power)};
      }) < kFloat);
}

// Fixed dipoles far from the meridian: parallactic angle, foreshortening and the ground plane, for any
// azimuths of the dipoles.
BOOST_AUTO_TEST_CASE(dipoles_see_the_sky_turn) {
  const Folder folder;
  const Sky sky;
  const SkyDirection zenith = sky.frame.zenith(sky.time);
  const auto model = open_aterms(folder.file("a.conf",
                                             "aterms = [ beam ]\nbeam.model = dipole\nbeam.height = 0.9m\n"
                                             "beam.x_azimuth = 45deg\nbeam.y_azimuth = 135deg\n"),
                                 three_stations());
  BOOST_TEST(model->slot_of(kTime_mjd_s + 60) == model->slot_of(kTime_mjd_s) + 1);
  const Vec3 x_dipole{std::sqrt(0.5), std::sqrt(0.5), 0}, y_dipole{std::sqrt(0.5), -std::sqrt(0.5), 0};
  for (const double ra_off : {-0.8, 0.5}) {
    const AtermGrid grid{{zenith.ra_rad + ra_off, zenith.dec_rad + 0.3}, 8, 0.1, 0.1};
    const double worst = worst_difference(
        evaluate(*model, kTime_mjd_s, 60e6, grid), [&](std::size_t, std::size_t y, std::size_t x) {
          return dipoles(x_dipole, y_dipole, sky.at(unproject(grid.centre, grid.l(x), grid.m(y))), 0.9, 60e6);
        });
    BOOST_TEST(worst < 3e-7);  // 1e-7 of float and of the differences
  }
}

BOOST_AUTO_TEST_CASE(mwa_tile_points_and_cancels) {
  const Folder folder;
  const Sky sky;
  const SkyDirection zenith = sky.frame.zenith(sky.time);
  // Pointed to the east by 3 steps per column: the eastern dipoles wait longest. One dipole is dead.
  const std::array<int, 16> delays{0, 3, 6, 9, 0, 3, 32, 9, 0, 3, 6, 9, 0, 3, 6, 9};
  const auto model = open_aterms(folder.file("a.conf",
                                             "aterms = [ beam ]\nbeam.model = mwa\n"
                                             "beam.delays = [ 0 3 6 9, 0 3 32 9, 0 3 6 9,\n  0 3 6 9 ]"),
                                 three_stations());
  const AtermGrid grid{zenith, 17, 0.11, 0.11};
  const double freq_hz = 150e6;
  const Jones jones = evaluate(*model, kTime_mjd_s, freq_hz, grid);
  BOOST_TEST(worst_difference(jones, [&](std::size_t, std::size_t y, std::size_t x) {
               double l = grid.l(x), m = grid.m(y);
               if (std::hypot(l, m) >= 1)
                 return Matrix{jones(0, y, x, 0), jones(0, y, x, 1), jones(0, y, x, 2), jones(0, y, x, 3)};
               const auto local = sky.at(unproject(zenith, l, m));
               Matrix truth = dipoles({1, 0, 0}, {0, 1, 0}, local, 0.278, freq_hz);
               for (auto& element : truth) element *= reference::mwa_tile(delays, local[0], freq_hz);
               return truth;
             }) < 3e-7);
  // Below and at the horizon: nothing, and no NaN.
  BOOST_TEST(std::abs(jones(0, 0, 0, 0)) < 1e-4);  // aberration lifts it by 1e-4 rad
  // X is the dipole along east, the sky's X is north: at the zenith X sees Y and Y sees X.
  const AtermGrid up{zenith, 1, 0.1, 0.1};
  const auto zero = open_aterms(folder.file("b.conf",
                                            "aterms = [ beam ]\nbeam.model = mwa\n"
                                            "beam.delays = [ 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 ]"),
                                three_stations());
  // The direction of the apparent zenith is exact to 1e-7 or so.
  BOOST_TEST(worst_difference(evaluate(*zero, kTime_mjd_s, freq_hz, up), [](auto...) {
               return Matrix{0, 1, 1, 0};
             }) < 1e-4);
  // 3 steps a column point to sin = 3 x 435 ps c / 1.1 m = 0.36 in the east: 0.83 there, 0.27 on the other
  // side.
  BOOST_TEST(std::abs(jones(0, 8, 5, 1)) > 2.5 * std::abs(jones(0, 8, 11, 1)));
}

BOOST_AUTO_TEST_CASE(differential_beam_is_one_at_the_centre) {
  const Folder folder;
  const Sky sky;
  const SkyDirection zenith = sky.frame.zenith(sky.time);
  const std::string text =
      "aterms = [ beam ]\nbeam.model = dipole\nbeam.height = 0.5m\nbeam.usechannelfreq = true\n";
  const auto plain = open_aterms(folder.file("a.conf", text), three_stations());
  const auto model = open_aterms(folder.file("b.conf", text + "beam.differential = true"), three_stations());
  const AtermGrid grid{{zenith.ra_rad + 0.4, zenith.dec_rad - 0.2}, 5, 0.1, 0.1};
  const Jones j = evaluate(*plain, kTime_mjd_s, 100e6, grid), d = evaluate(*model, kTime_mjd_s, 100e6, grid);
  // J(centre) times the differential beam is the beam.
  const auto element = [&](const Jones& from, std::size_t y, std::size_t x, std::size_t i) {
    return std::complex<double>(from(0, y, x, i));
  };
  BOOST_TEST(worst_difference(j, [&](std::size_t, std::size_t y, std::size_t x) {
               Matrix product;
               for (std::size_t i = 0; i < 4; ++i)
                 product[i] = element(j, 2, 2, i & 2) * element(d, y, x, i & 1) +
                              element(j, 2, 2, (i & 2) + 1) * element(d, y, x, (i & 1) + 2);
               return product;
             }) < 4 * kFloat);
  BOOST_TEST(std::abs(d(0, 2, 2, 0) - 1.0f) < 2 * kFloat);
  BOOST_TEST(std::abs(d(0, 2, 2, 1)) < 2 * kFloat);
}

BOOST_AUTO_TEST_CASE(delays_come_from_a_metafits) {
  const std::string path = APSYN_TEST_DATA "/1090008640.metafits";
  const Folder folder;
  const ArrayLayout layout = read_metafits(path);
  const auto model = open_aterms(
      folder.file("a.conf", "aterms = [ beam ]\nbeam.model = mwa\nbeam.metafits = " + path), layout);
  const auto same = open_aterms(folder.file("b.conf",
                                            "aterms = [ beam ]\nbeam.model = mwa\n"
                                            "beam.delays = [ 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 ]"),
                                layout);
  const auto tiles = read_metafits_delays(path);
  BOOST_TEST(tiles.size() == 128u);
  // All tiles point to the zenith, some dipoles are dead: of Tile104 the sixth in X, of Tile014 the 13th and
  // last in Y.
  BOOST_TEST((tiles.at("Tile104")[0] == MwaDelays{0, 0, 0, 0, 0, 32}));
  BOOST_TEST((tiles.at("Tile104")[1] == MwaDelays{}));
  BOOST_TEST((tiles.at("Tile014")[1] == MwaDelays{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 32}));
  const AtermGrid grid{{0, -0.47}, 6, 0.2, 0.2};
  const Jones a = evaluate(*model, kTime_mjd_s, 180e6, grid), b = evaluate(*same, kTime_mjd_s, 180e6, grid);
  const SkyFrame frame(*layout.site);
  const UtcTime time = from_mjd_seconds((std::floor(kTime_mjd_s / 60) + 0.5) * 60);
  BOOST_TEST(worst_difference(a, [&](std::size_t station, std::size_t y, std::size_t x) {
               const auto& delays = tiles.at(layout.antennas[station].name);
               const Vec3 s = frame.enu_from_direction(time, unproject(grid.centre, grid.l(x), grid.m(y)));
               Matrix truth;
               for (std::size_t i = 0; i < 4; ++i)
                 truth[i] =
                     std::complex<double>(b(station, y, x, i)) *
                     (reference::mwa_tile(delays[i / 2], s, 180e6) / reference::mwa_tile({}, s, 180e6));
               return truth;
             }) < 1e-5);  // float over the smallest of the pattern
  BOOST_CHECK_EXCEPTION(open_aterms(folder.path + "/a.conf", three_stations()), DataError,
                        [](const DataError& error) {
                          return std::string(error.what()).find("no tile 'a'") != std::string::npos;
                        });
}

// Through the layer, as seen in the visibilities: V_pq of a screen against the TEC on either ray.
BOOST_AUTO_TEST_CASE(a_thin_ionosphere_turns_phases_by_its_electrons) {
  const Folder folder;
  const Sky sky;
  IonosphereGrid iono;
  iono.height_m = 100e3;
  iono.east_m = iono.north_m = -300e3;
  iono.step_east_m = iono.step_north_m = 5e3;
  iono.time_mjd_s = sky.time.mjd_seconds() - 60;
  iono.step_s = 120;
  iono.tec_tecu.resize({2, 121, 121});
  for (std::size_t t = 0; t < 2; ++t)
    for (std::size_t y = 0; y < 121; ++y)
      for (std::size_t x = 0; x < 121; ++x)
        iono.tec_tecu(t, y, x) = 20 + 2 * std::sin(0.11 * double(x) + double(t)) * std::cos(0.07 * double(y));
  write_ionosphere(folder.path + "/i.fits", iono, {}, false);
  const auto model =
      open_aterms(folder.file("a.conf", "aterms = [ screen ]\nscreen.images = [ i.fits ]"), three_stations());
  const IonosphereScreen screen(iono, "test");
  const SkyDirection zenith = sky.frame.zenith(sky.time);
  const AtermGrid grid{{zenith.ra_rad + 0.2, zenith.dec_rad}, 10, 0.1, 0.1};
  const Jones jones = evaluate(*model, kTime_mjd_s, 150e6, grid);
  const auto antennas = three_stations().antennas;
  double worst = 0;
  for (std::size_t p = 0; p < 3; ++p)
    for (std::size_t q = 0; q < 3; ++q)
      for (std::size_t y = 0; y < 10; ++y)
        for (std::size_t x = 0; x < 10; ++x) {
          const Vec3 s = sky.frame.enu_from_direction(sky.time, unproject(grid.centre, grid.l(x), grid.m(y)));
          const std::size_t step = screen.step_of(sky.time.mjd_seconds());
          const double tec = screen.tec(antennas[p].enu_m, s, step) - screen.tec(antennas[q].enu_m, s, step);
          const std::complex<double> truth = std::polar(1.0, kTecPhase * tec / 150e6);
          const std::complex<double> got =
              std::complex<double>(jones(p, y, x, 0)) * std::conj(std::complex<double>(jones(q, y, x, 0)));
          worst = std::max(worst, std::abs(got - truth));
        }
  BOOST_TEST(worst < 1e-6);  // 3e-7: 1e-8 rad of direction at 4000 rad per radian, and float
  BOOST_TEST(std::abs(std::arg(jones(0, 5, 5, 0) * std::conj(jones(1, 5, 5, 0)))) > 0.01);
  BOOST_TEST(std::abs(jones(0, 5, 5, 1)) == 0);
  BOOST_CHECK_THROW(model->slot_of(kTime_mjd_s + 1000), DataError);
  BOOST_TEST(model->warnings(grid, kFreq_hz).empty());
}

// An observation begins anywhere in a minute, the update interval, and its screens need to begin no earlier.
BOOST_AUTO_TEST_CASE(screens_begin_with_the_observation) {
  const Folder folder;
  const Sky sky;
  const double begin_mjd_s = 60 * std::floor(sky.time.mjd_seconds() / 60) + 30;
  IonosphereGrid iono;
  iono.height_m = 100e3;
  iono.east_m = iono.north_m = -300e3;
  iono.step_east_m = iono.step_north_m = 50e3;
  iono.step_s = 120;
  iono.time_mjd_s = begin_mjd_s + iono.step_s / 2;
  iono.tec_tecu.resize({1, 13, 13});
  iono.tec_tecu.fill(20);
  write_ionosphere(folder.path + "/i.fits", iono, {}, false);
  const auto model =
      open_aterms(folder.file("a.conf", "aterms = [ screen ]\nscreen.images = [ i.fits ]"), three_stations());
  const SkyDirection zenith = sky.frame.zenith(sky.time);
  const AtermGrid grid{{zenith.ra_rad, zenith.dec_rad}, 4, 0.1, 0.1};
  BOOST_CHECK_NO_THROW(evaluate(*model, begin_mjd_s + 1, 150e6, grid));
  BOOST_CHECK_THROW(model->slot_of(begin_mjd_s - 1), DataError);
}

// As in WSClean: gains of the receivers, which come last, stand to the left of the beam.
BOOST_AUTO_TEST_CASE(later_entries_multiply_from_the_left) {
  const Folder folder;
  const Sky sky;
  const SkyDirection zenith = sky.frame.zenith(sky.time);
  const AtermGrid grid{zenith, 4, 0.1, 0.1};
  const auto axes =
      joined(sky_axes(zenith, 6, 6, -5, 5),
             {{"MATRIX", 4}, {"ANTENNA", 1}, {"FREQ", 1, 150e6}, {"TIME", 2, kTime_mjd_s - 500, 1000}});
  folder.file("d.fits",
              cube_text(axes, -64, [](const auto& i) { return 1.0 + double(i[2]) + 10 * double(i[5]); }));
  const std::string terms = "diagonal.images = [ d.fits ]\nbeam.model = dipole\nbeam.height = 0.5m\n";
  const auto beam = open_aterms(folder.file("a.conf", "aterms = [ beam ]\n" + terms), three_stations());
  const auto both =
      open_aterms(folder.file("b.conf", "aterms = [ beam, diagonal ]\n" + terms), three_stations());
  for (const double time : {kTime_mjd_s - 70, kTime_mjd_s + 70}) {
    const double step = time < kTime_mjd_s ? 0 : 10;
    const Jones j = evaluate(*beam, time, 150e6, grid), product = evaluate(*both, time, 150e6, grid);
    const std::complex<double> xx{1 + step, 2 + step}, yy{3 + step, 4 + step};
    BOOST_TEST(worst_difference(product, [&](std::size_t station, std::size_t y, std::size_t x) {
                 const auto e = [&](std::size_t i) { return std::complex<double>(j(station, y, x, i)); };
                 return Matrix{xx * e(0), xx * e(1), yy * e(2), yy * e(3)};
               }) < 20 * kFloat);
  }
  // A slot ends when either does: minutes of the beam and the middle between the two steps.
  std::size_t changes = 0;
  for (double time = kTime_mjd_s - 90; time < kTime_mjd_s + 90; time += 1)
    changes += both->slot_of(time) != both->slot_of(time + 1);
  BOOST_TEST(changes == 4u);
}

BOOST_AUTO_TEST_SUITE_END()
