// SPDX-License-Identifier: GPL-3.0-or-later
// Images on their way into CLEAN: blank planes of a cube, masks with pixels that are no numbers.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <utility>
#include <vector>

#include "kernels/clean/clean_image.h"
#include "libcore/base/error.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(images)

namespace {

constexpr std::size_t kSize = 16;

/// [stokes][freq] planes of one value.
Image cube(std::size_t n_stokes, std::size_t n_freq, double value) {
  Image image;
  image.info.cell_rad = 1e-4;
  image.info.freq_hz = 100e6;
  image.info.bandwidth_hz = 2e6;
  image.info.stokes.assign(n_stokes, "I");
  image.pixels.resize({n_stokes, n_freq, kSize, kSize});
  image.pixels.fill(value);
  return image;
}

void blank(Image& image, std::size_t stokes, std::size_t freq) {
  for (double& pixel : image.pixels.view()[stokes][freq]) pixel = NAN;
}

}  // namespace

BOOST_AUTO_TEST_CASE(blank_channels_of_a_cube_take_no_part) {
  Image image = cube(2, 3, 1), psf = cube(1, 3, 0);
  for (std::size_t stokes = 0; stokes < 2; ++stokes) {
    blank(image, stokes, 1);
    for (double& pixel : image.pixels.view()[stokes][2]) pixel = 4;
  }
  blank(image, 1, 2);  // of the other polarisation there is something
  image.info.keywords.emplace_back("WSCIMGWG", 3);
  BOOST_TEST(has_data(image, 0));
  BOOST_TEST(!has_data(image, 1));
  BOOST_TEST(has_data(image, 2));
  std::vector<Image> images;
  images.push_back(std::move(image));
  const auto groups = groups_of(images);
  BOOST_REQUIRE(groups.size() == 3u);
  for (std::size_t g = 0; g < 3; ++g) {
    BOOST_TEST(groups[g].freq_hz == 100e6 + 2e6 * static_cast<double>(g));
    BOOST_TEST(groups[g].weight == (g == 1 ? 0 : 3));
  }
  const Image mean = mean_image(images, groups);
  BOOST_TEST(mean.pixels(0, 0, 3, 5) == 2.5);
  BOOST_TEST(std::isnan(mean.pixels(1, 0, 3, 5)));
  BOOST_TEST(mean.info.freq_hz == 102e6);
  BOOST_TEST(mean.info.bandwidth_hz == 6e6);

  // The PSF of the blank channel may be anything, also none.
  for (const std::size_t freq : {0u, 2u}) psf.pixels(0, freq, kSize / 2, kSize / 2) = 2;
  psf.pixels(0, 0, 1, 1) = NAN;
  psf.pixels(0, 1, 3, 3) = 7;
  prepare_psf(psf, "psf.fits", images[0]);
  for (std::size_t freq = 0; freq < 3; ++freq)
    BOOST_TEST(psf.pixels(0, freq, kSize / 2, kSize / 2) == (freq == 1 ? 0 : 1));
  BOOST_TEST(psf.pixels(0, 0, 1, 1) == 0);
  BOOST_TEST(psf.pixels(0, 1, 3, 3) == 0);
  // Without data to go by it has to have its peak in the middle.
  const Image other = cube(1, 3, 1);
  psf.pixels(0, 1, 3, 3) = 7;
  BOOST_CHECK_THROW(prepare_psf(psf, "psf.fits", other), DataError);
}

// Images of 1 and 5 Jy with weights of 1 and 3 have a mean of 4 Jy with a weight of 4, over the band of both.
BOOST_AUTO_TEST_CASE(images_weigh_in_their_mean) {
  std::vector<Image> images;
  for (int part = 0; part < 2; ++part) {
    images.push_back(cube(2, 1, 1 + 4 * part));
    images.back().info.freq_hz = 100e6 + 10e6 * part;
    images.back().info.keywords.emplace_back("WSCIMGWG", 1 + 2 * part);
  }
  const Image mean = mean_image(images, groups_of(images));
  for (std::size_t stokes = 0; stokes < 2; ++stokes) BOOST_TEST(mean.pixels(stokes, 0, 3, 5) == 4);
  BOOST_TEST(mean.info.freq_hz == 105e6);
  BOOST_TEST(mean.info.bandwidth_hz == 12e6);
  BOOST_REQUIRE(mean.info.keywords.size() == 1u);
  BOOST_TEST(mean.info.keywords[0].second == 4);
}

// Two cubes of two polarisations and three frequencies, every plane of a value of its own, there and back;
// and a PSF of one plane, which serves all.
BOOST_AUTO_TEST_CASE(planes_of_several_cubes_are_stacked_in_order) {
  std::vector<Image> cubes;
  for (int part = 0; part < 2; ++part) {
    cubes.push_back(cube(2, 3, 0));
    for (std::size_t stokes = 0; stokes < 2; ++stokes)
      for (std::size_t freq = 0; freq < 3; ++freq)
        for (double& pixel : cubes.back().pixels.view()[stokes][freq])
          pixel = 100.0 * part + 10.0 * static_cast<double>(freq) + static_cast<double>(stokes);
  }
  Buffer<float, 4> stack = stack_planes(cubes, 3);
  BOOST_REQUIRE(stack.extent(0) == 6u);
  BOOST_REQUIRE(stack.extent(1) == 2u);
  for (std::size_t group = 0; group < 6; ++group)
    for (std::size_t stokes = 0; stokes < 2; ++stokes) {
      const std::size_t expected = 100 * (group / 3) + 10 * (group % 3) + stokes;
      BOOST_TEST(stack(group, stokes, 3, 7) == static_cast<float>(expected));
      stack(group, stokes, 3, 7) += 0.5f;
    }
  unstack_planes(stack, cubes);
  for (std::size_t part = 0; part < 2; ++part)
    for (std::size_t stokes = 0; stokes < 2; ++stokes)
      for (std::size_t freq = 0; freq < 3; ++freq) {
        const auto expected = static_cast<double>(100 * part + 10 * freq + stokes);
        BOOST_TEST(cubes[part].pixels(stokes, freq, 3, 7) == expected + 0.5);
        BOOST_TEST(cubes[part].pixels(stokes, freq, 3, 8) == expected);
      }
  std::vector<Image> one;
  one.push_back(cube(1, 1, 7));
  const Buffer<float, 4> psf = stack_planes(one, 3);
  BOOST_REQUIRE(psf.extent(0) == 3u);
  for (std::size_t group = 0; group < 3; ++group) BOOST_TEST(psf(group, 0, 1, 2) == 7.0f);
}

BOOST_AUTO_TEST_CASE(pixels_of_a_mask_that_are_no_numbers_allow_nothing) {
  Image mask = cube(1, 2, 0);
  mask.pixels(0, 0, 2, 3) = NAN;
  mask.pixels(0, 0, 4, 5) = 1;
  mask.pixels(0, 1, 6, 7) = -0.5;
  mask.pixels(0, 1, 8, 9) = INFINITY;
  mask.pixels(0, 0, 10, 11) = NAN;
  mask.pixels(0, 1, 10, 11) = 1;
  const auto allowed = allowed_by(mask);
  for (std::size_t y = 0; y < kSize; ++y)
    for (std::size_t x = 0; x < kSize; ++x) {
      const bool wanted = (y == 4 && x == 5) || (y == 6 && x == 7) || (y == 10 && x == 11);
      BOOST_TEST((allowed(y, x) != 0) == wanted);
    }
}

BOOST_AUTO_TEST_SUITE_END()
