// SPDX-License-Identifier: GPL-3.0-or-later
// Ranges of w part the subgrids of a plan: each lies in one, and none takes much longer than the others.
#include "tools/imaging/w_ranges.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>
#include <utility>

#include "kernels/idg/partition/partition.h"
#include "kernels/idg/partition/pass_rows.h"
#include "libcore/base/error.h"
#include "tests/support/array_rows.h"

using namespace apsyn;
using namespace apsyn::imaging;

BOOST_AUTO_TEST_SUITE(w_ranges)

namespace {

IdgPlan layers_of(std::size_t n, double step_lambda) {
  IdgPlan plan;
  plan.n_layers = n;
  plan.layer_step_lambda = step_lambda;
  plan.first_layer_lambda = step_lambda / 2;
  return plan;
}

/// Most visibilities at small w, as in an array with a core.
struct Core {
  WHistogram histogram;
  std::vector<double> w_lambda;
  Core(double longest_lambda, std::size_t n) {
    std::mt19937_64 random(5);
    std::exponential_distribution<double> w(6 / longest_lambda);
    while (w_lambda.size() < n)
      if (const double value = w(random); value < longest_lambda) w_lambda.push_back(value);
    for (const double value : w_lambda) histogram.add({0, 0, value}, 1);
  }
};

/// Seconds of a range, with no histogram between.
double seconds(const IdgPlan& plan, const PlanCost& cost, const Core& core, const LayerRange& range) {
  double n = 0;
  for (const double w : core.w_lambda) {
    const auto layer = static_cast<std::size_t>(w / plan.layer_step_lambda);
    n += layer >= range.first && layer < range.first + range.n && w >= range.min_w_lambda &&
         w < range.max_w_lambda;
  }
  return n * cost.visibility_s + static_cast<double>(range.n) * cost.layer_s;
}

/// Seconds on their way of the visibilities of all layers that a range touches.
double travel_seconds(const IdgPlan& plan, const PlanCost& cost, const Core& core, const LayerRange& range) {
  double n = 0;
  for (const double w : core.w_lambda) {
    const auto layer = static_cast<std::size_t>(w / plan.layer_step_lambda);
    n += layer >= range.first && layer < range.first + range.n;
  }
  return n * cost.travel_s;
}

/// Of two ranges that meet at w: the slower one's.
double slower(const IdgPlan& plan, const PlanCost& cost, const Core& core, double w) {
  const auto layer = static_cast<std::size_t>(w / plan.layer_step_lambda);
  const bool inside = w > static_cast<double>(layer) * plan.layer_step_lambda;
  double most = 0;
  for (const LayerRange& range : {LayerRange{.first = 0, .n = layer + (inside ? 1 : 0), .max_w_lambda = w},
                                  LayerRange{.first = layer, .n = plan.n_layers - layer, .min_w_lambda = w}})
    most = std::max({most, seconds(plan, cost, core, range), travel_seconds(plan, cost, core, range)});
  return most;
}

struct Rows {
  WHistogram by_w;
  double max_w_m = 0;
};
/// Of eight channels.
Rows survey(const support::ArrayRows& d) {
  Rows rows;
  const double k = d.wavenumber(4);
  for (std::size_t row = 0; row < d.uvw_m.extent(0); ++row) {
    rows.max_w_m = std::max(rows.max_w_m, std::abs(d.uvw_m(row, 2)));
    rows.by_w.add({d.uvw_m(row, 0) * k, d.uvw_m(row, 1) * k, d.uvw_m(row, 2) * k}, 8);
  }
  return rows;
}

}  // namespace

BOOST_AUTO_TEST_CASE(ranges_take_about_as_long) {
  const PlanCost cost{1e-6, 0, 4e-3};
  for (const std::size_t n_layers : {4u, 15u, 40u})
    for (const std::size_t n : {1u, 2u, 3u, 4u}) {
      const IdgPlan plan = layers_of(n_layers, 300);
      const Core core(300.0 * static_cast<double>(n_layers), 400000);
      const auto ranges = cut_w(plan, cost, core.histogram, n);
      BOOST_REQUIRE_EQUAL(ranges.size(), n);
      double all = 0, longest = 0;
      std::size_t transforms = 0;
      for (const LayerRange& range : ranges) {
        const double own = seconds(plan, cost, core, range);
        all += own;
        longest = std::max(longest, own);
        transforms += range.n;
      }
      // Each visibility once, each layer once but for those that two ranges share.
      BOOST_CHECK_CLOSE(all, 400000 * cost.visibility_s + static_cast<double>(transforms) * cost.layer_s,
                        1e-9);
      BOOST_CHECK(transforms >= n_layers && transforms <= n_layers + n - 1);
      // Measured: 1.006 times the mean at most.
      const double mean = all / static_cast<double>(n);
      BOOST_TEST_MESSAGE(n_layers << " layers, " << n << " ranges: slowest " << longest / mean
                                  << " of the mean");
      BOOST_CHECK_LE(longest, 1.01 * mean);
    }
}

BOOST_AUTO_TEST_CASE(ranges_travel_about_as_long) {
  const IdgPlan plan = layers_of(13, 300);
  const Core core(3900, 100000);
  // Computing takes longer, as long, and less.
  for (const double travel_s : {1e-8, 1e-6, 3e-6}) {
    const PlanCost cost{1e-6, 0, 4e-3, travel_s};
    double best = INFINITY;  // of two ranges
    for (double w = 15; w < 3900; w += 15) best = std::min(best, slower(plan, cost, core, w));
    for (const std::size_t n : {1u, 2u, 4u}) {
      double all = 0, longest = 0, travels = 0;
      for (const LayerRange& range : cut_w(plan, cost, core.histogram, n)) {
        all += seconds(plan, cost, core, range);
        travels = std::max(travels, travel_seconds(plan, cost, core, range));
        longest = std::max({longest, seconds(plan, cost, core, range), travels});
      }
      BOOST_TEST_MESSAGE("travel " << travel_s << ", " << n << " ranges: " << longest << " s, best of two "
                                   << best);
      if (n == 1) BOOST_CHECK_CLOSE(longest, std::max(100000 * travel_s, all), 1e-9);
      // Measured: 1.003 at most.
      if (n == 2) BOOST_CHECK_LE(longest, 1.01 * best);
      // No layer travels to two where it is travelling that takes long: measured 0.37.
      if (n == 4 && travel_s == 3e-6) BOOST_CHECK_LT(longest, 0.4 * 100000 * travel_s);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_range_of_every_layer_where_there_is_nothing) {
  const IdgPlan plan = layers_of(5, 10);
  const auto ranges = cut_w(plan, {1e-6, 1, 1e-3}, WHistogram(), 5);
  BOOST_REQUIRE_EQUAL(ranges.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    BOOST_CHECK_EQUAL(ranges[i].first, i);
    BOOST_CHECK_EQUAL(ranges[i].n, 1u);
  }
}

BOOST_AUTO_TEST_CASE(layers_of_a_w_kernel_stay_whole) {
  IdgPlan plan = layers_of(12, 100);
  plan.w_handling = WHandling::kernel;
  plan.first_layer_lambda = -250;
  const Core core(600, 10000);
  std::size_t next = 0;
  for (const LayerRange& range : cut_w(plan, {1e-6, 0, 1e-4}, core.histogram, 3)) {
    BOOST_CHECK_EQUAL(range.first, next);
    BOOST_CHECK_GT(range.n, 0u);
    BOOST_CHECK(std::isinf(range.min_w_lambda) && std::isinf(range.max_w_lambda));
    next += range.n;
  }
  BOOST_CHECK_EQUAL(next, 12u);
}

BOOST_AUTO_TEST_CASE(what_is_nowhere_is_refused_by_some_process) {
  support::ArrayRows d = support::observe_array(14, 40, 8);
  auto [by_w, max_w] = survey(d);
  const double total = 8 * static_cast<double>(d.uvw_m.extent(0));
  by_w.add({1, 1, NAN}, 8);
  by_w.add({1, 1, INFINITY}, 8);
  double n_counted = 0;
  for (const WHistogram::Bin& bin : by_w.bins()) n_counted += bin.n;
  BOOST_CHECK_EQUAL(n_counted, total);
  const IdgWorkload work{.max_w_lambda = max_w * d.wavenumber(0), .n_visibilities = 1e5, .n_planes = 1};
  const IdgPlan plan = make_idg_plan({256, 256, 2e-3}, {.subgrid = 24}, work);
  for (const std::size_t axis : {0u, 2u})
    for (const double value : {double(NAN), double(INFINITY)})
      for (std::size_t row : {std::size_t{0}, d.uvw_m.extent(0) / 2}) {
        const double before = std::exchange(d.uvw_m(row, axis), value);
        const GridBlock block = d.block(false);
        for (std::size_t n = 1; n <= 3; ++n) {
          std::size_t n_refused = 0;
          for (const LayerRange& range : cut_w(plan, {1e-6, 1e-2, 0}, by_w, n)) {
            BOOST_CHECK_THROW(partition(plan, block, range, 2), DataError);
            const auto rows = idg::rows_of_pass(plan, block, range, 2);
            n_refused += !rows || std::binary_search(rows->begin(), rows->end(), row);
          }
          BOOST_CHECK_GE(n_refused, 1u);
        }
        d.uvw_m(row, axis) = before;
      }
}

BOOST_AUTO_TEST_CASE(every_subgrid_is_of_one_range) {
  const support::ArrayRows d = support::observe_array(14, 40, 8);
  const auto [by_w, max_w] = survey(d);
  IdgSettings settings;
  settings.subgrid = 24;
  const IdgWorkload work{.max_w_lambda = max_w * d.wavenumber(0), .n_visibilities = 1e5, .n_planes = 1};
  const IdgPlan plan = make_idg_plan({256, 256, 2e-3}, settings, work);
  BOOST_REQUIRE_GE(plan.n_layers, 3u);
  const GridBlock block = d.block(false);
  const Partition all = partition(plan, block, {0, plan.n_layers}, 2);
  std::uint64_t n = 0;
  std::size_t n_tasks = 0;
  bool cut_inside = false;
  for (const LayerRange& range : cut_w(plan, {1e-6, 1e-2, 0}, by_w, 3)) {
    const Partition own = partition(plan, block, range, 2);
    n += own.n_visibilities;
    n_tasks += own.tasks.size();
    cut_inside = cut_inside || std::isfinite(range.max_w_lambda);
  }
  BOOST_CHECK_EQUAL(n, all.n_visibilities);
  BOOST_CHECK_EQUAL(n_tasks, all.tasks.size());
  BOOST_CHECK_GT(n, 0u);
  BOOST_CHECK(cut_inside);
}

BOOST_AUTO_TEST_CASE(subgrids_go_by_the_length_of_baselines) {
  WHistogram histogram;
  histogram.add({0, 10, 1}, 300);   // 3000 of 4000 of the length, 300 of 310 visibilities
  histogram.add({60, 80, -5}, 10);  // 1000
  const auto seconds = bin_seconds({2, 80, 0}, histogram);
  const auto at = [&](double w) { return seconds[static_cast<std::size_t>(w / histogram.width_lambda())]; };
  BOOST_CHECK_CLOSE(at(1), 600 + 60.0, 1e-9);
  BOOST_CHECK_CLOSE(at(5), 20 + 20.0, 1e-9);
}

BOOST_AUTO_TEST_CASE(nothing_is_transformed_for_no_visibilities) {
  IdgPlan plan = layers_of(3, 1);
  WHistogram histogram;
  for (int i = 0; i < 100; ++i) histogram.add({0, 0, 0.005 * i}, 1);  // up to half of the first layer
  const auto pieces = w_pieces(plan, {1, 0, 1}, histogram);
  BOOST_REQUIRE_GT(pieces.size(), 50u);
  BOOST_CHECK_EQUAL(pieces[pieces.size() - 3].layer, 0u);
  BOOST_CHECK_EQUAL(pieces[pieces.size() - 3].end_lambda, 1);
  BOOST_CHECK_GT(pieces[pieces.size() - 3].seconds, 0);
  for (std::size_t i = pieces.size() - 2; i < pieces.size(); ++i) BOOST_CHECK_EQUAL(pieces[i].seconds, 0);
}

namespace {

/// Rows whose w changes as they turn, and a plan as tensor cores have it: subgrids reach across the layers'
/// borders.
struct AcrossBorders {
  support::ArrayRows d = support::observe_array(10, 150, 8);
  Rows rows;
  IdgPlan plan;
  Partition all;
  AcrossBorders() {
    for (std::size_t row = 0; row < d.uvw_m.extent(0); ++row) d.uvw_m(row, 2) += d.uvw_m(row, 0);
    rows = survey(d);
    plan =
        make_idg_plan({256, 256, 2e-3}, {.subgrid = 24},
                      {.max_w_lambda = rows.max_w_m * d.wavenumber(0), .n_visibilities = 1e5, .n_planes = 1});
    BOOST_REQUIRE_GT(plan.n_layers, 10u);  // passes of five, and several ranges
    plan.max_task_half_w_lambda = plan.half_w_lambda;
    all = partition(plan, d.block(false), {0, plan.n_layers}, 2);
  }

  /// Checks that ranges hold each visibility with data once, in as many subgrids as all layers do.
  void check_once(const std::vector<LayerRange>& ranges) const {
    const GridBlock block = d.block(false);
    Buffer<int, 2> seen({d.weight.extent(0), d.weight.extent(1)});
    std::size_t n_tasks = 0, wrong = 0;
    for (const LayerRange& range : ranges) {
      const Partition own = partition(plan, block, range, 2);
      n_tasks += own.tasks.size();
      for (const SubgridTask& task : own.tasks)
        for (std::size_t i = task.first_run; i < task.first_run + task.n_runs; ++i)
          for (std::uint32_t c = 0; c < own.runs[i].n_channels; ++c)
            ++seen(own.runs[i].row, own.runs[i].first_channel + c);
    }
    for (std::size_t i = 0; i < seen.size(); ++i) wrong += seen.data()[i] != (d.weight.data()[i] != 0);
    BOOST_CHECK_EQUAL(wrong, 0u);
    BOOST_CHECK_EQUAL(n_tasks, all.tasks.size());
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(subgrids_that_reach_beyond_their_layers_are_of_one_range, AcrossBorders) {
  BOOST_REQUIRE_GT(plan.layer_slack_lambda, 0);
  for (std::size_t n = 2; n <= std::min<std::size_t>(plan.n_layers, 12); ++n)
    check_once(cut_w(plan, {1e-6, 1e-2, 0}, rows.by_w, n));
}

BOOST_FIXTURE_TEST_CASE(ranges_meet_anywhere_in_a_layer, AcrossBorders) {
  std::size_t n_beyond = 0;
  for (const SubgridTask& task : all.tasks)
    n_beyond += std::abs(task.w_lambda - plan.layer_w_lambda(task.layer)) > plan.layer_step_lambda / 2;
  BOOST_TEST_MESSAGE(n_beyond << " of " << all.tasks.size() << " subgrids, " << plan.n_layers << " layers");
  BOOST_REQUIRE_GT(n_beyond, 10u);  // measured: 19; a range of w alone would miss these
  const double slack = plan.layer_slack_lambda, step = plan.layer_step_lambda;
  for (std::size_t layer = 0; layer < std::min<std::size_t>(plan.n_layers, 2); ++layer) {
    const double border = static_cast<double>(layer) * step;
    std::vector<double> cuts;
    for (const double from : {-slack, -slack / 2, 0.0, slack / 2, slack, step / 2, step - slack / 2, step})
      cuts.push_back(border + from);
    for (const SubgridTask& task : all.tasks)  // the middle of a subgrid itself
      if (task.layer == layer && cuts.size() < 12) cuts.push_back(task.w_lambda);
    for (const double w : cuts) {
      const LayerRange below{.first = 0, .n = layer + 1, .max_w_lambda = w};
      const LayerRange above{.first = layer, .n = plan.n_layers - layer, .min_w_lambda = w};
      check_once({below, above});
      // In passes of five layers each.
      std::vector<LayerRange> passes;
      for (const LayerRange& range : {below, above})
        for (std::size_t first = 0; first < range.n; first += 5) passes.push_back(range.part(first, 5));
      check_once(passes);
      check_once({below,
                  {.first = layer, .n = 1, .min_w_lambda = w, .max_w_lambda = w + slack},
                  {.first = layer, .n = plan.n_layers - layer, .min_w_lambda = w + slack}});
    }
  }
}

BOOST_AUTO_TEST_CASE(layers_of_a_w_kernel_have_no_limits) {
  const support::ArrayRows d = support::observe_array(5, 2, 2);
  const IdgPlan plan = make_idg_plan({100, 100, 2e-2}, {}, 2000, 1e5);
  BOOST_REQUIRE(plan.w_handling == WHandling::kernel);
  BOOST_CHECK_THROW(partition(plan, d.block(false), {0, plan.n_layers, 1.0}, 1), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()
