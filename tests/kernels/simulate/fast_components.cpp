// SPDX-License-Identifier: GPL-3.0-or-later
// The single-precision sum over a sky model's components against a literal evaluation of the measurement
// equation.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/simulate/fast_components.h"
#include "libcore/base/constants.h"
#include "libcore/sky/projection.h"
#include "tests/reference/measurement_equation.h"

using namespace apsyn;
using namespace apsyn::simulate;

BOOST_AUTO_TEST_SUITE(fast_components)

namespace {

const SkyDirection kCentre{5.5, -0.6};

struct Rows {
  Buffer<double, 2> uvw_m;
  Buffer<double, 1> path_m;
};
Rows random_rows(std::size_t n, double longest_m) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(-longest_m, longest_m);
  Rows rows{Buffer<double, 2>({n, 3}), Buffer<double, 1>({n})};
  for (double& value : rows.uvw_m) value = uniform(random);
  for (double& value : rows.path_m) value = uniform(random);
  return rows;
}

/// Even steps, a gap, a jump downwards: steady runs and others.
std::vector<double> channels() {
  std::vector<double> hz;
  for (int i = 0; i < 75; ++i) hz.push_back(150e6 + 195.3125e3 * i);
  for (int i = 0; i < 5; ++i) hz.push_back(190e6 + 1e6 * i * i);
  hz.push_back(120e6);
  return hz;
}

SkyModel random_sky(std::size_t n, double radius_rad, bool polarised) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> uniform(-1, 1);
  SkyModel sky;
  for (std::size_t i = 0; i < n; ++i) {
    SkyComponent& component = sky.components.emplace_back();
    component.direction = {kCentre.ra_rad + radius_rad * uniform(random) / std::cos(kCentre.dec_rad),
                           kCentre.dec_rad + radius_rad * uniform(random)};
    component.stokes_jy = {1 + uniform(random), 0, 0, 0};
    if (polarised)
      for (std::size_t s = 1; s < 4; ++s) component.stokes_jy[s] = 0.3 * uniform(random);
    component.reference_freq_hz = 150e6;
    component.spectral_terms = {-0.7};
  }
  return sky;
}

/// The largest error of the planes over the sum of the components' Stokes I.
double largest_error(const SkyModel& sky, const Rows& rows, const std::vector<double>& hz) {
  const FastComponentPredictor predictor(sky, kCentre, hz);
  const std::size_t n_row = rows.uvw_m.extent(0), n_planes = predictor.n_planes();
  Buffer<std::complex<float>, 3> data({n_row, hz.size(), n_planes});
  data.fill({NAN, NAN});
  predictor.predict(rows.uvw_m, rows.path_m, data);
  double worst = 0, total_jy = 0;
  for (const SkyComponent& component : sky.components) total_jy += component.stokes_jy[0];
  for (std::size_t row = 0; row < n_row; ++row)
    for (std::size_t chan = 0; chan < hz.size(); ++chan) {
      std::complex<double> expected[2][2] = {};
      const auto path =
          std::polar(1.0, kTwoPi * std::remainder(rows.path_m(row) * hz[chan] / kSpeedOfLight_m_s, 1.0));
      for (const SkyComponent& component : sky.components) {
        const DirectionCosines at = project(kCentre, component.direction);
        const auto v = reference::visibility({{at.l, at.m, at.n}, flux_at(component, hz[chan])},
                                             {rows.uvw_m(row, 0), rows.uvw_m(row, 1), rows.uvw_m(row, 2)},
                                             {0, 0, 0}, {0, 0, 1}, hz[chan]);
        for (std::size_t p = 0; p < 4; ++p) expected[p / 2][p % 2] += path * v[p / 2][p % 2];
      }
      std::complex<double> plane[4] = {};
      for (std::size_t s = 0; s < n_planes; ++s) plane[s] = data(row, chan, s);
      const std::complex<double> j{0, 1};
      const std::complex<double> found[2][2] = {{plane[0] + plane[1], plane[2] + j * plane[3]},
                                                {plane[2] - j * plane[3], plane[0] - plane[1]}};
      for (std::size_t p = 0; p < 4; ++p) {
        const double error = std::abs(found[p / 2][p % 2] - expected[p / 2][p % 2]);
        BOOST_TEST_REQUIRE(std::isfinite(error));
        worst = std::max(worst, error);
      }
    }
  BOOST_TEST_MESSAGE("largest error: " << worst / total_jy);
  return worst / total_jy;
}

}  // namespace

BOOST_AUTO_TEST_CASE(intensity_agrees_with_the_measurement_equation) {
  BOOST_TEST(largest_error(random_sky(21, 0.03, false), random_rows(45, 3e3), channels()) < 1e-6);
}

BOOST_AUTO_TEST_CASE(long_baselines_and_a_wide_field_keep_their_phases) {
  BOOST_TEST(largest_error(random_sky(3, 0.4, false), random_rows(17, 100e3), channels()) < 2e-6);
}

BOOST_AUTO_TEST_CASE(polarised_components_agree_with_the_measurement_equation) {
  BOOST_TEST(largest_error(random_sky(6, 0.1, true), random_rows(33, 3e3), channels()) < 2e-6);
}

BOOST_AUTO_TEST_CASE(gaussians_are_drawn_in_the_plane_across_their_direction) {
  SkyModel sky;
  sky.components.resize(1);
  sky.components[0].direction = kCentre;
  sky.components[0].stokes_jy = {2, 0, 0, 0};
  sky.components[0].major_rad = 1.5e-3, sky.components[0].minor_rad = 4e-4;
  sky.components[0].position_angle_rad = 0.6;
  const std::vector<double> hz = channels();
  const Rows rows = random_rows(20, 500);
  Buffer<std::complex<float>, 3> data({20, hz.size(), 1});
  data.fill({NAN, NAN});
  FastComponentPredictor(sky, kCentre, hz).predict(rows.uvw_m, {}, data);
  for (std::size_t row = 0; row < 20; ++row)
    for (std::size_t chan : {0u, 74u, 78u}) {
      const double per_m = hz[chan] / kSpeedOfLight_m_s;
      const double expected =
          2 * reference::gaussian_transform(rows.uvw_m(row, 0) * per_m, rows.uvw_m(row, 1) * per_m, 1.5e-3,
                                            4e-4, 0.6);
      BOOST_TEST(std::abs(std::complex<double>(data(row, chan, 0)) - expected) < 2e-6);
    }
}

BOOST_AUTO_TEST_CASE(a_row_is_the_same_whatever_rows_are_beside_it) {
  const SkyModel sky = random_sky(5, 0.03, false);
  const std::vector<double> hz = channels();
  const Rows rows = random_rows(19, 3e3);
  const FastComponentPredictor predictor(sky, kCentre, hz);
  Buffer<std::complex<float>, 3> all({19, hz.size(), 1}), one({1, hz.size(), 1});
  predictor.predict(rows.uvw_m, {}, all);
  for (std::size_t row = 0; row < 19; ++row) {
    one.fill({NAN, NAN});
    predictor.predict({&rows.uvw_m(row, 0), {1, 3}}, {}, one);
    BOOST_TEST(std::equal(one.begin(), one.end(), &all(row, 0, 0)));
  }
}

BOOST_AUTO_TEST_CASE(shapes_that_disagree_are_refused) {
  const Rows rows = random_rows(2, 10);
  Buffer<std::complex<float>, 3> data({2, 1, 4});
  BOOST_CHECK_THROW(
      FastComponentPredictor(random_sky(1, 0.1, false), kCentre, {1e8}).predict(rows.uvw_m, {}, data),
      std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()
