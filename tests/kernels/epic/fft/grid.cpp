// SPDX-License-Identifier: GPL-3.0-or-later
// The antenna that makes the grid of the `fft` method large.
#include <boost/test/unit_test.hpp>

#include "kernels/epic/fft/grid.h"
#include "kernels/epic/fft/off_grid.h"

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

namespace {

std::vector<std::size_t> chosen(EpicPlan plan, const EpicGeometry& geometry) {
  choose_off_grid(plan, geometry, [&] { return fft_cost(plan, geometry).of(1000); });
  std::vector<std::size_t> off;
  for (std::size_t ant = 0; ant < plan.off_grid.size(); ++ant)
    if (plan.off_grid[ant] != 0) off.push_back(ant);
  return off;
}

}  // namespace

BOOST_AUTO_TEST_CASE(outriggers_leave_the_grid_where_that_costs_less) {
  const auto none = std::vector<std::size_t>{};
  BOOST_TEST(chosen(plan_of(26), with_outrigger(0.05, {300, 200, 15})) == std::vector<std::size_t>{11});
  // not one that stands with the others
  BOOST_TEST(chosen(plan_of(26), with_outrigger(0.05, {20, 41, 1})) == none);
  // two on one side: the nearer one alone still needs a larger grid
  EpicGeometry two = with_outrigger(0.05, {300, 200, 15});
  two.enu_m.push_back({250, 160, 9});
  two.delay_s.push_back(0);
  BOOST_TEST(chosen(plan_of(27), two) == (std::vector<std::size_t>{11, 26}));
  // one that is flagged is no part of the array
  EpicPlan flagged = plan_of(26);
  flagged.flagged.assign(26, 0);
  flagged.flagged[11] = 1;
  BOOST_TEST(chosen(std::move(flagged), with_outrigger(0.05, {300, 200, 15})) == none);
  // one so far out that no grid holds it
  BOOST_TEST(chosen(plan_of(26), with_outrigger(0.05, {90e3, 30e3, 9e3})) == std::vector<std::size_t>{11});
}

BOOST_AUTO_TEST_SUITE_END()
