// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/plot/figures/time_series_figure.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "libcore/base/error.h"
#include "libcore/plot/density_plot.h"

namespace apsyn {

Canvas draw_time_series(const std::vector<TimeSeries>& series, const TimeSeriesFigure& figure) {
  constexpr std::size_t kFewPoints = 64;
  const Theme theme = figure_theme(figure.size);
  const ScaledUnit unit = seconds_unit(figure.end_s);
  double low = figure.from_zero ? 0 : INFINITY, high = figure.from_zero ? 0 : -INFINITY;
  bool any = false;
  std::vector<Series> lines, dots;
  for (const TimeSeries& one : series) {
    Series line{{}, {}, series_colour(lines.size(), std::max<std::size_t>(2, series.size())), one.name};
    for (std::size_t i = 0; i < one.value.size(); ++i) {
      line.x.push_back(one.time_s[i] / unit.factor);
      line.y.push_back(one.value[i]);
      if (!std::isfinite(one.value[i])) continue;
      any = true;
      low = std::min(low, one.value[i]), high = std::max(high, one.value[i]);
    }
    if (line.x.size() <= kFewPoints) dots.push_back(line);
    lines.push_back(std::move(line));
  }
  if (!any) throw FailureError("no usable data: every sample is missing");
  const double margin = high > low ? 0.06 * (high - low) : std::max(1e-30, 0.1 * std::abs(high));

  Canvas canvas(static_cast<std::size_t>(theme.px(1260)), static_cast<std::size_t>(theme.px(960)));
  draw_heading(canvas, theme, theme.px(50), theme.px(1160), {figure.title, figure.subtitle});
  const Rect panel{std::round(theme.px(150)), std::round(theme.px(190)), std::round(theme.px(1200)),
                   std::round(theme.px(840))};
  const Plot plot{panel, linear_axis(0, figure.end_s / unit.factor, fmt::format("Time ({})", unit.name), 8),
                  linear_axis(low - margin, high + margin, figure.label, 6)};
  draw_plot_background(canvas, theme, plot);
  draw_lines(canvas, theme, plot, lines);
  draw_dots(canvas, theme, plot, dots);
  draw_plot_frame(canvas, theme, plot);
  draw_legend(canvas, theme, panel, lines);
  return canvas;
}

}  // namespace apsyn
