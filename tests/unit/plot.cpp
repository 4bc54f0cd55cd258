// SPDX-License-Identifier: GPL-3.0-or-later
// Canvas, font, colour maps, ticks, stretches, and the PNG file itself (read back with libpng).
#include <png.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <set>

#include "libcore/core/constants.h"
#include "libcore/core/error.h"
#include "libcore/io/png.h"
#include "libcore/plot/canvas.h"
#include "libcore/plot/colour_map.h"
#include "libcore/plot/font.h"
#include "libcore/plot/layout.h"
#include "libcore/plot/stretch.h"
#include "libcore/plot/ticks.h"

using namespace apsyn;

namespace {

/// Darkness summed over the canvas: the drawn area in pixels for black on white.
double ink(const Canvas& canvas) {
  double sum = 0;
  for (std::size_t y = 0; y < canvas.height(); ++y)
    for (std::size_t x = 0; x < canvas.width(); ++x) sum += 1 - canvas.pixel(x, y).green;
  return sum;
}

/// OKLab's lightness of an sRGB colour, 0..1.
double oklab_lightness(Colour colour) {
  const auto linear = [](double srgb) {
    return srgb <= 0.04045 ? srgb / 12.92 : std::pow((srgb + 0.055) / 1.055, 2.4);
  };
  const double r = linear(colour.red), g = linear(colour.green), b = linear(colour.blue);
  const double l = std::cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const double m = std::cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const double s = std::cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return 0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s;
}

/// What is drawn, as bytes, to tell shapes apart.
std::string shape(const Canvas& canvas) {
  const auto rgb = canvas.to_rgb8();
  return {reinterpret_cast<const char*>(rgb.data()), rgb.size()};
}

std::vector<std::string> labels(const std::vector<Tick>& ticks) {
  std::vector<std::string> out;
  for (const Tick& tick : ticks)
    if (!tick.label.empty()) out.push_back(tick.label);
  return out;
}

}  // namespace

BOOST_AUTO_TEST_CASE(areas_of_filled_shapes_are_exact) {
  Canvas canvas(100, 80);
  canvas.fill(Rect{10.25, 20.5, 40.75, 35.25}, kBlack);
  // along x coverage is exact; along y it is counted in eighths, and these edges are whole eighths
  BOOST_CHECK_CLOSE(ink(canvas), 30.5 * 14.75, 1e-3);
  BOOST_CHECK_CLOSE(1 - canvas.pixel(10, 25).red, 0.75, 1e-3);
  BOOST_CHECK_CLOSE(1 - canvas.pixel(20, 20).red, 0.5, 1e-3);
  Canvas round(200, 200);
  round.fill(Paths{ellipse_path({100, 100}, 60, 30, 0.7)}, kBlack);
  BOOST_CHECK_CLOSE(ink(round), kPi * 60 * 30, 0.2);
  // a ring: the even-odd rule leaves the inner shape open
  Canvas ring(100, 100);
  ring.fill(Paths{rect_path({10, 10, 90, 90}), rect_path({30, 30, 70, 70})}, kBlack);
  BOOST_CHECK_CLOSE(ink(ring), 80. * 80 - 40 * 40, 1e-3);
}

BOOST_AUTO_TEST_CASE(strokes_have_their_width_and_crossings_do_not_darken) {
  Canvas canvas(200, 100);
  canvas.line({20, 50}, {180, 50}, {kBlack, 6, 1});
  BOOST_CHECK_CLOSE(ink(canvas), 160 * 6 + kPi * 9, 1.0);
  Canvas cross(100, 100);
  cross.stroke({{{10, 50}, {90, 50}}, {{50, 10}, {50, 90}}}, {kBlack, 4, 0.5});
  BOOST_CHECK_CLOSE(cross.pixel(50, 50).red, cross.pixel(20, 50).red, 1e-3);
  // an ellipse turned by 30 degrees reaches farthest up and to the right
  Canvas turned(200, 200);
  turned.fill(Paths{ellipse_path({100, 100}, 80, 10, 30 * kRadPerDeg)}, kBlack);
  BOOST_CHECK_LT(turned.pixel(160, 65).red, 0.1);
  BOOST_CHECK_GT(turned.pixel(160, 135).red, 0.9);
}

BOOST_AUTO_TEST_CASE(drawing_outside_or_with_nan_does_nothing) {
  Canvas canvas(50, 50);
  canvas.stroke({{{-1e300, 10}, {-1e299, 20}}, {{NAN, 1}, {20, 20}}, {}}, {kBlack, 3, 1});
  canvas.fill(Rect{1000, 1000, 2000, 2000}, kBlack);
  canvas.blend(-1, 60, kBlack);
  BOOST_CHECK_EQUAL(ink(canvas), 0);
  canvas.clip({10, 10, 20, 20});
  canvas.fill(Rect{0, 0, 50, 50}, kBlack);
  BOOST_CHECK_CLOSE(ink(canvas), 100, 1e-3);
  BOOST_CHECK_THROW(Canvas(40000, 10), std::length_error);
}

BOOST_AUTO_TEST_CASE(dashes_cover_their_share) {
  double length = 0;
  const Paths dashes = dashed({{0, 0}, {100, 0}, {100, 50}}, 6, 4);
  for (const Path& dash : dashes)
    for (std::size_t i = 0; i + 1 < dash.size(); ++i)
      length += std::hypot(dash[i + 1].x - dash[i].x, dash[i + 1].y - dash[i].y);
  BOOST_CHECK_EQUAL(dashes.size(), 15);
  BOOST_CHECK_CLOSE(length, 90, 1e-6);
}

BOOST_AUTO_TEST_CASE(each_printable_character_has_its_own_glyph) {
  std::set<std::string> shapes;
  const TextStyle style{.size = 40};
  for (char c = '!'; c <= '~'; ++c) {
    Canvas canvas(60, 60);
    draw_text(canvas, std::string(1, c), {10, 40}, style);
    BOOST_CHECK_MESSAGE(ink(canvas) > 15, "'" << c << "' is nearly empty");
    BOOST_CHECK_MESSAGE(shapes.insert(shape(canvas)).second, "'" << c << "' looks like another");
  }
  for (const char* symbol :
       {"\u00b0", "\u2032", "\u2033", "\u03bb", "\u03bc", "\u00b1", "\u00d7", "\u2212", "\u00b7", "\u2026"}) {
    Canvas canvas(60, 60);
    draw_text(canvas, symbol, {10, 40}, style);
    BOOST_CHECK_MESSAGE(shapes.insert(shape(canvas)).second, symbol << " looks like another");
  }
  for (std::size_t i = 1; i < font_glyphs().size(); ++i)
    BOOST_CHECK_LT(static_cast<unsigned>(font_glyphs()[i - 1].code),
                   static_cast<unsigned>(font_glyphs()[i].code));
}

BOOST_AUTO_TEST_CASE(glyphs_stay_in_their_line) {
  for (const Glyph& glyph : font_glyphs()) {
    if (glyph.code == ' ' || glyph.code > 0x7e) continue;
    const char text[2] = {static_cast<char>(glyph.code), 0};
    for (const Path& path : text_paths(text, {0, 0}, {.size = 28}))
      for (Point p : path) {
        BOOST_CHECK_MESSAGE(p.y >= -22.5 && p.y <= 7, "'" << text << "' leaves the line: " << p.y);
        BOOST_CHECK_MESSAGE(p.x >= 0 && p.x <= text_width(text, {.size = 28}),
                            "'" << text << "' leaves its width: " << p.x);
      }
  }
}

BOOST_AUTO_TEST_CASE(text_is_measured_and_aligned) {
  TextStyle style{.size = 30};
  BOOST_CHECK_CLOSE(text_width("ABAB", style), 2 * text_width("AB", style), 1e-9);
  BOOST_CHECK_CLOSE(text_width("0123", style), text_width("8888", style), 1e-9);
  BOOST_CHECK_LT(text_width("x^{2}", style), text_width("x2", style));
  style.align_x = AlignX::right;
  BOOST_CHECK_CLOSE(text_box("12h", {100, 50}, style).x1, 100, 1e-9);
  // hostile bytes: broken UTF-8 is drawn as boxes, one per byte, and ends
  for (const char* text : {"\xff\xfe", "\xe2\x88", "abc^{", "_{x", "\xf5\x80\x80\x80", "\xc0\xaf"})
    BOOST_CHECK_GT(text_width(text, style), 0);
  const std::string shortened = fitted("a rather long title \u2212\u2212\u2212\u2212", style, 150);
  BOOST_CHECK_LE(text_width(shortened, style), 150);
  BOOST_CHECK(shortened.ends_with("\u2026"));
  for (double width = 20; width < 330; width += 1) {
    const std::string cut = fitted("\u2212\u2032\u2033\u2212\u2032\u2033\u2212\u2032\u2033", style, width);
    Canvas canvas(400, 60);
    draw_text(canvas, cut, {10, 40}, {.size = 30});
    BOOST_CHECK_EQUAL((cut.size() % 3), 0);  // every character here has three bytes
  }
}

BOOST_AUTO_TEST_CASE(lightness_of_the_maps_rises_evenly) {
  // OKLab lightness of ember is linear in the value by construction: to 8-bit accuracy
  const ColourMap ember("ember");
  for (double t = 0; t <= 1; t += 0.01) {
    const double expected = 0.12 + 0.86 * std::round(t * 1023) / 1023;
    BOOST_CHECK_SMALL(oklab_lightness(ember(t)) - expected, 1e-4);
  }
  for (const char* name : {"ember", "helix", "grey"}) {
    const ColourMap map(name);
    for (double t = 0.01; t <= 1; t += 0.01)
      BOOST_CHECK_MESSAGE(oklab_lightness(map(t)) > oklab_lightness(map(t - 0.01)) - 1e-3,
                          name << " at " << t);
  }
  const ColourMap phase("phase");
  BOOST_CHECK_SMALL(static_cast<double>(phase(0).red - phase(1).red), 1e-5);
  // sRGB white and black are OKLab 1 and 0
  BOOST_CHECK_CLOSE(oklab_lightness(kWhite), 1, 1e-4);
  BOOST_CHECK_SMALL(oklab_lightness(kBlack), 1e-9);
  BOOST_CHECK_EQUAL(ember(NAN).red, ember.missing().red);
  BOOST_CHECK_THROW(ColourMap("rainbow"), UsageError);
}

BOOST_AUTO_TEST_CASE(ticks_are_round_and_inside) {
  using Labels = std::vector<std::string>;
  BOOST_CHECK(labels(linear_ticks(0, 10, 5)) == (Labels{"0", "2", "4", "6", "8", "10"}));
  BOOST_CHECK(labels(linear_ticks(-0.06, 0.13, 4)) == (Labels{"\u22120.05", "0.00", "0.05", "0.10"}));
  BOOST_CHECK(labels(linear_ticks(1e7, 3e7, 2)) ==
              (Labels{"1\u00d710^{7}", "2\u00d710^{7}", "3\u00d710^{7}"}));
  BOOST_CHECK(labels(log_ticks(-1, 1, 5)) == (Labels{"0.1", "0.2", "0.5", "1", "2", "5", "10"}));
  BOOST_CHECK(labels(log_ticks(-6, -3, 5)) ==
              (Labels{"10^{\u22126}", "10^{\u22125}", "10^{\u22124}", "0.001"}));
  BOOST_CHECK(labels(phase_ticks()) ==
              (Labels{"\u2212180\u00b0", "\u221290\u00b0", "0\u00b0", "90\u00b0", "180\u00b0"}));
  for (double low : {-1e-9, 0.1, 3.7, 123456.0})
    for (double span : {1e-6, 0.3, 17.0, 1e5}) {
      const auto ticks = linear_ticks(low, low + span, 5);
      const auto named = labels(ticks);
      BOOST_CHECK_GE(named.size(), 2);
      BOOST_CHECK_LE(named.size(), 7);
      BOOST_CHECK_EQUAL(std::set<std::string>(named.begin(), named.end()).size(), named.size());
      for (const Tick& tick : ticks)
        BOOST_CHECK(tick.value >= low - 1e-8 * span && tick.value <= low + span * (1 + 1e-8));
    }
  BOOST_CHECK_THROW(linear_ticks(1, 1, 5), std::invalid_argument);
  BOOST_CHECK_THROW(linear_ticks(0, NAN, 5), std::invalid_argument);
  BOOST_CHECK_THROW(linear_ticks(1e20, 1e20 + 20000, 5), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(sexagesimal_labels) {
  const double hour = kTwoPi / 24, second = hour / 3600;
  BOOST_CHECK_EQUAL(right_ascension_label(12.5 * hour, hour / 2), "12^{h}30^{m}");
  BOOST_CHECK_EQUAL(right_ascension_label(12 * hour, hour), "12^{h}");
  BOOST_CHECK_EQUAL(right_ascension_label(-hour, hour), "23^{h}");
  BOOST_CHECK_EQUAL(right_ascension_label(24 * hour - 1e-12, hour), "0^{h}");
  BOOST_CHECK_EQUAL(right_ascension_label(5 * hour + 59.9999999 * second, second), "5^{h}01^{m}00^{s}");
  BOOST_CHECK_EQUAL(right_ascension_label(hour + 1.25 * second, 0.05 * second), "1^{h}00^{m}01.25^{s}");
  BOOST_CHECK_EQUAL(declination_label(-30.25 * kRadPerDeg, kRadPerDeg / 4), "\u221230\u00b015\u2032");
  BOOST_CHECK_EQUAL(declination_label(-0.25 * kRadPerDeg, kRadPerDeg / 4), "\u22120\u00b015\u2032");
  BOOST_CHECK_EQUAL(declination_label(0, kRadPerDeg), "0\u00b0");
  BOOST_CHECK_EQUAL(declination_label(89 * kRadPerDeg + 1.5 * kRadPerArcsec, 0.5 * kRadPerArcsec),
                    "+89\u00b000\u203201.5\u2033");
}

BOOST_AUTO_TEST_CASE(stretches_map_their_ends_and_invert_at_their_ticks) {
  for (StretchKind kind : {StretchKind::linear, StretchKind::sqrt, StretchKind::log, StretchKind::asinh}) {
    Stretch stretch{kind, kind == StretchKind::log ? 0.02 : -0.5, 20, 0.3};
    BOOST_CHECK_SMALL(stretch(stretch.low), 1e-12);
    BOOST_CHECK_CLOSE(stretch(20), 1, 1e-9);
    BOOST_CHECK(std::isnan(stretch(NAN)));
    double last = -1;
    for (double v = stretch.low; v < 20; v += 0.1) {
      BOOST_CHECK_GT(stretch(v), last);
      last = stretch(v);
    }
    const auto ticks = stretch.ticks(0.06);
    BOOST_CHECK_GE(labels(ticks).size(), 3);
    for (const Tick& tick : ticks) BOOST_CHECK(tick.value >= -1e-9 && tick.value <= 1 + 1e-9);
  }
  BOOST_CHECK_THROW(parse_stretch("cubic"), UsageError);
}

BOOST_AUTO_TEST_CASE(statistics_leave_out_what_is_not_finite) {
  Buffer<double, 2> plane({2, 5});
  const double values[] = {1, NAN, 3, 2, INFINITY, 5, 4, -INFINITY, 100, NAN};
  std::copy(std::begin(values), std::end(values), plane.begin());
  const PlaneStatistics s = plane_statistics(plane);
  BOOST_CHECK_EQUAL(s.n_finite, 6);
  BOOST_CHECK_EQUAL(s.maximum, 100);
  BOOST_CHECK_EQUAL(s.minimum, 1);
  BOOST_CHECK_EQUAL(s.x_max, 3);
  BOOST_CHECK_EQUAL(s.y_max, 1);
  BOOST_CHECK_EQUAL(s.median, 4);  // of 1 2 3 4 5 100, rounded to the upper one
}

BOOST_AUTO_TEST_CASE(rasters_are_crisp_when_enlarged_and_means_when_reduced) {
  Buffer<double, 2> values({4, 6});
  for (std::size_t i = 0; i < values.size(); ++i) values.data()[i] = static_cast<double>(i);
  values(1, 1) = NAN;
  const Raster whole{values, {-0.5, -0.5, 5.5, 3.5}, Reduction::mean};
  const auto large = reduce_raster(whole, 18, 12);
  for (std::size_t y = 0; y < 12; ++y)
    for (std::size_t x = 0; x < 18; ++x) {
      const double expected = values(3 - y / 3, x / 3);  // the first canvas row is the last row of values
      if (std::isnan(expected))
        BOOST_CHECK(std::isnan(large(y, x)));
      else
        BOOST_CHECK_CLOSE(large(y, x), expected, 1e-9);
    }
  const auto small = reduce_raster(whole, 3, 2);
  BOOST_CHECK_CLOSE(small(1, 0), (0 + 1 + 6) / 3., 1e-9);  // 7 is blank
  BOOST_CHECK_CLOSE(small(0, 2), (16 + 17 + 22 + 23) / 4., 1e-9);
  BOOST_CHECK_CLOSE(reduce_raster({values, whole.range, Reduction::maximum}, 3, 2)(0, 2), 23, 1e-9);
  const auto uneven = reduce_raster({values, whole.range, Reduction::mean}, 4, 4);
  BOOST_CHECK_CLOSE(uneven(3, 0), (0 + 0.5 * 1) / 1.5, 1e-9);  // 1.5 columns each
}

BOOST_AUTO_TEST_CASE(a_png_decodes_to_the_drawn_pixels) {
  Canvas canvas(123, 45);
  for (long y = 0; y < 45; ++y)
    for (long x = 0; x < 123; ++x)
      canvas.blend(
          x, y,
          {static_cast<float>(x) / 123, static_cast<float>(y) / 45, static_cast<float>((x * y) % 7) / 7});
  const auto rgb = canvas.to_rgb8();
  const std::string name =
      (std::filesystem::temp_directory_path() / fmt::format("apsyn-plot-{}.png", getpid())).string();
  write_png(name, rgb.view(), {{"Software", "test"}, {"Comment", "\u03bb = 2 m"}}, false);
  BOOST_CHECK_THROW(write_png(name, rgb.view(), {}, false), UsageError);
  std::FILE* file = std::fopen(name.c_str(), "rb");
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  BOOST_REQUIRE(file != nullptr && setjmp(png_jmpbuf(png)) == 0);
  png_init_io(png, file);
  png_read_png(png, info, PNG_TRANSFORM_IDENTITY, nullptr);
  BOOST_REQUIRE_EQUAL(png_get_image_width(png, info), 123);
  BOOST_REQUIRE_EQUAL(png_get_image_height(png, info), 45);
  BOOST_REQUIRE_EQUAL(int(png_get_color_type(png, info)), PNG_COLOR_TYPE_RGB);
  png_bytepp rows = png_get_rows(png, info);
  for (std::size_t y = 0; y < 45; ++y)
    BOOST_CHECK(std::equal(rows[y], rows[y] + 123 * 3, rgb.view()[y].data()));
  png_textp texts = nullptr;
  int n_texts = 0;
  png_get_text(png, info, &texts, &n_texts);
  BOOST_REQUIRE_EQUAL(n_texts, 2);
  BOOST_CHECK_EQUAL(texts[0].text, "test");
  BOOST_CHECK_EQUAL(texts[1].text, "\u03bb = 2 m");
  png_destroy_read_struct(&png, &info, nullptr);
  std::fclose(file);
  std::filesystem::remove(name);
  BOOST_CHECK_THROW(write_png("/no/such/folder/x.png", rgb.view(), {}, false), FailureError);
  Buffer<std::uint8_t, 3> none({0, 0, 3});
  BOOST_CHECK_THROW(write_png(name, none.view(), {}, false), FailureError);
}
