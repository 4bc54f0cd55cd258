// SPDX-License-Identifier: GPL-3.0-or-later
// Visibilities of a sky model at given uvw against a literal evaluation of the measurement equation.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

#include "kernels/simulate/components.h"
#include "libcore/base/constants.h"
#include "libcore/sky/projection.h"
#include "libcore/visibility/stokes.h"
#include "tests/reference/measurement_equation.h"

using namespace apsyn;
using namespace apsyn::simulate;

BOOST_AUTO_TEST_SUITE(components)

namespace {

const SkyDirection kCentre{5.5, -0.6};

SkyComponent component_at(const SkyDirection& direction, const std::array<double, 4>& stokes) {
  SkyComponent component;
  component.direction = direction;
  component.stokes_jy = stokes;
  return component;
}

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
  for (std::size_t axis = 0; axis < 3; ++axis) rows.uvw_m(0, axis) = 0;  // an autocorrelation
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

}  // namespace

BOOST_AUTO_TEST_CASE(all_of_the_sky_agrees_with_the_measurement_equation) {
  SkyModel sky;
  sky.components = {component_at({5.52, -0.61}, {3, 0.5, -1, 0.7}), component_at({5.1, -0.2}, {1.5, 0, 0, 0}),
                    component_at({5.5 - kPi, 0.5}, {2, 0, 0.3, 0})};  // the last is behind, n < 0
  sky.components[1].reference_freq_hz = 150e6;
  sky.components[1].spectral_terms = {-0.8};
  const std::vector<double> hz = channels();
  const Rows rows = random_rows(40, 20e3);
  Buffer<std::complex<float>, 3> data({40, hz.size(), 4}), threaded(data.shape());
  data.fill({NAN, NAN});
  const ComponentPredictor predictor(sky, kCentre, hz);
  predictor.predict(rows.uvw_m, rows.path_m, 1, data);
  predictor.predict(rows.uvw_m, rows.path_m, 3, threaded);
  BOOST_TEST(std::equal(data.begin(), data.end(), threaded.begin()));

  double worst = 0;
  for (std::size_t row = 0; row < 40; ++row)
    for (std::size_t chan = 0; chan < hz.size(); ++chan) {
      std::complex<double> expected[4] = {};
      for (const SkyComponent& component : sky.components) {
        const DirectionCosines at = project(kCentre, component.direction);
        // Baseline (u, v, w) between an antenna there and one at the origin, seen in the frame of the centre.
        const auto v = reference::visibility({{at.l, at.m, at.n}, flux_at(component, hz[chan])},
                                             {rows.uvw_m(row, 0), rows.uvw_m(row, 1), rows.uvw_m(row, 2)},
                                             {0, 0, 0}, {0, 0, 1}, hz[chan]);
        const auto path =
            std::polar(1.0, kTwoPi * std::remainder(rows.path_m(row) * hz[chan] / kSpeedOfLight_m_s, 1.0));
        for (std::size_t p = 0; p < 4; ++p) expected[p] += path * v[p / 2][p % 2];
      }
      const std::complex<double> i = data(row, chan, 0), q = data(row, chan, 1), u = data(row, chan, 2),
                                 v = data(row, chan, 3), j{0, 1};
      const std::complex<double> found[4] = {i + q, u + j * v, u - j * v, i - q};
      for (std::size_t p = 0; p < 4; ++p) {
        BOOST_TEST_REQUIRE(std::isfinite(std::abs(found[p])));
        worst = std::max(worst, std::abs(found[p] - expected[p]));
      }
    }
  BOOST_TEST_MESSAGE("largest error: " << worst);
  BOOST_TEST(worst < 1e-6);  // float32 of 6.5 Jy; measured 3.1e-7
}

/// The angle turns by about 18 degrees from channel to channel.
BOOST_AUTO_TEST_CASE(faraday_rotation_agrees_with_the_measurement_equation) {
  const double rm = 30, fraction = 0.5, chi = -0.4;
  SkyModel sky;
  sky.components = {component_at(
      {5.52, -0.61}, {2, 2 * fraction * std::cos(2 * chi), 2 * fraction * std::sin(2 * chi), -0.3})};
  sky.components[0].rotation_measure_rad_m2 = rm;
  const std::vector<double> hz = channels();
  const Rows rows = random_rows(10, 5e3);
  Buffer<std::complex<float>, 3> data({10, hz.size(), 4});
  data.fill({NAN, NAN});
  ComponentPredictor(sky, kCentre, hz).predict(rows.uvw_m, {}, 1, data);
  const DirectionCosines at = project(kCentre, sky.components[0].direction);
  double worst = 0;
  for (std::size_t row = 0; row < 10; ++row)
    for (std::size_t chan = 0; chan < hz.size(); ++chan) {
      const double wavelength_m = kSpeedOfLight_m_s / hz[chan],
                   angle = chi + rm * wavelength_m * wavelength_m;
      const std::array<double, 4> stokes{2, 2 * fraction * std::cos(2 * angle),
                                         2 * fraction * std::sin(2 * angle), -0.3};
      const auto v = reference::visibility({{at.l, at.m, at.n}, stokes},
                                           {rows.uvw_m(row, 0), rows.uvw_m(row, 1), rows.uvw_m(row, 2)},
                                           {0, 0, 0}, {0, 0, 1}, hz[chan]);
      const std::complex<double> i = data(row, chan, 0), q = data(row, chan, 1), u = data(row, chan, 2),
                                 circular = data(row, chan, 3), j{0, 1};
      const std::complex<double> found[4] = {i + q, u + j * circular, u - j * circular, i - q};
      for (std::size_t p = 0; p < 4; ++p) {
        BOOST_TEST_REQUIRE(std::isfinite(std::abs(found[p])));
        worst = std::max(worst, std::abs(found[p] - v[p / 2][p % 2]));
      }
    }
  BOOST_TEST_MESSAGE("largest error: " << worst);
  BOOST_TEST(worst < 5e-7);  // float32 of 3 Jy; measured 1.1e-7
}

BOOST_AUTO_TEST_CASE(gaussians_are_drawn_in_the_plane_across_their_direction) {
  SkyModel sky;
  sky.components = {component_at(kCentre, {2, 0, 0, 0})};
  sky.components[0].major_rad = 1.5e-3, sky.components[0].minor_rad = 4e-4;
  sky.components[0].position_angle_rad = 0.6;
  const std::vector<double> hz = channels();
  const Rows rows = random_rows(20, 500);
  Buffer<std::complex<float>, 3> data({20, hz.size(), 1});
  ComponentPredictor(sky, kCentre, hz).predict(rows.uvw_m, {}, 1, data);
  for (std::size_t row = 0; row < 20; ++row)
    for (std::size_t chan : {0u, 74u, 78u}) {
      const double per_m = hz[chan] / kSpeedOfLight_m_s;
      const double expected =
          2 * reference::gaussian_transform(rows.uvw_m(row, 0) * per_m, rows.uvw_m(row, 1) * per_m, 1.5e-3,
                                            4e-4, 0.6);
      BOOST_TEST(std::abs(std::complex<double>(data(row, chan, 0)) - expected) < 4e-7);  // measured 6e-8
    }
  BOOST_TEST(std::abs(data(0, 0, 0) - 2.0f) < 1e-6f);
}

BOOST_AUTO_TEST_CASE(planes_follow_the_model) {
  SkyModel sky;
  BOOST_TEST((stokes_of(sky) == std::vector<std::string>{"I"}));
  sky.components = {component_at(kCentre, {1, 0, 0, 0})};
  BOOST_TEST((stokes_of(sky) == std::vector<std::string>{"I"}));
  sky.components.push_back(component_at(kCentre, {1, 0, 0, 0.1}));
  BOOST_TEST((stokes_of(sky) == std::vector<std::string>{"I", "Q", "U", "V"}));
  const Rows rows = random_rows(2, 10);
  Buffer<std::complex<float>, 3> data({2, 1, 1});
  BOOST_CHECK_THROW(ComponentPredictor(sky, kCentre, {1e8}).predict(rows.uvw_m, {}, 1, data),
                    std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(planes_become_products) {
  using Products = std::vector<Product>;
  const Products linear{Product::XX, Product::XY, Product::YX, Product::YY};
  const Products circular{Product::RR, Product::RL, Product::LR, Product::LL};
  // What parse_planes makes of the products is the plane again.
  for (const Products& products : {linear, circular}) {
    const std::vector<std::string> planes{"I", "Q", "U", "V"};
    const auto mix = products_of_planes(planes, products, "x");
    const auto recipes = parse_planes("IQUV", products);
    for (std::size_t plane = 0; plane < 4; ++plane)
      for (std::size_t back = 0; back < 4; ++back) {
        std::complex<double> sum = 0;
        for (std::size_t i = 0; i < recipes[back].index.size(); ++i)
          sum += recipes[back].coefficient[i] * mix(recipes[back].index[i], plane);
        BOOST_TEST(sum == (plane == back ? 1.0 : 0.0));
      }
  }
  const auto intensity = products_of_planes({"I"}, linear, "x");
  BOOST_TEST((intensity(0, 0) == 1.0 && intensity(1, 0) == 0.0 && intensity(3, 0) == 1.0));
  const auto feeds = products_of_planes({"YY", "XX"}, linear, "x");
  BOOST_TEST((feeds(0, 1) == 1.0 && feeds(3, 0) == 1.0 && feeds(0, 0) == 0.0 && feeds(1, 0) == 0.0));
  BOOST_CHECK_THROW(products_of_planes({"XX"}, linear, "x"), std::exception);             // YY?
  BOOST_CHECK_THROW(products_of_planes({"XX", "YY"}, circular, "x"), std::exception);     // no such feeds
  BOOST_CHECK_THROW(products_of_planes({"XX", "YY", "I"}, linear, "x"), std::exception);  // both kinds
}

// V = sum of J_p B J_q^H exp(...), term by term, in two batches.
BOOST_AUTO_TEST_CASE(stations_see_components_through_their_own_matrices) {
  SkyModel sky;
  sky.components = {component_at({5.52, -0.61}, {3, 0.5, -1, 0.7}),
                    component_at({5.45, -0.55}, {1.5, 0, 0.2, 0}),
                    component_at({5.5, -0.7}, {2, -0.3, 0, 0.1})};
  const std::vector<double> hz{150e6, 151e6, 160e6};
  const Rows rows = random_rows(9, 300);
  Buffer<std::uint32_t, 2> station({9, 2});
  for (std::uint32_t row = 0; row < 9; ++row) {
    station(row, 0) = row % 4;
    station(row, 1) = (row * row + 1) % 4;
  }
  const auto jones = [](std::size_t chan, std::size_t p, std::size_t s, std::size_t i) {
    return std::complex<float>(
        std::polar(0.3f + 0.1f * float(i + s), 0.7f * float(p) - 1.3f * float(i * s) + float(chan)));
  };
  const ComponentPredictor predictor(sky, kCentre, hz);
  Buffer<std::complex<double>, 3> data({9, 3, 4});
  for (const auto& [first, n] : {std::pair<std::size_t, std::size_t>{0, 2}, {2, 1}}) {
    Buffer<std::complex<float>, 4> own({3, 4, n, 4});
    for (std::size_t c = 0; c < 3; ++c)
      for (std::size_t p = 0; p < 4; ++p)
        for (std::size_t s = 0; s < n; ++s)
          for (std::size_t i = 0; i < 4; ++i) own(c, p, s, i) = jones(c, p, first + s, i);
    predictor.add_through(rows.uvw_m, rows.path_m, station, {first, own}, 2, data);
  }
  using Complex = std::complex<double>;
  double worst = 0;
  for (std::size_t row = 0; row < 9; ++row)
    for (std::size_t c = 0; c < 3; ++c)
      for (std::size_t i = 0; i < 2; ++i)
        for (std::size_t k = 0; k < 2; ++k) {
          Complex expected = 0;
          for (std::size_t s = 0; s < 3; ++s) {
            const auto& of = sky.components[s];
            const DirectionCosines to = project(kCentre, of.direction);
            const double turns = hz[c] / kSpeedOfLight_m_s *
                                 (rows.uvw_m(row, 0) * to.l + rows.uvw_m(row, 1) * to.m +
                                  rows.uvw_m(row, 2) * (to.n - 1) + rows.path_m(row));
            const auto& stokes = of.stokes_jy;
            const Complex b[2][2] = {{stokes[0] + stokes[1], {stokes[2], stokes[3]}},
                                     {{stokes[2], -stokes[3]}, stokes[0] - stokes[1]}};
            for (std::size_t a = 0; a < 2; ++a)
              for (std::size_t e = 0; e < 2; ++e)
                expected += Complex(jones(c, station(row, 0), s, 2 * i + a)) * b[a][e] *
                            std::conj(Complex(jones(c, station(row, 1), s, 2 * k + e))) *
                            std::polar(1.0, 2 * kPi * turns);
          }
          worst = std::max(worst, std::abs(data(row, c, 2 * i + k) - expected));
        }
  BOOST_TEST(worst < 3e-6);  // J B in single precision, of sums up to 7: 7e-7
}

BOOST_AUTO_TEST_SUITE_END()
