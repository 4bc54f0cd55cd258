// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/plot/density_plot.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "libcore/base/constants.h"

namespace apsyn {
namespace {

constexpr Colour kMedian{0.93f, 0.44f, 0.05f};

/// The y (continuous within the bin) below which half of a column's counts lie; NaN for an empty column.
double column_median(const Density& density, std::size_t column) {
  const auto counts = density.counts();
  std::uint64_t total = 0, sum = 0;
  for (std::size_t j = 0; j < counts.extent(1); ++j) total += counts(column, j);
  if (total == 0) return NAN;
  for (std::size_t j = 0; j < counts.extent(1); ++j) {
    if (2 * (sum + counts(column, j)) >= total) {
      const double part = (0.5 * static_cast<double>(total) - static_cast<double>(sum)) /
                          static_cast<double>(counts(column, j));
      return density.y_low() + density.y_step() * (static_cast<double>(j) + part);
    }
    sum += counts(column, j);
  }
  return NAN;
}

}  // namespace

ScaledUnit seconds_unit(double span_s) {
  if (span_s < 0.5) return {1e-3, "ms"};
  if (span_s < 600) return {1, "s"};
  if (span_s < 4 * 3600) return {60, "min"};
  return {3600, "h"};
}

ScaledUnit wavelengths_unit(double wavelengths) {
  if (wavelengths < 2e3) return {1, "\u03bb"};
  if (wavelengths < 2e6) return {1e3, "k\u03bb"};
  return {1e6, "M\u03bb"};
}

ScaledUnit hertz_unit(double hz) {
  if (hz < 1e6) return {1e3, "kHz"};
  if (hz < 1e10) return {1e6, "MHz"};
  return {1e9, "GHz"};
}

Bounds used_range(const Density& density, double tail) {
  const auto counts = density.counts();
  std::vector<std::uint64_t> rows(counts.extent(1), 0);
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < counts.extent(0); ++i)
    for (std::size_t j = 0; j < counts.extent(1); ++j) rows[j] += counts(i, j), total += counts(i, j);
  std::size_t first = 0, last = rows.size();
  std::uint64_t below = 0;
  if (total == 0)
    return {density.y_low(), density.y_low() + density.y_step() * static_cast<double>(rows.size())};
  while (static_cast<double>(below + rows[first]) <= tail * static_cast<double>(total))
    below += rows[first++];
  while (rows[last - 1] == 0) --last;
  return {density.y_low() + density.y_step() * static_cast<double>(first),
          density.y_low() + density.y_step() * static_cast<double>(last)};
}

void draw_density(Canvas& canvas, const Theme& theme, const Plot& plot, const DensityPlot& what) {
  const Density& density = *what.density;
  const auto counts = density.counts();
  Buffer<double, 2> shade({counts.extent(1), counts.extent(0)});
  double most = 0;
  for (std::size_t i = 0; i < counts.extent(0); ++i)
    for (std::size_t j = 0; j < counts.extent(1); ++j) {
      shade(j, i) = counts(i, j) == 0 ? NAN : std::log1p(static_cast<double>(counts(i, j)));
      if (counts(i, j) > 0) most = std::max(most, shade(j, i));
    }
  ColourMap map("ink");
  const auto column = [&](double x) { return (x * what.x_unit - density.x().low) / density.x().width - 0.5; };
  const auto row = [&](double y) { return (y - density.y_low()) / density.y_step() - 0.5; };
  const Raster raster{shade,
                      {column(plot.x.low), row(plot.y.low), column(plot.x.high), row(plot.y.high)},
                      Reduction::maximum};
  draw_raster(canvas, plot.panel, raster, [&](double value) {
    return std::isnan(value) ? kTransparent : image_pixel(map(0.18 + 0.72 * value / most));
  });
  if (!what.medians) return;
  Series medians{{}, {}, kMedian, ""};
  for (std::size_t i = 0; i < counts.extent(0); ++i) {
    medians.x.push_back(density.x().centre(i) / what.x_unit);
    medians.y.push_back(column_median(density, i));
  }
  draw_lines(canvas, theme, plot, {medians});
}

void draw_lines(Canvas& canvas, const Theme& theme, const Plot& plot, const std::vector<Series>& series) {
  canvas.clip(plot.panel);
  for (const Series& one : series) {
    Paths paths(1);
    for (std::size_t i = 0; i < one.x.size(); ++i) {
      if (std::isfinite(one.x[i]) && std::isfinite(one.y[i]))
        paths.back().push_back(plot.at(one.x[i], one.y[i]));
      else if (!paths.back().empty())
        paths.emplace_back();
    }
    for (Path& path : paths) {
      if (path.size() != 1) continue;
      path = {{path[0].x - theme.px(3), path[0].y}, {path[0].x + theme.px(3), path[0].y}};
    }
    canvas.stroke(paths, {one.colour, theme.px(2.2), 1});
  }
  canvas.unclip();
}

void draw_dots(Canvas& canvas, const Theme& theme, const Plot& plot, const std::vector<Series>& series) {
  canvas.clip(plot.panel);
  for (const Series& one : series)
    for (std::size_t i = 0; i < one.x.size(); ++i)
      if (std::isfinite(one.x[i]) && std::isfinite(one.y[i])) {
        const Point at = plot.at(one.x[i], one.y[i]);
        canvas.fill(Paths{ellipse_path(at, theme.px(3), theme.px(3))}, one.colour);
      }
  canvas.unclip();
}

double draw_legend(Canvas& canvas, const Theme& theme, const Rect& panel, const std::vector<Series>& series) {
  TextStyle style = theme.text(21);
  style.align_x = AlignX::right;
  double x = panel.x1;
  for (auto one = series.rbegin(); one != series.rend(); ++one) {
    if (one->name.empty()) continue;
    style.colour = theme.ink;
    canvas.text(one->name, {x, panel.y0 - theme.px(11)}, style);
    x = text_box(one->name, {x, panel.y0}, style).x0 - theme.px(6);
    const double y = panel.y0 - theme.px(18);
    canvas.line({x - theme.px(24), y}, {x, y}, {one->colour, theme.px(4), 1});
    x -= theme.px(44);
  }
  return std::max(0.0, x - panel.x0);
}

Colour series_colour(std::size_t index, std::size_t n) {
  const double hue =
      (250 + 360.0 * static_cast<double>(index) / static_cast<double>(std::max<std::size_t>(n, 1))) *
      kRadPerDeg;
  return from_oklch(0.58, 0.16, hue);
}

Axis row_axis(std::size_t n, const std::string& label) {
  const double high = static_cast<double>(n) - 0.5;
  Axis axis{high, -0.5, {}, label};  // the first row on top
  for (const Tick& tick : linear_ticks(-0.5, std::max(high, 0.5), 6))
    if (!tick.label.empty() && tick.value == std::round(tick.value) && tick.value < high)
      axis.ticks.push_back(tick);
  for (Tick& tick : axis.ticks) tick.label = fmt::format("{}", std::lround(tick.value));
  return axis;
}

}  // namespace apsyn
