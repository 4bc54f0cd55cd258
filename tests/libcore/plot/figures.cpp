// SPDX-License-Identifier: GPL-3.0-or-later
// What figures of visibilities, voltages and powers show, and where: pixels of pictures of data that are
// known. At size 1000 a unit of a figure's layout is a pixel.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "libcore/base/constants.h"
#include "libcore/plot/figures/beam_powers_figure.h"
#include "libcore/plot/figures/dynamic_spectrum_figure.h"
#include "libcore/plot/figures/fold_figure.h"
#include "libcore/plot/figures/image_captions.h"
#include "libcore/plot/figures/image_figure.h"
#include "libcore/plot/figures/sky_furniture.h"
#include "libcore/plot/figures/transient_figure.h"
#include "libcore/plot/figures/visibility_panels.h"
#include "libcore/plot/figures/voltage_figure.h"
#include "tests/support/picture.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(figures)

namespace {

bool is_like(Colour a, Colour b, float tolerance = 0.02f) {
  return std::abs(a.red - b.red) < tolerance && std::abs(a.green - b.green) < tolerance &&
         std::abs(a.blue - b.blue) < tolerance;
}

/// The pixels of a colour within a part of a picture.
std::vector<Point> pixels_like(const Picture& canvas, Colour colour, const Rect& part,
                               float tolerance = 0.02f) {
  std::vector<Point> found;
  for (auto y = static_cast<std::size_t>(part.y0); y < static_cast<std::size_t>(part.y1); ++y)
    for (auto x = static_cast<std::size_t>(part.x0); x < static_cast<std::size_t>(part.x1); ++x)
      if (is_like(canvas.pixel(x, y), colour, tolerance))
        found.push_back({static_cast<double>(x), static_cast<double>(y)});
  return found;
}

Image all_sky() {
  Image image;
  image.info.centre = {0.7, -0.5};
  image.info.cell_rad = 2.2 / 64;
  image.pixels.resize({1, 1, 64, 64});
  image.pixels(0, 0, 32, 32) = 1;
  return image;
}

Image small_field() {
  Image image;
  image.info.centre = {1.2, -0.3};
  image.info.cell_rad = 1e-3 * kRadPerDeg;
  image.pixels.resize({1, 1, 48, 48});
  for (std::size_t y = 0; y < 48; ++y)
    for (std::size_t x = 0; x < 48; ++x)
      image.pixels(0, 0, y, x) = std::hypot(static_cast<double>(x) - 24, static_cast<double>(y) - 24) - 12;
  return image;
}

/// A day of one channel that steps from 1 to 2 in its middle.
DynamicSpectrum step_spectrum(double start_s) {
  DynamicSpectrum s;
  s.start = from_mjd_seconds(60000.0 * 86400 + start_s);
  s.sample_s = 1;
  s.start_with({150e6}, 1);
  Buffer<float, 2> samples({100, 1});
  for (std::size_t i = 0; i < 100; ++i) samples(i, 0) = i < 50 ? 1 : 2;
  s.add(samples);
  return s;
}

}  // namespace

BOOST_AUTO_TEST_CASE(units_are_what_their_names_say) {
  const auto factor_of = [](const std::string& name) {
    if (name == "ms") return 1e-3;
    if (name == "s" || name == "\u03bb") return 1.0;
    if (name == "min") return 60.0;
    if (name == "h") return 3600.0;
    if (name == "kHz" || name == "k\u03bb") return 1e3;
    if (name == "MHz" || name == "M\u03bb") return 1e6;
    return name == "GHz" ? 1e9 : 0.0;
  };
  std::vector<std::string> names;
  for (double value = 1e-3; value < 1e12; value *= 3)
    for (const ScaledUnit& unit : {seconds_unit(value), hertz_unit(value), wavelengths_unit(value)}) {
      BOOST_TEST(unit.factor == factor_of(unit.name));
      names.push_back(unit.name);
    }
  for (const char* name : {"ms", "s", "min", "h", "kHz", "MHz", "GHz", "\u03bb", "k\u03bb", "M\u03bb"})
    BOOST_TEST(std::count(names.begin(), names.end(), name) > 0);
  for (const double jy : {3e-5, 0.03, 3.0}) {
    const DisplayUnit unit = display_unit("JY/BEAM", jy);
    BOOST_TEST(unit.factor == (unit.label == "\u03bcJy/beam" ? 1e6 : unit.label == "mJy/beam" ? 1e3 : 1));
    BOOST_TEST(jy * unit.factor >= 1);
  }
  BOOST_TEST(angle_label(0.05 * kRadPerArcsec) == "50.0 mas");
  BOOST_TEST(angle_label(2 * kRadPerDeg) == "2.00\u00b0");
}

BOOST_AUTO_TEST_CASE(a_footer_says_where_the_peak_is) {
  Image image = small_field();
  image.info.cell_rad = kRadPerDeg;
  image.info.centre = {0, 0};
  image.pixels.fill(0);
  image.pixels(0, 0, 24, 14) = 1;  // sin l = 10 degrees in radians: 10.05 degrees to the east
  const ImageFigureOptions options;
  const SkyView view = image_figure_view(image, options);
  const PlaneStatistics s = plane_statistics(image_figure_plane(image, options, view));
  const std::string line = image_footer(image.info, view, s, StretchKind::linear)[0];
  BOOST_TEST_CONTEXT(line) BOOST_TEST(line.find(" at 0^{h}40^{m}") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(east_is_left_and_west_is_right) {
  const Image image = all_sky();
  const ImageFigureOptions options;
  const Canvas canvas = draw_image_figure(image, options);
  const SkyView view = image_figure_view(image, options);
  const SinProjection& sky = view.projection;
  const Point c = view.to_canvas(Point{sky.ref_x, sky.ref_y});
  const double radius = 1 / sky.cell_x_rad / view.pixels.width() * view.panel.width();
  const auto place = [&](const std::string& text) {
    for (const Label& label : canvas.labels())
      if (label.text == text) return label.at;
    return Point{NAN, NAN};
  };
  BOOST_TEST(place("E").x < c.x - radius);
  BOOST_TEST(place("W").x > c.x + radius);
  BOOST_TEST(place("N").y < c.y - radius);
  BOOST_TEST(place("S").y > c.y + radius);
  BOOST_TEST(place("E").y == c.y);
  BOOST_TEST(place("N").x == c.x);
}

BOOST_AUTO_TEST_CASE(a_beam_turns_from_north_to_east) {
  for (const double angle_deg : {30.0, -30.0}) {
    Image image = small_field();
    image.info.beam = RestoringBeam{8e-3 * kRadPerDeg, 2e-3 * kRadPerDeg, angle_deg * kRadPerDeg};
    const ImageFigureOptions options;
    const Picture canvas = draw_image_figure(image, options);
    const Rect panel = image_figure_view(image, options).panel;
    const Rect corner{panel.x0, panel.y1 - 250, panel.x0 + 250, panel.y1};
    double x = 0, y = 0, xx = 0, xy = 0, yy = 0;
    const auto pixels = pixels_like(canvas, {0.45f, 0.47f, 0.52f}, corner);
    const auto n = static_cast<double>(pixels.size());
    BOOST_REQUIRE(n > 100);
    for (const Point& p : pixels) x += p.x / n, y += p.y / n;
    for (const Point& p : pixels)
      xx += (p.x - x) * (p.x - x) / n, xy += (p.x - x) * (y - p.y) / n, yy += (p.y - y) * (p.y - y) / n;
    // the major axis lies at this angle from up to the left
    BOOST_TEST(std::abs(0.5 * std::atan2(-2 * xy, yy - xx) / kRadPerDeg - angle_deg) < 1.5);
    BOOST_TEST(std::abs(std::sqrt((xx + yy + std::hypot(xx - yy, 2 * xy)) /
                                  (xx + yy - std::hypot(xx - yy, 2 * xy))) -
                        4) < 0.4);  // the axes' ratio, less the outline
  }
}

BOOST_AUTO_TEST_CASE(contours_below_zero_alone_are_dashed) {
  Image image = small_field();
  const Colour line{0.45f, 0.95f, 0.90f};
  const auto drawn = [&](double level) {
    ImageFigureOptions options;
    options.size = 600;
    options.colour_map = "grey";
    options.contours = {{level, ContourLevel::Of::unit}};
    const Picture canvas = draw_image_figure(image, options);
    return static_cast<double>(pixels_like(canvas, line, canvas.bounds(), 0.1f).size());
  };
  const double above = drawn(4);
  for (double& value : image.pixels) value = -value;
  const double below = drawn(-4);
  BOOST_TEST(above > 100);
  BOOST_TEST(below / above > 0.4);
  BOOST_TEST(below / above < 0.8);  // dashes are 7 of 12 units
}

BOOST_AUTO_TEST_CASE(beams_keep_their_own_time) {
  // the second starts 200 s after the first, which lasts 100: it takes the right third of the axis
  std::vector<BeamPower> beams;
  beams.push_back({"first", step_spectrum(0)});
  beams.push_back({"second", step_spectrum(200)});
  const Picture canvas = draw_beam_powers(beams, {});
  const Rect panel{150, 190, 1200, 840};
  for (std::size_t beam = 0; beam < 2; ++beam) {
    const auto pixels = pixels_like(canvas, series_colour(beam, 2), panel);
    BOOST_REQUIRE(pixels.size() > 50u);
    double left = 1e9, right = 0, left_y = 0, right_y = 0;
    for (const Point& p : pixels) {
      if (p.x < left) left = p.x, left_y = p.y;
      if (p.x > right) right = p.x, right_y = p.y;
    }
    const double begin = panel.x0 + (beam == 0 ? 0 : 200) * panel.width() / 300;
    BOOST_TEST(std::abs(left - begin) < 14);  // a tick of 10 pixels may hide the end
    BOOST_TEST(std::abs(right - begin - panel.width() / 3) < 14);
    BOOST_TEST(left_y > right_y + 300);  // the power rises
  }
}

BOOST_AUTO_TEST_CASE(a_dynamic_spectrum_has_its_bands_and_times_in_place) {
  DynamicSpectrum s;
  s.sample_s = 1e-3;
  const std::vector<double> channels = {107e6, 106e6, 105e6, 104e6, 103e6, 102e6, 101e6, 100e6};
  s.start_with(channels, 8);
  Buffer<float, 2> samples({100, 8});
  for (std::size_t t = 20; t < 30; ++t) samples(t, 7) = 100;  // a burst at 100 MHz, 20 to 30 of 100 ms
  s.add(samples);
  const Picture canvas = draw_dynamic_spectrum(s, {"", "ink", 1000});  // light where nothing is
  const Rect panel{150, 440, 1150, 940};
  const ColourMap map("ink");
  const auto bright =
      pixels_like(canvas, map(1), {panel.x0 + 12, panel.y0 + 12, panel.x1 - 12, panel.y1 - 12});
  BOOST_REQUIRE(bright.size() > 3000u);
  for (const Point& p : bright) {
    BOOST_REQUIRE(p.x >= panel.x0 + 199);
    BOOST_REQUIRE(p.x <= panel.x0 + 301);
    BOOST_REQUIRE(p.y >= panel.y1 - 500.0 / 8 - 1);
  }
  // Labelled ticks at 100, 102, ... MHz of 99.5 to 107.5.
  const Colour ink = Theme{}.ink;
  const auto tick_at = [&](double mhz) {
    const double y = panel.y1 - (mhz - 99.5) / 8 * panel.height();
    double darkest = 3;
    for (double at = y - 1; at <= y + 1; at += 1) {
      const Colour c =
          canvas.pixel(static_cast<std::size_t>(panel.x1) - 8, static_cast<std::size_t>(std::lround(at)));
      darkest =
          std::min(darkest, static_cast<double>(std::abs(c.red - ink.red) + std::abs(c.blue - ink.blue)));
    }
    return darkest < 0.2;
  };
  for (const double mhz : {100.0, 102.0, 104.0, 106.0}) BOOST_TEST(tick_at(mhz));
  for (const double mhz : {100.4, 103.4, 105.6}) BOOST_TEST(!tick_at(mhz));
}

BOOST_AUTO_TEST_CASE(deviations_are_those_of_a_sample) {
  // Of two bins the deviations are half their distance over half the root of two: -0.707 and 0.707.
  DynamicSpectrum s;
  s.sample_s = 1;
  s.start_with({150e6}, 1);
  Buffer<float, 2> samples({2, 1});
  samples(1, 0) = 3;
  s.add(samples);
  const Picture canvas = draw_dynamic_spectrum(s, {});
  const double tick_y = 940 - (0.6 + std::sqrt(0.5)) / std::sqrt(2.0) * 500;  // of 0.6 at the colour bar
  BOOST_TEST(pixels_like(canvas, Theme{}.ink, {1195, tick_y - 1.5, 1197, tick_y + 1.5}, 0.3f).size() > 0);
}

BOOST_AUTO_TEST_CASE(both_turns_of_a_profile_are_alike) {
  FoldedPulses folded;
  folded.source = "pulsar";
  folded.period_s = 0.5, folded.length_s = 10;
  folded.sum.resize({1, 1, 16});
  folded.count.resize(folded.sum.shape());
  for (std::size_t i = 0; i < 16; ++i) folded.profile.push_back(i == 4 ? 5 : i == 9 ? 2 : 0);
  const Picture canvas = draw_fold_figure(folded, {});
  const Colour line = Theme{}.accent;
  const auto tops = [&](double x) {  // the line's middle in a column
    double sum = 0, n = 0;
    for (const Point& p : pixels_like(canvas, line, {x, 172, x + 1, 468})) sum += p.y, n += 1;
    return n > 0 ? sum / n : 0;
  };
  double highest = 1e9, at = 0, n_compared = 0;
  for (double x = 165; x < 470; x += 1) {  // a turn is 340 pixels
    const double first = tops(x), second = tops(x + 340);
    if (first == 0 || second == 0) continue;  // under a line of the grid
    n_compared += 1;
    BOOST_TEST(std::abs(first - second) < 1.5);
    if (first < highest) highest = first, at = x;
  }
  BOOST_TEST(n_compared > 280);
  BOOST_TEST(std::abs(at - (140 + 4.5 / 16 * 340)) < 2);
}

BOOST_AUTO_TEST_CASE(losses_stand_at_their_inputs) {
  VoltageSummary s;
  s.n_ant = 3, s.n_pol = 2, s.n_chan = 1, s.n_bit = 8, s.sample_s = 1e-6, s.n_time = 100;
  s.power_sum.resize({6, 256});
  s.n_power.resize({6, 256});
  s.levels.resize({6, 256});
  s.n_values.assign(6, 200), s.n_saturated.assign(6, 0), s.n_missing.assign(3, 0);
  s.n_missing[2] = 100;  // half of the samples of the last antenna
  s.n_saturated[0] = 100;
  s.freq_hz = {150e6, 150.1e6};
  s.spectrum.resize({6, 2});
  s.n_spectrum.resize({6, 2});
  for (std::size_t i = 0; i < 6; ++i) {
    s.levels(i, 128) = 100, s.levels(i, 130) = 100;
    for (std::size_t f = 0; f < 2; ++f) s.spectrum(i, f) = 100, s.n_spectrum(i, f) = 100;
    s.power_sum(i, 0) = 400, s.n_power(i, 0) = 100;
  }
  const Picture canvas = draw_voltage_figure(s, {});
  // The RMS of a component is the root of half the power, 4: half of its axis is at 0.78, and 0.5 has a tick.
  const double tick_y = 870 - 0.5 / (1.1 * std::sqrt(2.0)) * 140;
  BOOST_TEST(pixels_like(canvas, Theme{}.ink, {1083, tick_y - 1.5, 1088, tick_y + 1.5}, 0.3f).size() > 0);
  const Rect panel{1080, 1000, 1840, 1130};
  const auto input_at = [&](const Point& p) { return (p.x - panel.x0) / panel.width() * 6 - 0.5; };
  const auto missing = pixels_like(canvas, {0.45f, 0.48f, 0.55f}, panel),
             saturated = pixels_like(canvas, {0.90f, 0.42f, 0.05f}, panel);
  BOOST_REQUIRE(missing.size() > 1000u);
  BOOST_REQUIRE(saturated.size() > 1000u);
  for (const Point& p : missing) BOOST_REQUIRE(input_at(p) > 3.9);
  for (const Point& p : saturated) BOOST_REQUIRE(std::abs(input_at(p)) < 0.5);
}

BOOST_AUTO_TEST_CASE(a_factor_of_ten_is_20_db_of_amplitudes_and_10_of_powers) {
  VisibilitySummary s;
  s.products = {Product::XX};
  s.antennas = {"a", "b", "c"};
  s.interval_s = 1;
  s.channel_hz = {100e6, 101e6};
  s.channel_width_hz = 1e6;
  s.waterfall.n_band = 2;
  s.waterfall.sum_amplitude.resize({1, 2, 4});
  s.waterfall.sum_visibility.resize({1, 2, 4});
  s.waterfall.n.resize({1, 2, 4});
  for (std::size_t i = 0; i < 4; ++i) {
    s.waterfall.bins[static_cast<std::int64_t>(i)] = i;
    for (std::size_t band = 0; band < 2; ++band)
      s.waterfall.n(0, band, i) = 2, s.waterfall.sum_amplitude(0, band, i) = band == 0 ? 2 : 20;
  }
  s.last_time_mjd_s = 3;
  Canvas canvas(1000, 800);
  const Theme theme = figure_theme(1000);
  const ColourMap map("ember");
  const Rect panel{200, 100, 800, 500};
  const Stretch amplitude = draw_waterfall_amplitude(canvas, theme, panel, s, 0, map);
  BOOST_TEST(std::abs(amplitude.high - amplitude.low - 20.2) <
             1e-9);  // a factor of ten, and 0.1 on either side
  BOOST_TEST(is_like(Picture(canvas).pixel(500, 150),
                     map(amplitude(amplitude.high - 0.1))));  // the upper channel is on top
  BOOST_TEST(is_like(Picture(canvas).pixel(500, 450), map(amplitude(amplitude.low + 0.1))));

  s.sum_auto.resize({3, 1, 2});
  s.n_auto.resize({3, 1, 2});
  for (std::size_t ant = 0; ant < 3; ++ant)
    for (std::size_t chan = 0; chan < 2; ++chan)
      s.n_auto(ant, 0, chan) = 4, s.sum_auto(ant, 0, chan) = ant == 0 ? 400 : 4;
  const Stretch power = draw_auto_spectra(canvas, theme, panel, s, 0, map);
  BOOST_TEST(std::abs(power.high - 20.5) < 1e-9);
  BOOST_TEST(is_like(Picture(canvas).pixel(500, 150), map(power(20))));  // the first antenna is on top
  BOOST_TEST(is_like(Picture(canvas).pixel(500, 450), map(power(0))));
}

BOOST_AUTO_TEST_CASE(means_are_of_what_was_recorded) {
  // one of two equal channels ends halfway: the mean does not fall
  DynamicSpectrum s;
  s.sample_s = 1;
  s.start_with({150e6, 151e6}, 2);
  Buffer<float, 2> samples({100, 2});
  for (std::size_t t = 0; t < 100; ++t) samples(t, 0) = 3, samples(t, 1) = t < 50 ? 3 : NAN;
  s.add(samples);
  const auto line = pixels_like(draw_dynamic_spectrum(s, {}), Theme{}.accent, {165, 175, 1135, 365});
  BOOST_REQUIRE(line.size() > 900u);
  for (const Point& p : line) BOOST_REQUIRE(std::abs(p.y - line[0].y) <= 3);
}

BOOST_AUTO_TEST_CASE(candidates_stand_at_their_time_and_their_profile_at_its_bins) {
  TransientFigure f;
  f.duration_s = 7200, f.dm_high = 100, f.threshold = 7;
  TransientDetail& detail = f.best.emplace_back();
  detail.point = {1800, 40, 20};
  f.candidates = {detail.point};
  detail.cutout.spectrum.resize({4, 64});
  detail.cutout.profile.resize({64});
  detail.cutout.profile(40) = 20;
  detail.cutout.first_s = -32, detail.cutout.step_s = 1;
  detail.cutout.low_hz = 1e9, detail.cutout.high_hz = 2e9;
  const Picture canvas = draw_transient_figure(f, 1000);
  const Colour accent = Theme{}.accent;
  const auto mixed = [](float c) { return 0.6f * c + 0.4f; };  // over paper
  const auto bubble = pixels_like(canvas, {mixed(accent.red), mixed(accent.green), mixed(accent.blue)},
                                  {130, 160, 1250, 630});
  BOOST_REQUIRE(bubble.size() > 300u);
  double x = 0, y = 0;
  for (const Point& p : bubble)
    x += p.x / static_cast<double>(bubble.size()), y += p.y / static_cast<double>(bubble.size());
  BOOST_TEST(std::abs(x - (130 + 1120 / 4.0)) < 3);
  BOOST_TEST(std::abs(y - (630 - (40.0 - 0) / 103 * 470)) < 3);  // from 0 to 100 and a margin of 3
  const auto profile = pixels_like(canvas, accent, {130, 780, 1125, 914});
  BOOST_REQUIRE(!profile.empty());
  double top = 0, n = 0;
  for (const Point& p : profile)
    if (p.y <= profile[0].y + 2) top += p.x, n += 1;
  BOOST_TEST(std::abs(top / n - (130 + 40.5 / 64 * 995)) < 3);
}

BOOST_AUTO_TEST_CASE(fringes_turn_in_degrees) {
  VisibilitySummary s;
  s.products = {Product::XX};
  s.antennas = {"a", "b"};
  s.interval_s = 1, s.last_time_mjd_s = 9;
  Fringe fringe{0, 1, 10, {}, {{}}};
  for (int i = 0; i < 10; ++i) {
    fringe.time_s.push_back(i + 0.5);
    fringe.values[0].push_back({0, 2});
  }
  Canvas canvas(1000, 800);
  const Rect phase{100, 400, 900, 760};
  draw_fringe(canvas, figure_theme(1000), {100, 100, 900, 350}, phase, s, fringe, 2);
  const auto dots = pixels_like(canvas, series_colour(0, 2), phase);
  BOOST_REQUIRE(dots.size() > 100u);
  for (const Point& p : dots) BOOST_REQUIRE(std::abs(p.y - 490) < 5);  // a quarter below the top
}

BOOST_AUTO_TEST_CASE(uv_points_stand_in_their_quadrant) {
  VisibilitySummary s;
  s.uv.half_width = 100;
  s.uv.counts.resize({64, 64});
  s.uv.counts(48, 56) = 5;  // v, u: 51 and 76 wavelengths
  s.uv.counts(15, 7) = 5;
  Canvas canvas(1000, 1000);
  const Theme theme = figure_theme(1000);
  draw_uv_coverage(canvas, theme, {100, 100, 900, 900}, s);
  const Picture picture = canvas;
  const auto inked = [&](const Rect& part) {
    std::size_t n = 0;
    for (auto y = static_cast<std::size_t>(part.y0); y < static_cast<std::size_t>(part.y1); ++y)
      for (auto x = static_cast<std::size_t>(part.x0); x < static_cast<std::size_t>(part.x1); ++x)
        n += picture.pixel(x, y).green < 0.7f ? 1 : 0;
    return n;
  };
  BOOST_TEST(inked({520, 120, 880, 480}) > 5u);
  BOOST_TEST(inked({120, 520, 480, 880}) > 5u);
  BOOST_TEST(inked({120, 120, 480, 480}) == 0u);
  BOOST_TEST(inked({520, 520, 880, 880}) == 0u);
}

BOOST_AUTO_TEST_CASE(medians_stand_in_the_unit_of_their_axis) {
  Density density({0, 100, 512}, 0, 10, 10);
  for (int i = 0; i < 512; ++i)
    for (int k = 0; k < 9; ++k) density.add(100.0 * i + 50, 3.5);
  Canvas canvas(1000, 800);
  const Plot plot{{100, 100, 900, 700}, linear_axis(0, 51.2, "k"), linear_axis(0, 10, "y")};
  draw_density(canvas, figure_theme(1000), plot, {&density, 1000, true});
  const auto line = pixels_like(canvas, {0.93f, 0.44f, 0.05f}, plot.panel, 0.1f);
  BOOST_REQUIRE(line.size() > 700u);
  for (const Point& p : line) BOOST_REQUIRE(std::abs(p.y - (700 - 3.5 / 10 * 600)) < 4);
}

BOOST_AUTO_TEST_CASE(the_brightest_source_gets_the_best_place_for_its_name) {
  const Image image = small_field();
  ImageFigureOptions options;
  SkyComponent bright, faint;
  bright.name = "MMMMMM", faint.name = "i";
  bright.direction = faint.direction = image.info.centre;
  bright.stokes_jy[0] = 10, faint.stokes_jy[0] = 1;
  options.marks.components = {faint, bright};
  const Picture canvas = draw_image_figure(image, options);
  const SkyView view = image_figure_view(image, options);
  const Point at = *view.to_canvas(image.info.centre);
  const Colour mark{0.25f, 0.95f, 1.0f};
  const auto right = pixels_like(canvas, mark, {at.x + 19, at.y - 15, at.x + 250, at.y + 15}, 0.1f);
  const auto left = pixels_like(canvas, mark, {at.x - 250, at.y - 15, at.x - 19, at.y + 15}, 0.1f);
  BOOST_TEST(right.size() > 3 * left.size());
}

BOOST_AUTO_TEST_SUITE_END()
