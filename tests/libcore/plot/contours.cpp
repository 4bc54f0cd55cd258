// SPDX-License-Identifier: GPL-3.0-or-later
// Contours of surfaces whose lines of equal value are known.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "libcore/plot/contours.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(contours)

namespace {

Buffer<double, 2> surface(std::size_t n, double (*value)(double x, double y)) {
  Buffer<double, 2> values({n, n});
  for (std::size_t y = 0; y < n; ++y)
    for (std::size_t x = 0; x < n; ++x) values(y, x) = value(static_cast<double>(x), static_cast<double>(y));
  return values;
}

double length(const Path& path) {
  double sum = 0;
  for (std::size_t i = 1; i < path.size(); ++i)
    sum += std::hypot(path[i].x - path[i - 1].x, path[i].y - path[i - 1].y);
  return sum;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_cone_has_circles) {
  const auto values = surface(41, [](double x, double y) { return 30 - std::hypot(x - 20.2, y - 19.6); });
  for (double radius : {3.0, 10.0, 17.0}) {
    const Paths paths = contour_lines(values, 30 - radius);
    BOOST_REQUIRE_EQUAL(paths.size(), 1u);
    BOOST_TEST(paths[0].front().x == paths[0].back().x);
    BOOST_TEST(paths[0].front().y == paths[0].back().y);
    // a chord of at most a pixel's diagonal bends by 1 / (4 radius) at most
    for (const Point& at : paths[0])
      BOOST_TEST(std::abs(std::hypot(at.x - 20.2, at.y - 19.6) - radius) < 0.25 / radius);
    BOOST_TEST(std::abs(length(paths[0]) / (2 * std::acos(-1.0) * radius) - 1) < 0.02);
  }
}

BOOST_AUTO_TEST_CASE(a_slope_has_one_line_from_edge_to_edge) {
  const auto values = surface(9, [](double x, double y) { return x + 0.25 * y; });
  const Paths paths = contour_lines(values, 4.1);
  BOOST_REQUIRE_EQUAL(paths.size(), 1u);
  for (const Point& at : paths[0]) BOOST_TEST(std::abs(at.x + 0.25 * at.y - 4.1) < 1e-12);
  BOOST_TEST(std::abs(length(paths[0]) - std::hypot(8, 2)) < 1e-12);
}

BOOST_AUTO_TEST_CASE(a_saddle_joins_the_side_of_its_middle) {
  // high corners (0,0) and (1,1); mean 0.5
  Buffer<double, 2> values({2, 2});
  values(0, 0) = values(1, 1) = 1;
  values(0, 1) = values(1, 0) = 0;
  for (double level : {0.4, 0.6}) {
    const Paths paths = contour_lines(values, level);
    BOOST_REQUIRE_EQUAL(paths.size(), 2u);
    for (const Path& path : paths) {
      BOOST_REQUIRE_EQUAL(path.size(), 2u);
      // below the mean the low corners (1,0) and (0,1) are cut off, above it the high ones
      const double sum = path[0].x + path[0].y + path[1].x + path[1].y;
      const bool cuts_low = std::abs(sum - 2) < 1e-12;
      BOOST_TEST(cuts_low == (level < 0.5));
    }
  }
}

BOOST_AUTO_TEST_CASE(blanks_interrupt_and_nothing_is_no_line) {
  auto values = surface(9, [](double x, double) { return x; });
  BOOST_TEST(contour_lines(values, 20).empty());
  values(4, 3) = NAN;
  BOOST_REQUIRE_EQUAL(contour_lines(values, 3.5).size(), 2u);
}

BOOST_AUTO_TEST_SUITE_END()
