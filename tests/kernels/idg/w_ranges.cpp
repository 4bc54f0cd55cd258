// SPDX-License-Identifier: GPL-3.0-or-later
// Images of ranges of w add up to that of all, wherever in a layer the ranges meet.
// tests/kernels/idg/cuda/w_ranges.cpp runs the same tests on a GPU.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "kernels/idg/idg.h"
#include "tests/kernels/idg/grid_place.h"
#include "tests/reference/statistics.h"
#include "tests/reference/test_device.h"
#include "tests/support/array_rows.h"

using namespace apsyn;
using namespace apsyn::support;

BOOST_AUTO_TEST_SUITE(w_ranges)

BOOST_AUTO_TEST_CASE(images_of_ranges_add_up) {
  ArrayRows d = observe_array(10, 150, 8);
  const auto data = noise_for(d);
  for (std::size_t row = 0; row < d.uvw_m.extent(0); ++row) d.uvw_m(row, 2) += d.uvw_m(row, 0);
  const IdgPlan plan = make_idg_plan({256, 256, 1e-3}, {.accuracy = 1e-5, .subgrid = 24}, longest_w(d), 1e5);
  BOOST_REQUIRE_GT(plan.n_layers, 3u);
  GridBlock block = d.block(false);
  block.data = data;
  std::uint64_t n_visibilities = 0;
  auto image = [&](const std::vector<LayerRange>& ranges) {
    auto gridder = make_gridder(reference::test_device(), plan,
                                {.n_threads = 2, .grid_memory = reference::test_grid_memory()});
    n_visibilities = 0;
    for (const LayerRange& range : ranges) {
      gridder->begin_pass(range);
      n_visibilities += gridder->grid(block).n_visibilities;
      gridder->end_pass();
    }
    return gridder->take_images();
  };
  const Buffer<double, 3> all = image({{0, plan.n_layers}});
  const std::uint64_t n_all = n_visibilities;
  const double slack = plan.layer_slack_lambda, border = 2 * plan.layer_step_lambda;
  BOOST_REQUIRE_GT(slack, 0);
  for (const double w :
       {border - slack / 2, border, border + slack / 2, border + plan.layer_step_lambda / 2}) {
    const auto sum = image(
        {{.first = 0, .n = 3, .max_w_lambda = w}, {.first = 2, .n = plan.n_layers - 2, .min_w_lambda = w}});
    BOOST_CHECK_EQUAL(n_visibilities, n_all);
    const double error = reference::relative_rms(sum.view().span(), all.view().span());
    // A layer's float32 sums in two parts; one visibility of 49000 that is missing makes 5e-3; measured: 9e-8
    // at most.
    BOOST_TEST_MESSAGE(error << ", " << n_all << " visibilities");
    BOOST_CHECK_LE(error, 1e-6);
  }
}

BOOST_AUTO_TEST_SUITE_END()
