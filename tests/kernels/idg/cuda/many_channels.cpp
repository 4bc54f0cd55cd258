// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of more channels than 16 bits count, all of which lie in one subgrid's cells, through the gridder and
// the degridder against sums in float64.
#include <boost/test/unit_test.hpp>

#include "libcore/system/device.h"
#include "tests/reference/dft_image.h"
#include "tests/reference/statistics.h"
#include "tests/support/array_rows.h"
#include "tests/support/image_pixels.h"

using namespace apsyn;
using namespace apsyn::support;

BOOST_AUTO_TEST_SUITE(many_channels)

namespace {

const Device gpu{Device::Kind::cuda, 0, "cuda:0"};
constexpr std::size_t n_chan = 70'000, n_pixels = 200;

struct Fixture {
  ArrayRows d = observe_many_channels(n_chan);
  ImageGeometry geometry{n_pixels, n_pixels, 5e-4};
  IdgPlan plan = make_idg_plan(geometry, {.accuracy = 1e-5}, longest_w(d), 3.0 * n_chan);
  std::mt19937_64 random{4};
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(images_of_many_channels_agree_with_float64, Fixture) {
  const auto data = noise_for(d);
  GridBlock block = d.block(false);
  block.data = data;
  auto gridder = make_gridder(gpu, plan, {.n_threads = 2});
  gridder->begin_pass({0, plan.n_layers});
  BOOST_CHECK_EQUAL(gridder->grid(block).n_visibilities, 3 * n_chan);
  gridder->end_pass();
  const auto image = gridder->take_images();
  std::vector<reference::DftVisibility> all;
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t c = 0; c < n_chan; ++c) {
      const double k = d.wavenumber(c);
      all.push_back({d.uvw_m(row, 0) * k, d.uvw_m(row, 1) * k, d.uvw_m(row, 2) * k, data(row, c, 0)});
    }
  std::vector<reference::DftPixel> pixels;
  std::vector<double> got;
  for (int i = 0; i < 40; ++i) {
    const std::size_t x = random() % n_pixels, y = random() % n_pixels;
    pixels.push_back({pixel_l(geometry, x), pixel_m(geometry, y)});
    got.push_back(image(0, y, x));
  }
  const double error = reference::relative_rms(got, reference::dft_image(all, pixels));
  BOOST_TEST_MESSAGE("gridding: error " << error);
  BOOST_CHECK_LE(error, plan.settings.accuracy);  // on an H200: 3.1e-6
}

BOOST_FIXTURE_TEST_CASE(predictions_of_many_channels_agree_with_float64, Fixture) {
  Buffer<double, 3> model({1, n_pixels, n_pixels});
  std::vector<reference::DftSource> sources;
  for (int i = 0; i < 10; ++i) {
    const std::size_t x = random() % n_pixels, y = random() % n_pixels;
    model(0, y, x) += 1;
    sources.push_back({pixel_l(geometry, x), pixel_m(geometry, y), 1});
  }
  auto degridder = make_degridder(gpu, plan, {.n_threads = 2});
  degridder->set_model(model);
  degridder->begin_pass({0, plan.n_layers});
  Buffer<std::complex<float>, 3> data({3, n_chan, 1});
  BOOST_CHECK_EQUAL(degridder->degrid(d.block(false), data).n_visibilities, 3 * n_chan);
  std::vector<std::complex<double>> got, want;
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t c = 0; c < n_chan; c += 7) {
      const double k = d.wavenumber(c);
      got.emplace_back(data(row, c, 0));
      want.push_back(
          reference::dft_visibility(sources, d.uvw_m(row, 0) * k, d.uvw_m(row, 1) * k, d.uvw_m(row, 2) * k));
    }
  const double error = reference::relative_rms(got, want);
  BOOST_TEST_MESSAGE("degridding: error " << error);
  BOOST_CHECK_LE(error, plan.settings.accuracy);  // on an H200: 2.1e-6
}

BOOST_AUTO_TEST_SUITE_END()
