// SPDX-License-Identifier: GPL-3.0-or-later
// What simulated visibilities have to be, whoever sums them: the CPU in float64, or a GPU, or the host in the
// GPU's place, in single precision.
#pragma once

#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <functional>
#include <vector>

#include "kernels/simulate/visibilities.h"
#include "tests/reference/measurement_equation.h"

namespace apsyn::test {

/// Overwrites data and uvw_m, as simulate_visibilities() does.
using SimulateVisibilities =
    std::function<void(const simulate::VisibilitySetup&, std::int64_t index, const simulate::SkyRotations&,
                       unsigned n_threads, View<std::complex<float>, 3> data, View<double, 2> uvw_m)>;

/// Rows u, v, w towards a point at azimuth (from north) and elevation; v in the plane of the zenith.
inline Mat3 towards(double azimuth_rad, double elevation_rad) {
  const double sa = std::sin(azimuth_rad), ca = std::cos(azimuth_rad);
  const double se = std::sin(elevation_rad), ce = std::cos(elevation_rad);
  return {Vec3{ca, -sa, 0}, Vec3{-se * sa, -se * ca, ce}, Vec3{ce * sa, ce * ca, se}};
}

inline SkyComponent component_of(const std::array<double, 4>& stokes) {
  SkyComponent component;
  component.stokes_jy = stokes;
  return component;
}

struct Scene {
  simulate::VisibilitySetup setup;
  simulate::SkyRotations rotations;
  Buffer<std::complex<float>, 4> jones;  ///< lent to the rotations
  Buffer<std::complex<float>, 3> data;
  Buffer<double, 2> uvw_m;
  void run(const SimulateVisibilities& simulate, std::int64_t index, unsigned n_threads) {
    data.resize({setup.baselines.size(), setup.channel_hz.size(), setup.products.size()});
    uvw_m.resize({setup.baselines.size(), 3});
    data.fill({NAN, NAN});
    uvw_m.fill(NAN);
    simulate(setup, index, rotations, n_threads, data, uvw_m);
  }
};

inline Scene make_scene() {
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

/// XX XY YX YY of one baseline and channel: sources one by one, seen through A-terms and columns of
/// electrons, those below the horizon not at all.
inline std::array<std::complex<double>, 4> expected_visibility(const Scene& s, std::size_t b,
                                                               std::size_t chan) {
  using Complex = std::complex<double>;
  const auto& [i, j] = s.setup.baselines[b];
  const double hz = s.setup.channel_hz[chan], per_m = hz / 299792458.0;
  const Vec3 baseline_m = s.setup.antenna_enu_m[i] - s.setup.antenna_enu_m[j];
  std::array<Complex, 4> sum{};
  for (std::size_t k = 0; k < s.setup.sky.components.size(); ++k) {
    const SkyComponent& component = s.setup.sky.components[k];
    const Mat3& frame = s.rotations.component[k];
    if (frame[2][2] <= 0) continue;
    const auto v = reference::visibility({frame[2], component.stokes_jy}, s.setup.antenna_enu_m[i],
                                         s.setup.antenna_enu_m[j], s.rotations.phase_centre[2], hz);
    Complex factor = std::pow(hz / component.reference_freq_hz,
                              component.spectral_terms.empty() ? 0.0 : component.spectral_terms[0]);
    if (component.major_rad > 0)
      factor *= reference::gaussian_transform(dot(baseline_m, frame[0]) * per_m,
                                              dot(baseline_m, frame[1]) * per_m, component.major_rad,
                                              component.minor_rad, component.position_angle_rad);
    if (s.rotations.tec_tecu.size() > 0)
      factor *=
          std::polar(1.0, -8.44797245e9 / hz * (s.rotations.tec_tecu(k, i) - s.rotations.tec_tecu(k, j)));
    for (std::size_t p = 0; p < 4; ++p) {
      Complex seen = s.jones.size() > 0 ? 0 : v[p / 2][p % 2];
      if (s.jones.size() > 0)
        for (std::size_t m = 0; m < 2; ++m)
          for (std::size_t n = 0; n < 2; ++n)
            seen += Complex(s.jones(chan, i, k, 2 * (p / 2) + m)) * v[m][n] *
                    std::conj(Complex(s.jones(chan, j, k, 2 * (p % 2) + n)));
      sum[p] += factor * seen;
    }
  }
  return sum;
}

/// The largest error of linear products.
inline double largest_error(const Scene& s) {
  double worst = 0;
  for (std::size_t b = 0; b < s.setup.baselines.size(); ++b) {
    for (std::size_t chan = 0; chan < s.setup.channel_hz.size(); ++chan) {
      const auto expected = expected_visibility(s, b, chan);
      for (std::size_t p = 0; p < 4; ++p) {
        const double error = std::abs(std::complex<double>(s.data(b, chan, p)) - expected[p]);
        BOOST_TEST_REQUIRE(std::isfinite(error));
        worst = std::max(worst, error);
      }
    }
    const auto& [i, j] = s.setup.baselines[b];
    const Vec3 uvw = multiply(s.rotations.phase_centre, s.setup.antenna_enu_m[i] - s.setup.antenna_enu_m[j]);
    for (std::size_t axis = 0; axis < 3; ++axis) BOOST_TEST(s.uvw_m(b, axis) == uvw[axis]);
  }
  return worst;
}

inline void fill_matrices(Scene& s, std::size_t n_components) {
  s.jones.resize({s.setup.channel_hz.size(), s.setup.antenna_enu_m.size(), n_components, 4});
  for (std::size_t i = 0; i < s.jones.size(); ++i)
    s.jones.data()[i] = {static_cast<float>(std::sin(1.0 + double(i))),
                         static_cast<float>(std::cos(double(3 * i)))};
  s.rotations.jones = s.jones;
}

/// `tolerance_jy` is that of 7 Jy; ten times as much of 44 Jy.
inline void check_visibilities(const SimulateVisibilities& simulate, double tolerance_jy) {
  const std::vector<std::array<double, 4>> stokes{
      {3, 0.5, -1, 0.7}, {1.5, 0, 0, 0}, {40, 1, 2, 3}, {2, 0.3, 0.1, -0.2}};
  for (const bool is_polarised : {false, true})
    for (const bool has_aterms : {false, true})
      for (const bool has_ionosphere : {false, true}) {
        Scene s = make_scene();
        for (const auto& flux : stokes)
          s.setup.sky.components.push_back(
              component_of(is_polarised ? flux : std::array<double, 4>{flux[0], 0, 0, 0}));
        for (SkyComponent& component : s.setup.sky.components) component.reference_freq_hz = 150e6;
        SkyComponent& extended = s.setup.sky.components[3];
        extended.major_rad = 1.5e-4, extended.minor_rad = 4e-5, extended.position_angle_rad = 0.6;
        extended.spectral_terms = {-0.8};
        if (has_aterms) fill_matrices(s, 4);
        if (has_ionosphere) {
          s.rotations.tec_tecu.resize({4, 4});
          for (std::size_t i = 0; i < 16; ++i)
            s.rotations.tec_tecu.data()[i] = 5 + 0.02 * std::sin(7.0 * double(i));
        }
        // The third has set; later it is up, and the first has set.
        s.rotations.component = {towards(2.0, 0.9), towards(0.1, 1.4), towards(1.0, -0.1), towards(0.6, 1.2)};
        s.run(simulate, 0, 2);
        const double early = test::largest_error(s);
        s.rotations.component = {towards(2.3, -0.01), towards(0.4, 1.3), towards(1.3, 0.1),
                                 towards(0.9, 1.1)};
        s.run(simulate, 1, 2);
        const double late = test::largest_error(s);
        BOOST_TEST_MESSAGE("largest errors: " << early << " and " << late << " Jy");
        BOOST_TEST(early < tolerance_jy);
        BOOST_TEST(late < 10 * tolerance_jy);
      }
}

inline void check_circular_products(const SimulateVisibilities& simulate, double tolerance_jy) {
  Scene s = make_scene();
  s.setup.products = {Product::RR, Product::RL, Product::LR, Product::LL};
  s.setup.sky.components = {component_of({3, 0.5, -1, 0.7})};
  s.rotations.component = {s.rotations.phase_centre};
  s.run(simulate, 0, 1);
  const std::complex<float> expected[4] = {3.7f, {0.5f, -1}, {0.5f, 1}, 2.3f};
  for (std::size_t p = 0; p < 4; ++p) BOOST_TEST(std::abs(s.data(3, 1, p) - expected[p]) < tolerance_jy);
}

/// J B J^H in the basis R = (X + iY) / sqrt(2), L = (X - iY) / sqrt(2), with another J for either antenna.
inline void check_circular_products_through_matrices(const SimulateVisibilities& simulate,
                                                     double tolerance_jy) {
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
  Scene s = make_scene();
  s.setup.products = {Product::RR, Product::RL, Product::LR, Product::LL};
  s.setup.sky.components = {component_of({3, 0.5, -1, 0.7})};
  s.rotations.component = {s.rotations.phase_centre};
  fill_matrices(s, 1);
  s.run(simulate, 0, 1);
  const double half = std::sqrt(0.5);
  const Complex i(0, 1);
  const Matrix circular{{{half, half * i}, {half, -half * i}}},
      brightness{{{3.5, Complex(-1, 0.7)}, {Complex(-1, -0.7), 2.5}}};
  for (std::size_t b = 0; b < s.setup.baselines.size(); ++b)
    for (std::size_t chan = 0; chan < 3; ++chan) {
      const auto of = [&](std::size_t ant) {
        const auto* j = &s.jones(chan, ant, 0, 0);
        return product(circular, Matrix{{{j[0], j[1]}, {j[2], j[3]}}});
      };
      const Matrix expected =
          product(product(of(s.setup.baselines[b].ant1), brightness), adjoint(of(s.setup.baselines[b].ant2)));
      for (std::size_t p = 0; p < 4; ++p)
        BOOST_TEST(std::abs(Complex(s.data(b, chan, p)) - expected[p / 2][p % 2]) < tolerance_jy);
    }
}

/// Without a sky the noise is left: that of simulate_visibilities(), to the last bit.
inline void check_noise(const SimulateVisibilities& simulate_sky) {
  Scene s = make_scene();
  s.setup.sefd_jy = 1000;
  s.setup.products = {Product::XX, Product::XY, Product::YY};
  s.run(simulate::simulate_visibilities, 7, 1);
  const std::vector<std::complex<float>> expected(s.data.begin(), s.data.end());
  s.run(simulate_sky, 7, 2);
  BOOST_TEST(std::equal(s.data.begin(), s.data.end(), expected.begin()));
}

}  // namespace apsyn::test
