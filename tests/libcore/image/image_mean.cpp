// SPDX-License-Identifier: GPL-3.0-or-later
// Means of cubes over channels and times, against sums over the pixels that are known here.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "libcore/image/image_mean.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(image_mean)

namespace {

constexpr std::size_t kStokes = 2, kChan = 4, kSide = 3;

/// Pixels of a time: a different number everywhere.
double value_of(std::size_t time, std::size_t stokes, std::size_t chan, std::size_t y, std::size_t x) {
  return 1000.0 * static_cast<double>(time) + 100.0 * static_cast<double>(stokes) +
         10.0 * static_cast<double>(chan * chan) + static_cast<double>(y) - 0.5 * static_cast<double>(x);
}

/// Channel 0 is 0 throughout, as an edge channel without data; channel 3 is blank at the first time.
Image cube(std::size_t time) {
  Image image;
  image.info.freq_hz = 100e6, image.info.bandwidth_hz = 1e6;
  image.pixels.resize({kStokes, kChan, kSide, kSide});
  for (std::size_t s = 0; s < kStokes; ++s)
    for (std::size_t c = 1; c < kChan; ++c)
      for (std::size_t y = 0; y < kSide; ++y)
        for (std::size_t x = 0; x < kSide; ++x)
          image.pixels(s, c, y, x) = c == 3 && time == 0 ? NAN : value_of(time, s, c, y, x);
  return image;
}

}  // namespace

BOOST_AUTO_TEST_CASE(channels_and_times_without_data_take_no_part) {
  ImageMean mean(true);
  for (std::size_t time = 0; time < 2; ++time) {
    Image image = cube(time);
    mean.add(image);
  }
  Image empty;
  empty.pixels.resize({kStokes, kChan, kSide, kSide});
  mean.add(empty);
  const Image out = mean.take();
  BOOST_TEST(mean.averaged().channels == 3u);
  BOOST_TEST(mean.averaged().of_channels == 4u);
  BOOST_TEST(mean.averaged().times == 2u);
  BOOST_TEST(mean.averaged().of_times == 3u);
  BOOST_REQUIRE((out.pixels.shape() == Buffer<double, 4>::Shape{kStokes, 1, kSide, kSide}));
  for (std::size_t s = 0; s < kStokes; ++s)
    for (std::size_t y = 0; y < kSide; ++y)
      for (std::size_t x = 0; x < kSide; ++x) {
        const double sum = value_of(0, s, 1, y, x) + value_of(0, s, 2, y, x) + value_of(1, s, 1, y, x) +
                           value_of(1, s, 2, y, x) + value_of(1, s, 3, y, x);
        BOOST_TEST(std::abs(out.pixels(s, 0, y, x) - sum / 5) < 1e-12);  // some ulp of 1000
      }
  BOOST_TEST(out.info.freq_hz == 102e6);  // of channels 1 to 3
  BOOST_TEST(out.info.bandwidth_hz == 4e6);
}

BOOST_AUTO_TEST_CASE(channels_stay_apart_when_they_should) {
  ImageMean mean(false);
  for (std::size_t time = 0; time < 2; ++time) {
    Image image = cube(time);
    mean.add(image);
  }
  const Image out = mean.take();
  BOOST_REQUIRE((out.pixels.shape() == Buffer<double, 4>::Shape{kStokes, kChan, kSide, kSide}));
  BOOST_TEST(std::isnan(out.pixels(0, 0, 1, 1)));
  BOOST_TEST(out.pixels(1, 2, 1, 2) == (value_of(0, 1, 2, 1, 2) + value_of(1, 1, 2, 1, 2)) / 2);
  BOOST_TEST(out.pixels(1, 3, 1, 2) == value_of(1, 1, 3, 1, 2));
  BOOST_TEST(out.info.freq_hz == 100e6);
  BOOST_TEST(mean.averaged().of_channels == 1u);
  BOOST_TEST(mean.averaged().times == 2u);
}

BOOST_AUTO_TEST_CASE(a_plane_that_vanishes_beside_another_is_kept) {
  // Stokes V of an unpolarised sky is 0, which is a measurement as long as Stokes I is none.
  ImageMean mean(true);
  Image image;
  image.pixels.resize({2, 2, 1, 1});
  image.pixels(0, 0, 0, 0) = 3, image.pixels(0, 1, 0, 0) = 5;
  mean.add(image);
  const Image out = mean.take();
  BOOST_TEST(out.pixels(0, 0, 0, 0) == 4);
  BOOST_TEST(out.pixels(1, 0, 0, 0) == 0);
}

BOOST_AUTO_TEST_CASE(a_single_image_stays_as_it_is_and_zeros_stay_zeros) {
  ImageMean one(true);
  Image image;
  image.pixels.resize({1, 1, 2, 2});
  image.pixels(0, 0, 1, 0) = -7;
  one.add(image);
  const Image same = one.take();
  BOOST_TEST(same.pixels(0, 0, 1, 0) == -7);
  BOOST_TEST(same.pixels(0, 0, 0, 0) == 0);
  BOOST_TEST(one.averaged().of_channels == 1u);
  ImageMean none(true), blank(true);
  Image zeros, missing;
  zeros.pixels.resize({1, 2, 1, 1}), missing.pixels.resize({1, 2, 1, 1});
  missing.pixels.fill(NAN);
  none.add(zeros), blank.add(missing);
  BOOST_TEST(none.take().pixels(0, 0, 0, 0) == 0);
  BOOST_TEST(std::isnan(blank.take().pixels(0, 0, 0, 0)));
  Image other;
  other.pixels.resize({1, 2, 2, 1});
  BOOST_CHECK_THROW(none.add(other), std::invalid_argument);
  BOOST_CHECK_THROW(ImageMean(true).take(), std::logic_error);
}

BOOST_AUTO_TEST_SUITE_END()
