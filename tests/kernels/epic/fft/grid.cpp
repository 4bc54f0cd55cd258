// SPDX-License-Identifier: GPL-3.0-or-later
// The antenna that makes the grid of the `fft` method large.
#include <boost/test/unit_test.hpp>

#include "kernels/epic/fft/grid.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(grid)

namespace {

EpicPlan plan_of(std::size_t n_ant) {
  EpicPlan plan;
  plan.n_ant = n_ant;
  plan.channel_hz = {50e6};
  plan.nx = plan.ny = 64;
  plan.cell = 2.0 / 64;
  return plan;
}

/// 5 x 5 antennas 8 m apart on a slope, and one more.
EpicGeometry with_outrigger(double slope, const Vec3& outrigger) {
  EpicGeometry geometry;
  for (int i = 0; i < 25; ++i) {
    const double east = 8.0 * (i % 5), north = 8.0 * (i / 5);
    geometry.enu_m.push_back({east, north, slope * east});
  }
  geometry.enu_m.insert(geometry.enu_m.begin() + 11, outrigger);
  geometry.delay_s.assign(geometry.enu_m.size(), 0);
  return geometry;
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_outrigger_off_the_slope_is_named) {
  const EpicGeometry geometry = with_outrigger(0.05, {300, 200, 15});
  const EpicPlan plan = plan_of(26);
  const auto outlier = fft_outlier(plan, geometry);
  BOOST_TEST_REQUIRE(outlier.has_value());
  BOOST_TEST(outlier->ant == 11u);
  EpicPlan without = plan_of(26);
  without.flagged.assign(26, 0);
  without.flagged[11] = 1;
  const FftGrid wanted = plan_fft_grid(without, geometry), all = plan_fft_grid(plan, geometry);
  BOOST_TEST(outlier->without.x.n == wanted.x.n);
  BOOST_TEST(outlier->without.y.n == wanted.y.n);
  BOOST_TEST(all.x.n * all.y.n >= 2 * wanted.x.n * wanted.y.n);
  BOOST_TEST(!fft_outlier(without, geometry).has_value());
}

BOOST_AUTO_TEST_CASE(an_outrigger_on_level_ground_costs_nothing) {
  BOOST_TEST(!fft_outlier(plan_of(26), with_outrigger(0, {300, 200, 0})).has_value());
}

BOOST_AUTO_TEST_CASE(two_antennas_have_no_outrigger) {
  EpicGeometry two;
  two.enu_m = {{0, 0, 0}, {500, 0, 20}};
  two.delay_s = {0, 0};
  BOOST_TEST(!fft_outlier(plan_of(2), two).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
