// SPDX-License-Identifier: GPL-3.0-or-later
// The same blocks with the layers in each kind of memory: unified is gpu to the last bit; hybrid adds the
// same bits in the same order, and its transforms of the layers round differently. And an image for which a
// GPU is said to have no room.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>

#include "kernels/idg/cuda/layers/layer_columns.cuh"
#include "kernels/idg/grid_memory.h"
#include "kernels/idg/plan/cost.h"
#include "libcore/base/error.h"
#include "libcore/system/device.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(grid_memory)

namespace {

/// Baselines at random; enough of them for several ranges of tasks.
struct Observation {
  Buffer<double, 2> uvw_m;
  Buffer<double, 1> wavenumber;
  Buffer<std::complex<float>, 3> data;
  Buffer<float, 3> weight;

  Observation(std::size_t n_row, std::size_t n_chan, std::size_t n_plane, double scale = 1)
      : uvw_m({n_row, 3}), wavenumber({n_chan}), data({n_row, n_chan, n_plane}), weight(data.shape()) {
    std::mt19937_64 random(5);
    std::normal_distribution<double> gauss;
    for (std::size_t c = 0; c < n_chan; ++c) wavenumber(c) = 0.5 + 0.001 * static_cast<double>(c);
    for (std::size_t r = 0; r < n_row; ++r)
      for (std::size_t i = 0; i < 3; ++i)
        uvw_m(r, i) = (i == 2 ? std::min(scale, 1.0) : scale) *
                      std::clamp((i == 2 ? 150 : 700) * gauss(random), -2500.0, 2500.0);
    for (auto& value : data) value = {static_cast<float>(gauss(random)), static_cast<float>(gauss(random))};
    weight.fill(1);
  }
  GridBlock block(std::size_t first, std::size_t n) const {
    return rows_of({uvw_m, {}, wavenumber, data, weight, {}, {}}, first, n);
  }
};

const Device gpu{Device::Kind::cuda, 0, "cuda:0"};

/// For observations of the same scale.
IdgPlan plan_for(const ImageGeometry& image, Precision precision, double scale) {
  IdgSettings settings;
  settings.precision = precision;
  settings.accuracy = precision == Precision::single ? 1e-5 : 1e-9;
  // Little, so that there are several layers.
  settings.kernel_padding = precision == Precision::single ? 14 : 26;
  return make_idg_plan(image, settings, 540 * std::min(scale, 1.0), 1e5);
}
constexpr ImageGeometry kField{517, 433, 2.2e-4}, kLargeField{2600, 2600, 4.4e-5},
    kWholeSky{131, 150, 2.0 / 140}, kOfColumns{1333, 1365, 1.5e-4};

Buffer<double, 3> grid(const Observation& o, const IdgPlan& plan, GridMemory where, std::size_t at_once) {
  auto gridder = make_gridder(
      gpu, plan,
      {.n_data_planes = o.data.extent(2), .psf = PsfPlane::last, .n_threads = 3, .grid_memory = where});
  const std::size_t n_row = o.uvw_m.extent(0), rows = n_row / 3;
  for (std::size_t first = 0; first < plan.n_layers; first += at_once) {
    gridder->begin_pass({first, std::min(at_once, plan.n_layers - first)});
    for (std::size_t row = 0; row < n_row; row += rows)
      gridder->grid(o.block(row, std::min(rows, n_row - row)));
    gridder->end_pass();
  }
  return gridder->take_images();
}

Buffer<std::complex<double>, 3> degrid(const Observation& o, const IdgPlan& plan, GridMemory where,
                                       std::size_t at_once) {
  const std::size_t n_planes = o.data.extent(2);
  Buffer<double, 3> model({n_planes, plan.image.n_y, plan.image.n_x});
  std::mt19937_64 random(6);
  for (int i = 0; i < 300; ++i) model.data()[random() % model.size()] = 1;
  auto degridder =
      make_degridder(gpu, plan, {.n_data_planes = n_planes, .n_threads = 3, .grid_memory = where});
  degridder->set_model(model);
  Buffer<std::complex<double>, 3> data(o.data.shape());
  for (std::size_t first = 0; first < plan.n_layers; first += at_once) {
    degridder->begin_pass({first, std::min(at_once, plan.n_layers - first)});
    degridder->degrid(o.block(0, o.uvw_m.extent(0)), data);
  }
  return data;
}

template <class T>
double difference(const Buffer<T, 3>& a, const Buffer<T, 3>& b) {
  BOOST_REQUIRE(a.shape() == b.shape());
  double error = 0, power = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool beyond = !std::isfinite(std::abs(a.data()[i]));  // the horizon
    BOOST_REQUIRE_EQUAL(beyond, !std::isfinite(std::abs(b.data()[i])));
    if (beyond) continue;
    error += std::norm(a.data()[i] - b.data()[i]);
    power += std::norm(a.data()[i]);
  }
  BOOST_CHECK_GT(power, 0);
  return std::sqrt(error / power);
}

/// What rounding of two transforms leaves, divided by the taper. In float64 up to 2.9e-12 measured for a
/// plan of double precision, 4.2e-15 for one of single, whose taper falls less; layers in float32: 2.5e-6,
/// and 1.4e-6 where columns go straight into the image.
double tolerance(const IdgPlan& plan) {
  if (is_fast_on_gpu(plan)) return 5e-6;
  return plan.settings.precision == Precision::single ? 2e-14 : 1e-11;
}

template <class T>
void compare(const char* what, const IdgPlan& plan, const Buffer<T, 3>& on_gpu, const Buffer<T, 3>& unified,
             const Buffer<T, 3>& hybrid) {
  BOOST_CHECK_EQUAL(std::memcmp(on_gpu.data(), unified.data(), on_gpu.size() * sizeof(T)), 0);
  const double apart = difference(on_gpu, hybrid);
  std::printf("%s, %zu layers: hybrid and gpu differ by %.1e\n", what, plan.n_layers, apart);
  BOOST_CHECK_LE(apart, tolerance(plan));
}

void compare_kinds(std::size_t n_row, const ImageGeometry& geometry, double scale) {
  const Observation o(n_row, 3, 3, scale);
  for (Precision precision : {Precision::single, Precision::double_}) {
    const IdgPlan plan = plan_for(geometry, precision, scale);
    for (std::size_t at_once : {plan.n_layers, plan.n_layers / 2 + 1}) {
      auto image = [&](GridMemory where) { return grid(o, plan, where, at_once); };
      compare("gridding", plan, image(GridMemory::gpu), image(GridMemory::unified),
              image(GridMemory::hybrid));
      auto data = [&](GridMemory where) { return degrid(o, plan, where, at_once); };
      compare("degridding", plan, data(GridMemory::gpu), data(GridMemory::unified), data(GridMemory::hybrid));
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_kind_gives_the_same) {
  compare_kinds(2000, kField, 1);
}

BOOST_AUTO_TEST_CASE(every_kind_gives_the_same_whole_sky) {
  compare_kinds(600, kWholeSky, 0.02);
}

BOOST_AUTO_TEST_CASE(columns_may_go_straight_into_the_image) {
  const Observation o(2000, 3, 3);
  const IdgPlan plan = plan_for(kOfColumns, Precision::single, 1);
  BOOST_REQUIRE(idg_cuda::has_columns(int(plan.n_u), int(plan.n_v), int(plan.image.n_y)));
  BOOST_REQUIRE_GT(plan.n_layers, 2);
  // Where passes follow each other the rows of the one before are cleared.
  for (std::size_t at_once : {plan.n_layers, plan.n_layers / 2 + 1}) {
    const double apart =
        difference(grid(o, plan, GridMemory::gpu, at_once), grid(o, plan, GridMemory::hybrid, at_once));
    std::printf("columns, %zu layers: hybrid and gpu differ by %.1e\n", plan.n_layers, apart);
    BOOST_CHECK_LE(apart, tolerance(plan));
  }
}

BOOST_AUTO_TEST_CASE(more_tasks_than_a_range_change_nothing) {
  const Observation o(120'000, 2, 1, 9);
  const IdgPlan plan = plan_for(kLargeField, Precision::single, 9);
  auto gridder = make_gridder(gpu, plan, {.n_threads = 3});
  BOOST_CHECK_GT(gridder->count(o.block(0, 40'000)).n_subgrids, 16'384u);
  BOOST_CHECK_LE(difference(grid(o, plan, GridMemory::gpu, plan.n_layers),
                            grid(o, plan, GridMemory::hybrid, plan.n_layers)),
                 tolerance(plan));
}

BOOST_AUTO_TEST_CASE(an_image_beyond_the_gpu_goes_to_the_host) {
  // A GPU with the room that hybrid needs, and no more.
  const IdgPlan plan = plan_for(kLargeField, Precision::single, 1);
  DeviceRoom room = device_room(gpu);
  GridDemand demand{.n_planes = 2, .wanted = GridMemory::gpu};
  room.total_bytes = 8'000'000'000;
  room.free_bytes = place_grids(room, plan, demand).device.bytes(1) - 1;
  BOOST_CHECK_THROW(place_grids(room, plan, demand), DeviceError);
  demand.wanted.reset();
  const GridPlace place = place_grids(room, plan, demand);
  BOOST_CHECK(place.where == GridMemory::hybrid);
  const Observation o(500, 3, 1);
  BOOST_CHECK_LE(difference(grid(o, plan, GridMemory::gpu, 3), grid(o, plan, place.where, 3)),
                 tolerance(plan));
}

BOOST_AUTO_TEST_SUITE_END()
