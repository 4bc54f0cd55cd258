// SPDX-License-Identifier: GPL-3.0-or-later
// Figures of images: coordinates against spherical trigonometry, what is drawn where, and odd images.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/plot/figures/image_captions.h"
#include "libcore/plot/figures/image_figure.h"
#include "libcore/plot/figures/sky_view.h"
#include "tests/support/picture.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(image_figure)

namespace {

Image blank_image(std::size_t nx, std::size_t ny, double ra_deg, double dec_deg, double cell_deg) {
  Image image;
  image.info.centre = {ra_deg * kRadPerDeg, dec_deg * kRadPerDeg};
  image.info.cell_rad = cell_deg * kRadPerDeg;
  image.pixels.resize({1, 1, ny, nx});
  return image;
}

/// Direction cosines l (east), m (north) of a direction, by vectors: the east and north unit vectors at the
/// centre times the unit vector of the direction.
std::array<double, 3> direction_cosines(const SkyDirection& centre, const SkyDirection& d) {
  const double s[3] = {std::cos(d.dec_rad) * std::cos(d.ra_rad), std::cos(d.dec_rad) * std::sin(d.ra_rad),
                       std::sin(d.dec_rad)};
  const double sa = std::sin(centre.ra_rad), ca = std::cos(centre.ra_rad);
  const double sd = std::sin(centre.dec_rad), cd = std::cos(centre.dec_rad);
  const double east[3] = {-sa, ca, 0}, north[3] = {-sd * ca, -sd * sa, cd}, up[3] = {cd * ca, cd * sa, sd};
  std::array<double, 3> lmn{};
  for (int i = 0; i < 3; ++i) lmn[0] += east[i] * s[i], lmn[1] += north[i] * s[i], lmn[2] += up[i] * s[i];
  return lmn;
}

struct Field {
  double ra_deg, dec_deg, cell_deg;
  std::size_t nx, ny;
};
const std::vector<Field> kFields = {{187.5, -30, 0.1, 256, 256},      {0.001, 45, 0.01, 300, 200},
                                    {359.99, -89.2, 0.001, 200, 200}, {83.6, 22, 1e-5, 64, 64},
                                    {80, 89.9, 0.02, 128, 128},       {266.4, -29, 0.5, 60, 60},
                                    {12, -26.7, 0.9, 140, 140}};

}  // namespace

BOOST_AUTO_TEST_CASE(projection_agrees_with_vectors_and_inverts) {
  for (const Field& f : kFields) {
    const Image image = blank_image(f.nx, f.ny, f.ra_deg, f.dec_deg, f.cell_deg);
    const SinProjection p = sin_projection(image.info, f.nx, f.ny);
    for (double x = 0; x < static_cast<double>(f.nx); x += 7.3)
      for (double y = 0; y < static_cast<double>(f.ny); y += 5.1) {
        const auto direction = p.direction({x, y});
        const double l = (static_cast<double>(f.nx / 2) - x) * f.cell_deg * kRadPerDeg;
        const double m = (y - static_cast<double>(f.ny / 2)) * f.cell_deg * kRadPerDeg;
        BOOST_REQUIRE_EQUAL(direction.has_value(), l * l + m * m <= 1);
        if (!direction) continue;
        const auto lmn = direction_cosines(image.info.centre, *direction);
        BOOST_CHECK_SMALL(lmn[0] - l, 1e-13);
        BOOST_CHECK_SMALL(lmn[1] - m, 1e-13);
        BOOST_CHECK_GE(lmn[2], -1e-7);
        const auto back = p.pixel(*direction);
        if (l * l + m * m > 0.999) continue;  // n is too small there for an exact way back
        BOOST_REQUIRE(back.has_value());
        BOOST_CHECK_SMALL(back->x - x, 1e-6);
        BOOST_CHECK_SMALL(back->y - y, 1e-6);
      }
    const SkyDirection opposite{(f.ra_deg + 180) * kRadPerDeg, -f.dec_deg * kRadPerDeg};
    BOOST_CHECK(!p.pixel(opposite));
  }
}

BOOST_AUTO_TEST_CASE(ticks_stand_where_their_coordinate_is) {
  for (const Field& f : kFields) {
    const Image image = blank_image(f.nx, f.ny, f.ra_deg, f.dec_deg, f.cell_deg);
    const SkyView view = image_figure_view(image, {});
    for (Edge edge : {Edge::bottom, Edge::left, Edge::top, Edge::right})
      for (SkyAxis axis : {SkyAxis::right_ascension, SkyAxis::declination}) {
        const double span = edge_span(view, edge, axis);
        if (span == 0) continue;
        const bool ra = axis == SkyAxis::right_ascension;
        const double step = ra ? right_ascension_step(span, 5) : declination_step(span, 5);
        for (const SkyTick& tick : edge_ticks(view, edge, axis, step)) {
          const auto direction = view.projection.direction(view.to_pixel(tick.at));
          BOOST_REQUIRE(direction.has_value());
          // how far the true place of the labelled coordinate is, in canvas pixels
          const SkyDirection labelled = ra ? SkyDirection{tick.value_rad, direction->dec_rad}
                                           : SkyDirection{direction->ra_rad, tick.value_rad};
          const auto lmn = direction_cosines(image.info.centre, labelled);
          const Point pixel{view.projection.ref_x - lmn[0] / view.projection.cell_x_rad,
                            view.projection.ref_y + lmn[1] / view.projection.cell_y_rad};
          const Point canvas = view.to_canvas(pixel);
          BOOST_CHECK_SMALL(std::hypot(canvas.x - tick.at.x, canvas.y - tick.at.y), 1e-5);
          BOOST_CHECK_SMALL(std::remainder(tick.value_rad, step), 1e-9 * step + 1e-15);
        }
      }
  }
}

BOOST_AUTO_TEST_CASE(right_ascension_rises_to_the_left_across_midnight) {
  const Image image = blank_image(200, 200, 0, 10, 0.1);
  const SkyView view = image_figure_view(image, {});
  BOOST_CHECK(!is_wide(view));
  const double hour = kTwoPi / 24;
  const auto ticks = edge_ticks(view, Edge::bottom, SkyAxis::right_ascension, hour / 4);
  BOOST_REQUIRE_EQUAL(ticks.size(), 5);  // 20 degrees = 80 min / cos(dec): -30 .. 30 min
  const double expected[] = {0.5, 0.25, 0, 23.75, 23.5};
  for (int i = 0; i < 5; ++i) {
    BOOST_CHECK_SMALL(ticks[static_cast<std::size_t>(i)].value_rad - expected[i] * hour, 1e-9);
    if (i > 0)
      BOOST_CHECK_GT(ticks[static_cast<std::size_t>(i)].at.x, ticks[static_cast<std::size_t>(i - 1)].at.x);
  }
  // 0h is the centre of pixel 100: panel.x0 + (100 + 1/2) scale
  const double scale = view.panel.width() / 200;
  BOOST_CHECK_SMALL(ticks[2].at.x - (view.panel.x0 + 100.5 * scale), 1e-5);
}

BOOST_AUTO_TEST_CASE(an_image_of_microarcseconds_is_drawn) {
  // of 2 uas, and so small that a double knows one direction only; declination 0 has straight parallels
  for (double cell_deg : {5.6e-10, 1e-20})
    for (double dec_deg : {0.0, 12.4, -90.0}) {
      Image image = blank_image(64, 64, 187.7, dec_deg, cell_deg);
      image.pixels(0, 0, 32, 32) = 1;
      const SkyView view = image_figure_view(image, {});
      if (cell_deg > 1e-15) BOOST_TEST(is_wide(view) == (dec_deg == -90));
      BOOST_TEST(graticule(view, 1e-10, 1e-10).size() < 1000u);
      for (GridLines grid : {GridLines::automatic, GridLines::on}) {
        ImageFigureOptions options;
        options.size = 200;
        options.grid = grid;
        BOOST_TEST(draw_image_figure(image, options).width() >= 200u);
      }
    }
  // A grid that is asked for has its lines in the panel, however narrow the field.
  const SkyView view = image_figure_view(blank_image(64, 64, 187.7, 12.4, 1e-5), {});
  const double step = 1e-4 * kRadPerDeg;
  BOOST_TEST(parallels(sky_range(view), step).size() == 7u);  // from -3.25 to 3.15 about 124,000 of them
  BOOST_TEST(graticule(view, step, step).size() >= 12u);
}

BOOST_AUTO_TEST_CASE(headings_say_of_what_a_plane_is_the_mean) {
  BOOST_TEST(averaging_label({1, 1, 1, 1}) == "");
  BOOST_TEST(averaging_label({31, 32, 1, 1}) == "mean of 31 of 32 channels");
  BOOST_TEST(averaging_label({1, 1, 4, 4}) == "mean of 4 times");
  BOOST_TEST(averaging_label({32, 32, 3, 4}) == "mean of 32 channels, 3 of 4 times");
  ImageFigureOptions options;
  options.averaged = {31, 32, 4, 4};
  BOOST_TEST(image_heading({}, options).subtitle.find("mean of 31 of 32 channels, 4 times") !=
             std::string::npos);
}

namespace {

/// Heights of the blocks of rows that are not blank, from the top.
std::vector<std::size_t> row_blocks(const Picture& canvas) {
  std::vector<std::size_t> heights;
  bool inside = false;
  for (std::size_t y = 0; y < canvas.height(); ++y) {
    bool blank = true;
    for (std::size_t x = 0; x < canvas.width(); ++x) blank = blank && canvas.pixel(x, y).green > 0.99f;
    if (!blank && !inside) heights.push_back(0);
    inside = !blank;
    if (inside) ++heights.back();
  }
  return heights;
}

}  // namespace

BOOST_AUTO_TEST_CASE(letters_of_small_pictures_can_be_read) {
  for (const std::size_t size : {100u, 400u, 650u, 1000u}) {
    Image image = blank_image(64, 64, 10, 20, 0.1);
    image.pixels(0, 0, 30, 30) = 1;
    ImageFigureOptions options;
    options.size = size;
    options.title = "HEADING";
    const Picture canvas = draw_image_figure(image, options);
    const auto blocks = row_blocks(canvas);
    // capitals are 0.714 of the 36 and 20 units of title and footer, which are 0.65 pixels at least
    const double unit = std::max(0.65, static_cast<double>(size) / 1000);
    BOOST_TEST(static_cast<double>(blocks.front()) >= 0.714 * 36 * unit - 1);
    BOOST_TEST(static_cast<double>(blocks.back()) >= 0.714 * 20 * unit - 1);
    // what grows is what stands about the data, and not the data
    const SkyView view = image_figure_view(image, options);
    BOOST_TEST(view.panel.width() <= static_cast<double>(size) * 4 / 3);
    BOOST_TEST(view.panel.width() >= static_cast<double>(size) * 3 / 4 - 64);
  }
}

BOOST_AUTO_TEST_CASE(poles_and_horizons_make_a_field_wide) {
  auto wide = [](const Field& f) {
    return is_wide(image_figure_view(blank_image(f.nx, f.ny, f.ra_deg, f.dec_deg, f.cell_deg), {}));
  };
  BOOST_CHECK(!wide({10, 20, 0.1, 100, 100}));
  BOOST_CHECK(wide({10, 89.9, 0.01, 100, 100}));
  BOOST_CHECK(wide({10, -26, 0.7, 180, 180}));
  BOOST_CHECK(!wide({10, 85, 0.01, 100, 100}));
}

BOOST_AUTO_TEST_CASE(a_bright_pixel_is_drawn_where_the_view_says) {
  Image image = blank_image(50, 40, 100, 20, 0.05);
  image.pixels(0, 0, 31, 12) = 1;
  ImageFigureOptions options;
  options.size = 500;
  const SkyView view = image_figure_view(image, options);
  const Picture canvas = draw_image_figure(image, options);
  const ColourMap map("ember");
  const Point at = view.to_canvas(Point{12, 31});
  for (long dy = -4; dy <= 4; dy += 4)
    for (long dx = -4; dx <= 4; dx += 4) {
      const Colour c = canvas.pixel(static_cast<std::size_t>(std::lround(at.x - 0.5) + dx),
                                    static_cast<std::size_t>(std::lround(at.y - 0.5) + dy));
      BOOST_CHECK_SMALL(c.green - map(1).green, 0.01f);
    }
  const Point mirrored = view.to_canvas(Point{50 - 12, 31});
  BOOST_CHECK_SMALL(
      canvas.pixel(static_cast<std::size_t>(mirrored.x), static_cast<std::size_t>(mirrored.y)).green -
          map(0).green,
      0.01f);
  // the same pixel in a cut-out
  options.x0 = 10, options.y0 = 25, options.width = 20, options.height = 10;
  const SkyView cut = image_figure_view(image, options);
  const Point there = cut.to_canvas(Point{12, 31});
  BOOST_CHECK_SMALL(Picture(draw_image_figure(image, options))
                            .pixel(static_cast<std::size_t>(there.x), static_cast<std::size_t>(there.y))
                            .green -
                        map(1).green,
                    0.01f);
}

BOOST_AUTO_TEST_CASE(marks_stand_on_their_sources) {
  Image image = blank_image(200, 200, 187.5, -30, 0.1);
  image.pixels(0, 0, 3, 3) = 1;
  ImageFigureOptions options;
  const SkyDirection where{190 * kRadPerDeg, -27 * kRadPerDeg};
  SkyComponent component;
  component.direction = where;
  options.marks.components.push_back(component);
  const SkyView view = image_figure_view(image, options);
  const Picture with = draw_image_figure(image, options);
  options.marks.components.clear();
  const Picture without = draw_image_figure(image, options);
  double sum_x = 0, sum_y = 0, n = 0;
  for (std::size_t y = 0; y < with.height(); ++y)
    for (std::size_t x = 0; x < with.width(); ++x) {
      const double w = std::abs(with.pixel(x, y).blue - without.pixel(x, y).blue);
      sum_x += w * (static_cast<double>(x) + 0.5), sum_y += w * (static_cast<double>(y) + 0.5), n += w;
    }
  BOOST_REQUIRE_GT(n, 50);
  const auto lmn = direction_cosines(image.info.centre, where);
  const Point expected =
      view.to_canvas(Point{100 - lmn[0] / image.info.cell_rad, 100 + lmn[1] / image.info.cell_rad});
  BOOST_CHECK_SMALL(sum_x / n - expected.x, 0.02);
  BOOST_CHECK_SMALL(sum_y / n - expected.y, 0.02);
}

BOOST_AUTO_TEST_CASE(odd_images_are_drawn_or_refused) {
  // constant, one pixel, one row, huge and tiny values, half blank
  for (double value : {0.0, 1.0, -3.0, 1e30, 1e-30}) {
    Image image = blank_image(9, 5, 10, 10, 0.1);
    image.pixels.fill(value);
    ImageFigureOptions small;
    small.size = 150;
    BOOST_CHECK_NO_THROW(draw_image_figure(image, small));
    image.pixels(0, 0, 0, 0) = NAN;
    image.pixels(0, 0, 1, 1) = 2 * value + 1;
    for (StretchKind kind : {StretchKind::linear, StretchKind::sqrt, StretchKind::log, StretchKind::asinh}) {
      ImageFigureOptions options;
      if (kind == StretchKind::log && value < 0) continue;  // below
      options.stretch = kind;
      options.size = 150;
      BOOST_CHECK_NO_THROW(draw_image_figure(image, options));
    }
  }
  for (auto [nx, ny] : {std::pair<std::size_t, std::size_t>{1, 1}, {1, 40}, {40, 1}, {3000, 10}}) {
    Image image = blank_image(nx, ny, 0, -90, 0.01);
    image.pixels.fill(1);
    BOOST_CHECK_NO_THROW(draw_image_figure(image, {}));
  }
  Image image = blank_image(8, 8, 0, 0, 0.1);
  image.pixels.fill(NAN);
  BOOST_CHECK_THROW(draw_image_figure(image, {}), FailureError);
  image.pixels.fill(-1);
  ImageFigureOptions options;
  options.stretch = StretchKind::log;
  BOOST_CHECK_THROW(draw_image_figure(image, options), UsageError);
  options = {};
  options.channel = 1;
  BOOST_CHECK_THROW(draw_image_figure(image, options), UsageError);
  options = {};
  options.x0 = 4, options.width = 5, options.height = 1;
  BOOST_CHECK_THROW(draw_image_figure(image, options), UsageError);
  image.info.cell_rad = 0;
  BOOST_CHECK_THROW(draw_image_figure(image, {}), DataError);
}

BOOST_AUTO_TEST_CASE(pixels_are_whole_squares_and_the_horizon_is_cut_out) {
  for (auto [n, expected] :
       {std::pair<std::size_t, double>{64, 1024}, {512, 1024}, {700, 700}, {1300, 1300}, {1400, 1000}}) {
    const SkyView view = image_figure_view(blank_image(n, n, 10, 20, 0.001), {});
    BOOST_CHECK_EQUAL(view.panel.width(), expected);
    BOOST_CHECK_EQUAL(view.panel.height(), expected);
  }
  // l = 1 is 1 / (0.7 deg) = 81.85 pixels from pixel 150
  const SkyView view = image_figure_view(blank_image(300, 200, 10, -26, 0.7), {});
  BOOST_CHECK_EQUAL(view.pixels.x0, 150 - 82 - 1.5);
  BOOST_CHECK_EQUAL(view.pixels.x1, 150 + 82 + 1.5);
  BOOST_CHECK_EQUAL(view.pixels.y0, 100 - 82 - 1.5);
  Image image = blank_image(300, 200, 10, -26, 0.7);
  image.pixels(0, 0, 110, 170) = 1;
  const Picture canvas = draw_image_figure(image, {});
  const Point at = view.to_canvas(Point{170, 110});
  BOOST_CHECK_SMALL(canvas.pixel(static_cast<std::size_t>(at.x), static_cast<std::size_t>(at.y)).green -
                        ColourMap("ember")(1).green,
                    0.01f);
}

BOOST_AUTO_TEST_CASE(units_and_captions_suit_the_values) {
  BOOST_CHECK_EQUAL(display_unit("JY/BEAM", 2).label, "Jy/beam");
  BOOST_CHECK_EQUAL(display_unit("Jy/beam", 0.02).label, "mJy/beam");
  BOOST_CHECK_EQUAL(display_unit("Jy/beam", 0.02).factor, 1000);
  BOOST_CHECK_EQUAL(display_unit("K", 0.02).label, "K");
  BOOST_CHECK_EQUAL(angle_label(90 * kRadPerArcsec), "1.50\u2032");
  ImageInfo info;
  info.object = "3C 48";
  info.telescope = "LOFAR";
  info.freq_hz = 134e6;
  const Heading heading = image_heading(info, {});
  BOOST_CHECK_EQUAL(heading.title, "3C 48");
  BOOST_CHECK_EQUAL(heading.subtitle, "LOFAR  \u00b7  134 MHz  \u00b7  Stokes I");
}

BOOST_AUTO_TEST_SUITE_END()
