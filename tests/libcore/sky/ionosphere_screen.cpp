// SPDX-License-Identifier: GPL-3.0-or-later
// The thin ionospheric layer: where rays meet it, what lies between the grid points, and its file.
#include "libcore/sky/ionosphere_screen.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/base/time.h"
#include "libcore/formats/fits/ionosphere.h"
#include "tests/reference/scratch.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(ionosphere_screen)

namespace {

constexpr double kMjd_s = 60310 * 86400.0 + 43200;

Vec3 towards(double azimuth_deg, double elevation_deg) {
  const double a = azimuth_deg * kRadPerDeg, e = elevation_deg * kRadPerDeg;
  return {std::cos(e) * std::sin(a), std::cos(e) * std::cos(a), std::sin(e)};
}

/// 61 x 41 points, 5 km by 8 km apart, of a function of east and north (km) and the step.
template <class Function>
IonosphereGrid grid_of(Function&& function, std::size_t n_steps = 1) {
  IonosphereGrid grid;
  grid.height_m = 110e3;
  grid.east_m = -150e3, grid.step_east_m = 5e3;
  grid.north_m = -160e3, grid.step_north_m = 8e3;
  grid.time_mjd_s = kMjd_s, grid.step_s = n_steps > 1 ? 120 : 0;
  grid.tec_tecu.resize({n_steps, 41, 61});
  for (std::size_t t = 0; t < n_steps; ++t)
    for (std::size_t j = 0; j < 41; ++j)
      for (std::size_t i = 0; i < 61; ++i)
        grid.tec_tecu(t, j, i) = function(-150 + 5.0 * double(i), -160 + 8.0 * double(j), double(t));
  return grid;
}

struct Crossing {
  double east_km, north_km, cos_zenith;
};

/// By bisection of the height above the sphere along the ray, in long double.
Crossing crossing(const Vec3& x, const Vec3& s, double height_m) {
  using Real = long double;
  const Real earth = 6371008.8L;
  const auto above = [&](Real t) {
    const Real e = x[0] + t * s[0], n = x[1] + t * s[1], u = x[2] + t * s[2] + earth;
    return std::sqrt(e * e + n * n + u * u) - earth - height_m;
  };
  Real near = 0, far = 5e6L;
  for (int i = 0; i < 120; ++i) (above((near + far) / 2) < 0 ? near : far) = (near + far) / 2;
  const Real p[3] = {x[0] + far * s[0], x[1] + far * s[1], x[2] + far * s[2] + earth};
  const Real length = std::sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
  return {double(p[0] / 1e3L), double(p[1] / 1e3L),
          double((p[0] * s[0] + p[1] * s[1] + p[2] * s[2]) / length)};
}

std::string message(const std::function<void()>& body) {
  try {
    body();
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

BOOST_AUTO_TEST_CASE(rays_meet_the_layer_where_they_should) {
  // A quadratic is interpolated exactly, so that what is left is the geometry.
  const auto quadratic = [](double e, double n, double) {
    return 3 + 0.02 * e - 0.03 * n + 1e-4 * e * e - 2e-4 * e * n + 3e-4 * n * n;
  };
  const IonosphereScreen screen(grid_of(quadratic), "screen.fits");
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> azimuth(0, 360), elevation(41, 90), offset(-3000, 3000);
  double worst = 0;
  for (int i = 0; i < 1000; ++i) {
    const Vec3 station{offset(random), offset(random), 0.1 * offset(random)};
    const Vec3 s = towards(azimuth(random), elevation(random));
    const Crossing at = crossing(station, s, 110e3);
    const double expected = quadratic(at.east_km, at.north_km, 0) / at.cos_zenith;
    worst = std::max(worst, std::abs(screen.tec(station, s, 0) / expected - 1));
  }
  BOOST_TEST_MESSAGE("relative error of the TEC: " << worst);
  BOOST_TEST(worst < 1e-12);  // 3e-14
}

BOOST_AUTO_TEST_CASE(the_layer_bends_with_the_earth) {
  const IonosphereScreen screen(grid_of([](double, double, double) { return 1.0; }), "screen.fits");
  // At the horizon the ray leaves through the layer at an angle: sin(zenith angle) = R / (R + h).
  const double sine = 6371008.8 / (6371008.8 + 110e3);
  BOOST_TEST(screen.extended_tec({0, 0, 0}, towards(30, 0), 0) == 1 / std::sqrt(1 - sine * sine),
             boost::test_tools::tolerance(1e-12));
  BOOST_TEST(screen.tec({0, 0, 0}, {0, 0, 1}, 0) == 1);
  BOOST_TEST(screen.extended_tec({0, 0, 0}, towards(30, -20), 0) ==
             screen.extended_tec({0, 0, 0}, towards(30, 0), 0));
}

BOOST_AUTO_TEST_CASE(waves_are_followed_with_continuous_slopes) {
  // Third order: on each axis at most (2 pi step / wavelength)^3 / 20 of the amplitude, at the edges, where
  // Keys' continuation makes the slope wrong by a third of step^2 times the third derivative.
  const double wavelength_km = 60;
  const auto wave = [&](double e, double n, double) {
    return std::sin(kTwoPi * e / wavelength_km) * std::cos(kTwoPi * n / (8.0 / 5 * wavelength_km));
  };
  const IonosphereScreen screen(grid_of(wave), "screen.fits");
  const auto at_zenith = [&](double east_m, double north_m) {  // straight up, where the slant is 1
    return screen.tec({east_m, north_m, 0}, {0, 0, 1}, 0);
  };
  double worst = 0, kink = 0;
  for (double east_km = -149.9; east_km < 149.9; east_km += 0.37) {
    for (double north_km = -159.9; north_km < 159.9; north_km += 3.7)
      worst =
          std::max(worst, std::abs(at_zenith(1e3 * east_km, 1e3 * north_km) - wave(east_km, north_km, 0)));
  }
  const double h_m = 1;
  for (double node_m = -145e3; node_m < 149e3; node_m += 5e3) {
    const double before = at_zenith(node_m, 1234) - at_zenith(node_m - h_m, 1234);
    const double after = at_zenith(node_m + h_m, 1234) - at_zenith(node_m, 1234);
    kink = std::max(kink, std::abs(after - before) / h_m);
  }
  BOOST_TEST_MESSAGE("largest error " << worst << ", largest change of slope " << kink * 1e3 << " per km");
  BOOST_TEST(worst < 2 * std::pow(kTwoPi * 5 / wavelength_km, 3) / 20);  // 0.0083 < 0.0144
  // A kink would be as large as the slope's change over a step, (2 pi / 60 km)^2 x 5 km; the curvature leaves
  // (2 pi / 60 km)^2 x 1 m.
  BOOST_TEST(kink * 1e3 < 3 * std::pow(kTwoPi / wavelength_km, 2) * 1e-3);
}

BOOST_AUTO_TEST_CASE(steps_are_taken_whole) {
  const auto by_step = [](double, double, double t) { return 10 + t; };
  const IonosphereScreen screen(grid_of(by_step, 3), "screen.fits");
  BOOST_TEST(screen.n_steps() == 3);
  BOOST_TEST(screen.step_of(kMjd_s - 59.9) == 0);
  BOOST_TEST(screen.step_of(kMjd_s + 59.9) == 0);
  BOOST_TEST(screen.step_of(kMjd_s + 60.1) == 1);
  BOOST_TEST(screen.step_of(kMjd_s + 299.9) == 2);
  BOOST_TEST(screen.tec({0, 0, 0}, {0, 0, 1}, 2) == 12);
  for (const double time : {kMjd_s - 60.1, kMjd_s + 300.1, std::nan("")})
    BOOST_CHECK_THROW(screen.step_of(time), DataError);
  const std::string text = message([&] { screen.step_of(kMjd_s + 301); });
  BOOST_TEST(text.find("2024-01-01T11:59:00") != std::string::npos, text);
  BOOST_TEST(text.find("2024-01-01T12:05:00") != std::string::npos, text);
  const IonosphereScreen always(grid_of(by_step, 1), "screen.fits");
  BOOST_TEST(always.step_of(0) == 0);
}

BOOST_AUTO_TEST_CASE(rays_beside_the_screen_are_refused) {
  const IonosphereScreen screen(grid_of([](double e, double, double) { return e; }), "screen.fits");
  const Vec3 low = towards(90, 20), set = towards(10, -5);
  BOOST_TEST(!screen.find_tec({0, 0, 0}, low, 0).has_value());
  BOOST_TEST(!screen.find_tec({0, 0, 0}, set, 0).has_value());
  BOOST_TEST(screen.find_tec({0, 0, 0}, towards(90, 50), 0).has_value());
  const std::string text = message([&] { screen.tec({0, 0, 0}, low, 0); });
  for (const char* part : {"screen.fits", "azimuth 90.00", "elevation 20.00", "-150.0 to 150.0 km east",
                           "-160.0 to 160.0 km north", "larger screen"})
    BOOST_TEST(text.find(part) != std::string::npos, text);
  BOOST_TEST(message([&] { screen.tec({0, 0, 0}, set, 0); }).find("below the horizon") != std::string::npos);
  BOOST_TEST(message([&] {
               screen.tec({0, 0, 111e3}, {0, 0, 1}, 0);
             }).find("must be higher") != std::string::npos);
  // continued with the last column, 150 km east
  const Crossing at = crossing({0, 0, 0}, low, 110e3);
  BOOST_TEST(screen.extended_tec({0, 0, 0}, low, 0) == 150 / at.cos_zenith,
             boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(impossible_grids_are_refused) {
  const auto flat = [](double, double, double) { return 1.0; };
  const auto refused = [](IonosphereGrid grid) {
    return message([&] { IonosphereScreen(grid, "screen.fits"); });
  };
  IonosphereGrid grid = grid_of(flat);
  grid.tec_tecu(0, 2, 3) = std::numeric_limits<double>::quiet_NaN();
  BOOST_TEST(refused(std::move(grid)).find("column 4, row 3, step 1") != std::string::npos);
  grid = grid_of(flat);
  grid.step_east_m = -5e3;
  BOOST_TEST(refused(std::move(grid)).find("towards east") != std::string::npos);
  grid = grid_of(flat);
  grid.height_m = 0;
  BOOST_TEST(refused(std::move(grid)).find("height") != std::string::npos);
  grid = grid_of(flat, 2);
  grid.step_s = 0;
  BOOST_TEST(refused(std::move(grid)).find("time") != std::string::npos);
  grid = grid_of(flat, 2);
  grid.time_mjd_s = 1e300;
  BOOST_TEST(refused(std::move(grid)).find("MJD") != std::string::npos);
  grid = grid_of(flat);
  grid.tec_tecu.resize({1, 3, 9});
  BOOST_TEST(refused(std::move(grid)).find("4 x 4") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(phase_has_the_sign_of_the_convention) {
  // 1 TECU at 150 MHz: 40.308 m^3/s^2 x 1e16 / (c nu) = 8.963 turns ahead in phase delay, a negative phase
  BOOST_TEST(ionosphere_phase_rad(1, 150e6) == -56.3198163, boost::test_tools::tolerance(1e-8));
}

BOOST_AUTO_TEST_CASE(files_read_back_as_written) {
  const reference::Scratch scratch;
  const auto wave = [](double e, double n, double t) { return std::sin(0.1 * e + 0.2 * n + t) / 3; };
  for (const std::size_t n_steps : {1, 4}) {
    const IonosphereGrid in = grid_of(wave, n_steps);
    const std::string path = scratch.path("screen.fits");
    write_ionosphere(path, in, {"made by hand"}, true);
    const IonosphereGrid out = read_ionosphere(path);
    BOOST_TEST(out.tec_tecu.shape() == in.tec_tecu.shape());
    BOOST_TEST(std::equal(out.tec_tecu.begin(), out.tec_tecu.end(), in.tec_tecu.begin()));
    BOOST_TEST(out.height_m == in.height_m);
    BOOST_TEST(out.east_m == in.east_m);
    BOOST_TEST(out.step_north_m == in.step_north_m);
    BOOST_TEST(out.time_mjd_s == in.time_mjd_s);
    BOOST_TEST(out.step_s == in.step_s);
  }
  BOOST_CHECK_THROW(write_ionosphere(scratch.path("screen.fits"), grid_of(wave), {}, false), UsageError);
}

BOOST_AUTO_TEST_CASE(malformed_files_are_refused) {
  const reference::Scratch scratch;
  const std::string path = scratch.path("screen.fits");
  write_ionosphere(path, grid_of([](double, double, double) { return 1.0; }, 2), {}, false);
  const std::string good = scratch.read("screen.fits");
  const auto with = [&](std::string keyword, const std::string& card) {
    keyword.resize(8, ' ');
    const std::size_t at = good.find(keyword + "= ");
    BOOST_REQUIRE(at != std::string::npos);
    std::string text = card, bytes = good;
    text.resize(80, ' ');
    scratch.file("screen.fits", bytes.replace(at, 80, text));
    return message([&] { read_ionosphere(path); });
  };
  BOOST_TEST(with("CTYPE1", "CTYPE1  = 'RA---SIN'").find("EAST is needed") != std::string::npos);
  BOOST_TEST(with("CUNIT2", "CUNIT2  = 'km      '").find("CUNIT2") != std::string::npos);
  BOOST_TEST(with("BUNIT", "BUNIT   = 'JY/BEAM '").find("TECU") != std::string::npos);
  BOOST_TEST(with("HEIGHT", "COMMENT no height").find("HEIGHT is missing") != std::string::npos);
  scratch.file("screen.fits", good.substr(0, good.size() - 2880));
  BOOST_TEST(message([&] { read_ionosphere(path); }).find("truncated") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(damaged_files_are_refused_or_read) {
  const reference::Scratch scratch;
  const std::string path = scratch.path("screen.fits");
  write_ionosphere(path, grid_of([](double, double, double) { return 1.0; }, 2), {"made by hand"}, false);
  const std::string good = scratch.read("screen.fits");
  std::mt19937_64 random(7);
  std::size_t n_refused = 0;
  for (int i = 0; i < 400; ++i) {
    std::string bytes = good;
    for (int k = 0; k < 3; ++k) bytes[random() % 2880] = static_cast<char>(' ' + random() % 95);
    if (i % 4 == 0) bytes.resize(random() % bytes.size());
    scratch.file("screen.fits", bytes);
    try {
      IonosphereScreen(read_ionosphere(path), path);
    } catch (const DataError&) {
      ++n_refused;
    }
  }
  BOOST_TEST(n_refused > 100);
}

BOOST_AUTO_TEST_SUITE_END()
