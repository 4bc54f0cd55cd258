// SPDX-License-Identifier: GPL-3.0-or-later
// Canvas, font, and the PNG file itself (read back with libpng).
#include <png.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <set>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/plot/canvas.h"
#include "libcore/plot/font.h"
#include "libcore/plot/layout.h"
#include "libcore/plot/png.h"
#include "libcore/plot/stretch.h"

using namespace apsyn;

namespace {

/// Darkness summed over the canvas: the drawn area in pixels for black on white.
double ink(const Canvas& canvas) {
  double sum = 0;
  for (std::size_t y = 0; y < canvas.height(); ++y)
    for (std::size_t x = 0; x < canvas.width(); ++x) sum += 1 - canvas.pixel(x, y).green;
  return sum;
}

/// What is drawn, as bytes, to tell shapes apart.
std::string shape(const Canvas& canvas) {
  const auto rgb = canvas.to_rgb8();
  return {reinterpret_cast<const char*>(rgb.data()), rgb.size()};
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
