// SPDX-License-Identifier: GPL-3.0-or-later
// Gridding and degridding of many narrow channels, which nodes stand for, against float64 sums.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>

#include "kernels/idg/idg.h"
#include "tests/reference/dft_image.h"
#include "tests/support/grid_rows.h"

using namespace apsyn;
using namespace apsyn::reference;

BOOST_AUTO_TEST_SUITE(many_nodes)

namespace {

constexpr std::size_t n_pixels = 256, n_baselines = 12, n_planes = 4;
constexpr double cell_rad = 1e-4;

/// Baselines as the sky turns, by steps so short that rows have nodes, or so long that they have not.
support::GridRows observe(std::size_t n_step, double step_rad, const std::vector<double>& wavenumber) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> flat(-1, 1);
  const std::size_t n_row = n_baselines * n_step, n_chan = wavenumber.size();
  support::GridRows o;
  o.uvw_m.resize({n_row, 3});
  o.wavenumber.resize({n_chan});
  o.data.resize({n_row, n_chan, n_planes});
  o.weight.resize({n_row, n_chan, n_planes});
  o.station.resize({n_row, 2});
  for (std::size_t c = 0; c < n_chan; ++c) o.wavenumber(c) = wavenumber[c];
  for (std::size_t r = 0; r < n_row; ++r) {
    const auto baseline = static_cast<std::uint32_t>(r % n_baselines);
    const double length = 150.0 * (1 + baseline),
                 hour = 0.4 * baseline + step_rad * static_cast<double>(r / n_baselines);
    o.uvw_m(r, 0) = length * std::cos(hour);
    o.uvw_m(r, 1) = length * std::sin(hour) * 0.9 + 40;
    o.uvw_m(r, 2) = length * std::sin(hour) * 0.4 + 30;
    o.station(r, 1) = baseline;
    for (std::size_t c = 0; c < n_chan; ++c) {
      o.max_w_lambda = std::max(o.max_w_lambda, std::abs(o.uvw_m(r, 2) * wavenumber[c]));
      for (std::size_t p = 0; p < n_planes; ++p) {
        o.data(r, c, p) = {static_cast<float>(flat(random)), static_cast<float>(flat(random))};
        // A tenth of each plane is missing, and channels of all planes in some rows.
        const bool missing = flat(random) < -0.8 || (n_chan > 20 && r % 5 == 0 && c > 14 && c < 18);
        o.weight(r, c, p) = missing ? 0 : static_cast<float>(1.5 + flat(random));
        if (missing) o.data(r, c, p) = NAN;
      }
    }
  }
  return o;
}

IdgPlan plan_for(const support::GridRows& o, Precision precision) {
  IdgSettings settings;
  settings.precision = precision;
  settings.subgrid = 48;
  return make_idg_plan({n_pixels, n_pixels, cell_rad}, settings,
                       {.max_w_lambda = o.max_w_lambda, .n_planes = n_planes});
}

Buffer<double, 3> grid(const support::GridRows& o, const IdgPlan& plan, unsigned n_threads) {
  auto gridder = make_gridder(Device{}, plan,
                              {.n_data_planes = n_planes, .psf = PsfPlane::last, .n_threads = n_threads});
  gridder->begin_pass({0, plan.n_layers});
  gridder->grid(o.block());
  gridder->end_pass();
  return gridder->take_images();
}

double image_error(const support::GridRows& o, const Buffer<double, 3>& image, std::size_t plane) {
  std::vector<DftVisibility> all;
  const bool psf = plane == n_planes;
  for (std::size_t r = 0; r < o.uvw_m.extent(0); ++r)
    for (std::size_t c = 0; c < o.wavenumber.size(); ++c) {
      const double k = o.wavenumber(c), weight = static_cast<double>(o.weight(r, c, psf ? 0 : plane));
      if (weight == 0) continue;
      const std::complex<double> value = psf ? 1.0 : std::complex<double>(o.data(r, c, plane));
      all.push_back({o.uvw_m(r, 0) * k, o.uvw_m(r, 1) * k, o.uvw_m(r, 2) * k, value * weight});
    }
  std::vector<DftPixel> pixels;
  std::vector<double> got;
  for (std::size_t y = 0; y < n_pixels; y += 23)
    for (std::size_t x = 0; x < n_pixels; x += 23) {
      pixels.push_back({(n_pixels / 2.0 - static_cast<double>(x)) * cell_rad,
                        (static_cast<double>(y) - n_pixels / 2.0) * cell_rad});
      got.push_back(image(plane, y, x));
    }
  const auto want = dft_image(all, pixels);
  double error = 0, power = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    error += std::pow(got[i] - want[i], 2);
    power += std::pow(want[i], 2);
  }
  return std::sqrt(error / power);
}

/// Relative error of a prediction into data that held ones. What has no weight in any plane stays one.
template <class Out>
double prediction_error(const support::GridRows& o, const IdgPlan& plan) {
  Buffer<double, 3> model({n_planes, n_pixels, n_pixels});
  std::vector<std::vector<DftSource>> sources(n_planes);
  std::mt19937_64 random(9);
  for (std::size_t i = 0; i < 40; ++i) {
    const std::size_t plane = i % n_planes, x = random() % n_pixels, y = random() % n_pixels;
    model(plane, y, x) += 1;
    sources[plane].push_back({(n_pixels / 2.0 - static_cast<double>(x)) * cell_rad,
                              (static_cast<double>(y) - n_pixels / 2.0) * cell_rad, 1});
  }
  GridBlock block = o.block();
  block.data = {};
  Buffer<std::complex<Out>, 3> data, again;
  for (auto [n_threads, into] : {std::pair{1u, &data}, std::pair{3u, &again}}) {
    auto degridder = make_degridder(Device{}, plan, {.n_data_planes = n_planes, .n_threads = n_threads});
    degridder->set_model(model);
    degridder->begin_pass({0, plan.n_layers});
    into->resize({o.uvw_m.extent(0), o.wavenumber.size(), n_planes});
    into->fill(1);
    degridder->degrid(block, *into);
  }
  BOOST_CHECK_EQUAL(std::memcmp(data.data(), again.data(), data.size() * sizeof(std::complex<Out>)), 0);
  double error = 0, power = 0;
  for (std::size_t r = 0; r < o.uvw_m.extent(0); r += 5)
    for (std::size_t c = 0; c < o.wavenumber.size(); ++c) {
      bool any = false;
      for (std::size_t p = 0; p < n_planes; ++p) any = any || o.weight(r, c, p) != 0;
      for (std::size_t p = 0; p < n_planes; ++p) {
        const double k = o.wavenumber(c);
        const auto want =
            any ? dft_visibility(sources[p], o.uvw_m(r, 0) * k, o.uvw_m(r, 1) * k, o.uvw_m(r, 2) * k) : 0;
        error += std::norm(std::complex<double>(data(r, c, p)) - 1.0 - want);
        power += std::norm(want);
      }
    }
  return std::sqrt(error / power);
}

void check(const char* what, const support::GridRows& o) {
  for (Precision precision : {Precision::single, Precision::double_}) {
    const bool single = precision == Precision::single;
    const IdgPlan plan = plan_for(o, precision);
    const auto image = grid(o, plan, 1), again = grid(o, plan, 3);
    BOOST_CHECK_EQUAL(std::memcmp(image.data(), again.data(), image.size() * sizeof(double)), 0);
    const double error = image_error(o, image, 1), psf = image_error(o, image, n_planes);
    const double predicted = single ? prediction_error<float>(o, plan) : prediction_error<double>(o, plan);
    std::printf("%s, %s: image %.2e, PSF %.2e, visibilities %.2e\n", what, single ? "single" : "double",
                error, psf, predicted);
    BOOST_CHECK_LT(error, plan.settings.accuracy);      // measured: 1.0e-6 of 2e-6, 4.3e-12 of 1e-11
    BOOST_CHECK_LT(psf, plan.settings.accuracy);        // measured: 1.0e-6, 2.1e-12
    BOOST_CHECK_LT(predicted, plan.settings.accuracy);  // measured: 5.6e-7, 2.6e-12
  }
}

std::vector<double> channels(std::size_t n, double step) {
  std::vector<double> wavenumber(n);
  for (std::size_t c = 0; c < n; ++c) wavenumber[c] = 0.5 + step * static_cast<double>(c);
  return wavenumber;
}

}  // namespace

BOOST_AUTO_TEST_CASE(channels_of_rows_far_apart_agree_with_float64) {
  check("64 channels, rows far apart", observe(6, 0.05, channels(64, 2e-4)));
}

BOOST_AUTO_TEST_CASE(channels_of_rows_on_tracks_agree_with_float64) {
  check("64 channels, rows on tracks", observe(60, 1e-4, channels(64, 2e-4)));
}

BOOST_AUTO_TEST_CASE(channels_in_disorder_agree_with_float64) {
  std::vector<double> wavenumber = channels(70, -2e-4);
  for (std::size_t c = 30; c < wavenumber.size(); ++c) wavenumber[c] -= 0.004;
  std::swap(wavenumber[5], wavenumber[50]);
  check("descending with a gap and two exchanged", observe(40, 1e-4, wavenumber));
}

// Channels of a row reach over several subgrids, and have nodes in each.
BOOST_AUTO_TEST_CASE(channels_of_several_subgrids_agree_with_float64) {
  check("200 channels over more than an octave", observe(8, 1e-4, channels(200, 3e-3)));
}

BOOST_AUTO_TEST_CASE(few_channels_agree_with_float64) {
  check("one channel", observe(40, 1e-4, channels(1, 0)));
  check("channels at the same frequency", observe(40, 1e-4, channels(8, 0)));
}

BOOST_AUTO_TEST_SUITE_END()
