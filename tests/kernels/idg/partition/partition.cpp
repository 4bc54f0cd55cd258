// SPDX-License-Identifier: GPL-3.0-or-later
// Every visibility with data lies in exactly one subgrid, within its limits, whatever the shape of the data.
#include "kernels/idg/partition/partition.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <utility>

#include "libcore/base/error.h"
#include "tests/support/array_rows.h"

using namespace apsyn;
using namespace apsyn::support;

BOOST_AUTO_TEST_SUITE(partition)

namespace {

void check(const IdgPlan& plan, const ArrayRows& d, bool aterms, const LayerRange& layers,
           std::size_t& n_tasks, const JoinRules& rules = {}) {
  const GridBlock block = d.block(aterms);
  const Partition parts = apsyn::partition(plan, block, layers, 2, rules);
  Buffer<std::uint32_t, 2> seen({d.uvw_m.extent(0), d.wavenumber.size()});
  const bool all = layers.n == plan.n_layers;
  // Half of the free cells are below the cell before each visibility and above the one behind it.
  const auto half = static_cast<double>(plan.settings.subgrid / 2);
  const auto free = static_cast<double>(plan.settings.free_cells() / 2);
  auto outside = [&](double cells, std::int64_t centre) {
    const double from = cells - static_cast<double>(centre);
    return std::floor(from + 1e-9) < -half + free || std::ceil(from - 1e-9) > half - 1 - free;
  };
  const double per_u = static_cast<double>(plan.n_u) * plan.image.cell_rad;
  const double per_v = static_cast<double>(plan.n_v) * plan.image.cell_rad;
  std::uint64_t total = 0;
  std::size_t wrong = 0;
  for (const SubgridTask& task : parts.tasks) {
    std::size_t n = 0;
    for (std::size_t i = task.first_run; i < task.first_run + task.n_runs; ++i) {
      const VisibilityRun& run = parts.runs[i];
      for (std::uint32_t c = run.first_channel; c < run.first_channel + run.n_channels; ++c, ++n) {
        ++seen(run.row, c);
        wrong += d.weight(run.row, c, 0) == 0;
        const double k = d.wavenumber(c), sign = d.uvw_m(run.row, 2) < 0 ? -1 : 1;
        const double u = d.uvw_m(run.row, 0) * k * sign, v = d.uvw_m(run.row, 1) * k * sign,
                     w = d.uvw_m(run.row, 2) * k * sign;
        wrong += outside(u * per_u, task.centre_u) + outside(v * per_v, task.centre_v);
        wrong += std::abs(w - task.w_lambda) > task.half_w_lambda * (1 + 1e-9) + 1e-9;
        if (plan.w_handling == WHandling::kernel)
          wrong += task.layer != static_cast<std::size_t>(std::floor(w / plan.layer_step_lambda));
        else
          wrong += std::abs(w - plan.layer_w_lambda(task.layer)) >
                   plan.half_w_lambda + plan.layer_slack_lambda + 1e-6;
        if (!aterms) continue;
        const std::uint32_t row_slot = d.row_slot(run.row), chan_slot = d.chan_slot(c);
        const auto response = [&](std::size_t end) {
          const std::uint32_t station = d.station(run.row, end);
          return d.response.size() == 0 ? station : d.response(row_slot, chan_slot, station);
        };
        const std::size_t first = sign < 0 ? 1 : 0;
        wrong += task.aterms.response_p != response(first) || task.aterms.response_q != response(1 - first);
        wrong += task.aterms.row_slot != row_slot || task.aterms.chan_slot != chan_slot;
        wrong += task.aterms.folded != (rules.folds_apart && sign < 0 ? 1 : 0);
      }
    }
    BOOST_CHECK_EQUAL(n, task.n_visibilities);
    wrong += n > idg::kMaxVisibilities;
    total += n;
  }
  BOOST_CHECK_EQUAL(wrong, 0u);
  BOOST_CHECK_EQUAL(total, parts.n_visibilities);
  // Data once where all layers are, and never twice.
  std::size_t n_wrong = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const std::uint32_t times = seen.data()[i], data = d.weight.data()[i] != 0;
    n_wrong += all ? times != data : times > data;
  }
  BOOST_CHECK_EQUAL(n_wrong, 0u);
  n_tasks = parts.tasks.size();
  const Partition other = apsyn::partition(plan, block, layers, 7, rules);
  BOOST_REQUIRE_EQUAL(other.tasks.size(), parts.tasks.size());
  for (std::size_t i = 0; i < parts.tasks.size(); ++i)
    BOOST_CHECK(other.tasks[i].centre_u == parts.tasks[i].centre_u &&
                other.tasks[i].first_run == parts.tasks[i].first_run &&
                other.tasks[i].n_visibilities == parts.tasks[i].n_visibilities);
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_visibility_is_counted_once) {
  for (const auto& [n_time, n_chan] : std::vector<std::array<std::size_t, 2>>{{1, 1}, {3, 70}, {20, 16}}) {
    const ArrayRows d = observe_array(12, n_time, n_chan);
    const double max_w = longest_w(d);
    for (const double cell_rad : {1e-4, 2e-2}) {  // a small field and the whole sky
      const IdgPlan plan = make_idg_plan(
          {cell_rad < 1e-3 ? 1000u : 100u, cell_rad < 1e-3 ? 800u : 100u, cell_rad}, {}, max_w, 1e5);
      BOOST_TEST_MESSAGE(plan.n_layers << " layers");
      std::size_t with = 0, without = 0, some = 0;
      check(plan, d, true, {0, plan.n_layers}, with);
      check(plan, d, false, {0, plan.n_layers}, without);
      BOOST_CHECK_LE(without, with);
      if (plan.n_layers > 1) check(plan, d, true, {plan.n_layers / 2, 1}, some);
      // Passes of one layer each see what one pass sees, once (and once for each layer that a task reaches).
      const std::size_t reach = plan.w_handling == WHandling::kernel ? plan.n_terms : 1;
      std::uint64_t in_passes = 0;
      for (std::size_t layer = 0; layer < plan.n_layers; ++layer)
        in_passes += apsyn::partition(plan, d.block(false), {layer, 1}, 2).n_visibilities;
      BOOST_CHECK_EQUAL(in_passes,
                        reach * apsyn::partition(plan, d.block(false), {0, plan.n_layers}, 2).n_visibilities);
    }
  }
}

BOOST_AUTO_TEST_CASE(baselines_of_like_stations_share_subgrids) {
  for (const std::size_t n_time : {std::size_t{3}, std::size_t{60}}) {
    ArrayRows d = observe_array(12, n_time, 16);
    for (const double cell_rad : {1e-4, 2e-2}) {
      if (cell_rad > 1e-3)  // an array so small that its baselines meet in subgrids of the whole sky
        for (double& coordinate : d.uvw_m) coordinate /= 100;
      const IdgPlan plan =
          make_idg_plan({100, 100, cell_rad}, {.subgrid = 32, .kernel_padding = 14}, longest_w(d), 1e5);
      const LayerRange layers{0, plan.n_layers};
      std::size_t own = 0, of_two = 0, apart = 0, all_joined = 0, without = 0;
      d.response.resize({0, 0, 0});
      d.jones.resize({3, 2, 12, 1, 1, 4});
      check(plan, d, true, layers, own);
      share_responses(d);
      check(plan, d, true, layers, of_two);
      check(plan, d, true, layers, apart, {.folds_apart = true});
      check(plan, d, true, layers, all_joined, {idg::kMaxVisibilities});
      check(plan, d, false, layers, without);
      // On shared cells each task still holds its visibilities with the cells that stay free, as check()
      // asks.
      std::size_t sharing = 0, n_subgrids = 0;
      const JoinRules shares{idg::kMaxVisibilities, false, true};
      check(plan, d, true, layers, sharing, shares);
      const Partition parts = apsyn::partition(plan, d.block(true), layers, 3, shares);
      for (std::size_t first = 0; first < sharing; first += n_on_same_cells(parts, first)) ++n_subgrids;
      BOOST_TEST(sharing == all_joined);
      BOOST_TEST(n_subgrids < sharing);
      BOOST_TEST(without < all_joined);
      BOOST_TEST(all_joined <= of_two);
      BOOST_TEST(of_two < apart);
      BOOST_TEST(apart < own);
    }
  }
}

/// Alike in one slot: A-terms cut and join nothing, then.
BOOST_AUTO_TEST_CASE(stations_that_are_all_alike_are_divided_as_without_aterms) {
  ArrayRows d = observe_array(12, 20, 16);
  d.row_slot.fill(0);
  d.chan_slot.fill(0);
  d.response.resize({1, 1, 12});
  d.jones.resize({1, 1, 1, 1, 1, 4});
  for (const double cell_rad : {1e-4, 2e-2}) {
    const IdgPlan plan = make_idg_plan({100, 100, cell_rad}, {}, longest_w(d), 1e5);
    const Partition want = apsyn::partition(plan, d.block(false), {0, plan.n_layers}, 2),
                    got = apsyn::partition(plan, d.block(true), {0, plan.n_layers}, 2);
    BOOST_REQUIRE_EQUAL(got.tasks.size(), want.tasks.size());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < want.tasks.size(); ++i)
      wrong += got.tasks[i].centre_u != want.tasks[i].centre_u ||
               got.tasks[i].centre_v != want.tasks[i].centre_v ||
               got.tasks[i].w_lambda != want.tasks[i].w_lambda ||
               got.tasks[i].first_run != want.tasks[i].first_run ||
               got.tasks[i].n_visibilities != want.tasks[i].n_visibilities;
    for (std::size_t i = 0; i < want.runs.size(); ++i) wrong += got.runs[i].row != want.runs[i].row;
    BOOST_TEST(wrong == 0u);
  }
}

BOOST_AUTO_TEST_CASE(only_hermitian_mixes_join_folded_visibilities) {
  using Complex = std::complex<double>;
  const std::array<Complex, 4> i{0.5, 0, 0, 0.5}, v{0, Complex(0, -0.5), Complex(0, 0.5), 0}, xx{1, 0, 0, 0},
      xy{0, 1, 0, 0};
  BOOST_TEST(!folds_apart({.mix = {i, v, xx}}));
  BOOST_TEST(folds_apart({.mix = {i, xy}}));
}

/// On either side of the borders between layers, and of what widens them.
BOOST_AUTO_TEST_CASE(no_visibility_is_lost_at_the_borders_of_layers) {
  ArrayRows d = observe_array(12, 20, 3);
  const IdgPlan plan = make_idg_plan({100, 100, 2e-2}, {}, longest_w(d), 1e5);
  BOOST_REQUIRE_GT(plan.n_layers, 3u);
  const double k = d.wavenumber(1);
  const double beside[] = {0, 1e-12, -1e-12, 1e-6, -1e-6, plan.layer_slack_lambda, -plan.layer_slack_lambda};
  for (std::size_t row = 0; row < d.uvw_m.extent(0); ++row) {
    const double border =
        static_cast<double>(1 + row % (plan.n_layers - 2)) * plan.layer_step_lambda + beside[row / 3 % 7];
    d.uvw_m(row, 2) = (row % 2 == 0 ? 1 : -1) * border / k;
  }
  for (const bool aterms : {false, true}) {
    std::size_t n_tasks = 0;
    check(plan, d, aterms, {0, plan.n_layers}, n_tasks);
    const std::size_t reach = plan.w_handling == WHandling::kernel ? plan.n_terms : 1;
    std::uint64_t in_passes = 0;
    for (std::size_t layer = 0; layer < plan.n_layers; ++layer) {
      check(plan, d, aterms, {layer, 1}, n_tasks);
      in_passes += apsyn::partition(plan, d.block(aterms), {layer, 1}, 2).n_visibilities;
    }
    BOOST_CHECK_EQUAL(in_passes,
                      reach * apsyn::partition(plan, d.block(aterms), {0, plan.n_layers}, 2).n_visibilities);
  }
}

/// Slots and stations count from 0: as many as there are is one too many.
BOOST_AUTO_TEST_CASE(slots_beyond_the_matrices_are_refused) {
  ArrayRows d = observe_array(5, 4, 3);
  IdgSetup setup{.n_data_planes = 4, .aterms = AtermMode::adjoint};
  setup.mix.push_back({0.5, 0, 0, 0.5});
  Buffer<float, 3> weight({d.uvw_m.extent(0), d.wavenumber.size(), 4});
  weight.fill(1);
  std::uint32_t row_slots = 0, chan_slots = 0, stations = 0;
  for (const std::uint32_t slot : d.row_slot) row_slots = std::max(row_slots, slot + 1);
  for (const std::uint32_t slot : d.chan_slot) chan_slots = std::max(chan_slots, slot + 1);
  for (const std::uint32_t station : d.station) stations = std::max(stations, station + 1);
  const auto refuses = [&](std::uint32_t n_row, std::uint32_t n_chan, std::uint32_t n_station) {
    const Buffer<std::complex<float>, 6> jones({n_row, n_chan, n_station, 2, 2, 4});
    GridBlock block = d.block(true);
    block.data = {};
    block.weight = weight;
    block.aterms.jones = jones;
    try {
      check_block(block, setup);
      return false;
    } catch (const std::invalid_argument&) {
      return true;
    }
  };
  BOOST_TEST(!refuses(row_slots, chan_slots, stations));
  if (row_slots > 1) BOOST_TEST(refuses(row_slots - 1, chan_slots, stations));
  if (chan_slots > 1) BOOST_TEST(refuses(row_slots, chan_slots - 1, stations));
  BOOST_TEST(refuses(row_slots, chan_slots, stations - 1));
  d.row_slot(0) = row_slots;
  BOOST_TEST(refuses(row_slots, chan_slots, stations));
  d.row_slot(0) = 0;
  d.chan_slot(0) = chan_slots;
  BOOST_TEST(refuses(row_slots, chan_slots, stations));
}

/// More than any subgrid takes, although a subgrid's cells hold all channels of a row.
BOOST_AUTO_TEST_CASE(rows_of_many_channels_are_divided) {
  const ArrayRows d = observe_many_channels(70'000);
  const IdgPlan plan = make_idg_plan({500, 400, 1e-4}, {}, longest_w(d), 1e5);
  std::size_t with = 0, without = 0;
  check(plan, d, true, {0, plan.n_layers}, with);
  check(plan, d, false, {0, plan.n_layers}, without);
  BOOST_CHECK_GE(without, 3 * 70'000 / idg::kMaxVisibilities + 1);
  BOOST_CHECK_GE(with, without);
}

BOOST_AUTO_TEST_CASE(w_beyond_the_plan_is_refused) {
  const ArrayRows d = observe_array(5, 2, 2);
  const IdgPlan plan = make_idg_plan({500, 500, 1e-4}, {}, 1, 1e5);
  BOOST_CHECK_THROW(apsyn::partition(plan, d.block(false), {0, plan.n_layers}, 1), DataError);
}

/// Also where the rows before and after it lie in one subgrid, which it would not widen.
BOOST_AUTO_TEST_CASE(what_is_not_a_number_is_refused) {
  ArrayRows d = observe_array(5, 60, 2);
  const IdgPlan plan = make_idg_plan({500, 500, 1e-5}, {}, longest_w(d), 1e5);
  BOOST_REQUIRE_LT(apsyn::partition(plan, d.block(true), {0, plan.n_layers}, 1).tasks.size(),
                   120u);  // of 600 rows
  for (const bool aterms : {false, true})
    for (const std::size_t row : {std::size_t{0}, d.uvw_m.extent(0) / 2, d.uvw_m.extent(0) - 1})
      for (std::size_t axis = 0; axis < 3; ++axis)
        for (const double value : {double(NAN), double(INFINITY)}) {
          const double before = std::exchange(d.uvw_m(row, axis), value);
          BOOST_CHECK_THROW(apsyn::partition(plan, d.block(aterms), {0, plan.n_layers}, 1), DataError);
          d.uvw_m(row, axis) = before;
        }
}

BOOST_AUTO_TEST_CASE(free_cells_grow_with_the_kernel_padding) {
  for (const Precision precision : {Precision::single, Precision::double_}) {
    std::size_t before = 0;
    for (std::size_t kernel_padding = 1; kernel_padding < 32; ++kernel_padding) {
      const IdgSettings settings{.subgrid = 32, .kernel_padding = kernel_padding, .precision = precision};
      BOOST_TEST(settings.free_cells() >= std::max(before, std::min<std::size_t>(kernel_padding, 30)));
      BOOST_TEST(settings.free_cells() <= 30u);  // a visibility lies between two cells
      before = settings.free_cells();
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
