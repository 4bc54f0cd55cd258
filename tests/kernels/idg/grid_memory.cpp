// SPDX-License-Identifier: GPL-3.0-or-later
// Where the w layers go on GPUs of any size, without one.
#include <boost/test/unit_test.hpp>
#include <string>

#include "kernels/idg/grid_memory.h"
#include "libcore/base/error.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(grid_memory)

namespace {

constexpr std::uint64_t GB = 1'000'000'000;

IdgPlan plan_of(std::size_t side, std::size_t n_layers) {
  IdgPlan plan;
  plan.image = {side * 2 / 3, side * 2 / 3, 1e-5};
  plan.settings.subgrid = 32;
  plan.n_u = plan.n_v = side;
  plan.n_layers = n_layers;
  return plan;
}

DeviceRoom room(std::uint64_t bytes) {
  return {"cuda:0", bytes, bytes, true};
}

/// What a DeviceError says.
std::string complaint(const DeviceRoom& room, const IdgPlan& plan, const GridDemand& demand) {
  try {
    place_grids(room, plan, demand);
  } catch (const DeviceError& error) {
    return error.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(grids_lie_on_the_gpu_while_a_layer_fits) {
  const IdgPlan plan = plan_of(8192, 12);  // 0.54 GB a plane and layer
  const GridPlace all = place_grids(room(80 * GB), plan, {.n_planes = 4});
  BOOST_CHECK(all.where == GridMemory::gpu);
  BOOST_CHECK_EQUAL(all.max_layers, 12u);
  BOOST_CHECK_EQUAL(all.device.layer_bytes, 4u * 8192 * 8192 * 8);
  const GridPlace some = place_grids(room(24 * GB), plan, {.n_planes = 4});
  BOOST_CHECK(some.where == GridMemory::gpu);
  BOOST_CHECK_GT(some.max_layers, 0u);
  BOOST_CHECK_LT(some.max_layers, 12u);
  BOOST_CHECK_LE(some.device.bytes(some.max_layers), 24 * GB);
  BOOST_CHECK_GT(some.device.bytes(some.max_layers + 1), 24 * GB);
}

BOOST_AUTO_TEST_CASE(grids_beyond_the_gpu_lie_on_the_host) {
  const IdgPlan plan = plan_of(60'000, 3);  // 115 GB a layer of all planes
  const GridDemand demand{.n_planes = 4};
  const GridPlace place = place_grids(room(140 * GB), plan, demand);
  BOOST_CHECK(place.where == GridMemory::hybrid);
  BOOST_CHECK(has(place.reason, "cuda:0"));
  BOOST_CHECK_EQUAL(place.max_layers, 3u);
  BOOST_CHECK_EQUAL(place.device.layer_bytes, 0u);
  BOOST_CHECK_LE(place.device.fixed_bytes, 140 * GB);
  // The host's memory then says how many layers.
  constexpr std::uint64_t rings = kUploadHostBytes + kDownloadHostBytes;
  const IdgMemory on_cpu{GB, 4 * GB}, host = host_memory(on_cpu, place.where, GB / 2);
  BOOST_CHECK_EQUAL(host.fixed_bytes, GB + kHybridHostBytes + rings);
  BOOST_CHECK_EQUAL(layers_within(host, host.bytes(2), 3), 2u);
  BOOST_CHECK_EQUAL(layers_within(host, host.bytes(1) - 1, 3), 0u);
  BOOST_CHECK_EQUAL(layers_within(host, host.bytes(50), 3), 3u);
  BOOST_CHECK_EQUAL(host_memory(on_cpu, GridMemory::gpu, GB / 2).bytes(7), GB / 2 + rings);
  BOOST_CHECK_EQUAL(host_memory(on_cpu, GridMemory::oversubscribed, GB / 2).bytes(2),
                    GB / 2 + rings + 8 * GB);
  // On a GPU just below the size that one layer needs, and on one that suffices.
  const IdgPlan small = plan_of(4096, 5);
  DeviceRoom tight = room(40 * GB);
  tight.free_bytes = place_grids(tight, small, demand).device.bytes(1);
  BOOST_CHECK(place_grids(tight, small, demand).where == GridMemory::gpu);
  BOOST_CHECK_EQUAL(place_grids(tight, small, demand).max_layers, 1u);
}

BOOST_AUTO_TEST_CASE(an_explicit_choice_never_falls_back) {
  const IdgPlan plan = plan_of(60'000, 3);
  const std::string gpu = complaint(room(140 * GB), plan, {.n_planes = 4, .wanted = GridMemory::gpu});
  BOOST_CHECK(has(gpu, "140 GB") && has(gpu, "115 GB") && has(gpu, "--grid-memory hybrid"));
  const std::string unified = complaint(room(140 * GB), plan, {.n_planes = 4, .wanted = GridMemory::unified});
  BOOST_CHECK(has(unified, "--oversubscribe"));
  const DeviceRoom taken{"cuda:0", GB, 80 * GB, true};  // by somebody else
  const std::string hybrid = complaint(taken, plan, {.wanted = GridMemory::hybrid});
  BOOST_CHECK(has(hybrid, "--device cpu"));
  BOOST_CHECK(has(complaint(taken, plan, {}), "--device cpu"));
  for (GridMemory where : {GridMemory::gpu, GridMemory::hybrid, GridMemory::unified})
    BOOST_CHECK(place_grids(room(80 * GB), plan_of(4096, 2), {.wanted = where}).where == where);
}

BOOST_AUTO_TEST_CASE(oversubscription_is_asked_for) {
  const IdgPlan plan = plan_of(60'000, 3);
  DeviceRoom has_pages = room(140 * GB);
  const GridPlace place =
      place_grids(has_pages, plan_of(30'000, 9), {.n_planes = 4, .wanted = GridMemory::oversubscribed});
  BOOST_CHECK_EQUAL(place.max_layers, 9u);
  has_pages.can_oversubscribe = false;
  BOOST_CHECK(has(complaint(has_pages, plan, {.n_planes = 4, .wanted = GridMemory::oversubscribed}),
                  "cannot move pages"));
  BOOST_CHECK_THROW(parse_grid_memory("disk"), UsageError);
}

BOOST_AUTO_TEST_CASE(several_gridders_share) {
  const IdgPlan plan = plan_of(8192, 40);
  const GridPlace one = place_grids(room(80 * GB), plan, {}),
                  three = place_grids(room(80 * GB), plan, {.n_gridders = 3});
  BOOST_CHECK_EQUAL(three.device.layer_bytes, 3 * one.device.layer_bytes);
  BOOST_CHECK_LE(three.device.bytes(three.max_layers), 80 * GB);
}

BOOST_AUTO_TEST_CASE(the_description_names_the_place_and_its_bytes) {
  const IdgPlan plan = plan_of(8192, 2);
  const Device gpu{Device::Kind::cuda, 0, "cuda:0"};
  const GridPlace hybrid = place_grids(room(80 * GB), plan, {.wanted = GridMemory::hybrid});
  const std::string line = describe(hybrid, gpu, 2, {GB, 8192 * 8192 * 8});
  BOOST_CHECK(has(line, "of cuda:0") && has(line, "host memory (--grid-memory hybrid), 1.07 GB in a pass"));
}

BOOST_AUTO_TEST_SUITE_END()
