// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes of tracks and of channels against the phases of the visibilities themselves, pixel by pixel.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <cstdio>
#include <vector>

#include "kernels/idg/tracks/channel_product.h"
#include "kernels/idg/tracks/track_nodes.h"
#include "tests/support/grid_rows.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(track_nodes)

namespace {

constexpr double two_pi = 2 * 3.14159265358979323846;
constexpr std::size_t n_chan = 16;

/// Rows of a baseline as the sky turns, `step_rad` apart, seen 30 degrees from the pole.
support::GridRows make_rows(std::size_t n, double step_rad, double length_m = 2e4, double first_hour = 0.3) {
  support::GridRows rows;
  rows.uvw_m.resize({n, 3});
  rows.weight.resize({n, n_chan, 1});
  rows.weight.fill(1);
  rows.wavenumber.resize({n_chan});
  for (std::size_t chan = 0; chan < n_chan; ++chan)
    rows.wavenumber(chan) = 0.5 + 0.001 * static_cast<double>(chan);
  for (std::size_t i = 0; i < n; ++i) {
    const double hour = first_hour + step_rad * static_cast<double>(i), x = length_m * std::cos(hour),
                 y = length_m * std::sin(hour);
    rows.uvw_m(i, 0) = x;
    rows.uvw_m(i, 1) = y * std::cos(0.5) + 300;
    rows.uvw_m(i, 2) = y * std::sin(0.5) + 500;
  }
  return rows;
}

struct Fixture {
  IdgPlan plan = make_idg_plan({512, 512, 1e-4}, {}, 2e4, 1e6);
  Partition partition;
  SubgridTask task;

  void take(const support::GridRows& rows) {
    partition.runs.clear();
    for (std::size_t i = 0; i < rows.uvw_m.extent(0); ++i)
      partition.runs.push_back(
          {static_cast<std::uint32_t>(i), 0, static_cast<std::uint32_t>(rows.wavenumber.size())});
    task.n_runs = partition.runs.size();
  }
};

/// What a visibility at one place has of another, over tracks and bands of which either has nodes.
template <class T>
double measure_error(const Fixture& f, const support::GridRows& rows, TrackNodes<T>& nodes) {
  double error = 0;
  std::size_t n = 0;
  for (const Track& track : nodes.tracks())
    for (const Band& band : nodes.bands(track)) {
      if (track.n_nodes == 0 && band.n_nodes == 0) continue;
      const T* shares = track.n_nodes > 0 ? nodes.shares(track) : nullptr;
      const ChannelTable<T>* table = band.n_nodes > 0 ? &nodes.channels(rows.block(), band) : nullptr;
      auto line_share = [&](std::size_t i, std::size_t k) {
        return shares ? static_cast<double>(shares[i * nodes.padded_nodes(track) + k]) : i == k ? 1.0 : 0.0;
      };
      auto column_share = [&](std::size_t chan, std::size_t j) {
        if (!table) return chan == j ? 1.0 : 0.0;
        const T share = table->to_nodes[chan * product_places(band.n_nodes) + j];
        BOOST_REQUIRE_EQUAL(share, table->to_channels[j * product_places(band.n) + chan]);
        return static_cast<double>(share);
      };
      for (int iy = -8; iy <= 8; iy += 2)
        for (int ix = -8; ix <= 8; ix += 2) {
          const double l = ix * 32 * f.plan.image.cell_rad, m = iy * 32 * f.plan.image.cell_rad,
                       n_1 = std::sqrt(1 - l * l - m * m) - 1;
          auto factor = [&](const std::array<double, 3>& at, double wavenumber) {
            return std::polar(1.0, -two_pi * wavenumber * (at[0] * l + at[1] * m + at[2] * n_1));
          };
          for (std::size_t i = 0; i < track.n; i += 9)
            for (std::size_t chan = 0; chan < band.n; chan += 7) {
              std::complex<double> sum = 0;
              for (std::size_t k = 0; k < track.n_lines(); ++k)
                for (std::size_t j = 0; line_share(i, k) != 0 && j < band.n_columns(); ++j)
                  sum +=
                      line_share(i, k) * column_share(chan, j) *
                      factor(nodes.line(track, k), table ? table->node[j] : rows.wavenumber(band.first + j));
              const std::size_t row = nodes.runs()[track.first + i].row;
              const double sign = rows.uvw_m(row, 2) < 0 ? -1 : 1;
              error += std::norm(sum - factor({sign * rows.uvw_m(row, 0), sign * rows.uvw_m(row, 1),
                                               sign * rows.uvw_m(row, 2)},
                                              rows.wavenumber(band.first + chan)));
              ++n;
            }
        }
    }
  BOOST_REQUIRE_GT(n, 0);
  return std::sqrt(error / static_cast<double>(n));
}

std::size_t columns_of(const TrackNodes<float>& nodes, const Track& track) {
  std::size_t n = 0;
  for (const Band& band : nodes.bands(track)) n += band.n_columns();
  return n;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(nodes_stand_for_rows, Fixture) {
  for (double step_rad : {1e-6, 1e-5, 5e-5}) {
    const support::GridRows rows = make_rows(500, step_rad);
    take(rows);
    TrackNodes<float> single(plan, 3e-7);
    single.find(rows.block(), partition, task);
    BOOST_CHECK_LT(single.n_places(), 500 * n_chan / 2);
    const double error = measure_error(*this, rows, single);
    TrackNodes<double> twice(plan, 1.5e-12);
    twice.find(rows.block(), partition, task);
    const double error64 = measure_error(*this, rows, twice);
    std::printf("step %g: %zu of 8000 places, error %.2e; %zu, %.2e\n", step_rad, single.n_places(), error,
                twice.n_places(), error64);
    BOOST_CHECK_LT(error, 3e-7);       // measured: 8.8e-8 to 1.8e-7
    BOOST_CHECK_LT(error64, 1.5e-12);  // measured: 2.3e-13
  }
}

BOOST_FIXTURE_TEST_CASE(rows_off_a_track_stay_as_they_are, Fixture) {
  support::GridRows rows = make_rows(100, 1e-5);
  take(rows);
  TrackNodes<float> nodes(plan, 3e-7);
  nodes.find(rows.block(), partition, task);
  BOOST_CHECK_LT(nodes.n_places(), 50 * n_chan);
  for (const Track& track : nodes.tracks()) BOOST_CHECK_GT(track.n_nodes, 0);
  // A 250th of a uv cell aside.
  rows.uvw_m(37, 1) += 0.1;
  nodes.find(rows.block(), partition, task);
  bool found = false;
  for (const Track& track : nodes.tracks())
    if (track.first <= 37 && 37 < track.first + track.n) {
      BOOST_CHECK_EQUAL(track.n_nodes, 0);
      found = true;
    }
  BOOST_CHECK(found);
  // Far between, as at one integration every minute.
  rows = make_rows(100, 4e-3);
  take(rows);
  nodes.find(rows.block(), partition, task);
  BOOST_CHECK_EQUAL(nodes.tracks()[0].n_nodes, 0);
  BOOST_CHECK_EQUAL(nodes.n_places(), 100 * columns_of(nodes, nodes.tracks()[0]));
}

BOOST_FIXTURE_TEST_CASE(rows_at_one_place_need_one_node, Fixture) {
  support::GridRows rows = make_rows(64, 0);
  take(rows);
  TrackNodes<float> nodes(plan, 3e-7);
  nodes.find(rows.block(), partition, task);
  BOOST_CHECK_EQUAL(nodes.n_places(), columns_of(nodes, nodes.tracks()[0]));
  BOOST_CHECK_LT(measure_error(*this, rows, nodes), 3e-7);
  rows.uvw_m.fill(0);
  nodes.find(rows.block(), partition, task);
  BOOST_CHECK_EQUAL(nodes.n_places(), 64);                  // nodes of the rows would cost more
  BOOST_CHECK_LT(measure_error(*this, rows, nodes), 1e-7);  // measured: 0
}

// Short baselines and long integrations, from 10 seconds to a minute: tracks that bend as far as they reach.
BOOST_FIXTURE_TEST_CASE(tracks_that_bend_need_more_nodes, Fixture) {
  std::size_t n_cases = 0;
  for (double length_m : {3.0, 20.0, 100.0, 300.0})
    for (double step_rad : {7e-4, 1e-3, 4e-3})
      for (double wanted : {3e-7, 1e-5}) {
        const support::GridRows rows = make_rows(128, step_rad, length_m, 1.3);
        take(rows);
        TrackNodes<double> nodes(plan, wanted);
        nodes.find(rows.block(), partition, task);
        const auto bent = [](const Track& track) { return track.n_nodes > 0; };
        if (std::none_of(nodes.tracks().begin(), nodes.tracks().end(), bent)) continue;
        ++n_cases;
        const double error = measure_error(*this, rows, nodes);
        std::printf("%g m, step %g: %zu of 2048 places, error %.2e\n", length_m, step_rad, nodes.n_places(),
                    error);
        BOOST_CHECK_LT(error, wanted);  // measured: 0.67 of it at most
      }
  BOOST_CHECK_GE(n_cases, 20);  // of 24; measured: 22
}

// A baseline that leaves a subgrid for a while and comes back: its curve passes 0.1 m above all of its rows.
BOOST_FIXTURE_TEST_CASE(nodes_lie_among_the_rows, Fixture) {
  support::GridRows rows = make_rows(128, 2e-5, 2e4, 1.566);
  for (std::size_t i = 64; i < 128; ++i)
    for (std::size_t axis = 0; axis < 3; ++axis)
      rows.uvw_m(i, axis) = make_rows(1, 0, 2e4, 1.566 + 2e-5 * static_cast<double>(i + 236)).uvw_m(0, axis);
  take(rows);
  TrackNodes<float> nodes(plan, 1.4e-5);
  nodes.find(rows.block(), partition, task);
  std::size_t n_across = 0, n_aside = 0;
  for (const Track& track : nodes.tracks()) {
    const bool across = track.first < 64 && 64 < track.first + track.n;
    BOOST_CHECK_EQUAL(track.n_nodes > 0, !across);
    ++(across ? n_across : n_aside);
  }
  BOOST_CHECK_EQUAL(n_across, 1);
  BOOST_CHECK_GT(n_aside, 0);
}

// Rows far between, of a few cells' length: all that nodes save is channels.
BOOST_FIXTURE_TEST_CASE(nodes_stand_for_channels, Fixture) {
  support::GridRows rows = make_rows(40, 4e-3, 2e3);
  auto check = [&](const char* what, std::size_t max_columns) {
    take(rows);
    TrackNodes<float> single(plan, 3e-7);
    single.find(rows.block(), partition, task);
    TrackNodes<double> twice(plan, 1.5e-12);
    twice.find(rows.block(), partition, task);
    const double error = measure_error(*this, rows, single), error64 = measure_error(*this, rows, twice);
    std::printf("%s: %zu of %zu places, error %.2e; %zu, %.2e\n", what, single.n_places(),
                40 * rows.wavenumber.size(), error, twice.n_places(), error64);
    BOOST_CHECK_EQUAL(single.tracks()[0].n_nodes, 0);
    BOOST_CHECK_LE(single.n_places(), 40 * max_columns);
    BOOST_CHECK_LT(error, 3e-7);       // measured: 4.1e-8
    BOOST_CHECK_LT(error64, 1.5e-12);  // measured: 2.9e-14
  };
  auto channels = [&](std::size_t n, auto wavenumber) {
    rows.wavenumber.resize({n});
    for (std::size_t chan = 0; chan < n; ++chan)
      rows.wavenumber(chan) = wavenumber(static_cast<double>(chan));
    rows.weight.resize({40, n, 1});
    rows.weight.fill(1);
  };
  channels(64, [](double c) { return 0.5 + 0.0005 * c; });
  check("even", 30);
  channels(64, [](double c) { return 0.53 - 0.0005 * c; });
  check("descending", 30);
  channels(64, [](double c) { return 0.5 + 0.0003 * c + (c < 20 ? 0 : 0.01) + (c == 40 ? 0.002 : 0); });
  check("with gaps, not in order", 30);
  channels(100, [](double c) { return 0.5 + 0.0003 * c; });
  check("in two bands", 45);
  channels(16, [](double) { return 0.5; });
  check("all the same", 1);
}

BOOST_FIXTURE_TEST_CASE(channels_far_apart_stay_as_they_are, Fixture) {
  support::GridRows rows = make_rows(20, 4e-3);
  TrackNodes<float> nodes(plan, 3e-7);
  auto places = [&] {
    take(rows);
    nodes.find(rows.block(), partition, task);
    return nodes.n_places();
  };
  for (std::size_t chan = 0; chan < n_chan; ++chan)
    rows.wavenumber(chan) = 0.5 + 0.02 * static_cast<double>(chan);
  BOOST_CHECK_EQUAL(places(), 20 * n_chan);
  rows.wavenumber.resize({1});
  rows.wavenumber(0) = 0.5;
  BOOST_CHECK_EQUAL(places(), 20);
  // Paths turn every channel by itself.
  rows = make_rows(20, 1e-6);
  take(rows);
  GridBlock block = rows.block();
  const Buffer<double, 1> path_m({20});
  block.path_m = path_m;
  nodes.find(block, partition, task);
  BOOST_CHECK_EQUAL(nodes.n_places(), 20 * n_chan);
}

BOOST_AUTO_TEST_SUITE_END()
