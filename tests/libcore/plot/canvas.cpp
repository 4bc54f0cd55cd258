// SPDX-License-Identifier: GPL-3.0-or-later
// Canvas, text, and the files: PNG (read back with libpng), PDF and SVG.
#include <png.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/plot/canvas.h"
#include "libcore/plot/figure_file.h"
#include "libcore/plot/layout.h"
#include "libcore/plot/stretch.h"
#include "libcore/plot/text.h"
#include "tests/support/picture.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(canvas)

namespace {

/// Darkness summed over the canvas: the drawn area in pixels for black on white.
double ink(const Picture& picture) {
  double sum = 0;
  for (std::size_t y = 0; y < picture.height(); ++y)
    for (std::size_t x = 0; x < picture.width(); ++x) sum += 1 - picture.pixel(x, y).green;
  return sum;
}

/// The middle of what is drawn, black on white.
Point centroid(const Picture& picture) {
  Point sum;
  for (std::size_t y = 0; y < picture.height(); ++y)
    for (std::size_t x = 0; x < picture.width(); ++x) {
      const double dark = 1 - picture.pixel(x, y).green;
      sum.x += dark * (static_cast<double>(x) + 0.5), sum.y += dark * (static_cast<double>(y) + 0.5);
    }
  const double all = ink(picture);
  return {sum.x / all, sum.y / all};
}

/// What is drawn, as bytes, to tell shapes apart.
std::string shape(const Canvas& canvas) {
  const auto rgb = canvas.to_rgb8();
  return {reinterpret_cast<const char*>(rgb.data()), rgb.size()};
}

Canvas lettered(std::string_view text, const TextStyle& style = {.size = 40}) {
  Canvas canvas(200, 100);
  canvas.text(text, {60, 60}, style);
  return canvas;
}

/// A file that is removed in the end.
class Scratch {
 public:
  explicit Scratch(const std::string& suffix)
      : path_((std::filesystem::temp_directory_path() / fmt::format("apsyn-plot-{}{}", getpid(), suffix))
                  .string()) {}
  ~Scratch() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }
  std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string path_;
};

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

/// A raster, a line and a label.
Canvas small_figure() {
  Canvas canvas(123, 45);
  Buffer<std::uint32_t, 2> pixels({3, 4});
  for (std::size_t i = 0; i < pixels.size(); ++i)
    pixels.data()[i] = image_pixel({static_cast<float>(i) / 12, 0.5f, 1 - static_cast<float>(i) / 12});
  canvas.image({10, 5, 50, 35}, std::move(pixels), {10, 5, 50, 35});
  canvas.line({60, 10}, {110, 40}, {kBlack, 2, 0.5});
  canvas.text("S/N < 5 & cm^{-3}", {60, 30}, {.size = 12});
  return canvas;
}

}  // namespace

BOOST_AUTO_TEST_CASE(areas_of_filled_shapes_are_exact) {
  // Coverage is a multiple of 1/255 in each pixel of the rim.
  Canvas canvas(100, 80);
  canvas.fill(Rect{10.25, 20.5, 40.75, 35.25}, kBlack);
  BOOST_CHECK_CLOSE(ink(canvas), 30.5 * 14.75, 0.1);
  BOOST_CHECK_SMALL(1 - Picture(canvas).pixel(10, 25).red - 0.75f, 0.01f);
  BOOST_CHECK_SMALL(1 - Picture(canvas).pixel(20, 20).red - 0.5f, 0.01f);
  Canvas round(200, 200);
  round.fill(Paths{ellipse_path({100, 100}, 60, 30, 0.7)}, kBlack);
  BOOST_CHECK_CLOSE(ink(round), kPi * 60 * 30, 0.3);
  // a ring: the even-odd rule leaves the inner shape open
  Canvas ring(100, 100);
  ring.fill(Paths{rect_path({10, 10, 90, 90}), rect_path({30, 30, 70, 70})}, kBlack);
  BOOST_CHECK_CLOSE(ink(ring), 80. * 80 - 40 * 40, 1e-3);
}

BOOST_AUTO_TEST_CASE(strokes_have_their_width_and_crossings_do_not_darken) {
  Canvas canvas(200, 100);
  canvas.line({20, 50}, {180, 50}, {kBlack, 6, 1});
  BOOST_CHECK_CLOSE(ink(canvas), 160 * 6 + kPi * 9, 1.0);
  Canvas thin(200, 100);
  thin.line({20, 50.5}, {180, 50.5}, {kBlack, 0.5, 1});
  BOOST_CHECK_CLOSE(ink(thin), 160 * 0.5 + kPi / 16, 8.0);  // Cairo counts fifteenths
  Canvas cross(100, 100);
  cross.stroke({{{10, 50}, {90, 50}}, {{50, 10}, {50, 90}}}, {kBlack, 4, 0.5});
  BOOST_TEST(Picture(cross).pixel(50, 50).red == Picture(cross).pixel(20, 50).red);
  // an ellipse turned by 30 degrees reaches farthest up and to the right
  Canvas turned(200, 200);
  turned.fill(Paths{ellipse_path({100, 100}, 80, 10, 30 * kRadPerDeg)}, kBlack);
  BOOST_CHECK_LT(Picture(turned).pixel(160, 65).red, 0.1);
  BOOST_CHECK_GT(Picture(turned).pixel(160, 135).red, 0.9);
}

BOOST_AUTO_TEST_CASE(drawing_outside_or_with_nan_does_nothing) {
  Canvas canvas(50, 50);
  canvas.stroke({{{-1e300, 10}, {-1e299, 20}}, {{NAN, 1}, {20, 20}}, {{5, 5}, {INFINITY, 20}}, {}},
                {kBlack, 3, 1});
  canvas.fill(Rect{1000, 1000, 2000, 2000}, kBlack);
  canvas.text("nowhere", {NAN, 20}, {});
  canvas.text("", {20, 20}, {});
  BOOST_CHECK_EQUAL(ink(canvas), 0);
  canvas.clip({10, 10, 20, 20});
  canvas.fill(Rect{0, 0, 50, 50}, kBlack);
  BOOST_CHECK_EQUAL(ink(canvas), 100);
  canvas.unclip();
  canvas.fill(Rect{0, 0, 50, 50}, kBlack);
  BOOST_CHECK_EQUAL(ink(canvas), 2500);
  BOOST_CHECK_THROW(Canvas(40000, 10), UsageError);
}

BOOST_AUTO_TEST_CASE(a_pasted_drawing_keeps_its_clip_and_its_labels) {
  Canvas part(40, 30);
  part.clip({10, 10, 20, 20});
  part.fill(Rect{0, 0, 40, 30}, kBlack);
  part.unclip();
  part.text("label", {5, 5}, {});
  Canvas sheet(100, 60);
  sheet.fill(sheet.bounds(), kBlack);
  sheet.paste(part, 50, 20);
  const Picture picture = sheet;
  BOOST_TEST(picture.pixel(49, 35).red == 0);
  BOOST_TEST(picture.pixel(55, 35).red == 1);
  BOOST_TEST(picture.pixel(65, 35).red == 0);
  BOOST_REQUIRE_EQUAL(sheet.labels().size(), 1u);
  BOOST_TEST(sheet.labels()[0].at.x == 55);
  BOOST_TEST(sheet.labels()[0].at.y == 25);
}

BOOST_AUTO_TEST_CASE(dashes_cover_their_share) {
  Canvas canvas(200, 200);
  canvas.stroke({{{20, 20}, {120, 20}, {120, 70}}}, {kBlack, 2, 1, 6, 4});
  BOOST_CHECK_CLOSE(ink(canvas), 15 * (6 * 2 + kPi), 3);  // 90 of 150 pixels, with round ends
}

BOOST_AUTO_TEST_CASE(the_font_has_the_signs_of_figures) {
  std::set<std::string> shapes;
  shapes.insert(shape(lettered("\U0010ffff")));  // drawn as a box that tells the code
  for (const char* symbol : {"0", "O", "l", "1", "\u00b0", "\u2032", "\u2033", "\u03bb", "\u03bc", "\u00b1",
                             "\u00d7", "\u2212", "\u2013", "\u00b7", "\u2026"}) {
    BOOST_CHECK_MESSAGE(ink(lettered(symbol)) > 10, symbol << " is nearly empty");
    BOOST_CHECK_MESSAGE(shapes.insert(shape(lettered(symbol))).second, symbol << " looks like another");
  }
}

BOOST_AUTO_TEST_CASE(text_is_measured_and_aligned) {
  TextStyle style{.size = 30};
  BOOST_CHECK_CLOSE(text_width("HHHH", style), 2 * text_width("HH", style), 0.1);
  BOOST_CHECK_CLOSE(text_width("0123", style), text_width("8888", style), 0.1);
  BOOST_CHECK_CLOSE(text_width("0123", {.size = 300}), 10 * text_width("0123", style), 0.1);
  BOOST_CHECK_LT(text_width("x^{2}", style), text_width("x2", style));
  BOOST_CHECK_GT(text_width("x2", {.size = 30, .bold = true}), text_width("x2", style));
  style.align_x = AlignX::right;
  BOOST_CHECK_CLOSE(text_box("12h", {100, 50}, style).x1, 100, 1e-9);
  // where the letters are: an H about its place
  for (const double angle : {0.0, kPi / 2}) {
    const Point middle = centroid(lettered(
        "H", {.size = 40, .align_x = AlignX::centre, .align_y = AlignY::middle, .angle_rad = angle}));
    BOOST_CHECK_SMALL(middle.x - 60, 0.5);
    BOOST_CHECK_SMALL(middle.y - 60, 0.5);
  }
  BOOST_CHECK_LT(centroid(lettered("H", {.size = 40, .angle_rad = kPi / 2})).x, 60);  // turned anticlockwise
  BOOST_CHECK_LT(centroid(lettered("H")).y, 60);
  BOOST_CHECK_GT(centroid(lettered("H", {.size = 40, .align_y = AlignY::top})).y, 60);
  const double on_line = centroid(lettered("x")).y;
  BOOST_CHECK_LT(centroid(lettered("^{x}")).y, on_line - 5);
  BOOST_CHECK_GT(centroid(lettered("_{x}")).y, on_line + 3);
  // a halo covers what is below
  Canvas dark = lettered("H", {.size = 40, .halo_width = 5});
  Canvas night(200, 100);
  night.fill(night.bounds(), kBlack);
  night.text("H", {60, 60}, {.size = 40, .colour = kBlack, .halo_width = 5});
  BOOST_CHECK_GT(200 * 100 - ink(night), 200);
  BOOST_CHECK_CLOSE(ink(dark), ink(lettered("H")), 1);
}

BOOST_AUTO_TEST_CASE(hostile_text_is_drawn_and_ends) {
  for (const char* text : {"\xff\xfe", "\xe2\x88", "abc^{", "_{x", "\xf5\x80\x80\x80", "\xc0\xaf",
                           "a\nb\tc\x1b[0m", "<b>&amp;", "\u202eabc", "}", "^", "_"}) {
    BOOST_CHECK_GT(text_width(text, {.size = 30}), 0);
    BOOST_CHECK_GT(ink(lettered(text)), 0);
  }
  BOOST_TEST(clean_text("caf\xe9 \x01\n5") == "caf\ufffd \ufffd\ufffd5");
  BOOST_TEST(clean_text("\u00b5 <&>") == "\u00b5 <&>");
  const std::string endless(200000, 'x');
  BOOST_CHECK_LE(text_width(fitted(endless, {.size = 30}, 500), {.size = 30}), 500);
}

BOOST_AUTO_TEST_CASE(long_text_is_cut_between_characters) {
  const TextStyle style{.size = 30};
  const std::string shortened = fitted("a rather long title \u2212\u2212\u2212\u2212", style, 150);
  BOOST_CHECK_LE(text_width(shortened, style), 150);
  BOOST_CHECK(shortened.ends_with("\u2026"));
  BOOST_CHECK_GT(text_width(shortened, style), 120);  // no more is cut than has to be
  for (double width = 20; width < 330; width += 10) {
    const std::string cut = fitted("\u2212\u2032\u2033\u2212\u2032\u2033\u2212\u2032\u2033", style, width);
    BOOST_CHECK_EQUAL((cut.size() % 3), 0);  // every character here has three bytes
  }
}

BOOST_AUTO_TEST_CASE(a_machine_without_fonts_is_told_what_to_install) {
  BOOST_CHECK_EXCEPTION(find_font({"/no/such/folder"}), FailureError, [](const FailureError& error) {
    return std::string(error.what()).find("fonts-dejavu-core") != std::string::npos;
  });
}

BOOST_AUTO_TEST_CASE(rasters_have_sharp_pixels) {
  Canvas canvas(120, 60);
  Buffer<double, 2> values({2, 3});
  for (std::size_t i = 0; i < values.size(); ++i) values.data()[i] = static_cast<double>(i);
  values(0, 1) = NAN;
  draw_raster(canvas, {20, 10, 110, 50}, {values, {-0.5, -0.5, 2.5, 1.5}, Reduction::mean}, [](double value) {
    return std::isnan(value) ? kTransparent : image_pixel({static_cast<float>(value) / 5, 0, 0});
  });
  const Picture picture = canvas;
  for (std::size_t y = 0; y < 60; ++y)
    for (std::size_t x = 0; x < 120; ++x) {
      const bool inside = x >= 20 && x < 110 && y >= 10 && y < 50;
      const double value = inside ? values(y < 30 ? 1 : 0, (x - 20) / 30) : NAN;
      const Colour expected = std::isnan(value) ? kWhite : Colour{static_cast<float>(value) / 5, 0, 0};
      const Colour drawn = picture.pixel(x, y);
      BOOST_REQUIRE_SMALL(drawn.red - expected.red, 0.003f);
      BOOST_REQUIRE_EQUAL(drawn.green, expected.green);
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
  const Canvas canvas = small_figure();
  const auto rgb = canvas.to_rgb8();
  const Scratch scratch(".png");
  write_figure(scratch.path(), canvas, {"test", "\u03bb = 2 m"}, false);
  BOOST_CHECK_THROW(write_figure(scratch.path(), canvas, {}, false), UsageError);
  std::FILE* file = std::fopen(scratch.path().c_str(), "rb");
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  BOOST_REQUIRE(file != nullptr && setjmp(png_jmpbuf(png)) == 0);
  png_init_io(png, file);
  png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
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
}

BOOST_AUTO_TEST_CASE(a_svg_has_text_as_text_and_one_raster) {
  const Scratch scratch(".svg");
  write_figure(scratch.path(), small_figure(), {"test", "draw <this> -- & that \x02"}, false);
  const std::string svg = scratch.bytes();
  BOOST_TEST(svg.find("<svg") != svg.npos);
  BOOST_TEST(svg.ends_with("</svg>\n"));
  BOOST_TEST(count(svg, "<image ") == 1u);
  BOOST_TEST(count(svg, "<text ") == 1u);
  BOOST_TEST(count(svg, "<symbol") == 0u);  // letters as outlines
  BOOST_TEST(svg.find(">S/N &lt; 5 &amp; cm<tspan") != svg.npos);
  BOOST_TEST(svg.find(">-3</tspan>") != svg.npos);
  BOOST_TEST(svg.find("draw &lt;this> -- &amp; that \ufffd") != svg.npos);
  BOOST_TEST(svg.find("M 60 10 L 110 40") != svg.npos);  // the line
}

BOOST_AUTO_TEST_CASE(a_pdf_has_letters_and_a_date_only_when_one_is_given) {
  ::unsetenv("SOURCE_DATE_EPOCH");
  const Scratch scratch(".PDF");  // in whatever case
  write_figure(scratch.path(), small_figure(), {"test", "draw it"}, false);
  const std::string pdf = scratch.bytes();
  BOOST_TEST(pdf.starts_with("%PDF-"));
  BOOST_TEST(pdf.find("/FontFile2") != pdf.npos);
  BOOST_TEST(pdf.find("(draw it)") != pdf.npos);
  BOOST_TEST(pdf.find("CreationDate") == pdf.npos);
  ::setenv("SOURCE_DATE_EPOCH", "1000000000", 1);
  write_figure(scratch.path(), small_figure(), {"test", "draw it"}, true);
  BOOST_TEST(scratch.bytes().find("20010909014640Z)") != pdf.npos);
  for (const char* wrong : {"", "yesterday", "-1", "1e9", "99999999999999999999"}) {
    ::setenv("SOURCE_DATE_EPOCH", wrong, 1);
    BOOST_CHECK_THROW(write_figure(scratch.path(), small_figure(), {}, true), UsageError);
  }
  ::unsetenv("SOURCE_DATE_EPOCH");
}

BOOST_AUTO_TEST_CASE(the_same_drawing_gives_the_same_bytes) {
  for (const char* suffix : {".png", ".pdf"}) {  // Cairo numbers the rasters of a process in SVG
    const Scratch scratch(suffix);
    write_figure(scratch.path(), small_figure(), {"test", "draw it"}, false);
    const std::string first = scratch.bytes();
    write_figure(scratch.path(), small_figure(), {"test", "draw it"}, true);
    BOOST_TEST((scratch.bytes() == first));
  }
}

BOOST_AUTO_TEST_CASE(names_and_folders_that_take_no_figure_are_refused) {
  const Canvas canvas = small_figure();
  for (const char* name : {"figure", "figure.jpg", "figure.png.gz", ".png"}) {
    BOOST_CHECK_THROW(write_figure(name, canvas, {}, false), UsageError);
    BOOST_CHECK_THROW(check_figure_output(name, false), UsageError);
  }
  BOOST_CHECK_THROW(write_figure("/no/such/folder/x.png", canvas, {}, false), FailureError);
  BOOST_CHECK_THROW(write_figure("/no/such/folder/x.svg", canvas, {}, false), FailureError);
}

BOOST_AUTO_TEST_SUITE_END()
