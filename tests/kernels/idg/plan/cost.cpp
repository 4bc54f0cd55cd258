// SPDX-License-Identifier: GPL-3.0-or-later
// What a plan's subgrids are thought to cost, by which plans are chosen.
#include "kernels/idg/plan/cost.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "kernels/idg/plan/layers.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(cost)

namespace {

/// A minute of MWA-128T, 16 channels over 3 MHz.
IdgWorkload minute() {
  return {.max_w_lambda = 1350,
          .max_u_lambda = 900,
          .max_v_lambda = 1100,
          .n_visibilities = 3.5e6,
          .n_planes = 4,
          .n_baselines = 8128,
          .time_track_lambda = 1.2,
          .channel_track_lambda = 7};
}

IdgPlan plan_for(std::size_t subgrid, std::size_t kernel_padding, std::size_t aterm_cells = 0) {
  IdgSettings settings;
  settings.subgrid = subgrid;
  settings.kernel_padding = kernel_padding;
  settings.aterm_cells = aterm_cells;
  return make_idg_plan({2048, 2048, 1.4544e-4}, settings, minute());
}

}  // namespace

// Counted: 1814 subgrids of 64 cells, of which 46 are free, where the baselines' paths are cut 9800 times.
BOOST_AUTO_TEST_CASE(cpus_join_what_baselines_have_in_a_square) {
  const double joined = modelled_cost(plan_for(64, 46), minute()).subgrids_s;
  const double apart = modelled_cost(plan_for(64, 46, 8), minute()).subgrids_s;
  BOOST_CHECK_GT(joined, 0.12 * apart);
  BOOST_CHECK_LT(joined, 0.28 * apart);
  IdgWorkload gpu = minute();
  gpu.device = Device::Kind::cuda;
  const double gpu_joined = modelled_cost(plan_for(64, 46), gpu).subgrids_s,
               gpu_apart = modelled_cost(plan_for(64, 46, 8), gpu).subgrids_s;
  BOOST_CHECK_CLOSE_FRACTION(gpu_joined, gpu_apart, 1e-9);
}

// Counted: 4700 subgrids in each of five slots of 8 minutes where 7800 take all without A-terms.
BOOST_AUTO_TEST_CASE(slots_of_aterms_do_not_share_subgrids) {
  const IdgPlan plan = plan_for(64, 46, 8);
  const auto subgrids_s = [&](double n_row_slots, double n_chan_slots) {
    IdgWorkload work = minute();
    work.n_row_slots = n_row_slots;
    work.n_chan_slots = n_chan_slots;
    return modelled_cost(plan, work).subgrids_s;
  };
  BOOST_CHECK_CLOSE_FRACTION(subgrids_s(1, 1), modelled_cost(plan_for(64, 46), minute()).subgrids_s, 1e-9);
  double before = subgrids_s(1, 1);
  for (const auto& [times, bands] : {std::pair{2.0, 1.0}, {2.0, 2.0}, {5.0, 2.0}}) {
    const double own = subgrids_s(times, bands);
    BOOST_CHECK_GT(own, 1.2 * before);
    BOOST_CHECK_LE(own, times * bands * subgrids_s(1, 1));
    before = own;
  }
}

BOOST_AUTO_TEST_CASE(blocks_do_not_share_subgrids) {
  const IdgPlan plan = plan_for(64, 46);
  IdgWorkload ten = minute();
  ten.n_visibilities *= 10;
  ten.time_track_lambda *= 10;
  const double ratio = modelled_cost(plan, ten).subgrids_s / modelled_cost(plan, minute()).subgrids_s;
  BOOST_CHECK_CLOSE_FRACTION(ratio, 10, 0.05);
}

// The largest distance from a layer is looked for only until it is known how many layers there are.
BOOST_AUTO_TEST_CASE(distances_that_mean_as_many_layers_do_not_matter) {
  for (const std::size_t kernel_padding : {14, 34}) {
    const IdgPlan plan = plan_for(80, kernel_padding);
    const double max_w = minute().max_w_lambda, most = idg::max_half_w(max_w),
                 limit = idg::allowed_taper_error(plan.settings, true);
    int n_asked = 0, n_asked_of_layers = 0;
    const auto find = [&](const idg::HalfWMatters& matters) {
      return idg::largest_half_w(plan, idg::measure_field(plan), limit, most, matters);
    };
    const double exact = find([&](double, double) { return ++n_asked > 0; });
    const double enough = find([&](double low, double high) {
      ++n_asked_of_layers;
      return idg::count_layers(max_w, low) != idg::count_layers(max_w, high - idg::kHalfWStep * most);
    });
    BOOST_CHECK_EQUAL(idg::count_layers(max_w, enough), idg::count_layers(max_w, exact));
    BOOST_CHECK_LE(enough, exact);
    BOOST_CHECK_LE(n_asked_of_layers, n_asked);
    // Steps fine enough, and no coarser than they are said to be.
    const double step = idg::kHalfWStep * most;
    BOOST_CHECK_LE(idg::taper_with_w(plan, idg::measure_field(plan), exact).error, limit);
    BOOST_CHECK_GT(idg::taper_with_w(plan, idg::measure_field(plan), exact + step).error, limit);
  }
}

// No other size of subgrids and no other kernel padding, each planned by itself, would be cheaper, but for
// how little a taper depends on the size: 0.4 % measured.
BOOST_AUTO_TEST_CASE(the_cheapest_plan_is_taken) {
  const IdgPlan chosen = make_idg_plan({2048, 2048, 1.4544e-4}, {}, minute());
  // What a search through all sizes and paddings chooses.
  BOOST_CHECK_EQUAL(chosen.settings.subgrid, 72);
  BOOST_CHECK_EQUAL(chosen.settings.kernel_padding, 58);
  BOOST_CHECK_EQUAL(chosen.n_layers, 3);
  const double least = modelled_seconds(chosen, minute());
  for (const auto& [subgrid, kernel_padding] : {std::pair{40, 26}, {48, 34}, {64, 42}, {80, 58}})
    BOOST_CHECK_GE(
        modelled_seconds(
            plan_for(static_cast<std::size_t>(subgrid), static_cast<std::size_t>(kernel_padding)), minute()),
        0.99 * least);
}

// The matrix products take as long for 24 cells as for 32. A second of MWA-128T at 3 arcmin, 65000
// visibilities in 256 x 256 pixels: 918 subgrids of 24 and 550 of 32 took 6.3 and 4.2 ms.
BOOST_AUTO_TEST_CASE(short_intervals_take_subgrids_that_fill_the_vectors) {
  IdgWorkload second{.max_w_lambda = 12,
                     .max_u_lambda = 570,
                     .max_v_lambda = 570,
                     .n_visibilities = 65024,
                     .n_planes = 1,
                     .n_baselines = 8128,
                     .channel_track_lambda = 1,
                     .is_interval = true};
  const IdgPlan chosen = make_idg_plan({256, 256, 8.7266e-4}, {}, second);
  BOOST_CHECK_EQUAL(chosen.settings.subgrid, 32);
  // Where visibilities have subgrids almost to themselves these count nevertheless.
  second.max_u_lambda = second.max_v_lambda = 3000;
  const auto subgrids_s = [&] {
    return modelled_cost(make_idg_plan({2048, 2048, 1.5e-4}, {}, second), second).subgrids_s;
  };
  const double of_many = subgrids_s();
  second.n_visibilities /= 4;
  BOOST_CHECK_CLOSE_FRACTION(of_many, subgrids_s(), 0.01);
}

// Few visibilities take few subgrids each; none at all, or a source in the phase centre alone, no infinite
// time.
BOOST_AUTO_TEST_CASE(costs_are_finite) {
  for (double most : {0.0, 1e-3, 1e3})
    for (double visibilities : {0.0, 1.0, 1e3}) {
      IdgWorkload work = minute();
      work.max_u_lambda = work.max_v_lambda = work.max_w_lambda = most;
      work.n_visibilities = visibilities;
      work.n_baselines = 1;
      const double seconds = modelled_seconds(make_idg_plan({512, 512, 1e-4}, {}, work), work);
      BOOST_CHECK(std::isfinite(seconds));
      BOOST_CHECK_GT(seconds, 0);
    }
}

BOOST_AUTO_TEST_SUITE_END()
