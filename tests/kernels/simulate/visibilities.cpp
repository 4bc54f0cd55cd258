// SPDX-License-Identifier: GPL-3.0-or-later
// Simulated visibilities against a literal evaluation of the measurement equation.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <vector>

#include "kernels/simulate/visibilities.h"
#include "tests/reference/measurement_equation.h"

using namespace apsyn;
using namespace apsyn::simulate;

BOOST_AUTO_TEST_SUITE(visibilities)

namespace {

/// Rows u, v, w towards a point at azimuth (from north) and elevation; v in the plane of the zenith.
Mat3 towards(double azimuth_rad, double elevation_rad) {
  const double sa = std::sin(azimuth_rad), ca = std::cos(azimuth_rad);
  const double se = std::sin(elevation_rad), ce = std::cos(elevation_rad);
  return {Vec3{ca, -sa, 0}, Vec3{-se * sa, -se * ca, ce}, Vec3{ce * sa, ce * ca, se}};
}

SkyComponent component_of(const std::array<double, 4>& stokes) {
  SkyComponent component;
  component.stokes_jy = stokes;
  return component;
}

struct Scene {
  VisibilitySetup setup;
  SkyRotations rotations;
  Buffer<std::complex<float>, 3> data;
  Buffer<double, 2> uvw_m;
  void run(std::int64_t index, unsigned n_threads) {
    data.resize({setup.baselines.size(), setup.channel_hz.size(), setup.products.size()});
    uvw_m.resize({setup.baselines.size(), 3});
    data.fill({NAN, NAN});
    uvw_m.fill(NAN);
    simulate_visibilities(setup, index, rotations, n_threads, data, uvw_m);
  }
};

Scene scene() {
  Scene s;
  s.setup.channel_hz = {150e6, 151.3e6, 190e6};
  s.setup.channel_width_hz = 40e3;
  s.setup.integration_s = 2;
  s.setup.antenna_enu_m = {{0, 0, 0}, {310.5, -20, 1}, {-3011, 150, -4}, {77, 2500, 12}};
  s.setup.baselines = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
  s.setup.products = {Product::XX, Product::XY, Product::YX, Product::YY};
  s.rotations.phase_centre = towards(0.4, 1.3);
  return s;
}

}  // namespace

BOOST_AUTO_TEST_CASE(point_sources_agree_with_the_measurement_equation) {
  Scene s = scene();
  const std::vector<std::array<double, 4>> stokes{{3, 0.5, -1, 0.7}, {1.5, 0, 0, 0}, {40, 1, 2, 3}};
  s.rotations.component = {towards(2.0, 0.9), towards(0.1, 1.4), towards(1.0, -0.1)};  // the last has set
  for (const auto& flux : stokes) s.setup.sky.components.push_back(component_of(flux));
  s.run(0, 2);
  double worst = 0;
  for (std::size_t b = 0; b < s.setup.baselines.size(); ++b) {
    const auto& [i, j] = s.setup.baselines[b];
    for (std::size_t chan = 0; chan < 3; ++chan) {
      std::complex<double> expected[4] = {};
      for (std::size_t k = 0; k < 2; ++k) {
        const auto v = reference::visibility({s.rotations.component[k][2], stokes[k]},
                                             s.setup.antenna_enu_m[i], s.setup.antenna_enu_m[j],
                                             s.rotations.phase_centre[2], s.setup.channel_hz[chan]);
        for (std::size_t p = 0; p < 4; ++p) expected[p] += v[p / 2][p % 2];
      }
      for (std::size_t p = 0; p < 4; ++p)
        worst = std::max(worst, std::abs(std::complex<double>(s.data(b, chan, p)) - expected[p]) / 4.5);
    }
    const Vec3 uvw = multiply(s.rotations.phase_centre, s.setup.antenna_enu_m[i] - s.setup.antenna_enu_m[j]);
    for (std::size_t axis = 0; axis < 3; ++axis) BOOST_TEST(s.uvw_m(b, axis) == uvw[axis]);
  }
  BOOST_TEST_MESSAGE("largest error relative to the flux: " << worst);
  BOOST_TEST(worst < 1e-6);
}

BOOST_AUTO_TEST_CASE(gaussians_and_spectra_shape_the_visibility) {
  Scene s = scene();
  SkyComponent component = component_of({2, 0, 0, 0});
  component.major_rad = 1.5e-3, component.minor_rad = 4e-4, component.position_angle_rad = 0.6;
  component.reference_freq_hz = 150e6;
  component.spectral_terms = {-0.8};
  s.setup.sky.components = {component};
  s.rotations.component = {s.rotations.phase_centre};
  s.run(0, 1);
  for (std::size_t b = 0; b < s.setup.baselines.size(); ++b) {
    for (std::size_t chan = 0; chan < 3; ++chan) {
      const double per_m = s.setup.channel_hz[chan] / 299792458.0;
      const double u = s.uvw_m(b, 0) * per_m, v = s.uvw_m(b, 1) * per_m;
      const double expected = 2 * std::pow(s.setup.channel_hz[chan] / 150e6, -0.8) *
                              reference::gaussian_transform(u, v, 1.5e-3, 4e-4, 0.6);
      BOOST_TEST(std::abs(std::complex<double>(s.data(b, chan, 0)) - expected) < 2e-6);
    }
  }
}

BOOST_AUTO_TEST_CASE(circular_products_follow_the_stokes_parameters) {
  Scene s = scene();
  s.setup.products = {Product::RR, Product::RL, Product::LR, Product::LL};
  s.setup.sky.components = {component_of({3, 0.5, -1, 0.7})};
  s.rotations.component = {s.rotations.phase_centre};
  s.run(0, 1);
  const std::complex<float> expected[4] = {3.7f, {0.5f, -1}, {0.5f, 1}, 2.3f};
  for (std::size_t p = 0; p < 4; ++p) BOOST_TEST(std::abs(s.data(3, 1, p) - expected[p]) < 1e-6);
}

// J B J^H in the basis R = (X + iY) / sqrt(2), L = (X - iY) / sqrt(2), with another J for either antenna.
BOOST_AUTO_TEST_CASE(circular_products_are_seen_through_the_antennas) {
  using Complex = std::complex<double>;
  using Matrix = std::array<std::array<Complex, 2>, 2>;
  const auto product = [](const Matrix& a, const Matrix& b) {
    Matrix c{};
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < 2; ++j) c[i][j] = a[i][0] * b[0][j] + a[i][1] * b[1][j];
    return c;
  };
  const auto adjoint = [](const Matrix& a) {
    return Matrix{{{std::conj(a[0][0]), std::conj(a[1][0])}, {std::conj(a[0][1]), std::conj(a[1][1])}}};
  };
  Scene s = scene();
  s.setup.products = {Product::RR, Product::RL, Product::LR, Product::LL};
  s.setup.sky.components = {component_of({3, 0.5, -1, 0.7})};
  s.rotations.component = {s.rotations.phase_centre};
  Buffer<std::complex<float>, 4> jones({3, 4, 1, 4});
  for (std::size_t i = 0; i < jones.size(); ++i)
    jones.data()[i] = {static_cast<float>(std::sin(1.0 + double(i))),
                       static_cast<float>(std::cos(double(3 * i)))};
  s.rotations.jones = jones;
  s.run(0, 1);
  const double half = std::sqrt(0.5);
  const Complex i(0, 1);
  const Matrix circular{{{half, half * i}, {half, -half * i}}},
      brightness{{{3.5, Complex(-1, 0.7)}, {Complex(-1, -0.7), 2.5}}};
  for (std::size_t b = 0; b < s.setup.baselines.size(); ++b)
    for (std::size_t chan = 0; chan < 3; ++chan) {
      const auto of = [&](std::size_t ant) {
        const auto* j = &jones(chan, ant, 0, 0);
        return product(circular, Matrix{{{j[0], j[1]}, {j[2], j[3]}}});
      };
      const Matrix expected =
          product(product(of(s.setup.baselines[b].ant1), brightness), adjoint(of(s.setup.baselines[b].ant2)));
      for (std::size_t p = 0; p < 4; ++p)
        BOOST_TEST(std::abs(Complex(s.data(b, chan, p)) - expected[p / 2][p % 2]) < 4e-6);  // 2^-22 of 13 Jy
    }
}

BOOST_AUTO_TEST_CASE(noise_follows_the_radiometer_equation) {
  Scene s = scene();
  s.setup.sefd_jy = 1000;
  s.setup.channel_hz.assign(4096, 150e6);
  s.run(7, 2);
  const double sigma = 1000 / std::sqrt(2 * 40e3 * 2);
  double re = 0, im = 0;
  for (const auto& v : s.data.view()) re += v.real() * v.real(), im += v.imag() * v.imag();
  const double n = double(s.data.size());
  BOOST_TEST(std::abs(re / n / (sigma * sigma) - 1) < 5 * std::sqrt(2 / n));
  BOOST_TEST(std::abs(im / n / (sigma * sigma) - 1) < 5 * std::sqrt(2 / n));

  const std::vector<std::complex<float>> two_threads(s.data.begin(), s.data.end());
  s.run(7, 5);
  BOOST_TEST(std::equal(s.data.begin(), s.data.end(), two_threads.begin()));
  s.run(8, 2);
  BOOST_TEST(s.data(0, 0, 0) != two_threads[0]);
  s.setup.seed = 1;
  s.run(7, 2);
  BOOST_TEST(s.data(0, 0, 0) != two_threads[0]);
}

BOOST_AUTO_TEST_CASE(stokes_products_are_refused) {
  Scene s = scene();
  s.setup.products = {Product::I};
  s.setup.sky.components = {component_of({1, 0, 0, 0})};
  s.rotations.component = {s.rotations.phase_centre};
  BOOST_CHECK_THROW(s.run(0, 1), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()
