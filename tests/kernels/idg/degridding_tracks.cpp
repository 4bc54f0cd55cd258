// SPDX-License-Identifier: GPL-3.0-or-later
// Predicted rows that lie on tracks, which degridders predict at nodes: against the float64 sum over the
// model's pixels, and as the adjoint of the gridder. tests/kernels/idg/cuda/degridding_tracks.cpp runs the
// same tests on a GPU.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdio>
#include <random>

#include "tests/kernels/idg/degridding.h"

using namespace apsyn;
using namespace apsyn::reference;

BOOST_AUTO_TEST_SUITE(degridding_tracks)

namespace {

struct TrackCoverage : Coverage {
  Buffer<std::uint32_t, 2> station;
  Buffer<double, 1> path_m;
  Buffer<float, 3> weight;

  GridBlock block() const {
    GridBlock result;
    result.uvw_m = uvw_m;
    result.wavenumber = wavenumber;
    result.station = station;
    result.path_m = path_m;
    result.weight = weight;
    return result;
  }
};

/// All baselines of n_station stations that turn by turn_rad between integrations, low in the sky; a third of
/// them folded. bend: metres by which tracks leave their ellipses, to and fro.
TrackCoverage cover_tracks(std::size_t n_station, std::size_t n_time, std::size_t n_chan, double turn_rad,
                           double bend_m = 0) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> flat(-1, 1);
  std::vector<std::array<double, 3>> at(n_station);
  for (auto& place : at) place = {1500 * flat(random), 1500 * flat(random), 100 * flat(random)};
  TrackCoverage c;
  const std::size_t n_row = n_station * (n_station - 1) / 2 * n_time;
  c.uvw_m.resize({n_row, 3});
  c.station.resize({n_row, 2});
  c.wavenumber.resize({n_chan});
  for (std::size_t chan = 0; chan < n_chan; ++chan)
    c.wavenumber(chan) = (150e6 + 0.2e6 * static_cast<double>(chan)) / 299792458.0;
  std::size_t row = 0;
  for (std::size_t t = 0; t < n_time; ++t)
    for (std::size_t p = 0; p < n_station; ++p)
      for (std::size_t q = p + 1; q < n_station; ++q, ++row) {
        const double angle = 0.3 + turn_rad * static_cast<double>(t);
        const double x = at[p][0] - at[q][0], y = at[p][1] - at[q][1], z = at[p][2] - at[q][2];
        const double along = x * std::cos(angle) - y * std::sin(angle),
                     across = x * std::sin(angle) + y * std::cos(angle),
                     bend = bend_m * std::sin(0.2 * static_cast<double>(t));
        c.uvw_m(row, 0) = along + bend;
        c.uvw_m(row, 1) = 0.8 * across - 0.6 * z + bend;
        c.uvw_m(row, 2) = 0.6 * across + 0.8 * z;
        c.station(row, 0) = static_cast<std::uint32_t>(p);
        c.station(row, 1) = static_cast<std::uint32_t>(q);
        c.max_w_lambda = std::max(c.max_w_lambda, std::abs(c.uvw_m(row, 2)) * c.wavenumber(n_chan - 1));
      }
  return c;
}

constexpr ImageGeometry kGeometry{300, 255, 90 * asec};

IdgPlan plan_tracks(const TrackCoverage& c, double accuracy, std::size_t subgrid = 0) {
  IdgSettings settings;
  settings.accuracy = accuracy;
  settings.subgrid = subgrid;
  settings.precision = accuracy < 1e-6 ? Precision::double_ : Precision::single;
  return make_idg_plan(kGeometry, settings,
                       {.max_w_lambda = c.max_w_lambda,
                        .n_visibilities = static_cast<double>(c.n_row() * c.n_chan()),
                        .device = test_device().kind});
}

const std::complex<float> kBefore(2, -1);

/// What is flagged holds NaN, the rest kBefore.
Buffer<std::complex<float>, 3> data_before(const TrackCoverage& c, std::size_t n_planes) {
  Buffer<std::complex<float>, 3> data({c.n_row(), c.n_chan(), n_planes});
  data.fill(kBefore);
  if (c.weight.size() > 0)
    for (std::size_t i = 0; i < data.size(); ++i)
      if (c.weight.data()[i] == 0) data.data()[i] = NAN;
  return data;
}

template <class Out>
void degrid(const TrackCoverage& c, const IdgPlan& plan, const Buffer<double, 3>& model,
            Buffer<std::complex<Out>, 3>& data) {
  auto degridder =
      make_degridder(test_device(), plan,
                     {.n_data_planes = model.extent(0), .n_threads = 2, .grid_memory = test_grid_memory()});
  degridder->set_model(model);
  degridder->begin_pass({0, plan.n_layers});
  degridder->degrid(c.block(), data);
}

/// Relative RMS of what was added, over all planes and about n visibilities.
double error_of(const TrackCoverage& c, const Buffer<double, 3>& model,
                const Buffer<std::complex<float>, 3>& data, std::size_t n) {
  const std::size_t n_all = c.n_row() * c.n_chan(), step = std::max<std::size_t>(1, n_all / n);
  double error = 0, power = 0;
  std::size_t n_wrong = 0;
  for (std::size_t plane = 0; plane < model.extent(0); ++plane) {
    const auto sources = sources_of(model.view()[plane], kGeometry);
    for (std::size_t i = plane; i < n_all; i += step) {
      const std::size_t row = i / c.n_chan(), chan = i % c.n_chan();
      const std::complex<float> got = data(row, chan, plane);
      if (c.weight.size() > 0 && c.weight(row, chan, 0) == 0) {
        n_wrong += !std::isnan(got.real());
        continue;
      }
      const double k = c.wavenumber(chan);
      Complex want = dft_visibility(sources, c.uvw_m(row, 0) * k, c.uvw_m(row, 1) * k, c.uvw_m(row, 2) * k);
      if (c.path_m.size() > 0) want *= std::polar(1.0, 2 * pi * c.path_m(row) * k);
      error += std::norm(Complex(got) - Complex(kBefore) - want);
      power += std::norm(want);
    }
  }
  BOOST_CHECK_EQUAL(n_wrong, 0u);
  return std::sqrt(error / power);
}

void check(const char* what, const TrackCoverage& c, double accuracy, std::size_t n_planes = 1,
           std::size_t subgrid = 0) {
  const IdgPlan plan = plan_tracks(c, accuracy, subgrid);
  const auto model = model_image(kGeometry, n_planes, 300, 12);
  auto data = data_before(c, n_planes);
  degrid(c, plan, model, data);
  const double error = error_of(c, model, data, 1000);
  std::printf("%s, accuracy %.0e: error %.2e (subgrid %zu, %zu layers)\n", what, accuracy, error,
              plan.settings.subgrid, plan.n_layers);
  // 1.4e-6 to 3.2e-6 of 1e-5, a tenth to four tenths of the others; on an H200 2e-6 to 5e-6, and a fifth to
  // two thirds.
  BOOST_CHECK_LE(error, accuracy);
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_accuracy_step_holds_on_tracks) {
  const auto c = cover_tracks(7, 200, 8, 3e-4);
  for (int exponent = 1; exponent <= 6; ++exponent) check("tracks", c, std::pow(10, -exponent));
  check("tracks", c, 1e-5, 4);
}

BOOST_AUTO_TEST_CASE(bent_tracks_and_rows_far_between_keep_the_accuracy) {
  check("straight", cover_tracks(6, 200, 8, 1e-6), 1e-5);
  check("bent", cover_tracks(6, 200, 8, 3e-4, 0.5), 1e-5);
  check("bent much", cover_tracks(6, 200, 8, 3e-4, 30), 1e-5);
  check("far between", cover_tracks(6, 200, 8, 0.02), 1e-5);
  check("small subgrids", cover_tracks(6, 200, 8, 1e-3), 1e-4, 2, 24);
  check("one channel", cover_tracks(6, 300, 1, 1e-4), 1e-5, 2);
  check("many channels", cover_tracks(4, 150, 70, 1e-4), 1e-5);
  check("one visibility", cover_tracks(2, 1, 1, 1e-4), 1e-5);
  check("five rows", cover_tracks(2, 5, 3, 1e-4), 1e-5);
}

BOOST_AUTO_TEST_CASE(what_is_flagged_stays) {
  for (const bool with_path : {false, true})
    for (const int one_in : {50, 4, 2}) {
      TrackCoverage c = cover_tracks(6, 200, 7, 3e-4);
      std::mt19937_64 random(9);
      constexpr std::size_t n_planes = 2;
      c.weight.resize({c.n_row(), c.n_chan(), n_planes});
      // Whole rows, too.
      for (std::size_t row = 0; row < c.n_row(); ++row)
        for (std::size_t chan = 0; chan < c.n_chan(); ++chan) {
          const bool flagged = row % 37 == 0 || random() % one_in == 0;
          for (std::size_t plane = 0; plane < n_planes; ++plane) c.weight(row, chan, plane) = flagged ? 0 : 1;
        }
      if (with_path) {
        c.path_m.resize({c.n_row()});
        for (std::size_t row = 0; row < c.n_row(); ++row)
          c.path_m(row) = 2 * std::sin(static_cast<double>(row));
      }
      check(with_path ? "flagged, with paths" : "flagged", c, 1e-5, n_planes);
    }
}

BOOST_AUTO_TEST_CASE(degridding_on_tracks_is_the_adjoint_of_gridding) {
  const auto c = cover_tracks(6, 200, 5, 3e-4);
  const IdgPlan plan = plan_tracks(c, 2e-6);
  const auto x = model_image(kGeometry, 1, 20000, 17);
  Buffer<Complex, 3> ax({c.n_row(), c.n_chan(), 1});
  degrid(c, plan, x, ax);
  const auto y = noise_for(c, 1, 18);
  const double difference = adjoint_difference(x, ax, y, adjoint_images(plan, c.block(), y));
  std::printf("adjointness %.2e\n", difference);
  // A float32's rounding, far below the accuracy of 2e-6: 3e-9, on an H200 1.2e-8.
  BOOST_CHECK_LE(difference, 1e-7);
}

BOOST_AUTO_TEST_SUITE_END()
