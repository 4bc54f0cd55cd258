// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of tracks made of random values at their nodes, on the device, against the same sums in float64.
#include <boost/test/unit_test.hpp>
#include <cstdio>

#include "tests/support/tracked_rows.h"

using namespace apsyn;
using namespace apsyn::idg_cuda;
using namespace apsyn::support;

BOOST_AUTO_TEST_SUITE(track_rows)

namespace {

struct Ways {
  bool with_path = false, adjoint = false;
  int n_planes = n_data_planes;
};

void check_rows(const Observation& o, const Ways& ways) {
  const GridBlock block = o.grid_block(ways.with_path);
  const auto n_planes = static_cast<std::size_t>(ways.n_planes);
  Tracks device;
  device.find(plan_for(o, 1e-5), block, 1e-6);
  BOOST_REQUIRE_GT(device.tracks.n_tracks, 0);
  device.rows.copy_values(device.uploader, block);
  device.uploader.hold(device.stream.get());
  std::mt19937_64 random(31);
  std::normal_distribution<float> normal;
  std::vector<float2> values(std::size_t(device.tracks.n_places) * n_planes);
  for (float2& value : values) value = {normal(random), normal(random)};
  Upload<float2> from;
  from.copy(values.data(), values.size());
  const std::size_t n_row = o.uvw_m.extent(0), n_chan = o.wavenumber.size(), n = n_row * n_chan * n_planes;
  DeviceArray<float2> out(n + 1);
  fill_bytes(out.data(), 0xff, out.size());
  const DeviceTracks& tracks = device.tracks;
  launch_track_rows(
      {tracks.tracks.data(), tracks.rows.data(), device.tables.runs.data(), tracks.t.data(),
       ways.with_path ? device.rows.path.data() : nullptr, device.rows.wavenumber.data(), tracks.n_tracks,
       static_cast<int>(n_chan), ways.n_planes, ways.adjoint, from.data(), out.data()},
      device.stream.get());
  cuda_check(cudaStreamSynchronize(device.stream.get()), "making rows");
  const auto got = download(out.data(), n + 1);
  BOOST_CHECK(std::isnan(got[n].x) && std::isnan(got[n].y));

  const auto all = download(tracks.tracks.data(), tracks.n_tracks);
  const auto rows = download(tracks.rows.data(), tracks.n_rows);
  std::uint32_t max_run = 0;
  for (const DeviceTrack& track : all) max_run = std::max(max_run, track.first_run + track.n_runs);
  const auto runs = download(device.tables.runs.data(), max_run);
  std::vector<bool> has_value(n);
  double error = 0, power = 0;
  std::size_t n_nodes = 0, n_without = 0, n_folded = 0;
  for (const DeviceTrack& track : all) {
    const VisibilityRun* own = runs.data() + track.first_run;
    n_nodes += track.n_nodes;
    n_without += track.n_nodes == 0;
    n_folded += track.folded != 0 && track.n_nodes != 0;
    const std::vector<double> t =
        along_chord(track.n_runs, [&](std::uint32_t i, int axis) { return o.folded_m(own[i].row, axis); });
    for (std::uint32_t i = 0; i < track.n_runs; ++i)
      for (std::uint32_t c = own[i].first_channel; c < own[i].first_channel + own[i].n_channels; ++c)
        for (std::size_t plane = 0; plane < n_planes; ++plane) {
          auto at = [&](std::size_t place) {
            const float2 value = values[place * n_planes + plane];
            return std::complex<double>(value.x, value.y);
          };
          std::complex<double> want = 0;
          if (track.n_nodes == 0) want = at(rows[track.first_row + i].first_place + c - own[i].first_channel);
          for (std::uint32_t k = 0; k < track.n_nodes; ++k)
            want += lagrange(k, track.n_nodes, t[i]) *
                    at(track.first_place + k * track.n_channels + c - track.first_channel);
          const bool folded = track.folded != 0;
          if (folded) want = std::conj(want);
          if (ways.with_path)
            want *= std::polar(1.0, 2 * std::acos(-1.0) * o.path(own[i].row) * o.wavenumber(c));
          // The adjoint of XX XY YX YY.
          const std::size_t to = ways.adjoint && folded && (plane == 1 || plane == 2) ? 3 - plane : plane;
          const std::size_t cell = (own[i].row * n_chan + c) * n_planes + to;
          BOOST_REQUIRE(!has_value[cell]);
          has_value[cell] = true;
          error += std::norm(std::complex<double>(got[cell].x, got[cell].y) - want);
          power += std::norm(want);
        }
  }
  std::size_t n_wrong = 0;
  for (std::size_t i = 0; i < n; ++i) n_wrong += std::isnan(got[i].x) == has_value[i];
  const double relative = std::sqrt(error / power);
  std::printf("%u tracks, %zu without nodes, %zu nodes, error of rows %.2e\n", tracks.n_tracks, n_without,
              n_nodes, relative);
  BOOST_CHECK_EQUAL(n_wrong, 0u);
  BOOST_CHECK_GT(n_nodes, 0u);
  BOOST_CHECK_GT(n_folded, 0u);
  BOOST_CHECK_LT(relative, 5e-7);  // on an H200: 1.2e-7 to 1.8e-7
}

}  // namespace

/// For compute-sanitizer.
BOOST_AUTO_TEST_CASE(small_for_sanitizers) {
  check_rows({4, 80, 5, true, false}, {.with_path = true});
  check_rows({4, 80, 5, false, false}, {.adjoint = true});
}

BOOST_AUTO_TEST_CASE(rows_of_nodes_agree_with_float64) {
  check_rows({7, 300, 16, false, true}, {});
  check_rows({7, 300, 16, false, true}, {.adjoint = true});
  for (int n_planes : {1, 2, 3}) check_rows({7, 300, 1, false, true}, {.n_planes = n_planes});
  check_rows({5, 120, 40, false, false}, {.with_path = true});
  check_rows({7, 300, 7, true, true}, {.with_path = true});
}

BOOST_AUTO_TEST_SUITE_END()
