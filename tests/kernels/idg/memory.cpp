// SPDX-License-Identifier: GPL-3.0-or-later
// What gridders and degridders say that they take, against what they allocate; and how fields share a GPU.
#include <malloc.h>

#include <boost/test/unit_test.hpp>
#include <random>

#include "kernels/idg/cpu/degrid/subgrid_predictor.h"
#include "kernels/idg/cpu/spread_tables.h"
#include "kernels/idg/grid_memory.h"
#include "kernels/idg/idg.h"
#include "libcore/base/error.h"
#include "tests/support/grid_rows.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(memory)

namespace {

constexpr std::size_t n_station = 4, n_row = 600, n_chan = 8;

struct Case {
  const char* name;
  double cell_rad = 3e-4;  ///< about one arcmin
  std::size_t n_planes = 1;
  Precision precision = Precision::single;
  bool aterms = false;
  unsigned n_threads = 2;

  IdgPlan plan() const {
    IdgSettings settings;
    settings.precision = precision;
    return make_idg_plan({800, 640, cell_rad}, settings,
                         {.max_w_lambda = 400, .n_visibilities = n_row * n_chan, .n_planes = n_planes});
  }
  IdgSetup setup() const {
    IdgSetup setup{.n_data_planes = n_planes, .n_threads = n_threads};
    if (!aterms) return setup;
    setup.n_data_planes = 4;
    setup.aterms = AtermMode::adjoint;
    for (std::size_t plane = 0; plane < n_planes; ++plane) setup.mix.push_back({0.5, 0, 0, 0.5});
    return setup;
  }
};

const Case kCases[] = {{"Stokes I"},
                       {"three planes", 3e-4, 3},
                       {"double", 3e-4, 4, Precision::double_},
                       {"whole sky", 2.5e-3, 1},
                       {"A-terms", 3e-4, 2, Precision::single, true},
                       {"A-terms, double, whole sky", 2.5e-3, 1, Precision::double_, true, 1}};

support::GridRows observe(const IdgPlan& plan, const IdgSetup& setup) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> flat(-1, 1);
  support::GridRows d;
  d.uvw_m.resize({n_row, 3});
  d.wavenumber.resize({n_chan});
  d.data.resize({n_row, n_chan, setup.n_data_planes});
  d.weight.resize(d.data.shape());
  d.station.resize({n_row, 2});
  d.weight.fill(1);
  d.data.fill(1);
  for (std::size_t c = 0; c < n_chan; ++c) d.wavenumber(c) = 0.5 + 0.001 * static_cast<double>(c);
  const double longest_m = 0.2 / plan.image.cell_rad;
  double u = 0, v = 0, w = 0;
  for (std::size_t row = 0; row < n_row; ++row) {
    if (row % 50 == 0) u = flat(random) * longest_m, v = flat(random) * longest_m, w = flat(random) * 700;
    d.uvw_m(row, 0) = u + 2e-3 * longest_m * static_cast<double>(row % 50);
    d.uvw_m(row, 1) = v;
    d.uvw_m(row, 2) = w;
    d.station(row, 0) = static_cast<std::uint32_t>(row / 50 % 3);
    d.station(row, 1) = 3;
  }
  if (setup.aterms == AtermMode::none) return d;
  const std::size_t side = plan.settings.subgrid;
  d.row_slot.resize({n_row});
  d.chan_slot.resize({n_chan});
  d.jones.resize({1, 1, n_station, side, side, 4});
  for (std::size_t i = 0; i < d.jones.size(); i += 4) d.jones.data()[i] = d.jones.data()[i + 3] = 1;
  return d;
}

/// Allocated now, in the heap and in mappings of their own.
double allocated() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks) + static_cast<double>(info.hblkhd);
}

/// `freed`: of what is said, what is given back before `taken` is measured.
void check_memory(const Case& c, const char* what, double taken, const IdgMemory& said, std::size_t n_layers,
                  double freed = 0) {
  const double most = static_cast<double>(said.bytes(n_layers));
  BOOST_TEST_MESSAGE(c.name << ", " << what << ": " << taken / 1e6 << " MB of " << most / 1e6);
  // Beyond it, large arrays begin and end on huge pages, up to 4 MB each, of which the unused part is never
  // touched. Below it, the scratch of a thread is said for the largest subgrids.
  BOOST_TEST(taken <= most + 12e6, c.name << ", " << what << ": " << taken << " of " << most);
  BOOST_TEST(taken >= 0.5 * (most - freed), c.name << ", " << what << ": " << taken << " of " << most);
}

}  // namespace

BOOST_AUTO_TEST_CASE(gridders_take_what_they_say) {
  for (const Case& c : kCases) {
    const IdgPlan plan = c.plan();
    const IdgSetup setup = c.setup();
    const support::GridRows data = observe(plan, setup);
    const std::size_t n_layers = std::min<std::size_t>(plan.n_layers, 2);
    const double before = allocated();
    if (before == 0) return;  // a sanitizer's allocator does not tell
    const auto gridder = make_gridder({}, plan, setup);
    gridder->begin_pass({0, n_layers});
    gridder->grid(data.block());
    gridder->end_pass();
    check_memory(c, "gridder", allocated() - before, gridder_memory(plan, setup), n_layers);
  }
}

BOOST_AUTO_TEST_CASE(degridders_take_what_they_say) {
  for (const Case& c : kCases) {
    const IdgPlan plan = c.plan();
    const IdgSetup setup = c.setup();
    support::GridRows data = observe(plan, setup);
    Buffer<double, 3> model({c.n_planes, plan.image.n_y, plan.image.n_x});
    model.fill(1e-3);
    const std::size_t n_layers = std::min<std::size_t>(plan.n_layers, 2);
    const double before = allocated();
    if (before == 0) return;
    const auto degridder = make_degridder({}, plan, setup);
    degridder->set_model(model);
    degridder->begin_pass({0, n_layers});
    degridder->degrid(data.block(), data.data);
    const double transform = 16.0 * static_cast<double>(plan.n_v * plan.image.n_x);
    check_memory(c, "degridder", allocated() - before, degridder_memory(plan, setup), n_layers, transform);
  }
}

/// The terms that are small beside grids and images, one by one: of every thread the columns that it
/// transforms at a time (8 of them, their pixels, and a row of cosines and sines) and, for a task, cells.
BOOST_AUTO_TEST_CASE(threads_take_what_is_said_of_each) {
  for (Case c : kCases) {
    const IdgPlan plan = c.plan();
    c.n_threads = 1;
    const IdgSetup one = c.setup();
    c.n_threads = 6;
    const IdgSetup six = c.setup();
    const std::uint64_t columns = std::max(8 * plan.n_v, plan.n_u) * 16 + 10 * plan.image.n_y * 8;
    const auto more = [&](auto&& memory) { return memory(six).fixed_bytes - memory(one).fixed_bytes; };
    BOOST_TEST(more([&](const IdgSetup& setup) { return gridder_memory(plan, setup); }) -
                   (subgrid_bytes(plan, six) - subgrid_bytes(plan, one)) ==
               5 * columns);
    BOOST_TEST(more([&](const IdgSetup& setup) { return degridder_memory(plan, setup); }) ==
               5 * (columns + predictor_bytes(plan, six)));
    // What one layer's transform works in, and the images that it is added to.
    const std::uint64_t images = 8 * plan.image.n_x * plan.image.n_y * c.n_planes;
    BOOST_TEST(gridder_memory(plan, one).fixed_bytes - columns - subgrid_bytes(plan, one) - images ==
               16 * (plan.n_u + 4) * plan.n_v_stored());
    BOOST_TEST(degridder_memory(plan, one).fixed_bytes - columns - predictor_bytes(plan, one) - images ==
               16 * plan.n_v_stored() * (plan.image.n_x + 4));
    // A thread's own: between what it is made with and what its largest task can need.
    const double before = allocated();
    if (before == 0) return;
    const auto of_one = make_gridder({}, plan, one);
    const double taken_by_one = allocated() - before;
    const auto of_six = make_gridder({}, plan, six);
    const double taken = (allocated() - before - 2 * taken_by_one) / 5;
    const double said = static_cast<double>(subgrid_bytes(plan, six) - subgrid_bytes(plan, one)) / 5;
    BOOST_TEST(taken <= said, c.name << ": " << taken << " of " << said << " bytes of a thread");
    BOOST_TEST(taken >= said / 30, c.name << ": " << taken << " of " << said << " bytes of a thread");
  }
}

/// A chunk of subgrids that a block does not fill is not touched, and all of one that it does.
BOOST_AUTO_TEST_CASE(few_subgrids_leave_room) {
  const IdgPlan plan = kCases[0].plan();
  const IdgSetup setup = kCases[0].setup();
  const std::uint64_t of_one = 8 * plan.settings.subgrid * plan.settings.subgrid;
  const std::size_t n_chunk = subgrids_per_chunk(plan, 1);
  BOOST_TEST(unused_bytes(plan, setup, n_chunk - 3) == 3 * of_one);
  BOOST_TEST(unused_bytes(plan, setup, n_chunk) == 0u);
  BOOST_TEST(unused_bytes(plan, setup, n_chunk + 1) == 0u);
}

BOOST_AUTO_TEST_CASE(fields_share_the_memory_of_a_device) {
  IdgPlan plan;
  plan.image = {4096, 4096, 1e-5};
  plan.n_u = plan.n_v = 6144;
  plan.n_layers = 1000;
  const DeviceRoom room{"a card", 140'000'000'000, 150'000'000'000, false};
  auto layers = [&](std::size_t n_gridders) {
    return place_grids(room, plan, {4, n_gridders, GridMemory::gpu}).max_layers;
  };
  const double layer = 6144.0 * 6144 * 4 * 8;
  const auto alone = layers(1), shared = layers(3);
  // Each gridder has scratch of 6 GB and four images in float64; an eighth is left to blocks, and a transform
  // takes three planes of complex doubles.
  const double images = 4096.0 * 4096 * 4 * 8, common = 150e9 / 8 + 6144.0 * 6144 * 48;
  BOOST_TEST(alone == std::floor((140e9 - common - 6e9 - images) / layer));
  BOOST_TEST(shared == std::floor((140e9 - common - 3 * (6e9 + images)) / (3 * layer)));
  BOOST_TEST(3 * (static_cast<double>(shared) * layer + 6e9 + images) + common <= 140e9);
  plan.n_layers = 2;
  BOOST_TEST(layers(3) == 2u);
  BOOST_CHECK_EXCEPTION(layers(40), DeviceError, [](const DeviceError& error) {
    return std::string(error.what()).find("these 40 images need") != std::string::npos;
  });
}

BOOST_AUTO_TEST_SUITE_END()
