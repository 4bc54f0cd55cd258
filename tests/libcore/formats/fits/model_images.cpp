// SPDX-License-Identifier: GPL-3.0-or-later
// Model images found, told apart by frequency and Stokes parameter, and read.
#include "libcore/formats/fits/model_images.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "libcore/base/error.h"
#include "libcore/formats/fits/image.h"
#include "tests/reference/scratch.h"

using namespace apsyn;
using reference::Scratch;

BOOST_AUTO_TEST_SUITE(model_images)

namespace {

Image model_image(std::vector<std::string> stokes, double freq_hz, double width_hz, std::size_t n_freq = 1) {
  Image image;
  image.info.centre = {1.5, -0.5};
  image.info.cell_rad = 1e-4;
  image.info.freq_hz = freq_hz;
  image.info.bandwidth_hz = width_hz;
  image.info.stokes = std::move(stokes);
  image.info.unit = "JY/PIXEL";
  image.pixels.resize({image.info.stokes.size(), n_freq, 6, 8});
  for (std::size_t i = 0; i < image.pixels.size(); ++i) image.pixels.data()[i] = static_cast<double>(i);
  return image;
}

std::string written(const Scratch& scratch, const std::string& name, const Image& image) {
  write_fits_image(scratch.path(name), image, FitsPixel::float64, true);
  return scratch.path(name);
}

}  // namespace

BOOST_AUTO_TEST_CASE(models_of_uncalibrated_data_are_in_adu) {
  const Scratch scratch;
  const std::string jy = written(scratch, "jy.fits", model_image({"I"}, 150e6, 10e6));
  Image image = model_image({"I"}, 160e6, 10e6);
  image.info.unit = "adu/pixel";
  const std::string adu = written(scratch, "adu.fits", image);
  BOOST_TEST((find_models({jy})[0].flux_unit == FluxUnit::jansky));
  BOOST_TEST((find_models({adu})[0].flux_unit == FluxUnit::adu));
  BOOST_CHECK_THROW(find_models({jy, adu}), DataError);
  image.info.unit = "adu/beam";
  BOOST_CHECK_THROW(find_models({written(scratch, "beam.fits", image)}), DataError);
}

BOOST_AUTO_TEST_CASE(parts_of_the_band_and_stokes_may_have_files_of_their_own) {
  const Scratch scratch;
  const std::vector<std::string> files{
      written(scratch, "b-I.fits", model_image({"I"}, 160e6, 10e6)),
      written(scratch, "a.fits", model_image({"I", "Q"}, 150e6, 10e6)),
      written(scratch, "b-V.fits", model_image({"V"}, 160e6, 10e6)),
      written(scratch, "mfs.fits", model_image({"I"}, 155e6, 20e6)),
  };
  const auto groups = find_models(files);
  BOOST_REQUIRE(groups.size() == 3u);
  BOOST_TEST((groups[0].names() == std::vector<std::string>{"I", "Q"}));
  BOOST_TEST((groups[2].names() == std::vector<std::string>{"I", "V"}));
  BOOST_TEST(groups[2].n_x == 8u);
  BOOST_TEST(groups[2].n_y == 6u);
  // The whole band's model serves what no part holds.
  const auto choice = [&](double hz) { return choose_model(groups, hz); };
  BOOST_TEST(choice(145.1e6).group == 0u);
  BOOST_TEST(choice(154.9e6).group == 0u);
  BOOST_TEST(choice(155.1e6).group == 2u);
  BOOST_TEST(choice(164.9e6).inside);
  BOOST_TEST(choice(170e6).group == 2u);
  BOOST_TEST(!choice(170e6).inside);
  BOOST_TEST(choose_model({groups[0], groups[1]}, 160e6).group == 1u);
  BOOST_TEST(choose_model({groups[0]}, 900e6).inside);  // one model is for everything

  const auto pixels = read_model(groups[0]);
  BOOST_TEST(pixels(1, 2, 3) == 48 + 2 * 8 + 3);
}

BOOST_AUTO_TEST_CASE(planes_of_a_frequency_axis_are_groups) {
  const Scratch scratch;
  const auto groups = find_models({written(scratch, "cube.fits", model_image({"I", "Q"}, 170e6, -5e6, 3))});
  BOOST_REQUIRE(groups.size() == 3u);
  BOOST_TEST(groups[0].freq_hz == 160e6);
  BOOST_TEST(groups[0].width_hz == 5e6);
  BOOST_TEST(read_model(groups[0])(1, 0, 0) == (1 * 3 + 2) * 48);
  BOOST_TEST(choose_model(groups, 166e6).group == 1u);
}

BOOST_AUTO_TEST_CASE(a_reference_pixel_off_the_middle_makes_a_larger_image) {
  const Scratch scratch;
  for (const std::array<double, 2>& reference :
       {std::array<double, 2>{0, 5}, {-3, 20}, {7, 2}, {4, 3}, {3, 3}}) {
    Image image = model_image({"I"}, 150e6, 1e6);
    image.info.reference_pixel = reference;
    const auto groups = find_models({written(scratch, "cut.fits", image)});
    const ModelGroup& group = groups[0];
    const auto pixels = read_model(group);
    double sum = 0;
    for (std::size_t y = 0; y < 6; ++y)
      for (std::size_t x = 0; x < 8; ++x) {
        // The same offset from the reference pixel, now n / 2.
        const double at_x = static_cast<double>(x) - reference[0] + static_cast<double>(group.n_x / 2);
        const double at_y = static_cast<double>(y) - reference[1] + static_cast<double>(group.n_y / 2);
        BOOST_REQUIRE((at_x >= 0 && at_y >= 0 && at_x < double(group.n_x) && at_y < double(group.n_y)));
        BOOST_TEST(pixels(0, std::size_t(at_y), std::size_t(at_x)) == image.pixels(0, 0, y, x));
        sum += image.pixels(0, 0, y, x);
      }
    for (double value : pixels) sum -= value;
    BOOST_TEST(sum == 0);
  }
}

BOOST_AUTO_TEST_CASE(mean_models_of_wsclean_are_models) {
  const Scratch scratch;
  Image image = model_image({"I"}, 155e6, 20e6);
  image.info.unit = "JY/BEAM";
  const auto taken = [&](const std::string& name, const std::string& program) {
    image.info.history = {program + " -channels-out 2 -name a a.ms"};
    const std::string path = written(scratch, name, image);
    try {
      return find_models({path}).size() == 1;
    } catch (const DataError& error) {
      BOOST_TEST(std::string(error.what()).find("JY/BEAM") != std::string::npos);
      return false;
    }
  };
  BOOST_TEST(taken("a-MFS-model.fits", "wsclean"));
  BOOST_TEST(taken("a-MFS-Q-model.fits", "/opt/bin/wsclean"));
  BOOST_TEST(taken("a-MFS-model-pb.fits", "wsclean"));
  BOOST_TEST(!taken("a-MFS-image.fits", "wsclean"));
  BOOST_TEST(!taken("a-model.fits", "wsclean"));
  BOOST_TEST(!taken("a-MFS-model.fits", "tclean"));
}

BOOST_AUTO_TEST_CASE(what_is_no_model_is_refused) {
  const Scratch scratch;
  const auto refused = [&](const Image& image, const char* why) {
    try {
      find_models(
          {written(scratch, "x.fits", image), written(scratch, "y.fits", model_image({"I"}, 140e6, 1e6))});
    } catch (const DataError& error) {
      BOOST_TEST(std::string(error.what()).find(why) != std::string::npos, error.what());
      return true;
    }
    return false;
  };
  Image image = model_image({"I"}, 150e6, 1e6);
  image.info.unit = "JY/BEAM";
  BOOST_TEST(refused(image, "JY/PIXEL"));
  image = model_image({"I"}, 150e6, 1e6);
  image.info.cell_y_rad = 2e-4;
  BOOST_TEST(refused(image, "square"));
  image = model_image({"I"}, 150e6, 1e6);
  image.info.reference_pixel = {3.5, 3};
  BOOST_TEST(refused(image, "whole pixel"));
  image = model_image({"I"}, 150e6, 1e6);
  image.pixels(0, 0, 1, 1) = INFINITY;
  BOOST_TEST(refused(image, "infinite"));
  image = model_image({"I"}, 140e6, 1e6);
  BOOST_TEST(refused(image, "has it too"));
  image = model_image({"Q"}, 140e6, 1e6);
  image.info.cell_rad = 3e-4;
  BOOST_TEST(refused(image, "another field"));
  image = model_image({"I"}, 0, 0);
  BOOST_TEST(refused(image, "FREQ"));
  image = model_image({"I"}, 150e6, 1e6);
  image.pixels(0, 0, 1, 1) = NAN;
  BOOST_TEST(!refused(image, ""));
}

BOOST_AUTO_TEST_SUITE_END()
