// SPDX-License-Identifier: GPL-3.0-or-later
// Visibilities through a thin ionosphere against the measurement equation, and the statistics of random ones.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <vector>

#include "kernels/simulate/random_ionosphere.h"
#include "kernels/simulate/visibilities.h"
#include "libcore/base/error.h"
#include "tests/reference/measurement_equation.h"
#include "tests/reference/thin_screen.h"

using namespace apsyn;
using namespace apsyn::simulate;

BOOST_AUTO_TEST_SUITE(ionosphere)

namespace {

/// Rows u, v, w towards a point at azimuth (from north) and elevation; v in the plane of the zenith.
Mat3 towards(double azimuth_rad, double elevation_rad) {
  const double sa = std::sin(azimuth_rad), ca = std::cos(azimuth_rad);
  const double se = std::sin(elevation_rad), ce = std::cos(elevation_rad);
  return {Vec3{ca, -sa, 0}, Vec3{-se * sa, -se * ca, ce}, Vec3{ce * sa, ce * ca, se}};
}

RandomIonosphere turbulence() {
  RandomIonosphere setup;
  setup.rms_tecu = 0.3;
  setup.outer_scale_m = 20e3;
  setup.height_m = 100e3;
  setup.size_m = 128e3;
  setup.spacing_m = 1e3;
  setup.step_s = 120;
  setup.n_steps = 64;
  setup.seed = 5;
  return setup;
}

IonosphereGrid make(const RandomIonosphere& setup, unsigned n_threads = 2) {
  return random_ionosphere(setup, plan_random_ionosphere(setup, n_threads), n_threads);
}

}  // namespace

BOOST_AUTO_TEST_CASE(visibilities_agree_with_the_measurement_equation) {
  // A quadratic is interpolated exactly, so that the grid leaves no error of its own.
  const auto vertical_tec = [](double east_m, double north_m) {
    const double e = 1e-5 * east_m, n = 1e-5 * north_m;
    return 5 + 0.8 * e - 1.3 * n + 0.7 * e * e - 0.4 * e * n + 0.9 * n * n;
  };
  IonosphereGrid grid;
  grid.height_m = 250e3;
  grid.east_m = -600e3, grid.north_m = -500e3;
  grid.step_east_m = 20e3, grid.step_north_m = 25e3;
  grid.tec_tecu.resize({1, 41, 61});
  for (std::size_t j = 0; j < 41; ++j)
    for (std::size_t i = 0; i < 61; ++i)
      grid.tec_tecu(0, j, i) = vertical_tec(-600e3 + 20e3 * double(i), -500e3 + 25e3 * double(j));
  const IonosphereScreen screen(grid, "screen.fits");

  VisibilitySetup setup;
  setup.channel_hz = {80e6, 151.3e6, 400e6};
  setup.channel_width_hz = 40e3;
  setup.integration_s = 2;
  setup.antenna_enu_m = {{0, 0, 0}, {310.5, -20, 1}, {-3011, 150, -4}, {77, 2500, 12}};
  setup.baselines = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
  setup.products = {Product::XX, Product::XY, Product::YX, Product::YY};
  const std::vector<std::array<double, 4>> stokes{{3, 0.5, -1, 0.7}, {1.5, 0, 0, 0}};
  for (const auto& flux : stokes) setup.sky.components.emplace_back().stokes_jy = flux;
  SkyRotations rotations;
  rotations.phase_centre = towards(0.4, 1.3);
  rotations.component = {towards(2.0, 0.9), towards(0.1, 0.6)};
  rotations.tec_tecu.resize({2, 4});
  for (std::size_t s = 0; s < 2; ++s)
    for (std::size_t ant = 0; ant < 4; ++ant)
      rotations.tec_tecu(s, ant) = screen.tec(setup.antenna_enu_m[ant], rotations.component[s][2], 0);

  Buffer<std::complex<float>, 3> data({6, 3, 4});
  Buffer<double, 2> uvw_m({6, 3});
  data.fill({NAN, NAN});
  simulate_visibilities(setup, 0, rotations, 2, data, uvw_m);
  double worst = 0, min_turn = 1e9;
  for (std::size_t b = 0; b < 6; ++b) {
    const auto& [i, j] = setup.baselines[b];
    for (std::size_t chan = 0; chan < 3; ++chan) {
      std::complex<double> expected[4] = {};
      for (std::size_t s = 0; s < 2; ++s) {
        const Vec3& unit = rotations.component[s][2];
        const auto phase = [&](std::size_t ant) {
          return reference::screen_phase_rad(setup.antenna_enu_m[ant], unit, 250e3, vertical_tec,
                                             setup.channel_hz[chan]);
        };
        min_turn = std::min(min_turn, std::abs(phase(i) - phase(j)));
        const auto v =
            reference::visibility({unit, stokes[s]}, setup.antenna_enu_m[i], setup.antenna_enu_m[j],
                                  rotations.phase_centre[2], setup.channel_hz[chan]);
        for (std::size_t p = 0; p < 4; ++p)
          expected[p] += v[p / 2][p % 2] * std::polar(1.0, phase(i) - phase(j));
      }
      for (std::size_t p = 0; p < 4; ++p)
        worst = std::max(worst, std::abs(std::complex<double>(data(b, chan, p)) - expected[p]) / 4.5);
    }
  }
  BOOST_TEST_MESSAGE("largest error relative to the flux: " << worst << "; least phase " << min_turn);
  // float32 visibilities; the constant of the phase has 9 digits, of up to 8 rad between antennas
  BOOST_TEST(worst < 1e-6);
  BOOST_TEST(min_turn > 1e-2);

  rotations.tec_tecu.resize({2, 3});
  BOOST_CHECK_THROW(simulate_visibilities(setup, 0, rotations, 2, data, uvw_m), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(turbulence_has_the_structure_that_was_asked_for) {
  const RandomIonosphere setup = turbulence();
  const IonosphereGrid grid = make(setup);
  const auto [n_steps, n_north, n_east] = grid.tec_tecu.shape();
  BOOST_TEST(n_east == 129);
  BOOST_TEST(n_north == 129);
  BOOST_TEST(grid.east_m == -64e3);
  double square = 0;
  for (const double value : grid.tec_tecu) square += value * value;
  const double rms = std::sqrt(square / double(grid.tec_tecu.size()));
  // 64 screens of 6.4 outer scales a side: some thousand independent patches
  BOOST_TEST_MESSAGE("rms " << rms);
  BOOST_TEST(std::abs(rms / 0.3 - 1) < 0.03);
  for (const std::size_t r : {2, 5, 10, 20, 40}) {
    double along_east = 0, along_north = 0;
    for (std::size_t t = 0; t < n_steps; ++t) {
      for (std::size_t j = 0; j < n_north - r; ++j) {
        for (std::size_t i = 0; i < n_east - r; ++i) {
          along_east += std::pow(grid.tec_tecu(t, j, i + r) - grid.tec_tecu(t, j, i), 2);
          along_north += std::pow(grid.tec_tecu(t, j + r, i) - grid.tec_tecu(t, j, i), 2);
        }
      }
    }
    const double count = double(n_steps * (n_north - r) * (n_east - r));
    const double expected = 0.09 * reference::structure_function(double(r), 20);
    BOOST_TEST_MESSAGE("r = " << r << ": " << along_east / count / expected << ", "
                              << along_north / count / expected << " of the expected structure function");
    BOOST_TEST(std::abs(along_east / count / expected - 1) < 0.06);
    BOOST_TEST(std::abs(along_north / count / expected - 1) < 0.06);
  }
}

BOOST_AUTO_TEST_CASE(screens_depend_on_seed_and_step_alone) {
  RandomIonosphere setup = turbulence();
  setup.size_m = 40e3;
  setup.n_steps = 5;
  const IonosphereGrid five = make(setup, 1);
  BOOST_TEST(std::equal(five.tec_tecu.begin(), five.tec_tecu.end(), make(setup, 3).tec_tecu.begin()));
  setup.n_steps = 2;
  const IonosphereGrid two = make(setup);
  BOOST_TEST(std::equal(two.tec_tecu.begin(), two.tec_tecu.end(), five.tec_tecu.begin()));
  BOOST_TEST(two.tec_tecu(0, 3, 4) != two.tec_tecu(1, 3, 4));
  setup.seed = 6;
  BOOST_TEST(make(setup).tec_tecu(0, 3, 4) != two.tec_tecu(0, 3, 4));
}

BOOST_AUTO_TEST_CASE(impossible_turbulence_is_refused) {
  RandomIonosphere setup = turbulence();
  setup.spacing_m = 1;
  BOOST_CHECK_THROW(plan_random_ionosphere(setup, 1), UsageError);
  setup = turbulence();
  setup.outer_scale_m = 0;
  BOOST_CHECK_THROW(plan_random_ionosphere(setup, 1), UsageError);
  setup = turbulence();
  setup.size_m = 1;  // still a grid that can be interpolated
  const IonosphereGrid small = make(setup);
  BOOST_CHECK_NO_THROW(IonosphereScreen(small, "small"));
  BOOST_TEST(small.east_m == -2e3);
}

BOOST_AUTO_TEST_SUITE_END()
