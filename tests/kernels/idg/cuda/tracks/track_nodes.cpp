// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes of tracks on the device: their values against sums in float64, and the images that they make against
// those of the visibilities.
#include <boost/test/unit_test.hpp>

#include "tests/reference/test_device.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <random>

#include "kernels/idg/cuda/tasks.h"
#include "tests/reference/dft_image.h"
#include "tests/reference/statistics.h"
#include "tests/support/image_pixels.h"
#include "tests/support/tracked_rows.h"

using namespace apsyn;
using namespace apsyn::idg_cuda;
using namespace apsyn::support;
using namespace apsyn::reference;

BOOST_AUTO_TEST_SUITE(track_nodes)

namespace {

constexpr double max_off = 3e-5;  ///< of a value from float64's, sums of values about 1; on an H200: 1e-5

void check_values(const Observation& o, bool with_path) {
  const GridBlock block = o.grid_block(with_path);
  const IdgPlan plan = plan_for(o, 1e-5);
  Tracks device;
  device.find(plan, block, 1e-6);
  BOOST_REQUIRE_GT(device.tracks.n_tracks, 0);
  std::printf("%llu visibilities, %u tables, %u tracks, %u places\n",
              static_cast<unsigned long long>(device.tables.n_visibilities), device.tables.n_tables,
              device.tracks.n_tracks, device.tracks.n_places);
  device.rows.copy_values(device.uploader, block);
  device.uploader.hold(device.stream.get());
  constexpr int n_planes = n_data_planes + 1;
  const std::size_t n_values = std::size_t(device.tracks.n_places) * n_planes;
  DeviceArray<float2> out(n_values + 1);
  fill_bytes(out.data(), 0xff, out.size());
  const DeviceRows& rows = device.rows;
  const BlockArrays arrays{rows.uvw.data(),        with_path ? rows.path.data() : nullptr,
                           rows.wavenumber.data(), rows.data.data(),
                           rows.weight.data(),     static_cast<int>(o.wavenumber.size()),
                           n_data_planes,          static_cast<int>(rows.weight_planes)};
  launch_track_values({device.tracks.tracks.data(), device.tracks.rows.data(), device.tables.runs.data(),
                       device.tracks.t.data(), arrays, device.tracks.n_tracks, n_planes, out.data()},
                      device.stream.get());
  cuda_check(cudaStreamSynchronize(device.stream.get()), "summing");
  const auto got = download(out.data(), n_values + 1);
  BOOST_CHECK(std::isnan(got[n_values].x) && std::isnan(got[n_values].y));
  const auto tracks = download(device.tracks.tracks.data(), device.tracks.n_tracks);
  const auto nodes = download(device.tracks.rows.data(), device.tracks.n_rows);
  std::uint32_t max_run = 0;
  for (const DeviceTrack& track : tracks) max_run = std::max(max_run, track.first_run + track.n_runs);
  const auto runs = download(device.tables.runs.data(), max_run);
  double error = 0, power = 0, largest = 0, farthest = 0;
  std::size_t n_bad = 0, n_seen = 0, row_at = 0, n_nodes = 0, next_place = 0;
  std::vector<bool> written(n_values);
  for (const DeviceTrack& track : tracks) {
    const std::uint32_t n = track.n_nodes;
    n_nodes += n;
    for (std::uint32_t i = 0; i < track.n_runs; ++i) n_seen += runs[track.first_run + i].n_channels;
    auto uvw = [&](std::uint32_t i, int axis) { return o.folded_m(runs[track.first_run + i].row, axis); };
    const std::vector<double> t = along_chord(track.n_runs, uvw);
    for (std::uint32_t k = 0; k < track.n_rows(); ++k, ++row_at) {
      const NodeRow& node = nodes[row_at];
      BOOST_REQUIRE_EQUAL(node.first_place, next_place);
      next_place += node.n_channels;
      BOOST_REQUIRE_EQUAL(node.first_channel,
                          n > 0 ? track.first_channel : runs[track.first_run + k].first_channel);
      BOOST_REQUIRE_EQUAL(node.n_channels, n > 0 ? track.n_channels : runs[track.first_run + k].n_channels);
      std::vector<double> share(track.n_runs, 0.0);
      if (n == 0) share[k] = 1;
      for (std::uint32_t i = 0; i < track.n_runs && n > 0; ++i) share[i] = lagrange(k, n, t[i]);
      if (n == 0)
        farthest = std::max({farthest, std::abs(node.u_m - uvw(k, 0)), std::abs(node.v_m - uvw(k, 1)),
                             std::abs(node.w_m - uvw(k, 2))});
      for (std::uint32_t c = 0; c < node.n_channels; ++c)
        for (int plane = 0; plane < n_planes; ++plane) {
          std::complex<double> want = 0;
          const std::uint32_t chan = node.first_channel + c;
          for (std::uint32_t i = 0; i < track.n_runs; ++i) {
            const VisibilityRun& run = runs[track.first_run + i];
            if (chan - run.first_channel >= run.n_channels) continue;
            const std::complex<double> v = o.value(run.row, chan, plane, with_path);
            want += share[i] * (track.folded != 0 ? std::conj(v) : v);
          }
          const std::size_t at = (std::size_t(node.first_place) + c) * n_planes + plane;
          BOOST_REQUIRE_LT(at, n_values);
          written[at] = true;
          const double off = std::abs(std::complex<double>(got[at].x, got[at].y) - want);
          error += off * off;
          power += std::norm(want);
          if (!std::isnan(off)) largest = std::max(largest, off);
          if (!(off < max_off) && n_bad++ < 5)
            std::printf("track %u nodes %u rows %u channels, node %u channel %u plane %d: %g %g, not %g %g\n",
                        n, track.n_runs, track.n_channels, k, c, plane, got[at].x, got[at].y, want.real(),
                        want.imag());
        }
    }
  }
  const double relative = std::sqrt(error / power);
  std::printf("%zu nodes, error of values %.2e, at most %.1e\n", n_nodes, relative, largest);
  BOOST_CHECK_EQUAL(n_bad, 0);
  BOOST_CHECK_EQUAL(row_at, device.tracks.n_rows);
  BOOST_CHECK_EQUAL(next_place, device.tracks.n_places);
  BOOST_CHECK_EQUAL(n_seen, device.tables.n_visibilities);
  BOOST_CHECK_EQUAL(std::count(written.begin(), written.end(), false), 0);
  BOOST_CHECK_EQUAL(farthest, 0);
  BOOST_CHECK_GT(n_nodes, 0);
  BOOST_CHECK_LT(relative, 1e-6);  // measured on an H200: 1.3e-7 to 2.1e-7
}

void check_images(const Observation& o, bool with_path, double accuracy) {
  const GridBlock block = o.grid_block(with_path);
  const IdgPlan plan = plan_for(o, accuracy);
  auto gridder = make_gridder(test_device(), plan,
                              {.n_data_planes = n_data_planes, .psf = PsfPlane::last, .n_threads = 2});
  gridder->begin_pass({0, plan.n_layers});
  const GridCounts counts = gridder->grid(block);
  gridder->end_pass();
  const auto image = gridder->take_images();
  std::mt19937_64 random(5);
  std::vector<DftPixel> pixels;
  std::vector<std::array<std::size_t, 2>> where;
  for (int i = 0; i < 300; ++i) {
    where.push_back({random() % plan.image.n_x, random() % plan.image.n_y});
    pixels.push_back({pixel_l(plan.image, where[i][0]), pixel_m(plan.image, where[i][1])});
  }
  for (std::size_t plane : {std::size_t{0}, std::size_t{3}, n_data_planes}) {
    std::vector<DftVisibility> all;
    for (std::size_t row = 0; row < o.uvw_m.extent(0); ++row)
      for (std::size_t c = 0; c < o.wavenumber.size(); ++c) {
        const double k = o.wavenumber(c);
        all.push_back({o.uvw_m(row, 0) * k, o.uvw_m(row, 1) * k, o.uvw_m(row, 2) * k,
                       o.value(row, c, plane, with_path)});
      }
    std::vector<double> got;
    for (const auto& [x, y] : where) got.push_back(image(plane, y, x));
    const double error = relative_rms(got, dft_image(all, pixels));
    std::printf("accuracy %.0e, plane %zu: error %.2e, %llu visibilities in %llu subgrids\n", accuracy, plane,
                error, static_cast<unsigned long long>(counts.n_visibilities),
                static_cast<unsigned long long>(counts.n_subgrids));
    BOOST_CHECK_LE(error, accuracy);  // on an H200: 4.1e-6 of 1e-5, 9.4e-7 of 2e-6
  }
}

}  // namespace

/// For compute-sanitizer.
BOOST_AUTO_TEST_CASE(small_for_sanitizers) {
  check_values({4, 80, 5, true, false}, true);
}

BOOST_AUTO_TEST_CASE(values_of_nodes_agree_with_float64) {
  check_values({7, 300, 16, false, true}, false);
  check_values({7, 300, 1, false, true}, false);
  check_values({5, 120, 40, false, false}, true);
  check_values({7, 300, 7, true, true}, true);
}

BOOST_AUTO_TEST_CASE(images_of_nodes_keep_the_accuracy) {
  for (double accuracy : {1e-5, 2e-6}) {
    check_images({7, 300, 16, false, true}, false, accuracy);
    check_images({7, 300, 1, false, true}, false, accuracy);
    check_images({7, 300, 7, true, false}, true, accuracy);
  }
}

BOOST_AUTO_TEST_CASE(rows_far_between_have_no_tracks) {
  Observation o(5, 20, 4, false, true);
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> flat(-1000, 1000);
  for (double& value : o.uvw_m) value = flat(random);
  o.max_w_lambda = 1000;
  Tracks device;
  const IdgPlan plan = plan_for(o, 1e-5);
  device.find(plan, o.grid_block(false), 1e-6);
  BOOST_CHECK_EQUAL(device.tracks.n_tracks, 0);
}

BOOST_AUTO_TEST_SUITE_END()
