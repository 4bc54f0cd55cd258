// SPDX-License-Identifier: GPL-3.0-or-later
// The part of an image that is shown, and the brightness of sources in images of several times.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <string>

#include "libcore/base/error.h"
#include "libcore/formats/fits/image.h"
#include "libcore/sky/projection.h"
#include "tests/reference/scratch.h"
#include "tools/quicklook/quicklook.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(images)

namespace {

constexpr double kCell_rad = 1e-3;
const SkyDirection kCentre{1, -0.4};

Image blank_image(std::size_t n_stokes, std::size_t n_chan, std::size_t nx, std::size_t ny) {
  Image image;
  image.info.centre = kCentre;
  image.info.cell_rad = kCell_rad;
  image.info.stokes = {"I", "Q", "U", "V"};
  image.info.stokes.resize(n_stokes);
  image.info.freq_hz = 150e6;
  image.info.bandwidth_hz = 1e6;
  image.pixels.resize({n_stokes, n_chan, ny, nx});
  return image;
}

ImageFigureOptions shown(const Image& image, const std::string& plane, double zoom = 0) {
  QuicklookOptions options;
  options.plane = plane;
  options.zoom = zoom;
  return plane_options(options, image, {});
}

/// A text of one source where the image has the point (x, y), pixels from 0.
std::string source_at(std::size_t nx, std::size_t ny, double x, double y) {
  const SkyDirection at = unproject(kCentre, (static_cast<double>(nx / 2) - x) * kCell_rad,
                                    (y - static_cast<double>(ny / 2)) * kCell_rad);
  return fmt::format("Format = Name, Type, Ra, Dec, I\na, POINT, {:.12f}deg, {:.12f}deg, 1\n",
                     at.ra_rad / kRadPerDeg, at.dec_rad / kRadPerDeg);
}

struct Curves {
  Tool tool{"quicklook", ""};
  reference::Scratch scratch;
  QuicklookOptions options;

  Curves() {
    tool.common().threads = 1;
    tool.common().progress = "off";
    options.picture = false;
  }
  /// An image of parabolas in x and y, times a factor.
  void add(double factor, double seconds, std::size_t nx, std::size_t ny) {
    Image image = blank_image(1, 1, nx, ny);
    image.info.time = sample_time(parse_utc("2024-01-01T12:00:00"), 1, seconds);
    for (std::size_t y = 0; y < ny; ++y)
      for (std::size_t x = 0; x < nx; ++x)
        image.pixels(0, 0, y, x) = factor * parabola(static_cast<double>(x), static_cast<double>(y));
    options.inputs.push_back(scratch.path(fmt::format("{}.fits", options.inputs.size())));
    write_fits_image(options.inputs.back(), image, FitsPixel::float64, false, 1);
  }
  static double parabola(double x, double y) { return 3 + 0.5 * x - 0.25 * y + 0.01 * x * x + 0.03 * y * y; }
  Json stats(const std::string& sources) {
    options.light_curve = scratch.file("sources.txt", sources);
    return look_at_light_curves(tool, options).stats;
  }
};

}  // namespace

// The pixel at the centre of the image, [n / 2], is that of the part: there lies the reference of FITS.
BOOST_AUTO_TEST_CASE(the_middle_of_an_image_stays_the_middle_of_its_part) {
  for (const std::size_t nx : {63, 64})
    for (const std::size_t ny : {30, 47})
      for (const double zoom : {1.0, 1.5, 2.0, 3.0, 5.0}) {
        const ImageFigureOptions part = shown(blank_image(1, 1, nx, ny), "", zoom);
        BOOST_TEST(part.width == static_cast<std::size_t>(static_cast<double>(nx) / zoom));
        BOOST_TEST(part.height == static_cast<std::size_t>(static_cast<double>(ny) / zoom));
        BOOST_TEST(part.x0 + part.width / 2 == nx / 2);
        BOOST_TEST(part.y0 + part.height / 2 == ny / 2);
      }
  BOOST_TEST(shown(blank_image(1, 1, 8, 8), "", 100).width == 1u);
}

BOOST_AUTO_TEST_CASE(planes_are_chosen_by_their_number_or_their_name) {
  const Image image = blank_image(4, 3, 8, 8);
  const auto plane = [&](const std::string& text) {
    const ImageFigureOptions figure = shown(image, text);
    return std::pair{figure.stokes, figure.channel};
  };
  using Plane = std::pair<std::size_t, std::size_t>;
  BOOST_TEST((plane("") == Plane{0, 0}));
  BOOST_TEST((plane("7") == Plane{2, 1}));  // channels first
  BOOST_TEST((plane("V") == Plane{3, 0}));
  BOOST_TEST((plane("Q,2") == Plane{1, 2}));
  for (const char* bad : {"XX", "1.5", "-1", "Q,", "1,2"}) BOOST_CHECK_THROW(plane(bad), UsageError);

  QuicklookOptions options;
  for (const char* averaged : {"", "V"}) {
    options.plane = averaged;
    BOOST_TEST(averages_channels(options), averaged);
  }
  for (const char* single : {"all", "3", "V,1"}) {
    options.plane = single;
    BOOST_TEST(!averages_channels(options), single);
  }
}

BOOST_AUTO_TEST_CASE(options_of_images_become_those_of_the_figure) {
  const Image image = blank_image(1, 1, 64, 48);
  QuicklookOptions options;
  options.crop = "3,4,20,10";
  options.range = "-1.5:2";
  options.reduce = "max";
  options.grid = "off";
  ImageFigureOptions figure = plane_options(options, image, {});
  BOOST_TEST(figure.x0 == 3u);
  BOOST_TEST(figure.y0 == 4u);
  BOOST_TEST(figure.width == 20u);
  BOOST_TEST(figure.height == 10u);
  BOOST_TEST(figure.range->first == -1.5);
  BOOST_TEST(figure.range->second == 2);
  BOOST_TEST((figure.reduction == Reduction::maximum));
  BOOST_TEST((figure.grid == GridLines::off));
  BOOST_TEST(!figure.percentile.has_value());
  options = {};
  options.percentile = 98;
  options.grid = "on";
  figure = plane_options(options, image, {});
  BOOST_TEST(*figure.percentile == 98);
  BOOST_TEST((figure.reduction == Reduction::mean));
  BOOST_TEST((figure.grid == GridLines::on));
  BOOST_TEST((plane_options({}, image, {}).grid == GridLines::automatic));
  for (const char* bad : {"1,2,3", "1,2,3,0", "1,2,0,3", "1,2,3,4,5", "a,b,c,d", "-1,2,3,4", "1.5,2,3,4"}) {
    options = {};
    options.crop = bad;
    BOOST_CHECK_THROW(check_image_options(options), UsageError);
  }
  for (const char* bad : {"1", "2:1", "1:1", "1:2:3", ":"}) {
    options = {};
    options.range = bad;
    BOOST_CHECK_THROW(check_image_options(options), UsageError);
  }
}

BOOST_AUTO_TEST_CASE(a_pattern_is_shown_in_decibels_of_which_the_upper_fifty_count) {
  Image image = blank_image(1, 1, 4, 1);
  image.info.object = "b003";
  image.pixels(0, 0, 0, 0) = 1, image.pixels(0, 0, 0, 1) = 1e-3, image.pixels(0, 0, 0, 2) = 0;
  image.pixels(0, 0, 0, 3) = NAN;
  ImageFigureOptions figure;
  show_pattern({}, image, figure);
  BOOST_TEST(std::abs(image.pixels(0, 0, 0, 0)) < 1e-12);
  BOOST_TEST(std::abs(image.pixels(0, 0, 0, 1) + 30) < 1e-12);
  BOOST_TEST(std::abs(image.pixels(0, 0, 0, 2) + 200) < 1e-9);
  BOOST_TEST(std::isnan(image.pixels(0, 0, 0, 3)));
  BOOST_TEST(image.info.unit == "dB");
  BOOST_TEST(figure.range->first == -50);
  BOOST_TEST(figure.range->second == 0);
  BOOST_TEST((*figure.stretch == StretchKind::linear));
  BOOST_TEST(figure.title == "Pattern of beam b003");
  QuicklookOptions options;
  options.range = "-20:0";
  options.title = "mine";
  ImageFigureOptions own;
  show_pattern(options, image, own);
  BOOST_TEST(!own.range.has_value());
  BOOST_TEST(own.title.empty());
}

// Cubic convolution is exact for parabolas: also of a part of the image that begins elsewhere along x and y.
BOOST_AUTO_TEST_CASE(the_brightness_of_a_source_is_that_of_its_place_in_whatever_part_is_shown) {
  for (const char* crop : {"", "10,3,24,20"}) {
    Curves made;
    made.add(1, 0, 40, 30);
    made.add(2.5, 10, 40, 30);
    made.options.crop = crop;
    const Json stats = made.stats(source_at(40, 30, 21.3, 12.6));
    const Json& source = stats["sources"][0];
    const double expected = Curves::parabola(21.3, 12.6);
    BOOST_TEST(std::abs(source["values"][0].get<double>() - expected) < 1e-6);
    BOOST_TEST(std::abs(source["values"][1].get<double>() - 2.5 * expected) < 1e-6);
    BOOST_TEST(std::abs(source["mean"].get<double>() - 1.75 * expected) < 1e-6);
    BOOST_TEST(std::abs(source["scatter"].get<double>() - 1.5 * expected / std::sqrt(2.0)) < 1e-6);
    BOOST_TEST(stats["time_s"][1] == 10);
    BOOST_TEST(stats["start_utc"] == "2024-01-01T12:00:00.000");
  }
}

BOOST_AUTO_TEST_CASE(one_image_has_no_scatter_and_a_source_at_its_edge_no_brightness) {
  Curves made;
  made.add(1, 0, 40, 30);
  const Json inside = made.stats(source_at(40, 30, 21.3, 12.6)),
             outside = made.stats(source_at(40, 30, 38.5, 5));
  BOOST_TEST(std::isnan(inside["sources"][0]["scatter"].get<double>()));
  BOOST_TEST(!std::isnan(inside["sources"][0]["mean"].get<double>()));
  BOOST_TEST(std::isnan(outside["sources"][0]["values"][0].get<double>()));
  BOOST_TEST(std::isnan(outside["sources"][0]["mean"].get<double>()));
}

BOOST_AUTO_TEST_SUITE_END()
