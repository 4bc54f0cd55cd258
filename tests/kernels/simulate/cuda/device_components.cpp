// SPDX-License-Identifier: GPL-3.0-or-later
// Components summed on a GPU against the measurement equation, and matrices of stations that stay there, that
// do not fit, and that another slot replaces.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <set>
#include <vector>

#include "kernels/simulate/device_components.h"
#include "tests/support/component_checks.h"
#include "tests/support/phased_case.h"

using namespace apsyn;
using namespace apsyn::simulate;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(device_components)

namespace {

DeviceComponentsSetup setup_of(const ComponentCase& of, std::uint64_t max_device_bytes = 0) {
  DeviceComponentsSetup setup;
  setup.centre = of.centre;
  setup.channel_hz = of.hz;
  setup.through = of.n_stations > 0;
  setup.max_device_bytes = max_device_bytes;
  setup.n_threads = 2;
  return setup;
}

void sum_on_device(const ComponentCase& of, View<std::complex<float>, 3> data) {
  const auto engine = make_device_components(of.sky, setup_of(of));
  BOOST_TEST_REQUIRE(engine->n_planes() == data.extent(2));
  engine->predict(of.uvw_m, of.path_m, data);
}

}  // namespace

BOOST_AUTO_TEST_CASE(sums_agree_with_the_measurement_equation) {
  check_sums(sum_on_device);
}

BOOST_AUTO_TEST_CASE(sums_through_matrices_agree_with_the_measurement_equation) {
  // Matrices that stay on the device, and such as come in batches of up to 32 MB.
  for (const std::uint64_t max_device_bytes : {0u, 1u})
    check_sums_through([&](const ComponentCase& of, View<std::complex<float>, 3> data) {
      const auto engine = make_device_components(of.sky, setup_of(of, max_device_bytes));
      engine->predict_through(of.uvw_m, of.path_m, of.station, station_matrices(of), data);
    });
}

/// 40 components, 80 channels and 400 stations are 41 MB of matrices: more than a batch.
BOOST_AUTO_TEST_CASE(several_batches_and_parts_of_rows_agree_with_the_measurement_equation) {
  const ComponentCase of = make_component_case(
      {.n_components = 40, .n_rows = 300, .n_stations = 400, .polarised = true, .gaussians = true});
  for (const std::uint64_t max_device_bytes : {0u, 1u})
    BOOST_TEST(largest_error(of, [&](const ComponentCase& same, View<std::complex<float>, 3> data) {
                 const auto engine = make_device_components(same.sky, setup_of(same, max_device_bytes));
                 engine->predict_through(same.uvw_m, same.path_m, same.station, station_matrices(same), data);
               }) < 1e-5);
  // 320 components of 400 stations in a run of 8 channels do not fit into a batch; rows are those of a tile.
  ComponentCase dense = make_component_case(
      {.n_components = 320, .n_rows = 300, .n_stations = 400, .polarised = true, .gaussians = true});
  dense.hz.resize(8);
  for (std::uint32_t& station : dense.station) station = 384 + station % 16;
  for (const std::uint64_t max_device_bytes : {0u, 1u})
    BOOST_TEST(largest_error(dense, [&](const ComponentCase& same, View<std::complex<float>, 3> data) {
                 const auto engine = make_device_components(same.sky, setup_of(same, max_device_bytes));
                 engine->predict_through(same.uvw_m, same.path_m, same.station, station_matrices(same), data);
               }) < 1e-5);
  // More rows than are summed at once, and results of more than a piece.
  BOOST_TEST(largest_error(make_component_case({.n_components = 2, .n_rows = 20000}), sum_on_device) < 1e-5);
}

BOOST_AUTO_TEST_CASE(matrices_are_made_once_in_a_slot) {
  ComponentCase of = make_component_case({.n_stations = 9, .polarised = true});
  const std::size_t all = of.sky.components.size() * of.hz.size();
  const auto engine = make_device_components(of.sky, setup_of(of));
  std::size_t n_made = 0;
  const SumComponents sum = [&](const ComponentCase& same, View<std::complex<float>, 3> data) {
    engine->predict_through(same.uvw_m, same.path_m, same.station, station_matrices(same, &n_made), data);
  };
  BOOST_TEST(largest_error(of, sum) < 1e-5);
  BOOST_TEST(n_made == all);
  BOOST_TEST(largest_error(of, sum) < 1e-5);
  BOOST_TEST(n_made == all);  // those of the first call
  of.slot = 7;
  BOOST_TEST(largest_error(of, sum) < 1e-5);
  BOOST_TEST(n_made == 2 * all);
}

/// Sums over elements that the device makes against matrices made one by one in float64, of several channels.
BOOST_AUTO_TEST_CASE(beams_of_stations_agree_with_matrices_made_one_by_one) {
  for (const StationKind kind : {StationKind::lofar, StationKind::oskar}) {
    ComponentCase of =
        make_component_case({.n_components = 60, .n_rows = 200, .n_stations = 5, .polarised = true});
    of.hz.resize(9);
    std::vector<PhasedCase> beams;
    for (const double hz : of.hz) beams.emplace_back(kind, BeamPart::full, hz);
    const auto parts = phased_beams(beams[0].array, BeamPart::full, false);
    BOOST_TEST_REQUIRE(parts.has_value());
    StationMatrices one_by_one{0, 5,
                               [&](std::size_t chan, std::size_t first, View<std::complex<float>, 3> jones) {
                                 for (std::size_t station = 0; station < 5; ++station)
                                   for (std::size_t c = 0; c < jones.extent(1); ++c) {
                                     const Jones j = beams[chan].expected(station, first + c);
                                     for (std::size_t i = 0; i < 4; ++i)
                                       jones(station, c, i) = static_cast<std::complex<float>>(j[i]);
                                   }
                               }};
    StationMatrices summed{1,
                           5,
                           {},
                           &*parts,
                           [&](std::size_t chan, std::size_t first, PhasedChannel& channel,
                               View<double, 2> directions, View<std::complex<float>, 3> elements) {
                             beams[chan].fill(*parts, channel, directions, elements, first);
                           }};
    Buffer<std::complex<float>, 3> expected({200, 9, 4}), found(expected.shape());
    expected.fill({NAN, NAN}), found.fill({NAN, NAN});
    for (const std::uint64_t max_device_bytes : {0u, 1u}) {
      const auto engine = make_device_components(of.sky, setup_of(of, max_device_bytes));
      engine->predict_through(of.uvw_m, of.path_m, of.station, one_by_one, expected);
      engine->predict_through(of.uvw_m, of.path_m, of.station, summed, found);
      double worst = 0, largest = 0;
      for (std::size_t i = 0; i < found.size(); ++i) {
        BOOST_TEST_REQUIRE(std::isfinite(std::abs(found.data()[i])));
        worst = std::max<double>(worst, std::abs(found.data()[i] - expected.data()[i]));
        largest = std::max<double>(largest, std::abs(expected.data()[i]));
      }
      BOOST_TEST_MESSAGE("largest error: " << worst / largest);
      BOOST_TEST(worst < 1e-5 * largest);
    }
  }
}

BOOST_AUTO_TEST_CASE(nothing_is_summed_of_no_components_and_no_rows) {
  ComponentCase of = make_component_case({.n_components = 0, .n_rows = 5});
  Buffer<std::complex<float>, 3> data({5, of.hz.size(), 1});
  data.fill({NAN, NAN});
  sum_on_device(of, data);
  for (const std::complex<float>& value : data) BOOST_TEST_REQUIRE(value == 0.0f);
  of = make_component_case({.n_components = 3, .n_rows = 0});
  sum_on_device(of, {nullptr, {0, of.hz.size(), 1}});
}

BOOST_AUTO_TEST_CASE(shapes_that_disagree_are_refused) {
  const ComponentCase of = make_component_case({.n_rows = 4, .n_stations = 3});
  const auto engine = make_device_components(of.sky, setup_of(of));
  Buffer<std::complex<float>, 3> data({4, of.hz.size(), 4}), narrow({4, 1, 4});
  BOOST_CHECK_THROW(engine->predict(of.uvw_m, of.path_m, data), std::invalid_argument);
  BOOST_CHECK_THROW(engine->predict_through(of.uvw_m, of.path_m, of.station, station_matrices(of), narrow),
                    std::invalid_argument);
  StationMatrices few = station_matrices(of);
  few.n_stations = 1;
  BOOST_CHECK_THROW(engine->predict_through(of.uvw_m, of.path_m, of.station, few, data),
                    std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()
