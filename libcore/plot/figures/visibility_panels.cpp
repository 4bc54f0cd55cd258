// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/plot/figures/visibility_panels.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "libcore/base/constants.h"
#include "libcore/base/median.h"
#include "libcore/base/time.h"

namespace apsyn {
namespace {

constexpr double kAmplitudeTail = 0.002;  // log amplitudes have a long thin tail towards zero

struct Pixel {
  std::uint32_t count;
  std::size_t x, y;
};

/// The counts gathered on the panel's pixels, rising counts.
std::vector<Pixel> pixels_of(const UvCounts& uv, const Plot& plot, double unit) {
  const auto width = static_cast<std::size_t>(plot.panel.width()),
             height = static_cast<std::size_t>(plot.panel.height());
  Buffer<std::uint32_t, 2> sums({height, width});
  const std::size_t n = uv.counts.extent(0);
  const double cell = 2 * uv.half_width / static_cast<double>(n);
  for (std::size_t v = 0; v < n; ++v)
    for (std::size_t u = 0; u < n; ++u) {
      if (uv.counts(v, u) == 0) continue;
      const Point at = plot.at((-uv.half_width + cell * (static_cast<double>(u) + 0.5)) / unit,
                               (-uv.half_width + cell * (static_cast<double>(v) + 0.5)) / unit);
      const double x = at.x - plot.panel.x0, y = at.y - plot.panel.y0;
      if (x < 0 || y < 0 || x >= static_cast<double>(width) || y >= static_cast<double>(height)) continue;
      sums(static_cast<std::size_t>(y), static_cast<std::size_t>(x)) += uv.counts(v, u);
    }
  std::vector<Pixel> pixels;
  for (std::size_t y = 0; y < height; ++y)
    for (std::size_t x = 0; x < width; ++x)
      if (sums(y, x) > 0) pixels.push_back({sums(y, x), x, y});
  std::stable_sort(pixels.begin(), pixels.end(),
                   [](const Pixel& a, const Pixel& b) { return a.count < b.count; });
  return pixels;
}

const AmplitudePhase& data_against(const VisibilitySummary& s, Against against) {
  switch (against) {
    case Against::time:
      return s.against_time;
    case Against::frequency:
      return s.against_freq;
    default:
      return s.against_baseline;
  }
}

/// The axis and the divisor from the density's x to the axis.
std::pair<Axis, double> x_axis(const VisibilitySummary& s, Against against) {
  if (against == Against::time) {
    const double span = s.last_time_mjd_s - s.first_time_mjd_s + s.interval_s;
    const ScaledUnit unit = seconds_unit(span);
    return {linear_axis(0, span / unit.factor, since_start_label(s, unit)), unit.factor};
  }
  if (against == Against::frequency) {
    const ScaledUnit unit = hertz_unit(s.channel_hz.back());
    const double half = std::max(s.channel_width_hz, 1.0) / 2;
    return {linear_axis((s.channel_hz.front() - half) / unit.factor,
                        (s.channel_hz.back() + half) / unit.factor, fmt::format("Frequency ({})", unit.name)),
            unit.factor};
  }
  const ScaledUnit unit = wavelengths_unit(s.longest_wavelengths);
  return {linear_axis(0, 1.03 * s.longest_wavelengths / unit.factor,
                      fmt::format("Baseline length ({})", unit.name)),
          unit.factor};
}

Axis phase_axis() {
  return {-180, 180, phase_ticks(), "Phase"};
}

std::vector<double> frequencies(const VisibilitySummary& s, double unit) {
  std::vector<double> x;
  for (double hz : s.channel_hz) x.push_back(hz / unit);
  return x;
}

}  // namespace

std::string since_start_label(const VisibilitySummary& s, const ScaledUnit& unit) {
  std::string start = format_fits_utc(from_mjd_seconds(s.first_time_mjd_s - s.interval_s / 2), 0);
  if (const auto t = start.find('T'); t != std::string::npos) start[t] = ' ';
  return fmt::format("Time since {} UTC ({})", start, unit.name);
}

std::pair<Axis, double> time_axis(const VisibilitySummary& s) {
  return x_axis(s, Against::time);
}

std::pair<Axis, double> frequency_axis(const VisibilitySummary& s) {
  return x_axis(s, Against::frequency);
}

void draw_uv_coverage(Canvas& canvas, const Theme& theme, const Rect& panel, const VisibilitySummary& s) {
  double reach = 0;
  const std::size_t n = s.uv.counts.extent(0);
  const double cell = 2 * s.uv.half_width / static_cast<double>(n);
  for (std::size_t v = 0; v < n; ++v)
    for (std::size_t u = 0; u < n; ++u)
      if (s.uv.counts(v, u) > 0)
        for (std::size_t at : {u, v})
          reach = std::max(reach, std::abs(cell * (static_cast<double>(at) + 0.5) - s.uv.half_width));
  const ScaledUnit unit = wavelengths_unit(reach);
  const double high = std::max(1.08 * reach, cell) / unit.factor;
  const Plot plot{panel, linear_axis(-high, high, fmt::format("u ({})", unit.name), 7),
                  linear_axis(-high, high, fmt::format("v ({})", unit.name), 7)};
  draw_plot_background(canvas, theme, plot);
  const std::vector<Pixel> pixels = pixels_of(s.uv, plot, unit.factor);
  const double filled = static_cast<double>(pixels.size()) / (panel.width() * panel.height());
  // few points need size to be seen, many would run into each other
  const double radius = theme.px(filled < 0.002 ? 3.2 : filled < 0.02 ? 2.0 : filled < 0.1 ? 1.2 : 0.5);
  const ColourMap map("ink");
  const double most = pixels.empty() ? 1 : std::log1p(pixels.back().count);
  const Rect whole{std::floor(panel.x0), std::floor(panel.y0),
                   std::floor(panel.x0) + std::floor(panel.width()),
                   std::floor(panel.y0) + std::floor(panel.height())};
  Buffer<std::uint32_t, 2> raster;  // of points that are no larger than a pixel
  if (radius <= theme.px(0.5))
    raster.resize({static_cast<std::size_t>(whole.height()), static_cast<std::size_t>(whole.width())});
  canvas.clip(panel);
  for (const Pixel& pixel : pixels) {
    const Colour colour = map(0.35 + 0.55 * std::log1p(pixel.count) / most);
    const Point at{whole.x0 + static_cast<double>(pixel.x) + 0.5,
                   whole.y0 + static_cast<double>(pixel.y) + 0.5};
    if (raster.size() > 0)
      raster(pixel.y, pixel.x) = image_pixel(colour);
    else
      canvas.stroke({{at, at}}, {colour, 2 * radius, 1});
  }
  canvas.unclip();
  if (raster.size() > 0) canvas.image(whole, std::move(raster), whole);
  draw_plot_frame(canvas, theme, plot);
  draw_panel_title(canvas, theme, panel, "uv coverage");
}

void draw_amplitude(Canvas& canvas, const Theme& theme, const Rect& panel, const VisibilitySummary& s,
                    Against against) {
  const Density& density = data_against(s, against).log_amplitude;
  const auto [x, unit] = x_axis(s, against);
  const Bounds range = used_range(density, kAmplitudeTail);
  const double margin = 0.04 * (range.high - range.low);
  const Plot plot{panel, x, log_axis(range.low - margin, range.high + margin, "Amplitude", 4)};
  draw_plot_background(canvas, theme, plot);
  draw_density(canvas, theme, plot, {&density, unit, true});
  draw_plot_frame(canvas, theme, plot);
}

void draw_phase(Canvas& canvas, const Theme& theme, const Rect& panel, const VisibilitySummary& s,
                Against against) {
  const auto [x, unit] = x_axis(s, against);
  const Plot plot{panel, x, phase_axis()};
  draw_plot_background(canvas, theme, plot);
  draw_density(canvas, theme, plot, {&data_against(s, against).phase_deg, unit, false});
  draw_plot_frame(canvas, theme, plot);
}

void draw_amplitude_spectrum(Canvas& canvas, const Theme& theme, const Rect& panel,
                             const VisibilitySummary& s) {
  const auto [x, unit] = x_axis(s, Against::frequency);
  std::vector<Series> means, vectors;
  double low = INFINITY, high = -INFINITY;
  for (std::size_t p = 0; p < s.products.size(); ++p) {
    Series mean{frequencies(s, unit), {}, series_colour(p, s.products.size()), product_name(s.products[p])};
    Series vector = mean;
    for (std::size_t c = 0; c < s.channel_hz.size(); ++c) {
      const double n = static_cast<double>(s.n_cross(p, c));
      mean.y.push_back(n > 0 && s.sum_amplitude(p, c) > 0 ? std::log10(s.sum_amplitude(p, c) / n) : NAN);
      vector.y.push_back(n > 0 && std::abs(s.sum_visibility(p, c)) > 0
                             ? std::log10(std::abs(s.sum_visibility(p, c)) / n)
                             : NAN);
      for (double y : {mean.y.back(), vector.y.back()})
        if (std::isfinite(y)) low = std::min(low, y), high = std::max(high, y);
    }
    means.push_back(mean);
    vectors.push_back(vector);
  }
  if (!(low <= high)) low = -1, high = 1;
  const double margin = std::max(0.05, 0.05 * (high - low));
  const Plot plot{panel, x, log_axis(std::max(low, high - 6) - margin, high + margin, "Amplitude")};
  draw_plot_background(canvas, theme, plot);
  draw_lines(canvas, theme, plot, means);
  draw_dots(canvas, theme, plot, vectors);
  draw_plot_frame(canvas, theme, plot);
  const double width = draw_legend(canvas, theme, panel, means);
  draw_panel_title(canvas, theme, panel, "Mean amplitude (lines), amplitude of the mean (dots)", width);
}

void draw_phase_spectrum(Canvas& canvas, const Theme& theme, const Rect& panel, const VisibilitySummary& s) {
  const auto [x, unit] = x_axis(s, Against::frequency);
  const Plot plot{panel, x, phase_axis()};
  std::vector<Series> phases;
  for (std::size_t p = 0; p < s.products.size(); ++p) {
    Series phase{frequencies(s, unit), {}, series_colour(p, s.products.size()), ""};
    for (std::size_t c = 0; c < s.channel_hz.size(); ++c)
      phase.y.push_back(std::abs(s.sum_visibility(p, c)) > 0 ? std::arg(s.sum_visibility(p, c)) / kRadPerDeg
                                                             : NAN);
    phases.push_back(phase);
  }
  draw_plot_background(canvas, theme, plot);
  draw_dots(canvas, theme, plot, phases);
  draw_plot_frame(canvas, theme, plot);
  draw_panel_title(canvas, theme, panel, "Phase of the mean");
}

Stretch draw_auto_spectra(Canvas& canvas, const Theme& theme, const Rect& panel, const VisibilitySummary& s,
                          std::size_t product, const ColourMap& map) {
  std::size_t n_ant = 1;  // antennas at the end of the table without data are left out
  for (std::size_t a = 0; a < s.antennas.size(); ++a)
    for (std::size_t c = 0; c < s.channel_hz.size(); ++c)
      if (s.n_auto(a, product, c) > 0) n_ant = a + 1;
  Buffer<double, 2> decibel({n_ant, s.channel_hz.size()});
  std::vector<double> values;
  for (std::size_t a = 0; a < n_ant; ++a)
    for (std::size_t c = 0; c < s.channel_hz.size(); ++c) {
      const double power = s.sum_auto(a, product, c) / static_cast<double>(s.n_auto(a, product, c));
      double& out = decibel(n_ant - 1 - a, c);  // the first antenna on top
      out = power > 0 ? 10 * std::log10(power) : NAN;
      if (std::isfinite(out)) values.push_back(out);
    }
  const double reference = median_of(values);
  for (double& value : decibel) value -= reference;
  for (double& value : values) value -= reference;
  std::sort(values.begin(), values.end());
  const auto at = [&](double f) {
    return values.empty() ? 0 : values[static_cast<std::size_t>(f * static_cast<double>(values.size() - 1))];
  };
  Stretch stretch{StretchKind::linear, std::floor(at(0.01)) - 0.5, std::ceil(at(0.99)) + 0.5, 1};
  auto [x, unit] = x_axis(s, Against::frequency);
  const Plot plot{panel, x, row_axis(n_ant, "Antenna")};
  const Rect range{-0.5, -0.5, static_cast<double>(s.channel_hz.size()) - 0.5,
                   static_cast<double>(n_ant) - 0.5};
  draw_raster(canvas, panel, {decibel, range, Reduction::mean}, map, stretch);
  draw_plot_frame(canvas, theme, plot);
  draw_panel_title(canvas, theme, panel, product_name(s.products[product]));
  return stretch;
}

}  // namespace apsyn
