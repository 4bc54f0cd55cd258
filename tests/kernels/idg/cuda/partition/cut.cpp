// SPDX-License-Identifier: GPL-3.0-or-later
// The device's cutting into subgrids against the host's, to the last bit; and which subgrids the tiles of the
// grid pull against a search through all of them.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "kernels/idg/cuda/tasks.h"
#include "tests/support/array_rows.h"
#include "tests/support/device_rows.h"

using namespace apsyn;
using namespace apsyn::idg_cuda;
using namespace apsyn::support;

BOOST_AUTO_TEST_SUITE(cut)

namespace {

struct OnDevice : CutBlock {
  TaskLister lister{stream.get()};
  DeviceTasks tasks;
};

void compare_with(OnDevice& device, const Partition& want, const IdgPlan& plan, const GridBlock& block,
                  const LayerRange& layers) {
  BOOST_REQUIRE(device.cut(plan, block, layers));
  BOOST_REQUIRE_EQUAL(device.tables.n_tables, want.tasks.size());
  std::size_t n_runs = 0;
  for (const SubgridTask& task : want.tasks) n_runs += task.n_runs;
  BOOST_REQUIRE_EQUAL(device.tables.n_runs, n_runs);
  BOOST_CHECK_EQUAL(device.tables.n_visibilities, want.n_visibilities);
  const auto tables = download(device.tables.tables.data(), want.tasks.size());
  const auto runs = download(device.tables.runs.data(), want.runs.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < want.tasks.size(); ++i) {
    const SubgridTask got = idg::task_of(tables[i]), &task = want.tasks[i];
    wrong += got.centre_u != task.centre_u || got.centre_v != task.centre_v ||
             got.w_lambda != task.w_lambda || got.half_w_lambda != task.half_w_lambda ||
             got.layer != task.layer || got.first_run != task.first_run || got.n_runs != task.n_runs ||
             got.n_visibilities != task.n_visibilities || !(got.aterms == task.aterms);
  }
  BOOST_CHECK_EQUAL(wrong, 0u);
  wrong = 0;
  for (std::size_t i = 0; i < runs.size(); ++i)
    wrong += std::tie(runs[i].row, runs[i].first_channel, runs[i].n_channels) !=
             std::tie(want.runs[i].row, want.runs[i].first_channel, want.runs[i].n_channels);
  BOOST_CHECK_EQUAL(wrong, 0u);
}

/// folds_apart makes a difference to blocks with A-terms.
void compare(OnDevice& device, const IdgPlan& plan, const GridBlock& block, const LayerRange& layers) {
  for (const bool folds_apart : {false, true}) {
    if (folds_apart && block.aterms.jones.size() == 0) break;
    device.folds_apart = folds_apart;
    const Partition want = partition(plan, block, layers, 2, {.folds_apart = folds_apart});
    for (const int lanes : {1, 8, 32, 0}) {
      device.cutter.use_lanes(lanes);
      compare_with(device, want, plan, block, layers);
    }
  }
  device.folds_apart = false;
}

/// Whether cells start .. start + side - 1 (mod n) touch a tile that begins at `tile`.
bool overlaps(int start, int side, int n, int tile) {
  for (int i = 0; i < side; ++i)
    if (const int cell = (start + i) % n; cell >= tile && cell < tile + kGridTile) return true;
  return false;
}

/// Lists of the tables that the device holds.
void check_lists(OnDevice& device, const IdgPlan& plan, const WExpansions& expansions,
                 const LayerRange& layers, std::size_t range_tasks) {
  const std::size_t n_outputs = expansions.w_kernel ? plan.n_terms : 1;
  const ListPlan list = list_plan(plan, expansions, n_outputs, layers);
  RangeLimits limits{range_tasks, {}};
  limits.slots.fill(20000);
  auto ranges = device.lister.list(list, device.tables, limits, device.tasks);
  device.lister.place(list, ranges, device.tasks);
  const std::size_t n = device.tables.n_tables;
  const auto tasks = download(device.tasks.tasks.data(), n);
  const auto places = device.lister.places(device.tasks);
  std::uint32_t slot = 0, chunk = 0;
  std::size_t wrong = 0, next = 0, n_tiles = 0;
  for (std::size_t i = 0; i < n; ++i) {
    wrong += tasks[i].first_slot != slot || tasks[i].first_chunk != chunk;
    wrong += tasks[i].n_slots % kSlotGroup != 0;
    slot += tasks[i].n_slots;
    chunk += tasks[i].n_chunks;
  }
  BOOST_CHECK_EQUAL(slot, device.tasks.n_slots);
  BOOST_CHECK_EQUAL(chunk, device.tasks.n_chunks);
  std::vector<bool> want_used(layers.n, false);
  for (const RangeWork& range : ranges) {
    BOOST_REQUIRE_EQUAL(range.first, next);
    BOOST_REQUIRE(range.n >= 1 && range.n <= range_tasks);
    next += range.n;
    if (expansions.tensor) {
      BOOST_REQUIRE_EQUAL(range.n_selected[0] + range.n_selected[1], range.n);
      std::set<std::uint32_t> seen;
      for (std::size_t expansion = 0; expansion < 2; ++expansion) {
        const auto selected = download(device.tasks.selected.data() + range.first_selected[expansion],
                                       range.n_selected[expansion]);
        std::uint32_t before = 0xffffffff;
        for (const std::uint32_t i : selected) {
          const SlotTask& task = tasks[range.first + i];
          wrong +=
              !seen.insert(i).second || task.w_unit_lambda != expansions.expansions[expansion].w_unit_lambda;
          const std::uint32_t n_visibilities =
              download(device.tables.tables.data() + range.first + i, 1)[0].n_visibilities;
          wrong += n_visibilities > before;
          before = n_visibilities;
        }
      }
      BOOST_CHECK_EQUAL(seen.size(), range.n);
    } else {
      wrong += range.first_slot != tasks[range.first].first_slot;
      std::size_t n_slots = 0;
      for (std::size_t i = range.first; i < next; ++i) {
        n_slots += tasks[i].n_slots;
        wrong += tasks[i].w_unit_lambda != expansions.expansions[range.expansion].w_unit_lambda;
      }
      wrong += n_slots != range.n_slots || (range.n > 1 && n_slots > 20000);
    }
    std::map<std::tuple<int, int, int>, std::vector<std::uint32_t>> want;
    for (std::size_t i = 0; i < range.n; ++i)
      for (std::size_t output = 0; output < n_outputs; ++output) {
        const TaskPlace& place = places[range.first + i];
        const std::size_t layer = place.layer + output;
        if (layer < layers.first || layer >= layers.first + layers.n) continue;
        want_used[layer - layers.first] = true;
        for (int v = 0; v < list.n_v; v += kGridTile) {
          if (!overlaps(int(place.start_v), list.side, list.n_v, v)) continue;
          for (int u = 0; u < list.n_u; u += kGridTile)
            if (overlaps(int(place.start_u), list.side, list.n_u, u))
              want[{int(layer - layers.first), v, u}].push_back(std::uint32_t(i * n_outputs + output));
        }
      }
    BOOST_REQUIRE_EQUAL(range.first_tile, n_tiles);
    BOOST_REQUIRE_EQUAL(range.n_tiles, want.size());
    n_tiles += range.n_tiles;
    const auto tiles = download(device.tasks.tiles.data() + range.first_tile, range.n_tiles);
    auto expected = want.begin();
    for (const GridTile& tile : tiles) {
      const auto entries = download(device.tasks.entries.data() + tile.first_entry, tile.n_entries);
      wrong += std::tuple(tile.layer, tile.v, tile.u) != expected->first || entries != expected->second;
      ++expected;
    }
  }
  BOOST_CHECK_EQUAL(next, n);
  BOOST_CHECK_EQUAL(wrong, 0u);
  BOOST_CHECK(device.tasks.layer_used == want_used);
}

}  // namespace

/// For compute-sanitizer, which takes a thousand times as long.
BOOST_AUTO_TEST_CASE(small_for_sanitizers) {
  OnDevice device;
  const ArrayRows d = observe_array(5, 3, 4);
  const IdgPlan plan = make_idg_plan({100, 80, 2e-4}, {.accuracy = 1e-5}, longest_w(d), 1e5);
  compare(device, plan, d.block(false), {0, plan.n_layers});
  check_lists(device, plan, make_w_expansions(plan, true), {0, plan.n_layers}, 7);
  ArrayRows alike = observe_array(5, 3, 4);
  share_responses(alike);
  compare(device, plan, alike.block(true), {0, plan.n_layers});
}

BOOST_AUTO_TEST_CASE(the_hosts_subgrids_to_the_last_bit) {
  OnDevice device;
  for (const auto& [n_time, n_chan] :
       std::vector<std::array<std::size_t, 2>>{{1, 1}, {3, 70}, {60, 16}, {700, 4}}) {
    const ArrayRows d = observe_array(12, n_time, n_chan);
    ArrayRows alike = observe_array(12, n_time, n_chan);
    share_responses(alike);
    const double max_w = longest_w(d);
    for (const double cell_rad : {1e-4, 2e-2}) {  // a small field and the whole sky
      const IdgPlan plan = make_idg_plan(
          {cell_rad < 1e-3 ? 1000u : 100u, cell_rad < 1e-3 ? 800u : 100u, cell_rad}, {}, max_w, 1e5);
      compare(device, plan, alike.block(true), {0, plan.n_layers});
      compare(device, plan, alike.block(true), {plan.n_layers / 2, 1});
      for (const bool aterms : {true, false}) {
        GridBlock block = d.block(aterms);
        compare(device, plan, block, {0, plan.n_layers});
        compare(device, plan, block, {plan.n_layers / 2, 1});
        if (plan.w_handling == WHandling::chebyshev) {
          compare(device, plan, block, {0, plan.n_layers, max_w / 8, max_w / 3});
          compare(device, plan, block, {0, plan.n_layers, 2 * max_w, 3 * max_w});
        }
        if (aterms) continue;
        block.weight = {};
        compare(device, plan, block, {0, plan.n_layers});
        block.station = {};
        compare(device, plan, block, {0, plan.n_layers});
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(rows_of_many_channels_are_cut_as_by_the_host) {
  OnDevice device;
  const ArrayRows d = observe_many_channels(70'000);
  const IdgPlan plan = make_idg_plan({500, 400, 1e-4}, {.accuracy = 1e-5}, longest_w(d), 1e5);
  compare(device, plan, d.block(true), {0, plan.n_layers});
  compare(device, plan, d.block(false), {0, plan.n_layers});
  check_lists(device, plan, make_w_expansions(plan, true), {0, plan.n_layers}, 7);
}

/// Subgrids reach across the layers' borders, where ranges meet as well as elsewhere.
BOOST_AUTO_TEST_CASE(ranges_that_meet_in_a_layer_hold_every_visibility_once) {
  OnDevice device;
  ArrayRows d = observe_array(10, 150, 8);
  for (std::size_t row = 0; row < d.uvw_m.extent(0); ++row) d.uvw_m(row, 2) += d.uvw_m(row, 0);
  IdgPlan plan = make_idg_plan({256, 256, 1e-3}, {.subgrid = 24}, longest_w(d), 1e5);
  plan.max_task_half_w_lambda = plan.half_w_lambda;
  BOOST_REQUIRE_GT(plan.n_layers, 3u);
  const GridBlock block = d.block(false);
  const Partition all = partition(plan, block, {0, plan.n_layers}, 2);
  const double slack = plan.layer_slack_lambda, border = 2 * plan.layer_step_lambda;
  std::vector<double> cuts{border - slack,     border - slack / 2, border,
                           border + slack / 2, border + slack,     border + plan.layer_step_lambda};
  std::size_t n_beyond = 0;
  for (const SubgridTask& task : all.tasks) {
    n_beyond += std::abs(task.w_lambda - plan.layer_w_lambda(task.layer)) > plan.layer_step_lambda / 2;
    if (task.layer == 2 && cuts.size() < 10) cuts.push_back(task.w_lambda);
  }
  BOOST_CHECK_GT(n_beyond, 10u);
  for (const double w : cuts) {
    std::uint64_t n_visibilities = 0, n_tables = 0;
    for (const LayerRange& range : {LayerRange{.first = 0, .n = 3, .max_w_lambda = w},
                                    LayerRange{.first = 2, .n = plan.n_layers - 2, .min_w_lambda = w}}) {
      compare(device, plan, block, range);
      n_visibilities += device.tables.n_visibilities;
      n_tables += device.tables.n_tables;
    }
    BOOST_CHECK_EQUAL(n_visibilities, all.n_visibilities);
    BOOST_CHECK_EQUAL(n_tables, all.tasks.size());
  }
}

BOOST_AUTO_TEST_CASE(tiles_pull_what_overlaps_them) {
  OnDevice device;
  const ArrayRows d = observe_array(12, 60, 16);
  const double max_w = longest_w(d);
  for (const double cell_rad : {2e-4, 2e-2}) {
    const IdgPlan plan =
        make_idg_plan({cell_rad < 1e-3 ? 500u : 100u, cell_rad < 1e-3 ? 400u : 100u, cell_rad},
                      {.accuracy = 1e-5}, max_w, 1e5);
    for (const LayerRange& layers : {LayerRange{0, plan.n_layers}, LayerRange{plan.n_layers / 2, 1}}) {
      BOOST_REQUIRE(device.cut(plan, d.block(false), layers));
      if (device.tables.n_tables == 0) continue;
      for (const bool tensor_cores : {true, false})
        for (const std::size_t range_tasks : {37, 16384})
          check_lists(device, plan, make_w_expansions(plan, tensor_cores), layers, range_tasks);
    }
  }
}

BOOST_AUTO_TEST_CASE(coordinates_beyond_the_plan_are_refused) {
  OnDevice device;
  const ArrayRows d = observe_array(5, 2, 2);
  const IdgPlan plan = make_idg_plan({500, 500, 1e-4}, {}, 1, 1e5);
  BOOST_CHECK(!device.cut(plan, d.block(false), {0, plan.n_layers}));
}

BOOST_AUTO_TEST_CASE(what_is_not_a_number_is_refused) {
  OnDevice device;
  ArrayRows d = observe_array(5, 60, 2);
  const IdgPlan plan = make_idg_plan({500, 500, 1e-5}, {}, longest_w(d), 1e5);
  BOOST_CHECK(device.cut(plan, d.block(false), {0, plan.n_layers}));
  for (const std::size_t row : {std::size_t{0}, d.uvw_m.extent(0) / 2, d.uvw_m.extent(0) - 1})
    for (std::size_t axis = 0; axis < 3; ++axis)
      for (const double value : {double(NAN), double(INFINITY)}) {
        const double before = std::exchange(d.uvw_m(row, axis), value);
        BOOST_CHECK(!device.cut(plan, d.block(false), {0, plan.n_layers}));
        d.uvw_m(row, axis) = before;
      }
}

BOOST_AUTO_TEST_SUITE_END()
