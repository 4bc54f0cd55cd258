// SPDX-License-Identifier: GPL-3.0-or-later
// Region text files: every shape against the pixels that its definition names, and errors with their line.
#include "libcore/sky/regions.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(regions)

namespace {

constexpr std::size_t kNx = 60, kNy = 50;

ImageInfo image_at(double ra_deg, double dec_deg, double cell_deg) {
  ImageInfo info;
  info.centre = {ra_deg * kRadPerDeg, dec_deg * kRadPerDeg};
  info.cell_rad = cell_deg * kRadPerDeg;
  return info;
}

Buffer<std::uint8_t, 2> mask_of(const std::string& lines, const ImageInfo& info = image_at(30, -40, 0.1)) {
  return region_mask(parse_regions("#CRTFv0\n" + lines, "t.crtf"), info, kNx, kNy, "t.crtf");
}

/// How many pixels differ from what `inside(x, y)` says.
std::size_t n_wrong(const Buffer<std::uint8_t, 2>& mask, const std::function<bool(double, double)>& inside) {
  std::size_t n = 0;
  for (std::size_t y = 0; y < kNy; ++y)
    for (std::size_t x = 0; x < kNx; ++x) n += (mask(y, x) != 0) != inside(double(x), double(y));
  return n;
}

struct Vector {
  double x, y, z;
};
Vector vector_of(double ra, double dec) {
  return {std::cos(dec) * std::cos(ra), std::cos(dec) * std::sin(ra), std::sin(dec)};
}
double dot(const Vector& a, const Vector& b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}

/// Towards pixel (x, y) of an image, by vectors: centre n, east e, north p.
Vector towards(const ImageInfo& info, double x, double y) {
  const double ra = info.centre.ra_rad, dec = info.centre.dec_rad;
  const Vector n = vector_of(ra, dec), e{-std::sin(ra), std::cos(ra), 0}, p = vector_of(ra, dec + kPi / 2);
  const double l = (kNx / 2 - x) * info.cell_rad, m = (y - kNy / 2) * info.cell_rad;
  const double k = std::sqrt(1 - l * l - m * m);
  return {k * n.x + l * e.x + m * p.x, k * n.y + l * e.y + m * p.y, k * n.z + l * e.z + m * p.z};
}

}  // namespace

BOOST_AUTO_TEST_CASE(shapes_in_pixels_cover_their_pixels) {
  BOOST_TEST(n_wrong(mask_of("box[[10pix, 5pix], [20pix, 12pix]]"),
                     [](double x, double y) { return x >= 10 && x <= 20 && y >= 5 && y <= 12; }) == 0u);
  BOOST_TEST(n_wrong(mask_of("circle[[30pix, 20.5pix], 7.2pix], color=red"),
                     [](double x, double y) { return std::hypot(x - 30, y - 20.5) <= 7.2; }) == 0u);
  BOOST_TEST(n_wrong(mask_of("annulus[[30pix, 20pix], [5.1pix, 7.2pix]]"), [](double x, double y) {
               const double r = std::hypot(x - 30, y - 20);
               return r >= 5.1 && r <= 7.2;
             }) == 0u);
  BOOST_TEST(n_wrong(mask_of("centerbox[[30pix, 20pix], [9pix, 4.2pix]]"), [](double x, double y) {
               return std::abs(x - 30) <= 4.5 && std::abs(y - 20) <= 2.1;
             }) == 0u);
  // Turned counterclockwise: the long side of 20 pixels along x rises towards larger x.
  BOOST_TEST(n_wrong(mask_of("rotbox[[30pix, 25pix], [20.3pix, 4.1pix], 30deg]"), [](double x, double y) {
               const double s = std::sin(kPi / 6), c = std::cos(kPi / 6), dx = x - 30, dy = y - 25;
               return std::abs(dx * c + dy * s) <= 10.15 && std::abs(dy * c - dx * s) <= 2.05;
             }) == 0u);
  // The first semi-axis at 0 points north, at 30 deg towards north and east, which is left.
  BOOST_TEST(n_wrong(mask_of("ellipse[[30pix, 25pix], [12.3pix, 4.1pix], 30deg]"), [](double x, double y) {
               const double s = std::sin(kPi / 6), c = std::cos(kPi / 6), dx = x - 30, dy = y - 25;
               return std::pow((-dx * s + dy * c) / 12.3, 2) + std::pow((dx * c + dy * s) / 4.1, 2) <= 1;
             }) == 0u);
  BOOST_TEST(n_wrong(mask_of("poly[[10.5pix, 5.5pix], [40.5pix, 5.5pix], [10.5pix, 35.5pix]]"),
                     [](double x, double y) { return x > 10.5 && y > 5.5 && x + y < 46; }) == 0u);
}

BOOST_AUTO_TEST_CASE(shapes_on_the_sky_are_measured_on_the_sphere) {
  // Wide, across RA 0h and at a pole: angles are those of the sphere.
  for (const auto& [ra, dec] : {std::array{30.0, -40.0}, {359.9, 20.0}, {120.0, -90.0}}) {
    const ImageInfo info = image_at(ra, dec, 1.5);
    const Vector from = towards(info, 35, 20);
    const double at_ra = std::atan2(from.y, from.x), at_dec = std::asin(from.z);
    const std::string place = fmt::format(
        "[{:.12f}deg, {:.12f}deg]", (at_ra < 0 ? at_ra + kTwoPi : at_ra) / kRadPerDeg, at_dec / kRadPerDeg);
    BOOST_TEST(n_wrong(mask_of("circle[" + place + ", 750.3arcmin]", info), [&](double x, double y) {
                 return std::acos(dot(from, towards(info, x, y))) <= 750.3 / 60 * kRadPerDeg;
               }) == 0u);
    BOOST_TEST(n_wrong(mask_of("circle[[35pix, 20pix], 12.505deg]", info), [&](double x, double y) {
                 return std::acos(dot(from, towards(info, x, y))) <= 12.505 * kRadPerDeg;
               }) == 0u);
    const Vector east{-std::sin(at_ra), std::cos(at_ra), 0}, north = vector_of(at_ra, at_dec + kPi / 2);
    BOOST_TEST(
        n_wrong(mask_of("ellipse[" + place + ", [15.02deg, 6.01deg], 50deg]", info), [&](double x, double y) {
          const Vector to = towards(info, x, y);
          const double r = std::acos(dot(from, to)), angle = std::atan2(dot(to, east), dot(to, north));
          const double a = r * std::cos(angle - 50 * kRadPerDeg), b = r * std::sin(angle - 50 * kRadPerDeg);
          return std::pow(a / 15.02, 2) + std::pow(b / 6.01, 2) <= kRadPerDeg * kRadPerDeg;
        }) == 0u);
  }
  // Corners are places in the image: those of pixels (20, 15) and (40, 30) span these, edges included.
  const ImageInfo info = image_at(30, -40, 0.1);
  auto text = [&](double x, double y) {
    const Vector v = towards(info, x, y);
    return fmt::format("[{:.12f}deg, {:.12f}deg]", std::atan2(v.y, v.x) / kRadPerDeg,
                       std::asin(v.z) / kRadPerDeg);
  };
  BOOST_TEST(n_wrong(mask_of("box[" + text(40, 15) + "," + text(20, 30) + "]", info),
                     [](double x, double y) { return x >= 20 && x <= 40 && y >= 15 && y <= 30; }) == 0u);
  BOOST_TEST(mask_of("circle[[02h00m00s, -40.00.00.0], 1arcmin]")(kNy / 2, kNx / 2) == 1);
  BOOST_TEST(mask_of("circle[[02:00:00, -40d00m00s], 1arcmin]")(kNy / 2, kNx / 2) == 1);
}

BOOST_AUTO_TEST_CASE(lines_add_and_subtract_in_order) {
  const auto mask = mask_of(
      "# a comment\r\nglobal coord=ICRS, color=blue\n\nbox [[10pix,10pix],[30pix,30pix]] coord=J2000\n"
      "-circle[[20pix, 20pix], 5pix]\nann circle[[5pix, 5pix], 3pix]\n"
      "text[[5pix, 5pix], 'here']\n+circle[[20pix, 20pix], 1pix], corr=[I, Q], label='x'");
  BOOST_TEST(n_wrong(mask, [](double x, double y) {
               const double r = std::hypot(x - 20, y - 20);
               return x >= 10 && x <= 30 && y >= 10 && y <= 30 && (r > 5 || r <= 1);
             }) == 0u);
  // What is taken away first is taken from the whole image.
  BOOST_TEST(n_wrong(mask_of("-circle[[20pix, 20pix], 5pix]"),
                     [](double x, double y) { return std::hypot(x - 20, y - 20) > 5; }) == 0u);
  // Outside of the image, behind the sky: nothing.
  BOOST_TEST(n_wrong(mask_of("circle[[200pix, 20pix], 5pix]\ncircle[[210deg, 40deg], 5deg]"),
                     [](double, double) { return false; }) == 0u);
}

BOOST_AUTO_TEST_CASE(circles_reach_behind_the_horizon_and_corners_may_not) {
  // Half of the sphere: the horizon is at a radius of 25.3 pixels.
  ImageInfo info = image_at(30, -40, 1);
  info.cell_rad = 1 / 25.3;
  // 100 degrees north of the image's centre.
  const Vector from = vector_of(30 * kRadPerDeg, 60 * kRadPerDeg);
  const auto on_sky = [&](double x, double y) { return std::hypot(x - kNx / 2, y - kNy / 2) <= 25.3; };
  std::size_t n_inside = 0;
  const auto mask = mask_of("circle[[30deg, 60deg], 40.3deg]", info);
  for (const std::uint8_t pixel : mask) n_inside += pixel;
  BOOST_TEST(n_inside > 50u);
  BOOST_TEST(n_wrong(mask, [&](double x, double y) {
               return on_sky(x, y) && std::acos(dot(from, towards(info, x, y))) <= 40.3 * kRadPerDeg;
             }) == 0u);
  for (const char* line :
       {"poly[[30deg, -40deg], [40deg, -40deg], [30deg, 60deg]]", "box[[40deg, -50deg], [30deg, 60deg]]"})
    try {
      mask_of(std::string("# a line\n") + line, info);
      BOOST_ERROR(line << " was taken");
    } catch (const DataError& error) {
      BOOST_TEST(std::string(error.what()) ==
                 "t.crtf: line 3: a corner lies behind the image's horizon: move it inside");
    }
}

BOOST_AUTO_TEST_CASE(pipes_are_not_touched) {
  int ends[2];
  BOOST_REQUIRE(::pipe(ends) == 0);
  BOOST_REQUIRE(::write(ends[1], "#CRTFv0\n", 8) == 8);
  BOOST_TEST(!is_region_text("-"));
  BOOST_TEST(!is_region_text(fmt::format("/dev/fd/{}", ends[0])));
  ::close(ends[1]);
  char text[16];
  BOOST_TEST(::read(ends[0], text, sizeof text) == 8);
  ::close(ends[0]);
}

// The same masks from DS9's text, whose pixels count from 1, and whose first axis lies along x.
BOOST_AUTO_TEST_CASE(regions_of_ds9_give_the_same_masks) {
  const std::string head =
      "# Region file format: DS9 version 4.1\nglobal color=green font=\"helvetica 10\"\n";
  const std::pair<std::string, std::string> same[] = {
      {"image\ncircle(31,21.5,7.2) # color=red text={a; b}", "circle[[30pix, 20.5pix], 7.2pix]"},
      {"circle 31 21.5 7.2", "circle[[30pix, 20.5pix], 7.2pix]"},
      {"image; ellipse(31,26,12.3,4.1,30)", "ellipse[[30pix, 25pix], [4.1pix, 12.3pix], 30deg]"},
      {"image\nbox(31,26,20.3,4.1,30)", "rotbox[[30pix, 25pix], [20.3pix, 4.1pix], 30deg]"},
      {"image\nannulus(31,21,5.1,6,7.2)", "annulus[[30pix, 20pix], [5.1pix, 7.2pix]]"},
      {"image\npolygon(11,6,41,9,21,31)", "poly[[10pix, 5pix], [40pix, 8pix], [20pix, 30pix]]"},
      {"fk5\ncircle(2:00:04.8,-40:12:00,1800\")", "circle[[2h00m04.8s, -40d12m00s], 0.5deg]"},
      {"icrs;circle(30.2,-40.1,30')", "circle[[30.2deg, -40.1deg], 0.5deg]"},
      {"j2000\nellipse(30d,-40d,0.9,0.3,20)\npoint(30,-40)",
       "ellipse[[30deg, -40deg], [0.3deg, 0.9deg], 20deg]"},
      {"fk5\n-circle(30,-40,0.3)\ncircle(30,-40,0.8)",
       "circle[[30deg, -40deg], 0.8deg]\n-circle[[30deg, -40deg], 0.3deg]"},
      {"fk5\n-circle(30,-40,0.3)", "-circle[[30deg, -40deg], 0.3deg]"},
      {"fk5\ncircle(30,-40,5p)", "circle[[30deg, -40deg], 5pix]"}};
  for (const auto& [ds9, casa] : same) {
    const auto mask =
        region_mask(parse_regions(head + ds9, "t.reg"), image_at(30, -40, 0.1), kNx, kNy, "t.reg");
    const auto expected = mask_of(casa);
    BOOST_TEST(std::equal(mask.begin(), mask.end(), expected.begin()), ds9);
    std::size_t n = 0;
    for (const std::uint8_t value : mask) n += value;
    BOOST_TEST(n > 10u);
    BOOST_TEST(n < kNx * kNy);
  }
  for (const char* line : {"galactic", "circle(1,2)", "circle(1,2,3,4)", "circle(1,2,-3)", "circle(a,b,3)",
                           "panda(1,2,0,90,1,3,4,1)", "polygon(1,2,3,4)", "box(1,2,3)",
                           "circle(10:00:00,-30:00:00,3)", "circle(1,2d,3)"})
    try {
      parse_regions("# Region file format: DS9\n\nimage;" + std::string(line) + "\ncircle(1,2,3)", "t.reg");
      BOOST_ERROR(line << " was taken");
    } catch (const DataError& error) {
      BOOST_TEST(std::string(error.what()).find("t.reg: line 3: ") == 0u, line << ": " << error.what());
    }
  BOOST_CHECK_THROW(parse_regions("fk5\ncircle(10,95,1)", "t.reg"), DataError);
  BOOST_CHECK_THROW(parse_regions("# nothing\n", "t.reg"), DataError);
}

BOOST_AUTO_TEST_CASE(errors_name_the_line) {
  for (const char* line : {"circle[[1pix, 2pix]]",
                           "circle[[1pix, 2pix], [3pix, 4pix]]",
                           "circle[[1pix, 2deg], 3pix]",
                           "circle[1pix, 2pix, 3pix]",
                           "circle[[1pix, 2pix], 3]",
                           "circle[[1, 2], 3pix]",
                           "circle[[1pix, 2pix], -3pix]",
                           "circle[[1pix, 2pix], 0pix]",
                           "circle[[1pix, 2pix], nanpix]",
                           "circle[[1pix, 2pix], 3pix",
                           "circle[[1pix, 2pix, 3pix]",
                           "circle",
                           "circle[]",
                           "[[]]",
                           "circle[[[1pix, 2pix]], 3pix]",
                           "circle[[1pix, ], 3pix]",
                           "circle[[1pix, 2pix] 3pix]",
                           "circle[[10deg, 95deg], 1deg]",
                           "triangle[[1pix, 2pix], 3pix]",
                           "poly[[1pix, 2pix], [3pix, 4pix]]",
                           "box[[1pix, 2pix]]",
                           "rotbox[[1pix, 2pix], [3pix, 4pix]]",
                           "ellipse[[1pix, 2pix], [3pix, 4deg], 5deg]",
                           "ellipse[[1pix, 2pix], [3pix, 4pix], 5]",
                           "circle[[1pix, 2pix], 3pix], coord=GALACTIC",
                           "global coord=B1950"})
    try {
      parse_regions(std::string("#CRTF\n\n") + line + "\ncircle[[1pix, 2pix], 3pix]", "t.crtf");
      BOOST_ERROR(line << " was taken");
    } catch (const DataError& error) {
      BOOST_TEST(std::string(error.what()).find("t.crtf: line 3: ") == 0u, line << ": " << error.what());
    }
  BOOST_CHECK_THROW(parse_regions("circle[[1pix, 2pix], 3pix]", "t.crtf"), DataError);
  BOOST_CHECK_THROW(parse_regions("#CRTF\n# nothing\n", "t.crtf"), DataError);
}

BOOST_AUTO_TEST_SUITE_END()
