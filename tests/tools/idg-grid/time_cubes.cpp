// SPDX-License-Identifier: GPL-3.0-or-later
// Images of intervals along an axis of time: where they lie, and files whose images come in any order.
#include "tools/idg-grid/time_cubes.h"

#include <boost/test/unit_test.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "libcore/base/error.h"
#include "tests/reference/scratch.h"
#include "tests/support/no_source.h"

using namespace apsyn;
using namespace apsyn::idg_grid;

BOOST_AUTO_TEST_SUITE(time_cubes)

namespace {

TimeAxis axis_of(const std::vector<double>& times_mjd_s, std::size_t n_intervals) {
  return time_axis(split_times(times_mjd_s, n_intervals), times_mjd_s);
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_axis_has_the_middles_of_intervals) {
  const TimeAxis pairs = axis_of({10, 12, 14, 16, 18, 20}, 3);
  BOOST_TEST(pairs.first_middle_mjd_s == 11);
  BOOST_TEST(pairs.step_s == 4);
  const TimeAxis all = axis_of({10, 12, 14, 16, 18, 20}, 6);
  BOOST_TEST(all.first_middle_mjd_s == 10);
  BOOST_TEST(all.step_s == 2);
}

BOOST_AUTO_TEST_CASE(an_uneven_axis_is_refused) {
  BOOST_CHECK_THROW(axis_of({10, 12, 14, 16, 18, 20}, 4), UsageError);  // 1, 2, 1 and 2 integrations
  BOOST_CHECK_THROW(axis_of({10, 12, 14, 17, 19, 21}, 6), UsageError);  // a gap
  BOOST_CHECK_THROW(axis_of({10, 12, 14, 16, 18, 20.1}, 6), UsageError);
  BOOST_CHECK_NO_THROW(axis_of({10, 12, 14, 16, 18, 20.01}, 6));
}

BOOST_AUTO_TEST_CASE(images_come_in_any_order_and_those_that_never_come_are_blank) {
  reference::Scratch folder;
  Tool tool{"test", "cubes"};
  Options options;
  NoSource source;
  Imager imager{tool, options, source, {{"I", {}, {}}}, {}, {}, 1 << 20};
  tool.common().output = folder.path("out");
  tool.common().threads = 2;
  options.imaging.n_x = 6, options.imaging.n_y = 4, options.imaging.cell_rad = 1e-3;
  ChannelGroup group;
  group.low_hz = group.high_hz = 150e6;
  constexpr std::size_t kImages = 4;
  TimeCubes cubes(imager, "", {}, group, kImages, {5e9 + 1, 2});
  for (const std::size_t k : {3, 0, 1}) {
    GroupImages images;
    images.pixels.resize({2, 4, 6});
    for (std::size_t i = 0; i < images.pixels.size(); ++i)
      images.pixels.data()[i] = 2 * static_cast<double>(100 * k + i);
    images.weight_sum = {2, 1};
    cubes.write(k, images);
  }
  cubes.commit();
  for (const bool psf : {false, true}) {
    const std::string bytes = folder.read(psf ? "out-psf.fits" : "out-dirty.fits");
    const std::size_t data = bytes.size() - 2880;  // 4 x 24 floats fill less than a block
    for (std::size_t k = 0; k < kImages; ++k)
      for (std::size_t i = 0; i < 24; ++i) {
        std::uint32_t word = 0;
        for (std::size_t b = 0; b < 4; ++b)
          word = word << 8 | static_cast<std::uint8_t>(bytes[data + 4 * (24 * k + i) + b]);
        const float got = std::bit_cast<float>(word);
        const auto wanted = static_cast<float>(psf ? 2 * (100 * k + 24 + i) : 100 * k + i);
        BOOST_TEST((k == 2 ? std::isnan(got) : got == wanted));
      }
    BOOST_TEST(bytes.find("NAXIS5  =                    4") != std::string::npos);
  }
}

BOOST_AUTO_TEST_SUITE_END()
