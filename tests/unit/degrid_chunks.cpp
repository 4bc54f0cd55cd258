// SPDX-License-Identifier: GPL-3.0-or-later
// The host's part of the CUDA degridder needs no device: every visibility is in one unit of one chunk, and
// what comes back is added where it belongs.
#include <boost/test/unit_test.hpp>

#ifdef APSYN_CUDA
#include <cmath>
#include <random>

#include "kernels/idg/degrid_chunks.h"

using namespace apsyn;
using namespace apsyn::idg_degrid;

namespace {

struct Rows {
  Buffer<double, 2> uvw_m{{400, 3}};
  Buffer<double, 1> wavenumber{{9}};
  Buffer<float, 3> weight{{400, 9, 2}};

  Rows() {
    std::mt19937_64 random(3);
    std::normal_distribution<double> gauss;
    for (double& value : uvw_m) value = 200 * gauss(random);
    for (std::size_t k = 0; k < 9; ++k) wavenumber(k) = 0.5 + 0.002 * double(k);
    for (float& value : weight) value = random() % 5 == 0 ? 0.0f : 1.0f;
  }
  GridBlock block() const {
    GridBlock block;
    block.uvw_m = uvw_m;
    block.wavenumber = wavenumber;
    block.weight = weight;
    return block;
  }
  bool has_data(std::size_t row, std::size_t chan) const {
    return weight(row, chan, 0) != 0 || weight(row, chan, 1) != 0;
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(every_visibility_once_and_back_to_its_place) {
  const Rows rows;
  const IdgPlan plan = make_idg_plan({256, 256, 2e-4}, {}, 1000, 3600);
  const LayerRange layers{0, plan.n_layers};
  const Partition parts = partition(plan, rows.block(), layers, 2);
  BOOST_REQUIRE_GT(parts.tasks.size(), 20u);
  const TaskLists lists = list_tasks(plan, parts, layers, 2);
  const WSeparation separation(plan);
  for (const ChunkLimits& limits :
       {ChunkLimits{7, 1u << 20, true}, ChunkLimits{1u << 20, 300, true}, ChunkLimits{1000, 1000, false}}) {
    const ChunkLists lists_of = list_chunks(plan, parts, lists, limits, separation);
    BOOST_REQUIRE_GT(lists_of.chunks.size(), 1u);
    Buffer<std::complex<double>, 3> data({400, 9, 2});
    data.fill(5);
    std::vector<int> seen(parts.n_visibilities, 0);
    std::size_t next_task = 0;
    for (const Chunk& chunk : lists_of.chunks) {
      BOOST_CHECK_EQUAL(chunk.first_task, next_task);
      BOOST_CHECK_LE(chunk.n_tasks, limits.tasks);
      next_task += chunk.n_tasks;
      for (int sum = 0; sum < kSums; ++sum) {
        if (sum != int(Sum::direct) && !limits.tensor) BOOST_CHECK_EQUAL(chunk.n_units[sum], 0u);
        for (std::size_t i = 0; i < chunk.n_units[sum]; ++i) {
          const Unit& unit = lists_of.units[sum][chunk.first_unit[sum] + i];
          const std::size_t own = chunk.first_task + unit.task;
          BOOST_CHECK_LT(unit.task, chunk.n_tasks);
          BOOST_CHECK_GE(unit.first_visibility, lists.first_visibility[own]);
          BOOST_CHECK_LE(unit.first_visibility + unit.n_visibilities, lists.first_visibility[own + 1]);
          for (std::size_t k = 0; k < unit.n_visibilities; ++k) ++seen[unit.first_visibility + k];
        }
      }
      // What the device would return: the place of each visibility, known from its run.
      std::vector<std::complex<float>> predicted(chunk.n_visibilities * 2, {-1, -1});
      for (const Run& run : lists.runs) {
        if (run.task < chunk.first_task || run.task >= chunk.first_task + chunk.n_tasks) continue;
        for (std::uint32_t k = 0; k < run.n_channels; ++k)
          for (std::uint32_t plane = 0; plane < 2; ++plane)
            predicted[(run.first_visibility + k - chunk.first_visibility) * 2 + plane] = {
                float(run.row), float((run.first_channel + k) * 2 + plane)};
      }
      add_chunk(parts, lists, chunk, predicted.data(), 2, data.view());
    }
    BOOST_CHECK_EQUAL(next_task, parts.tasks.size());
    for (int times : seen) BOOST_CHECK_EQUAL(times, 1);
    for (std::size_t row = 0; row < 400; ++row)
      for (std::size_t chan = 0; chan < 9; ++chan)
        for (std::size_t plane = 0; plane < 2; ++plane) {
          const std::complex<double> added = data(row, chan, plane) - 5.0;
          const std::complex<double> want(double(row), double(chan * 2 + plane));
          BOOST_CHECK(added == (rows.has_data(row, chan) ? want : std::complex<double>(0)));
        }
  }
}
#else
BOOST_AUTO_TEST_CASE(built_without_cuda) {
  BOOST_TEST_MESSAGE("the CUDA degridder is not in this build");
}
#endif
