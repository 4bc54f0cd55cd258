// SPDX-License-Identifier: GPL-3.0-or-later
// What pairs on a grid need on a GPU: orders, columns, and the antennas that stand apart. No GPU is needed.
#include "kernels/epic/corr/pair_orders.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "kernels/common/math/chebyshev_phase.h"
#include "kernels/epic/corr/pair_imager.h"
#include "libcore/array/array_layout.h"
#include "libcore/base/constants.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(pair_orders)

namespace {

EpicPlan plan_of(std::size_t n_ant, std::size_t size, double hz) {
  EpicPlan plan;
  plan.n_chan = 1;
  plan.n_ant = n_ant;
  plan.n_pol = 2;
  plan.channel_hz = {hz};
  plan.second = plan.cross = true;
  plan.nx = plan.ny = size;
  plan.cell = 2.0 / static_cast<double>(size);
  return plan;
}

EpicGeometry geometry_of(std::vector<Vec3> enu_m) {
  EpicGeometry geometry;
  geometry.enu_m = std::move(enu_m);
  geometry.delay_s.assign(geometry.enu_m.size(), 0.0);
  return geometry;
}

PairCells cells_of(const EpicPlan& plan, const EpicGeometry& geometry) {
  return pair_cells(plan, geometry, sky_pixels(plan, geometry));
}

/// J_n(z) of n = 0 .. n_term - 1 by Bessel's integral, whose trapezoidal rule is exact to rounding.
std::vector<double> bessel_of(double z, std::size_t n_term) {
  constexpr int kStep = 512;
  std::vector<double> values(n_term, 0);
  for (int i = 0; i < kStep; ++i) {
    const double angle = 2 * std::numbers::pi * i / kStep;
    for (std::size_t n = 0; n < n_term; ++n)
      values[n] += std::cos(static_cast<double>(n) * angle - z * std::sin(angle)) / kStep;
  }
  return values;
}

/// max over |t| <= 1 of |exp(-i z t) - the first n_term terms|.
double left_out(double z, std::size_t n_term) {
  const std::vector<double> bessel = bessel_of(z, n_term);
  double worst = 0;
  for (int i = -40; i <= 40; ++i) {
    const double t = i / 40.0;
    std::complex<double> rest = std::polar(1.0, -z * t), turn = 1;
    for (std::size_t n = 0; n < n_term; ++n, turn *= std::complex<double>(0, -1))
      rest -= (n == 0 ? 1.0 : 2.0) * turn * bessel[n] * std::cos(static_cast<double>(n) * std::acos(t));
    worst = std::max(worst, std::abs(rest));
  }
  return worst;
}

}  // namespace

// Enough terms for the error that is asked for, and not more: without the last one a quarter of it is left
// out at least, as the bound is twice the first term of the rest and that is taken as twice as large.
BOOST_AUTO_TEST_CASE(terms_of_a_phase_are_counted) {
  for (const double z : {0.05, 0.7, 3.1, 12.0, 41.7})
    for (const double error : {1e-3, 2.4e-5, 1e-7, 1e-10}) {
      const std::size_t n = chebyshev_terms(z, error);
      for (const double part : {1.0, 0.8, 0.3}) BOOST_TEST(left_out(part * z, n) <= error);
      if (n > 1) BOOST_TEST(left_out(z, n - 1) > 0.25 * error, "z " << z << ", error " << error);
    }
  BOOST_TEST(chebyshev_terms(0, 1e-7) == 1u);
}

BOOST_AUTO_TEST_CASE(an_outrigger_stands_apart) {
  std::vector<Vec3> station;
  for (const Antenna& antenna : builtin_array("lwa-sv").antennas) station.push_back(antenna.enu_m);
  std::size_t highest = 0;
  for (std::size_t ant = 0; ant < station.size(); ++ant)
    if (station[ant][2] > station[highest][2]) highest = ant;
  const EpicPlan plan = plan_of(station.size(), 128, 53.3e6);
  const PairCells cells = cells_of(plan, geometry_of(station));
  BOOST_TEST_REQUIRE(cells.outlier_antennas.size() == 1U);
  BOOST_TEST(cells.outlier_antennas[0] == highest);
  BOOST_TEST(cells.n_outlier_pair() == station.size() - 1);
  BOOST_TEST(cells.n_order == 8U);  // all antennas: 14
  // without it the array is less than 4 m high, with it 11
  BOOST_TEST(cells.depth.w_s * kSpeedOfLight_m_s < 4);
  // 293 m to the east it would reach all columns
  BOOST_TEST(cells.n_column < cells.n_x / 2);
  BOOST_TEST(cells.n_column % 8 == 0U);
  BOOST_TEST(cells.n_row < cells.n_y / 2);
}

BOOST_AUTO_TEST_CASE(a_level_array_stays_together) {
  std::vector<Vec3> line;
  for (int ant = 0; ant < 64; ++ant) line.push_back({0.7 * ant, 0.3 * ant, 0});
  const double hz = 50e6;
  const EpicPlan plan = plan_of(line.size(), 64, hz);
  const PairCells cells = cells_of(plan, geometry_of(line));
  BOOST_TEST(cells.outlier_antennas.empty());
  BOOST_TEST(cells.n_order == 1U);
  const double reach = 0.7 * 63 / kSpeedOfLight_m_s * hz * plan.cell * static_cast<double>(cells.n_x);
  BOOST_TEST(static_cast<double>(cells.n_column) > reach + 3.5);  // half of a kernel of 7 cells
  BOOST_TEST(cells.n_column <= cells.n_x / 2 + 1);
  BOOST_TEST(static_cast<double>(cells.n_row) > reach * 3 / 7 + 3.5);
  BOOST_TEST(cells.n_row <= cells.n_y / 2);
  BOOST_TEST(cells.n_row % 2 == 0U);
}

// MWA-128T, 1200 pixels of an arcminute 40 degrees from the zenith: w reaches a thousand wavelengths, but
// what is left of it above the array's plane takes a few nodes.
BOOST_AUTO_TEST_CASE(a_field_aslant_needs_few_nodes) {
  EpicGeometry geometry;
  for (const Antenna& antenna : builtin_array("mwa-128t").antennas) geometry.enu_m.push_back(antenna.enu_m);
  geometry.delay_s.assign(geometry.enu_m.size(), 0.0);
  const double zenith = 40 * kRadPerDeg;
  geometry.axes = {
      {{1, 0, 0}, {0, std::cos(zenith), -std::sin(zenith)}, {0, std::sin(zenith), std::cos(zenith)}}};
  EpicPlan plan = plan_of(geometry.enu_m.size(), 1200, 150e6);
  plan.cell = kRadPerDeg / 60;
  const SkyPixels pixels = sky_pixels(plan, geometry);
  const PairDepth depth = depth_of(geometry, pixels);
  BOOST_TEST(chebyshev_terms(kTwoPi * 150e6 * depth.w_s * depth.n_half, PairOrders::kError) > 60u);
  const PairGridShape shape = pair_grid_shape(plan, geometry, pixels);
  BOOST_TEST_MESSAGE(shape.n_node << " nodes, " << shape.cells_x << " x " << shape.cells_y << " cells");
  BOOST_TEST(shape.n_interpolated == pixels.size());
  BOOST_TEST(shape.n_node <= 6u);
  BOOST_TEST(shape.cells_x < 2400u);
  // the same on a GPU
  const PairCells cells = pair_cells(plan, geometry, pixels);
  BOOST_TEST_MESSAGE(cells.n_order << " orders, " << cells.n_x << " x " << cells.n_y << " cells");
  BOOST_TEST_REQUIRE(cells.lattice.has_value());
  BOOST_TEST(cells.n_order <= 6u);
  PairOrders orders = plan_pair_orders(plan, geometry, pixels);
  const double loss = loss_at_sites(plan, geometry, pixels, *cells.lattice, orders.kernel);
  BOOST_TEST_MESSAGE("orders added up at the sites lose " << loss);
  BOOST_TEST(loss <= PairOrders::kCoarseSiteError);
  BOOST_TEST(serves(orders, geometry, pixels));
  for (const auto& [minutes, served] : {std::pair{0.5, true}, std::pair{60.0, false}}) {
    EpicGeometry later = geometry;
    const double turn = minutes / 720 * kPi, c = std::cos(turn), s = std::sin(turn);
    for (Vec3& axis : later.axes) axis = {c * axis[0] - s * axis[2], axis[1], s * axis[0] + c * axis[2]};
    BOOST_TEST(serves(orders, later, pixels) == served, minutes << " minutes later");
  }
  // and level arrays none
  EpicGeometry level = geometry;
  for (Vec3& at : level.enu_m) at[2] = 0;
  BOOST_TEST(pair_grid_shape(plan, level, pixels).n_node == 1u);
}

BOOST_AUTO_TEST_CASE(plans_serve_what_they_reach) {
  std::vector<Vec3> enu_m;
  for (int ant = 0; ant < 40; ++ant) enu_m.push_back({1.0 * ant, 0.2 * ant, 0.01 * (ant % 7)});
  const EpicPlan plan = plan_of(enu_m.size(), 64, 50e6);
  EpicGeometry geometry = geometry_of(enu_m);
  const SkyPixels pixels = sky_pixels(plan, geometry);
  PairOrders orders = plan_pair_orders(plan, geometry, pixels);
  BOOST_TEST(serves(orders, geometry, pixels));
  EpicGeometry other = geometry;
  other.enu_m.back()[0] += 0.1;
  BOOST_TEST(serves(orders, other, pixels));
  other.enu_m.back()[0] += 1;
  BOOST_TEST(!serves(orders, other, pixels));
  other = geometry;
  other.enu_m.back()[1] += 0.1;
  BOOST_TEST(!serves(orders, other, pixels));
  // Greater heights are served for as long as they need no more orders.
  other = geometry;
  other.enu_m.back()[2] += 0.1;
  BOOST_TEST(serves(orders, other, pixels));
  BOOST_TEST(plan_pair_orders(plan, other, pixels).shape.n_order == orders.shape.n_order);
  other.enu_m.back()[2] += 3;
  BOOST_TEST(!serves(orders, other, pixels));
}

BOOST_AUTO_TEST_SUITE_END()
