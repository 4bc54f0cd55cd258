// SPDX-License-Identifier: GPL-3.0-or-later
// Kernels that hold w, against the phase that they stand for. No GPU is needed.
#include "kernels/epic/corr/depth_kernels.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>

#include "kernels/epic/corr/pair_orders.h"
#include "libcore/array/array_layout.h"
#include "libcore/base/constants.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(depth_kernels)

namespace {

EpicPlan mwa_plan() {
  EpicPlan plan;
  plan.n_chan = 1;
  plan.n_ant = 128;
  plan.n_pol = 2;
  plan.channel_hz = {150e6};
  plan.second = plan.cross = true;
  plan.nx = plan.ny = 1200;
  plan.cell = kRadPerDeg / 60;
  return plan;
}
EpicGeometry mwa_at(double zenith_distance_rad) {
  EpicGeometry geometry;
  for (const Antenna& antenna : builtin_array("mwa-128t").antennas) geometry.enu_m.push_back(antenna.enu_m);
  geometry.delay_s.assign(geometry.enu_m.size(), 0.0);
  const double c = std::cos(zenith_distance_rad), s = std::sin(zenith_distance_rad);
  geometry.axes = {{{1, 0, 0}, {0, c, -s}, {0, s, c}}};
  return geometry;
}

/// What the cells around a pair give at a frequency, over the pair's own fringe: by the taps that the nodes
/// give.
std::complex<double> seen(const DepthAxis& axis, int term, double along, double z, double x) {
  std::complex<double> sum = 0;
  for (int tap = 0; tap < DepthAxis::kTaps; ++tap) {
    std::complex<double> weight = 0;
    for (int node = 0; node < DepthAxis::kNodes; ++node)
      for (int side = 0; side < 2; ++side) {
        const double at = (side == 0 ? 1 : -1) * double(axis.node[node]);
        const double of = term == 0 ? 1 : double(axis.term[term - 1][side][node]);
        const std::complex<double> by(axis.even[node][tap],
                                      (side == 0 ? -1 : 1) * double(axis.odd[node][tap]));
        weight += by * of * std::polar(1.0, kTwoPi * along * at - z * double(axis.depth[side][node]));
      }
    sum += weight * std::polar(1.0, kTwoPi * (tap - 3.5 - along) * x);
  }
  return sum;
}

}  // namespace

// Heights of 3 wavelengths above the plane of the array, at pixels of 20 degrees, whose directions are those
// of the sphere.
BOOST_AUTO_TEST_CASE(kernels_give_the_phase_of_w) {
  for (const PairSlope& slope : {PairSlope{}, PairSlope{0.1, 0.4}}) {
    DepthField field;
    field.n_x = field.n_y = 1200;
    field.n_cell_x = field.n_cell_y = 1536;
    field.pitch = kRadPerDeg / 60;
    field.slope = slope;
    field.n_middle = 0.985;
    const DepthKernels kernels(field, 3);
    double squares = 0, worst = 0, n = 0;
    for (const double height : {-3.0, 0.7, 3.0})
      for (const double along : {-0.45, 0.1, 0.5})
        for (int column = -600; column <= 600; column += 100)
          for (int row = -600; row <= 600; row += 100) {
            const double l = -column * field.pitch, m = row * field.pitch, z = kTwoPi * height;
            // dn by bisection: l' = l + a dn, m' = m + b dn and n = n_middle + dn on the sphere
            double low = -0.3, high = 0.3;
            for (int i = 0; i < 60; ++i) {
              const double dn = (low + high) / 2, at_l = l - slope.u * dn, at_m = m - slope.v * dn;
              const double out = at_l * at_l + at_m * at_m + std::pow(field.n_middle + dn, 2) - 1;
              (out > 0 ? high : low) = dn;
            }
            const double x = column / 1536.0, y = row / 1536.0;
            std::complex<double> sum = 0;
            for (int term = 0; term < 3; ++term)
              sum += (term == 0 ? 1 : std::complex<double>(0, -z)) * seen(kernels.x(), term, along, z, x) *
                     seen(kernels.y(), term, -along / 2, z, y);
            sum /= kernels.transform_x(x) * kernels.transform_y(y);
            const double error = std::abs(sum - std::polar(1.0, -z * low));
            squares += error * error;
            worst = std::max(worst, error);
            ++n;
          }
    BOOST_TEST_MESSAGE("slopes " << slope.u << ", " << slope.v << ": " << std::sqrt(squares / n) << " RMS, "
                                 << worst << " at most");
    BOOST_TEST(std::sqrt(squares / n) < PairOrders::kDepthError);  // 9.8e-5 and 1.1e-4
    BOOST_TEST(worst < 5 * PairOrders::kDepthError);               // in a corner: 4.3e-4 and 6.8e-4
  }
}

BOOST_AUTO_TEST_CASE(plans_take_kernels_where_they_hold_w) {
  const EpicPlan plan = mwa_plan();
  struct Case {
    double zenith_distance_rad;
    bool lattice;
  };
  for (const Case& c : {Case{0, false}, Case{0.01, true}, Case{0.7, true}}) {
    const EpicGeometry geometry = mwa_at(c.zenith_distance_rad);
    const SkyPixels pixels = sky_pixels(plan, geometry);
    PairOrders orders = plan_pair_orders(plan, geometry, pixels, DepthBy::kernels);
    BOOST_TEST_REQUIRE(orders.depth_kernels.has_value());
    BOOST_TEST(orders.shape.lattice.has_value() == c.lattice);
    BOOST_TEST(orders.n_order() == 1u);
    BOOST_TEST_MESSAGE(c.zenith_distance_rad << " from the zenith: " << orders.depth_kernels->n_term()
                                             << " terms instead of " << orders.shape.n_order << " orders");
    BOOST_TEST(serves(orders, geometry, pixels));
    BOOST_TEST(!plan_pair_orders(plan, geometry, pixels).depth_kernels.has_value());
  }
  // The sky of a few minutes, and of an hour.
  PairOrders level = plan_pair_orders(plan, mwa_at(0), sky_pixels(plan, mwa_at(0)), DepthBy::kernels);
  BOOST_TEST(serves(level, mwa_at(0.002)));
  BOOST_TEST(!serves(level, mwa_at(0.26)));
  // Heights of a kilometre.
  EpicGeometry high = mwa_at(0);
  for (std::size_t ant = 0; ant < high.enu_m.size(); ++ant)
    high.enu_m[ant][2] = 10.0 * static_cast<double>(ant * ant % 97);
  BOOST_TEST(
      !plan_pair_orders(plan, high, sky_pixels(plan, high), DepthBy::kernels).depth_kernels.has_value());
}

BOOST_AUTO_TEST_SUITE_END()
