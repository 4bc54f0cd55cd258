// SPDX-License-Identifier: GPL-3.0-or-later
// The figure of a search for transients: what fills it, whether its colours are explained.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

#include "libcore/plot/figures/transient_figure.h"
#include "tests/support/picture.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(transient_figure)

namespace {

TransientFigure figure_of(std::size_t n_best) {
  TransientFigure f;
  f.title = "Source", f.subtitle = "above the threshold", f.footer = "trials";
  f.duration_s = 10, f.dm_high = 100, f.threshold = 7;
  std::mt19937 random(4);
  std::normal_distribution<double> normal;
  for (std::size_t i = 0; i < n_best; ++i) {
    const TransientPoint point{2.0 + 2 * static_cast<double>(i), 30.0 + 20 * static_cast<double>(i),
                               20.0 - static_cast<double>(i)};
    f.candidates.push_back(point);
    TransientDetail& detail = f.best.emplace_back();
    detail.point = point;
    detail.cutout.spectrum.resize({32, 64});
    detail.cutout.profile.resize({64});
    for (double& value : detail.cutout.spectrum) value = normal(random);
    for (double& value : detail.cutout.profile) value = normal(random);
    detail.cutout.first_s = -0.05, detail.cutout.step_s = 0.1 / 64;
    detail.cutout.low_hz = 1200e6, detail.cutout.high_hz = 1500e6;
    for (double dm = -2; dm <= 2; dm += 0.25) {
      detail.dm.push_back(point.dm + dm);
      detail.sn.push_back(point.sn * std::exp(-dm * dm));
    }
  }
  return f;
}

bool is_white(Colour c) {
  return c.red > 0.999f && c.green > 0.999f && c.blue > 0.999f;
}

/// The widest run of columns without a mark between two heights (fractions), as a part of the width.
double widest_blank(const Picture& canvas, double from, double to) {
  const auto height = static_cast<double>(canvas.height());
  std::size_t run = 0, most = 0;
  for (std::size_t x = 0; x < canvas.width(); ++x) {
    bool blank = true;
    for (auto y = static_cast<std::size_t>(from * height); y < static_cast<std::size_t>(to * height); ++y)
      blank = blank && is_white(canvas.pixel(x, y));
    run = blank ? run + 1 : 0;
    most = std::max(most, run);
  }
  return static_cast<double>(most) / static_cast<double>(canvas.width());
}

/// How many separate stretches of columns hold a colour bar: at least 100 pixels that grow darker downwards.
std::size_t colour_bars(const Picture& canvas) {
  std::size_t n_bar = 0;
  bool inside = false;
  for (std::size_t x = 0; x < canvas.width(); ++x) {
    std::size_t run = 0, most = 0;
    double last = 4, first = 0;
    for (std::size_t y = 0; y < canvas.height(); ++y) {
      const Colour c = canvas.pixel(x, y);
      const double light = c.red + c.green + c.blue;
      const bool darker = light <= last && last - light < 0.1 && !is_white(c);
      if (!darker) run = 0, first = light;
      ++run;
      if (first - light > 2) most = std::max(most, run);
      last = light;
    }
    const bool bar = most >= 100;
    if (bar && !inside) ++n_bar;
    inside = bar;
  }
  return n_bar;
}

}  // namespace

BOOST_AUTO_TEST_CASE(details_fill_the_width_whatever_their_number) {
  for (const std::size_t n : {1u, 2u, 3u, 5u}) {
    const Picture canvas = draw_transient_figure(figure_of(n));
    BOOST_TEST_CONTEXT(n << " candidates") {
      // profiles and spectra stand in the lower half; labels and bars are between them
      BOOST_TEST(widest_blank(canvas, 0.6, 0.9) < 0.08);
      BOOST_TEST(widest_blank(canvas, 0.1, 0.4) < 0.08);
    }
  }
  BOOST_TEST(draw_transient_figure(figure_of(0)).height() < draw_transient_figure(figure_of(1)).height());
  BOOST_TEST(draw_transient_figure(figure_of(1)).height() < draw_transient_figure(figure_of(2)).height());
}

BOOST_AUTO_TEST_CASE(each_spectrum_has_its_colour_bar) {
  for (const std::size_t n : {0u, 1u, 2u, 3u})
    BOOST_TEST(colour_bars(draw_transient_figure(figure_of(n))) == n);
}

BOOST_AUTO_TEST_SUITE_END()
