// SPDX-License-Identifier: GPL-3.0-or-later
// What a GPU's threads do, run through by the host: phases, and sums in the order of the tables, against the
// measurement equation.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/simulate/component_terms.h"
#include "kernels/simulate/device_components.h"
#include "kernels/simulate/term_tables.h"
#include "libcore/base/error.h"
#include "libcore/system/device.h"
#include "tests/support/component_checks.h"
#include "tests/support/host_components.h"

using namespace apsyn;
using namespace apsyn::simulate;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(component_terms)

namespace {

void sum_on_host(const ComponentCase& of, View<std::complex<float>, 3> data) {
  HostComponents sums(of.sky, of.centre, of.hz, false);
  BOOST_TEST_REQUIRE(sums.n_planes() == data.extent(2));
  sums.predict(of.uvw_m, of.path_m, data);
}

/// In batches of up to so many matrices.
void sum_through_on_host(const ComponentCase& of, std::size_t max_matrices,
                         View<std::complex<float>, 3> data) {
  HostComponents sums(of.sky, of.centre, of.hz, true, max_matrices);
  sums.predict_through(of.uvw_m, of.path_m, of.station, station_matrices(of), data);
}

}  // namespace

BOOST_AUTO_TEST_CASE(fractions_of_a_turn_are_exact_for_long_paths) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(-1, 1);
  double worst = 0;
  for (const double scale : {1e-3, 1.0, 1e3, 1e6, 1e8})
    for (int i = 0; i < 2000; ++i) {
      const double length_m = scale * uniform(random), per_m = 1 + 0.5 * uniform(random);
      const long double turns = static_cast<long double>(length_m) * per_m;
      const long double found = static_cast<std::int32_t>(fraction_of_turn(length_m, per_m)) / 4294967296.0L;
      worst = std::max(worst, static_cast<double>(std::abs(remainderl(turns - found, 1.0L))));
    }
  BOOST_TEST_MESSAGE("largest error: " << worst);
  BOOST_TEST(worst <= 0.5 / 4294967296.0 * 1.001);
}

BOOST_AUTO_TEST_CASE(phasors_are_those_of_their_fractions) {
  double worst = 0;
  for (std::uint64_t i = 0; i < (1ull << 32); i += 9973) {
    const TermPhasor found = phasor_of(static_cast<std::uint32_t>(i));
    const auto expected = std::polar(1.0, 2 * std::acos(-1.0) * static_cast<double>(i) / 4294967296.0);
    worst = std::max(worst, std::abs(std::complex<double>(found.re, found.im) - expected));
  }
  BOOST_TEST_MESSAGE("largest error: " << worst);
  BOOST_TEST(worst < 1.5e-7);  // measured 1.3e-7
}

BOOST_AUTO_TEST_CASE(sums_agree_with_the_measurement_equation) {
  check_sums(sum_on_host);
}

BOOST_AUTO_TEST_CASE(sums_through_matrices_agree_with_the_measurement_equation) {
  // All at once; a few runs at a time; a part of the components of one run at a time; a single one.
  for (const std::size_t max_matrices : {1u << 20, 37u * 20 * 20, 37u * 8 * 7, 1u})
    check_sums_through([&](const ComponentCase& of, View<std::complex<float>, 3> data) {
      sum_through_on_host(of, max_matrices, data);
    });
}

BOOST_AUTO_TEST_CASE(batches_cover_all_matrices_once) {
  const ComponentCase of = make_component_case({.n_components = 13, .n_stations = 6});
  const TermTables tables = make_term_tables(of.sky, of.centre, of.hz, true);
  for (const std::size_t max_matrices : {1u, 100u, 1000u, 3000u, 100000u}) {
    std::vector<int> times(13 * of.hz.size(), 0);
    for (const MatrixBatch& batch : matrix_batches(tables, 6, max_matrices)) {
      BOOST_TEST((batch.size(6) <= max_matrices || batch.n_components == 1));
      BOOST_TEST(batch.first_chan == tables.runs[batch.first_run].first);
      for (std::size_t c = batch.first_component; c < batch.first_component + batch.n_components; ++c)
        for (std::size_t chan = batch.first_chan; chan < batch.first_chan + batch.n_chan; ++chan)
          ++times[c * of.hz.size() + chan];
    }
    BOOST_TEST(std::all_of(times.begin(), times.end(), [](int n) { return n == 1; }));
  }
}

BOOST_AUTO_TEST_CASE(rows_keep_their_places_when_they_are_ordered) {
  // 20 stations: four tiles, of which two have too few rows and one too few for a second block of threads.
  // 50: 16 tiles, none with enough rows.
  for (const std::size_t n_stations : {20u, 50u}) {
    const ComponentCase of = make_component_case({.n_rows = 500, .n_stations = n_stations});
    std::vector<TermRow> rows(420);
    const RowOrder order = order_rows(of.uvw_m, of.path_m, of.station, 80, 420, rows.data());
    std::vector<int> times(500, 0), times_tiled(420, 0);
    for (const TermRow& row : rows) {
      ++times[row.at];
      BOOST_TEST((row.u_m == of.uvw_m(row.at, 0) && row.path_m == of.path_m(row.at) &&
                  row.station_p == of.station(row.at, 0) && row.station_q == of.station(row.at, 1)));
    }
    BOOST_TEST((std::count(times.begin(), times.begin() + 80, 0) == 80 &&
                std::count(times.begin() + 80, times.end(), 1) == 420));
    for (const TermTile& tile : order.tiles) {
      BOOST_TEST((tile.n_rows >= 64 && tile.n_rows <= kTileRows));
      for (std::uint32_t i = tile.first_row; i < tile.first_row + tile.n_rows; ++i) {
        ++times_tiled.at(i);
        BOOST_TEST((rows[i].station_p - tile.first_p < kTileStations &&
                    rows[i].station_q - tile.first_q < kTileStations));
      }
    }
    const auto n_tiled = static_cast<std::ptrdiff_t>(order.n_tiled);
    BOOST_TEST((std::count(times_tiled.begin(), times_tiled.begin() + n_tiled, 1) == n_tiled &&
                std::count(times_tiled.begin() + n_tiled, times_tiled.end(), 0) == 420 - n_tiled));
    BOOST_TEST_MESSAGE(order.tiles.size() << " tiles of " << order.n_tiled << " rows");
    BOOST_TEST(
        (n_stations == 50 ? n_tiled == 0 : order.tiles.size() == 2 && order.tiles[0].n_rows == kTileRows));
    for (std::size_t i = order.n_tiled + 1; i < rows.size(); ++i)
      BOOST_TEST(rows[i - 1].station_p / kTileStations <= rows[i].station_p / kTileStations);
  }
}

BOOST_AUTO_TEST_CASE(a_build_without_cuda_says_so) {
  if (built_with_cuda()) return;
  BOOST_CHECK_THROW(make_device_components({}, {}), DeviceError);
}

BOOST_AUTO_TEST_SUITE_END()
