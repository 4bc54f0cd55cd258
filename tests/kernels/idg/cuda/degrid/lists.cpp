// SPDX-License-Identifier: GPL-3.0-or-later
// What the device's lists for the degridder say: every visibility once among the units, its run, and the way
// back to its row.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>

#include "kernels/idg/cuda/degrid/plan.h"
#include "tests/support/tracked_rows.h"

using namespace apsyn;
using namespace apsyn::idg_degrid;
using namespace apsyn::support;

BOOST_AUTO_TEST_SUITE(lists)

BOOST_AUTO_TEST_CASE(every_visibility_is_listed_once_and_goes_back_to_its_place) {
  const ArrayRows d = observe_array(9, 50, 11);
  const std::size_t n_row = d.uvw_m.extent(0), n_chan = 11, n_planes = 2;
  const IdgPlan plan = make_idg_plan({256, 256, 2e-4}, {}, longest_w(d), 3600);
  const WSeparation separation(plan);
  CutBlock device;
  BOOST_REQUIRE(device.cut(plan, d.block(false), {0, plan.n_layers}));
  const std::size_t n_tasks = device.tables.n_tables, n = device.tables.n_visibilities;
  BOOST_REQUIRE_GT(n_tasks, 20u);
  const auto tables = download(device.tables.tables.data(), n_tasks);
  for (const bool tensor : {true, false})
    for (const std::uint32_t chunk_tasks : {7u, 16384u}) {
      DegridListPlan list = make_list_plan(plan, separation, tensor);
      list.chunk_tasks = chunk_tasks;
      DegridLister lister(device.stream.get());
      DegridTasks out;
      lister.list(list, device.tables, nullptr, out);
      const auto runs = download(out.runs.data(), device.tables.n_runs);
      std::vector<std::size_t> first(n_tasks + 1, 0);
      std::size_t wrong = 0, next_task = 0, n_tensor = 0;
      for (std::size_t i = 0; i < n_tasks; ++i) {
        first[i + 1] = first[i] + tables[i].n_visibilities;
        std::size_t next = first[i];
        for (std::size_t r = tables[i].first_run; r < tables[i].first_run + tables[i].n_runs; ++r) {
          wrong += runs[r].task != i || runs[r].first_visibility != next;
          next += runs[r].n_channels;
        }
        wrong += next != first[i + 1];
      }
      std::vector<int> seen(n, 0);
      for (const TaskChunk& chunk : out.chunks) {
        BOOST_CHECK_EQUAL(chunk.first_task, next_task);
        BOOST_CHECK_LE(chunk.n_tasks, chunk_tasks);
        next_task += chunk.n_tasks;
        for (int sum = 0; sum < kSums; ++sum) {
          if (sum != int(Sum::direct) && !tensor) BOOST_CHECK_EQUAL(chunk.n_units[sum], 0u);
          for (const Unit& unit :
               download(out.units[sum].data() + chunk.first_unit[sum], chunk.n_units[sum])) {
            BOOST_REQUIRE_LT(unit.task, chunk.n_tasks);
            const std::size_t own = chunk.first_task + unit.task;
            wrong += unit.first_visibility < first[own] ||
                     unit.first_visibility + unit.n_visibilities > first[own + 1] ||
                     unit.n_visibilities > list.unit[sum];
            const double half_w = centre_of(tables[own].box).half_w_lambda;
            const Sum want = half_w <= list.max_half_w_tensor        ? Sum::tensor
                             : half_w <= list.max_half_w_first_order ? Sum::tensor_first_order
                                                                     : Sum::direct;
            wrong += sum != int(want);
            if (sum != int(Sum::direct)) n_tensor += unit.n_visibilities;
            for (std::size_t k = 0; k < unit.n_visibilities; ++k) ++seen.at(unit.first_visibility + k);
          }
        }
      }
      BOOST_CHECK_EQUAL(next_task, n_tasks);
      BOOST_CHECK_EQUAL(n_tensor, out.n_tensor_visibilities);
      BOOST_CHECK(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));

      // Every value says where it belongs.
      std::vector<std::complex<float>> predicted(n * n_planes), rows(n_row * n_chan * n_planes, {-1, -1});
      for (const Run& run : runs)
        for (std::uint32_t k = 0; k < run.n_channels; ++k)
          for (std::size_t plane = 0; plane < n_planes; ++plane)
            predicted[(run.first_visibility + k) * n_planes + plane] = {
                float(run.row), float((run.first_channel + k) * n_planes + plane)};
      Upload<float2> from, to;
      from.copy(predicted.data(), predicted.size());
      to.copy(rows.data(), rows.size());
      launch_place_rows<float>(
          {out.runs.data(), runs.size(), int(n_chan), int(n_planes), from.data(), to.data()}, nullptr);
      const auto placed = download(to.data(), rows.size());
      for (std::size_t row = 0; row < n_row; ++row)
        for (std::size_t chan = 0; chan < n_chan; ++chan)
          for (std::size_t plane = 0; plane < n_planes; ++plane) {
            const float2 got = placed[(row * n_chan + chan) * n_planes + plane];
            const bool has_data = d.weight(row, chan, 0) != 0;
            wrong += got.x != (has_data ? float(row) : -1.0f) ||
                     got.y != (has_data ? float(chan * n_planes + plane) : -1.0f);
          }
      BOOST_CHECK_EQUAL(wrong, 0u);
    }
}

BOOST_AUTO_TEST_CASE(every_node_is_listed_once) {
  const Observation o(7, 300, 5, true, true);
  const IdgPlan plan = plan_for(o, 1e-5);
  Tracks device;
  device.find(plan, o.grid_block(false), 1e-6);
  const std::uint32_t n_places = device.tracks.n_places, n_rows = device.tracks.n_rows;
  BOOST_REQUIRE_GT(n_rows, 0u);
  DegridListPlan list = make_list_plan(plan, WSeparation(plan), true);
  list.chunk_tasks = 5;
  DegridLister lister(device.stream.get());
  DegridTasks out;
  lister.list(list, device.tables, &device.tracks, out);
  BOOST_REQUIRE_EQUAL(out.n_runs, n_rows);
  const auto runs = download(out.runs.data(), n_rows);
  const auto nodes = download(device.tracks.rows.data(), n_rows);
  std::vector<std::uint32_t> task_of(n_places, ~0u);
  std::size_t wrong = 0, n_units = 0;
  for (std::uint32_t k = 0; k < n_rows; ++k) {
    wrong += runs[k].row != k || runs[k].first_visibility != nodes[k].first_place ||
             runs[k].first_channel != nodes[k].first_channel || runs[k].n_channels != nodes[k].n_channels;
    for (std::uint32_t c = 0; c < runs[k].n_channels; ++c)
      task_of.at(runs[k].first_visibility + c) = runs[k].task;
  }
  // Each place is in the unit of its own task.
  std::vector<int> seen(n_places, 0);
  for (const TaskChunk& chunk : out.chunks)
    for (int sum = 0; sum < kSums; ++sum)
      for (const Unit& unit : download(out.units[sum].data() + chunk.first_unit[sum], chunk.n_units[sum])) {
        ++n_units;
        for (std::uint32_t k = 0; k < unit.n_visibilities; ++k) {
          ++seen.at(unit.first_visibility + k);
          wrong += task_of.at(unit.first_visibility + k) != chunk.first_task + unit.task;
        }
      }
  BOOST_CHECK_EQUAL(wrong, 0u);
  BOOST_CHECK_GT(n_units, 0u);
  BOOST_CHECK(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
}

BOOST_AUTO_TEST_SUITE_END()
