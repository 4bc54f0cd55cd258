// SPDX-License-Identifier: GPL-3.0-or-later
// What a plan's subgrids are thought to cost, by which plans are chosen.
#include "kernels/idg/plan_cost.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

using namespace apsyn;

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

BOOST_AUTO_TEST_CASE(blocks_do_not_share_subgrids) {
  const IdgPlan plan = plan_for(64, 46);
  IdgWorkload ten = minute();
  ten.n_visibilities *= 10;
  ten.time_track_lambda *= 10;
  const double ratio = modelled_cost(plan, ten).subgrids_s / modelled_cost(plan, minute()).subgrids_s;
  BOOST_CHECK_CLOSE_FRACTION(ratio, 10, 0.05);
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
