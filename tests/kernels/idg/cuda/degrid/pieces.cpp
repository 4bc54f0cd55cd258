// SPDX-License-Identifier: GPL-3.0-or-later
// A block of many pieces: each row gets its own prediction, added to what it holds, and rows without data
// keep that, while pieces before and behind are on their way.
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "kernels/idg/idg.h"
#include "libcore/system/device.h"
#include "tests/reference/dft_image.h"
#include "tests/support/array_rows.h"
#include "tests/support/image_pixels.h"

using namespace apsyn;
using namespace apsyn::support;

BOOST_AUTO_TEST_SUITE(pieces)

BOOST_AUTO_TEST_CASE(pieces_come_to_their_rows) {
  // 26 million visibilities, 20 million with data: more than six at a time, and several pieces at once; twice
  // 64 MB of pinned memory.
  constexpr std::size_t n_chan = 32, n_pixels = 400;
  ArrayRows d = observe_array(40, 1042, n_chan);
  const std::size_t n_row = d.uvw_m.extent(0);
  // Single rows and many together without any data, also the first and the last.
  auto is_empty = [n_row](std::size_t row) {
    return row % 11 == 0 || row / 5000 % 20 == 7 || row + 300 > n_row;
  };
  for (std::size_t row = 0; row < n_row; ++row)
    if (is_empty(row)) std::fill_n(&d.weight(row, 0, 0), n_chan, 0.0f);
  BOOST_REQUIRE(is_empty(0) && is_empty(n_row - 1));
  std::mt19937_64 random(3);
  Buffer<double, 3> model({1, n_pixels, n_pixels});
  std::vector<reference::DftSource> sources;
  const ImageGeometry geometry{n_pixels, n_pixels, 1e-4};
  for (int i = 0; i < 10; ++i) {
    const std::size_t x = random() % n_pixels, y = random() % n_pixels;
    model(0, y, x) += 1;
    sources.push_back({pixel_l(geometry, x), pixel_m(geometry, y), 1});
  }
  const IdgPlan plan = make_idg_plan(geometry, {.accuracy = 1e-5, .subgrid = 32}, longest_w(d),
                                     static_cast<double>(n_row * n_chan));
  auto degridder = make_degridder({Device::Kind::cuda, 0, "cuda:0"}, plan, {.n_threads = 4});
  degridder->set_model(model);
  degridder->begin_pass({0, plan.n_layers});
  const std::complex<float> held(3, -2);
  Buffer<std::complex<float>, 3> data({n_row, n_chan, 1});
  data.fill(held);
  std::size_t n_data = 0;
  for (const float weight : d.weight) n_data += weight != 0;
  for (int times = 1; times <= 2; ++times) {
    BOOST_CHECK_EQUAL(degridder->degrid(d.block(false), data).n_visibilities, n_data);
    double error = 0, power = 0;
    std::size_t n_touched = 0;
    for (std::size_t i = 0; i < data.size(); ++i)
      n_touched += d.weight.data()[i] == 0 && data.data()[i] != held;
    for (int i = 0; i < 4000; ++i) {
      const std::size_t row = random() % n_row, chan = random() % n_chan;
      const std::complex<double> got = data(row, chan, 0) - held;
      if (d.weight(row, chan, 0) == 0) continue;
      const double k = d.wavenumber(chan);
      const auto want = double(times) * reference::dft_visibility(sources, d.uvw_m(row, 0) * k,
                                                                  d.uvw_m(row, 1) * k, d.uvw_m(row, 2) * k);
      error += std::norm(got - want);
      power += std::norm(want);
    }
    BOOST_TEST_MESSAGE("error " << std::sqrt(error / power));
    BOOST_CHECK_EQUAL(n_touched, 0u);
    BOOST_CHECK_LT(std::sqrt(error / power), plan.settings.accuracy);  // 1e-5; on an H200: 7.9e-7
  }
}

BOOST_AUTO_TEST_SUITE_END()
