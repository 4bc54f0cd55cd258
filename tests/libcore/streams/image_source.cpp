// SPDX-License-Identifier: GPL-3.0-or-later
// Images in time out of streams, cubes and files: which planes make the intensity, what is missing, what
// differs.
#include "libcore/streams/image_source.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <fstream>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/formats/fits/cube.h"
#include "libcore/formats/fits/image.h"
#include "libcore/header/ascii_header.h"
#include "tests/reference/scratch.h"

using namespace apsyn;
using reference::Scratch;

BOOST_AUTO_TEST_SUITE(image_source)

namespace {

constexpr std::size_t kX = 5, kY = 3, kChannels = 2;
constexpr double kStep = 0.25;
const UtcTime kStart{60000, 5'000'000'000'000};

/// Pixels that differ everywhere, of products [image][product][channel][y][x].
float pixel(std::size_t image, std::size_t product, std::size_t i) {
  return static_cast<float>(std::sin(1.0 + static_cast<double>(1000 * image + 100 * product + i)));
}

ImageInfo info_of(const std::vector<std::string>& stokes) {
  ImageInfo info;
  info.centre = {1, 0.5};
  info.cell_rad = 0.1 * kRadPerDeg;
  info.freq_hz = 150e6, info.bandwidth_hz = 40e3;
  info.stokes = stokes;
  info.time = kStart;
  return info;
}

std::vector<float> record_of(std::size_t image, std::size_t n_product) {
  std::vector<float> record;
  for (std::size_t product = 0; product < n_product; ++product)
    for (std::size_t i = 0; i < kChannels * kY * kX; ++i) record.push_back(pixel(image, product, i));
  return record;
}

std::string stream(const Scratch& scratch, const std::vector<std::string>& stokes, std::size_t n_image) {
  HeaderWriter keys;
  keys.token("INSTRUMENT", "apsyn-image");
  keys.start_time(kStart);
  keys.size("FILE_SIZE", n_image * stokes.size() * kChannels * kY * kX * sizeof(float));
  keys.integer("TRAILER", 0);
  keys.number("FREQ", 150.02e6, -6);
  keys.number("BW", 80e3, -6);
  keys.number("TSAMP", kStep, 6);
  keys.integer("NDIM", 1);
  keys.integer("NCHAN", kChannels);
  keys.integer("NX", kX);
  keys.integer("NY", kY);
  keys.angle("CELL", 0.1 * kRadPerDeg);
  std::string products;
  for (const std::string& name : stokes) products += (products.empty() ? "" : ",") + name;
  keys.token("PRODUCTS", products);
  keys.token("ORDER", "TDPFYX");
  keys.token("ENCODING", "FLOAT");
  keys.phase_centre(SkyDirection{1, 0.5});
  std::ofstream file(scratch.path("a.images"), std::ios::binary);
  const std::string header = keys.finish();
  file.write(header.data(), static_cast<std::streamsize>(header.size()));
  for (std::size_t image = 0; image < n_image; ++image) {
    const std::vector<float> record = record_of(image, stokes.size());
    file.write(reinterpret_cast<const char*>(record.data()),
               static_cast<std::streamsize>(record.size() * sizeof(float)));
  }
  return scratch.path("a.images");
}

/// A cube of images first .. first + n - 1 of the series.
std::string cube(const Scratch& scratch, const std::string& name, std::size_t first, std::size_t n) {
  FitsCubeShape shape;
  shape.nx = kX, shape.ny = kY, shape.n_chan = kChannels, shape.n_stokes = 2;
  shape.in_time = true, shape.step_s = kStep;
  ImageInfo info = info_of({"XX", "YY"});
  info.time = sample_time(kStart, static_cast<std::int64_t>(first), kStep);
  FitsCubeWriter writer(scratch.path(name), info, shape, true);
  for (std::size_t image = first; image < first + n; ++image) writer.write(record_of(image, 2), kStep, true);
  writer.commit();
  return scratch.path(name);
}

/// An image of the series as a file of its own, whose centre is `ra_rad`.
std::string file(const Scratch& scratch, std::size_t image, double ra_rad = 1, std::size_t n_x = kX) {
  Image made;
  made.info = info_of({"I"});
  made.info.centre.ra_rad = ra_rad;
  made.info.time = sample_time(kStart, static_cast<std::int64_t>(image), kStep);
  made.pixels.resize({1, kChannels, kY, n_x});
  for (std::size_t i = 0; i < made.pixels.size(); ++i)
    made.pixels.data()[i] = static_cast<double>(pixel(image, 0, i));
  const std::string path = scratch.path("img-" + std::to_string(image) + ".fits");
  write_fits_image(path, made, FitsPixel::float32, true);
  return path;
}

void expect_image(const std::vector<float>& planes, std::size_t image,
                  const std::vector<std::size_t>& products) {
  BOOST_TEST_REQUIRE(planes.size() == kChannels * kY * kX);
  for (std::size_t i = 0; i < planes.size(); ++i) {
    double mean = 0;
    for (const std::size_t product : products)
      mean += static_cast<double>(pixel(image, product, i)) / static_cast<double>(products.size());
    BOOST_TEST(std::abs(static_cast<double>(planes[i]) - mean) < 1e-6);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_planes_of_an_intensity) {
  using Planes = std::vector<std::size_t>;
  const auto planes = [](const char* how, const std::vector<std::string>& stokes) {
    return intensity_planes(how, stokes, "a");
  };
  BOOST_TEST(planes("auto", {"I"}) == Planes({0}));
  BOOST_TEST(planes("auto", {"Q", "I"}) == Planes({1}));
  BOOST_TEST(planes("auto", {"XX", "XY", "YX", "YY"}) == Planes({0, 3}));
  BOOST_TEST(planes("auto", {"RR", "LL"}) == Planes({0, 1}));
  BOOST_TEST(planes("auto", {"YY"}) == Planes({0}));
  BOOST_TEST(planes("first", {"V", "I"}) == Planes({0}));
  BOOST_TEST(planes("sum", {"XX", "YY"}) == Planes({0, 1}));
  BOOST_CHECK_THROW(planes("sum", {"XX"}), UsageError);
  BOOST_CHECK_THROW(planes("auto", {"V"}), DataError);
  BOOST_CHECK_THROW(planes("auto", {"X", "Y"}), DataError);
  BOOST_CHECK_THROW(planes("first", {"XY"}), DataError);
}

BOOST_AUTO_TEST_CASE(a_stream) {
  const Scratch scratch;
  for (const bool both : {false, true}) {
    const auto source = open_images(
        {stream(scratch, both ? std::vector<std::string>{"XX", "YY"} : std::vector<std::string>{"I"}, 3)},
        "auto");
    const ImageSeriesInfo& info = source->info();
    BOOST_TEST(info.nx == kX);
    BOOST_TEST(info.ny == kY);
    BOOST_TEST(info.n_chan == kChannels);
    BOOST_TEST(info.step_s == kStep);
    BOOST_TEST(info.n_images.value() == 3u);
    BOOST_TEST(info.products == (both ? "XX+YY" : "I"));
    BOOST_TEST(std::abs(info.image.freq_hz - 150e6) < 1);
    std::vector<float> planes;
    SkyDirection centre;
    for (std::size_t image = 0; image < 3; ++image) {
      BOOST_TEST_REQUIRE(source->read(planes, centre));
      expect_image(planes, image, both ? std::vector<std::size_t>{0, 1} : std::vector<std::size_t>{0});
      BOOST_TEST(std::abs(centre.ra_rad - 1) < 1e-9);
    }
    BOOST_TEST(!source->read(planes, centre));
  }
}

BOOST_AUTO_TEST_CASE(cubes_one_after_the_other) {
  const Scratch scratch;
  const std::string a = cube(scratch, "a.fits", 0, 3), b = cube(scratch, "b.fits", 5, 2);
  const auto source = open_images({a, b}, "auto");
  BOOST_TEST(source->info().step_s == kStep);
  BOOST_TEST(source->info().n_images.value() == 7u);
  BOOST_TEST(std::abs(seconds_between(kStart, *source->info().image.time)) < 1e-9);
  std::vector<float> planes;
  SkyDirection centre;
  for (std::size_t image = 0; image < 7; ++image) {
    BOOST_TEST_REQUIRE(source->read(planes, centre));
    if (image == 3 || image == 4)
      BOOST_TEST(planes.empty());
    else
      expect_image(planes, image, {0, 1});
  }
  BOOST_TEST(!source->read(planes, centre));
  BOOST_CHECK_THROW(open_images({b, a}, "auto"), DataError);
  const std::string inside = cube(scratch, "c.fits", 2, 2);
  BOOST_CHECK_THROW(open_images({a, inside}, "auto"), DataError);
}

BOOST_AUTO_TEST_CASE(files_with_a_centre_each) {
  const Scratch scratch;
  std::vector<std::string> paths;
  for (const std::size_t image : {0, 1, 4, 5}) paths.push_back(file(scratch, image, 1 + 0.01 * image));
  const auto source = open_images(paths, "auto");
  BOOST_TEST(source->info().n_images.value() == 6u);
  BOOST_TEST(source->info().step_s == kStep, boost::test_tools::tolerance(1e-9));
  std::vector<float> planes;
  SkyDirection centre;
  for (std::size_t image = 0; image < 6; ++image) {
    BOOST_TEST_REQUIRE(source->read(planes, centre));
    if (image == 2 || image == 3) {
      BOOST_TEST(planes.empty());
      continue;
    }
    expect_image(planes, image, {0});
    BOOST_TEST(std::abs(centre.ra_rad - 1 - 0.01 * static_cast<double>(image)) < 1e-9);
  }
  BOOST_TEST(!source->read(planes, centre));
  // others do not fit
  BOOST_CHECK_THROW(open_images({paths[0], paths[0]}, "auto"), DataError);
  BOOST_CHECK_THROW(open_images({paths[1], paths[0]}, "auto"), DataError);
  BOOST_CHECK_THROW(open_images({paths[0], file(scratch, 7, 1, kX + 1)}, "auto"), DataError);
  BOOST_CHECK_THROW(open_images({paths[0], cube(scratch, "a.fits", 8, 2)}, "auto"), DataError);
  BOOST_CHECK_THROW(open_images({paths[0], stream(scratch, {"I"}, 2)}, "auto"), UsageError);
  BOOST_CHECK_THROW(open_images({scratch.path("none.fits")}, "auto"), FailureError);
}

BOOST_AUTO_TEST_CASE(files_of_channels) {
  const Scratch scratch;
  std::vector<std::string> paths;
  for (const std::size_t image : {0, 1, 3})
    for (std::size_t chan = 0; chan < 3; ++chan) {
      Image made;
      made.info = info_of({"I"});
      made.info.freq_hz = 150e6 - 80e3 * static_cast<double>(chan), made.info.bandwidth_hz = 80e3;
      made.info.time = sample_time(kStart, static_cast<std::int64_t>(image), kStep);
      made.pixels.resize({1, 1, kY, kX});
      made.pixels.fill(static_cast<double>(10 * image + chan));
      paths.push_back(scratch.path("t" + std::to_string(image) + "-" + std::to_string(chan) + ".fits"));
      write_fits_image(paths.back(), made, FitsPixel::float32, true);
    }
  const auto source = open_images(paths, "auto");
  BOOST_TEST(source->info().n_chan == 3u);
  BOOST_TEST(source->info().n_images.value() == 4u);
  BOOST_TEST(source->info().image.bandwidth_hz == -80e3);
  std::vector<float> planes;
  SkyDirection centre;
  for (std::size_t image = 0; image < 4; ++image) {
    BOOST_TEST_REQUIRE(source->read(planes, centre));
    BOOST_TEST_REQUIRE(planes.size() == (image == 2 ? 0 : 3 * kX * kY));
    for (std::size_t i = 0; i < planes.size(); ++i)
      BOOST_TEST(planes[i] == static_cast<float>(10 * image + i / (kX * kY)));
  }
  BOOST_TEST(!source->read(planes, centre));
  std::swap(paths[3], paths[4]);  // another order of channels
  BOOST_CHECK_THROW(open_images(paths, "auto"), DataError);
  paths.erase(paths.begin() + 3);  // one is missing
  BOOST_CHECK_THROW(open_images(paths, "auto"), DataError);
  BOOST_CHECK_THROW(open_images({paths[0], paths[1], paths[1]}, "auto"), DataError);
}

BOOST_AUTO_TEST_SUITE_END()
