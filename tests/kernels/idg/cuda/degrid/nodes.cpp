// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA degridder with nodes of tracks against itself without: whether they are used, and that rows come
// out the same through paths, flags and A-terms.
#include <boost/test/unit_test.hpp>

#include "libcore/system/device.h"

#include <cstdio>

#include "kernels/idg/degrid_cuda.h"
#include "tests/support/tracked_rows.h"

using namespace apsyn;
using namespace apsyn::support;

BOOST_AUTO_TEST_SUITE(nodes)

namespace {

struct Settings {
  double accuracy = 1e-5;
  std::size_t n_planes = n_data_planes, n_slots = 1;
  bool with_path = false, with_aterms = false;
};

struct Result {
  Buffer<std::complex<float>, 3> data;
  DegridSeconds seconds;
  GridCounts counts;
};

Result predict(const Observation& o, const IdgPlan& plan, const Settings& s, DegridRows rows) {
  const std::size_t n_row = o.uvw_m.extent(0), n_chan = o.wavenumber.size(), side = plan.settings.subgrid;
  std::mt19937_64 random(41);
  std::normal_distribution<float> normal;
  Buffer<double, 3> model({s.n_planes, plan.image.n_y, plan.image.n_x});
  for (int i = 0; i < 200; ++i)
    model(random() % s.n_planes, random() % plan.image.n_y, random() % plan.image.n_x) += normal(random);
  IdgSetup setup{.n_data_planes = s.n_planes, .n_threads = 2};
  GridBlock block = o.grid_block(s.with_path);
  block.data = {};
  Buffer<std::uint32_t, 1> row_slot({n_row}), chan_slot({n_chan});
  std::uint32_t n_station = 0;
  for (const std::uint32_t station : o.station) n_station = std::max(n_station, station + 1);
  Buffer<std::complex<float>, 6> jones({s.n_slots, 1, n_station, side, side, 4});
  if (s.with_aterms) {
    setup.aterms = AtermMode::adjoint;
    setup.mix = {{1, 0, 0, 1}, {1, 0, 0, -1}, {0, 1, 1, 0}, {0, {0, 1}, {0, -1}, 0}};
    for (std::size_t i = 0; i < jones.size(); ++i)
      jones.data()[i] = {1.0f - static_cast<float>(i % 3) / 2, static_cast<float>(i / (side * side * 4)) / 8};
    for (std::size_t row = 0; row < n_row; ++row)
      row_slot(row) = static_cast<std::uint32_t>(row * s.n_slots / n_row);
    block.aterms = {row_slot, chan_slot, jones};
  }
  auto degridder =
      make_cuda_degridder({Device::Kind::cuda, 0, "cuda:0"}, plan, setup, DegridSum::automatic, rows);
  degridder->set_model(model);
  Result result;
  result.data.resize({n_row, n_chan, s.n_planes});
  result.data.fill({1, 2});
  degridder->begin_pass({0, plan.n_layers});
  result.counts = degridder->degrid(block, result.data);
  result.seconds = degridder->seconds();
  return result;
}

/// What nodes may add, and float32 roundings of a few times that of a sum.
void compare(const char* what, const Observation& o, const Settings& s) {
  const IdgPlan plan = plan_for(o, s.accuracy);
  const Result each = predict(o, plan, s, DegridRows::each);
  BOOST_CHECK_EQUAL(each.seconds.places, each.seconds.visibilities);
  BOOST_CHECK_EQUAL(each.seconds.host_visibilities, 0u);
  for (const DegridRows rows : {DegridRows::automatic, DegridRows::on_device, DegridRows::on_host}) {
    const Result nodes = predict(o, plan, s, rows);
    BOOST_CHECK_EQUAL(nodes.counts.n_visibilities, each.counts.n_visibilities);
    BOOST_CHECK_EQUAL(nodes.seconds.visibilities, each.seconds.visibilities);
    BOOST_CHECK_LT(nodes.seconds.places, nodes.seconds.visibilities * 3 / 5);
    BOOST_CHECK_GT(nodes.seconds.places, 0u);
    if (rows != DegridRows::automatic)
      BOOST_CHECK_EQUAL(nodes.seconds.host_visibilities,
                        rows == DegridRows::on_host && !s.with_path ? nodes.seconds.visibilities : 0u);
    double error = 0, power = 0;
    std::size_t n_untouched = 0;
    for (std::size_t i = 0; i < each.data.size(); ++i) {
      const std::complex<double> a(nodes.data.data()[i]), b(each.data.data()[i]), held(1, 2);
      n_untouched += (a == held) != (b == held);
      error += std::norm(a - b);
      power += std::norm(b - held);
    }
    const double apart = std::sqrt(error / power);
    std::printf("%s: %llu places for %llu visibilities, %llu by the host, apart %.2e\n", what,
                static_cast<unsigned long long>(nodes.seconds.places),
                static_cast<unsigned long long>(nodes.seconds.visibilities),
                static_cast<unsigned long long>(nodes.seconds.host_visibilities), apart);
    BOOST_CHECK_EQUAL(n_untouched, 0u);
    BOOST_CHECK_GT(apart, 0);
    // On an H200: 2.7e-7 to 3.9e-7 at 1e-5, 9.1e-6 at 1e-3.
    BOOST_CHECK_LT(apart, idg::kNodeShare * s.accuracy + 6e-7);
  }
}

}  // namespace

/// For compute-sanitizer.
BOOST_AUTO_TEST_CASE(small_for_sanitizers) {
  compare("small", {4, 300, 5, false, false}, {.n_planes = 2});
  compare("small, with paths", {4, 300, 5, false, false}, {.n_planes = 2, .with_path = true});
}

BOOST_AUTO_TEST_CASE(rows_come_out_the_same) {
  compare("all", {7, 300, 16, false, true}, {});
  compare("coarse", {7, 300, 16, false, true}, {.accuracy = 1e-3, .n_planes = 1});
  compare("one channel", {7, 300, 1, false, true}, {.n_planes = 2});
  compare("paths", {5, 300, 40, false, false}, {.n_planes = 1, .with_path = true});
  compare("flags and paths", {7, 300, 7, true, true}, {.with_path = true});
  compare("flags", {7, 300, 7, true, true}, {});
  compare("A-terms", {7, 300, 7, false, true}, {.n_slots = 3, .with_aterms = true});
  compare("A-terms and flags", {5, 300, 7, true, false}, {.n_slots = 2, .with_aterms = true});
  compare("A-terms, flags and paths", {5, 300, 7, true, false},
          {.n_slots = 2, .with_path = true, .with_aterms = true});
}

BOOST_AUTO_TEST_CASE(no_nodes_in_double_precision) {
  const Observation o(5, 100, 4, false, true);
  IdgPlan plan = plan_for(o, 1e-5);
  plan.settings.precision = Precision::double_;
  const Result result = predict(o, plan, {.n_planes = 1}, DegridRows::automatic);
  BOOST_CHECK_EQUAL(result.seconds.places, result.seconds.visibilities);
}

BOOST_AUTO_TEST_SUITE_END()
