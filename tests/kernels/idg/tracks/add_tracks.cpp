// SPDX-License-Identifier: GPL-3.0-or-later
// Rows that the host makes of predictions at nodes, against sums of Lagrange's polynomials in float64, with
// every instruction set that there is.
#include "kernels/idg/tracks/add_tracks.h"

#include <hwy/targets.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <cstdio>
#include <random>
#include <vector>

using namespace apsyn;
using namespace apsyn::idg_cuda;

BOOST_AUTO_TEST_SUITE(add_tracks)

namespace {

struct Shape {
  std::size_t n_chan, n_planes, n_row;
};

/// Tracks of one channel and more, of few nodes and many, some without; rows that lack channels, rows in two
/// runs, rows on nodes.
struct Tracks {
  std::vector<DeviceTrack> tracks;
  std::vector<TrackRun> runs;
  std::vector<std::complex<float>> values;
  Shape shape;

  explicit Tracks(const Shape& of) : shape(of) {
    std::mt19937_64 random(5);
    std::uniform_real_distribution<float> flat(-1, 1);
    std::uint32_t next_row = 0, next_place = 0;
    for (std::uint32_t i = 0; next_row < shape.n_row; ++i) {
      DeviceTrack track{};
      track.first_t = static_cast<std::uint32_t>(runs.size());
      track.first_place = next_place;
      track.n_nodes = i % 5 == 4 ? 0 : 1 + static_cast<std::uint32_t>(random() % 24);
      track.first_channel = static_cast<std::uint32_t>(random() % shape.n_chan);
      track.n_channels = 1 + static_cast<std::uint32_t>(random() % (shape.n_chan - track.first_channel));
      const std::size_t n = std::min<std::size_t>(1 + random() % 256, shape.n_row - next_row);
      std::uint32_t n_visibilities = 0;
      for (std::size_t k = 0; k < n; ++k, ++next_row) {
        float t = k == 0 ? -1 : flat(random);
        if (k % 7 == 3 && track.n_nodes > 0)
          t = static_cast<float>(-std::cos(std::acos(-1.0) * 0.5 / track.n_nodes));
        // All channels, all but the last, or all but one within.
        const std::uint32_t end = track.first_channel + track.n_channels, what = random() % 4;
        const std::uint32_t gap = what == 0 && track.n_channels > 2 ? track.first_channel + 1
                                  : what == 1                       ? end - 1
                                                                    : end;
        for (const auto& [first, last] : {std::pair(track.first_channel, gap), std::pair(gap + 1, end)}) {
          if (first >= last) continue;
          runs.push_back({next_row, first, last - first, t});
          n_visibilities += last - first;
        }
      }
      track.n_runs = static_cast<std::uint32_t>(runs.size()) - track.first_t;
      next_place += track.n_nodes > 0 ? track.n_nodes * track.n_channels : n_visibilities;
      tracks.push_back(track);
    }
    values.resize(next_place * shape.n_planes + 8);
    for (auto& value : values) value = {flat(random), flat(random)};
  }
  PredictedTracks predicted() const {
    return {tracks.data(), tracks.size(), runs.data(), values.data(), shape.n_chan, shape.n_planes};
  }
};

double lagrange(std::size_t k, std::size_t n, double t) {
  auto node = [n](std::size_t i) {
    return -std::cos(std::acos(-1.0) * (static_cast<double>(i) + 0.5) / static_cast<double>(n));
  };
  double share = 1;
  for (std::size_t j = 0; j < n; ++j)
    if (j != k) share *= (t - node(j)) / (node(k) - node(j));
  return share;
}

void check(const Shape& shape) {
  const Tracks own(shape);
  const std::complex<float> held(3, -5);
  const std::size_t n = shape.n_row * shape.n_chan * shape.n_planes;
  // What no run has is NaN, and stays so.
  std::vector<std::complex<float>> before(n + 1, {NAN, NAN});
  std::vector<std::complex<double>> want(n);
  std::vector<bool> has_value(n);
  for (const DeviceTrack& track : own.tracks) {
    std::size_t place = track.first_place;
    for (std::size_t i = track.first_t; i < track.first_t + track.n_runs; ++i) {
      const TrackRun& run = own.runs[i];
      std::vector<double> share;
      for (std::size_t k = 0; k < track.n_nodes; ++k) share.push_back(lagrange(k, track.n_nodes, run.t));
      for (std::size_t c = run.first_channel; c < run.first_channel + run.n_channels; ++c)
        for (std::size_t plane = 0; plane < shape.n_planes; ++plane) {
          std::complex<double> sum = 0;
          if (track.n_nodes == 0) sum = own.values[(place + c - run.first_channel) * shape.n_planes + plane];
          for (std::size_t k = 0; k < track.n_nodes; ++k)
            sum += share[k] *
                   std::complex<double>(
                       own.values[(track.first_place + k * track.n_channels + c - track.first_channel) *
                                      shape.n_planes +
                                  plane]);
          const std::size_t at = (run.row * shape.n_chan + c) * shape.n_planes + plane;
          BOOST_REQUIRE(!has_value[at]);
          has_value[at] = true;
          want[at] = sum;
          before[at] = held;
        }
      if (track.n_nodes == 0) place += run.n_channels;
    }
  }
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    std::vector<std::complex<float>> data = before;
    const std::size_t half = own.tracks.size() / 2;
    idg_cuda::add_tracks(own.predicted(), half, own.tracks.size() - half, data.data());
    idg_cuda::add_tracks(own.predicted(), 0, half, data.data());
    double error = 0, power = 0;
    std::size_t n_wrong = !std::isnan(data[n].real());
    for (std::size_t i = 0; i < n; ++i) {
      n_wrong += std::isnan(data[i].real()) == has_value[i];
      if (!has_value[i]) continue;
      error += std::norm(std::complex<double>(data[i]) - std::complex<double>(held) - want[i]);
      power += std::norm(want[i]);
    }
    std::printf("%s, %zu channels, %zu planes: error %.2e\n", hwy::TargetName(target), shape.n_chan,
                shape.n_planes, std::sqrt(error / power));
    BOOST_CHECK_EQUAL(n_wrong, 0u);
    // Adding to 6 rounds half a bit of float32 besides: 1.3e-7 to 2.4e-7 were measured.
    BOOST_CHECK_LT(std::sqrt(error / power), 5e-7);
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace

BOOST_AUTO_TEST_CASE(rows_of_nodes_are_added) {
  for (std::size_t n_planes : {1, 2, 3, 4})
    for (std::size_t n_chan : {1, 2, 16, 37}) check({n_chan, n_planes, 3000});
  check({5, 4, 1});
}

BOOST_AUTO_TEST_SUITE_END()
