// SPDX-License-Identifier: GPL-3.0-or-later
// Simulated visibilities against a literal evaluation of the measurement equation.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <vector>

#include "kernels/simulate/visibilities.h"
#include "tests/reference/measurement_equation.h"
#include "tests/support/visibility_checks.h"

using namespace apsyn;
using namespace apsyn::simulate;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(visibilities)

BOOST_AUTO_TEST_CASE(skies_agree_with_the_measurement_equation) {
  check_visibilities(simulate_visibilities, 1e-6);  // 4.9e-7 of 7 Jy and 4.5e-6 of 44 Jy
}

BOOST_AUTO_TEST_CASE(gaussians_and_spectra_shape_the_visibility) {
  Scene s = make_scene();
  SkyComponent component = component_of({2, 0, 0, 0});
  component.major_rad = 1.5e-3, component.minor_rad = 4e-4, component.position_angle_rad = 0.6;
  component.reference_freq_hz = 150e6;
  component.spectral_terms = {-0.8};
  s.setup.sky.components = {component};
  s.rotations.component = {s.rotations.phase_centre};
  s.run(simulate_visibilities, 0, 1);
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
  check_circular_products(simulate_visibilities, 1e-6);
}

BOOST_AUTO_TEST_CASE(circular_products_are_seen_through_the_antennas) {
  check_circular_products_through_matrices(simulate_visibilities, 4e-6);  // 2^-22 of 13 Jy
}

BOOST_AUTO_TEST_CASE(noise_follows_the_radiometer_equation) {
  Scene s = make_scene();
  s.setup.sefd_jy = 1000;
  s.setup.channel_hz.assign(4096, 150e6);
  s.run(simulate_visibilities, 7, 2);
  const double sigma = 1000 / std::sqrt(2 * 40e3 * 2);
  double re = 0, im = 0;
  for (const auto& v : s.data.view()) re += v.real() * v.real(), im += v.imag() * v.imag();
  const double n = double(s.data.size());
  BOOST_TEST(std::abs(re / n / (sigma * sigma) - 1) < 5 * std::sqrt(2 / n));
  BOOST_TEST(std::abs(im / n / (sigma * sigma) - 1) < 5 * std::sqrt(2 / n));

  const std::vector<std::complex<float>> two_threads(s.data.begin(), s.data.end());
  s.run(simulate_visibilities, 7, 5);
  BOOST_TEST(std::equal(s.data.begin(), s.data.end(), two_threads.begin()));
  s.run(simulate_visibilities, 8, 2);
  BOOST_TEST(s.data(0, 0, 0) != two_threads[0]);
  s.setup.seed = 1;
  s.run(simulate_visibilities, 7, 2);
  BOOST_TEST(s.data(0, 0, 0) != two_threads[0]);
}

BOOST_AUTO_TEST_CASE(stokes_products_are_refused) {
  Scene s = make_scene();
  s.setup.products = {Product::I};
  s.setup.sky.components = {component_of({1, 0, 0, 0})};
  s.rotations.component = {s.rotations.phase_centre};
  BOOST_CHECK_THROW(s.run(simulate_visibilities, 0, 1), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()
