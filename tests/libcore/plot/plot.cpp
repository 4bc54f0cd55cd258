// SPDX-License-Identifier: GPL-3.0-or-later
// Colour maps, ticks and stretches.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <set>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/plot/colour_map.h"
#include "libcore/plot/layout.h"
#include "libcore/plot/stretch.h"
#include "libcore/plot/ticks.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(plot)

namespace {

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

std::vector<std::string> labels(const std::vector<Tick>& ticks) {
  std::vector<std::string> out;
  for (const Tick& tick : ticks)
    if (!tick.label.empty()) out.push_back(tick.label);
  return out;
}

}  // namespace

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

BOOST_AUTO_TEST_CASE(sexagesimal_labels_never_show_60) {
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

BOOST_AUTO_TEST_CASE(a_dynamic_range_of_twenty_is_shown_as_asinh) {
  PlaneStatistics s;
  s.n_finite = 100, s.median = 8, s.noise = 0.5, s.minimum = -4;
  for (const double range : {5.0, 19.9, 20.0, 59.0, 1e4}) {
    s.maximum = s.median + range * s.noise;
    const Stretch stretch = default_stretch(s);
    BOOST_TEST((stretch.kind == StretchKind::asinh) == (range >= 20));
    BOOST_TEST(stretch.low == 6.5);
    BOOST_TEST(stretch.high == s.maximum);
    if (range >= 20) BOOST_TEST(stretch.soft == 1.5);
  }
  s.noise = 0;  // nothing to be compared with
  BOOST_TEST((default_stretch(s).kind == StretchKind::linear));
}

BOOST_AUTO_TEST_CASE(percentiles_leave_equal_parts_out) {
  Buffer<double, 2> plane({1, 102});
  for (std::size_t i = 0; i < 101; ++i) plane(0, i) = static_cast<double>((37 * i) % 101);  // 0 to 100, mixed
  plane(0, 101) = NAN;
  for (const double percent : {100.0, 98.0, 75.0, 50.0}) {
    const auto [low, high] = percentile_range(plane, percent);
    BOOST_TEST(low == 100 - percent);
    BOOST_TEST(high == percent);
  }
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

BOOST_AUTO_TEST_SUITE_END()
