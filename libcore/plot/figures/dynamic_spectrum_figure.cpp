// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/plot/figures/dynamic_spectrum_figure.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "libcore/base/error.h"
#include "libcore/plot/density_plot.h"

namespace apsyn {
namespace {

/// Means of rows or columns of the spectrum, NaN where nothing is.
std::vector<double> means(const DynamicSpectrum& s, std::size_t n_bin, bool of_bands) {
  const std::size_t n = of_bands ? s.band_hz.size() : n_bin, n_other = of_bands ? n_bin : s.band_hz.size();
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i) {
    double sum = 0, count = 0;
    for (std::size_t j = 0; j < n_other; ++j)
      sum += of_bands ? s.sum(i, j) : s.sum(j, i), count += of_bands ? s.count(i, j) : s.count(j, i);
    values.push_back(count > 0 ? sum / count : NAN);
  }
  return values;
}

/// Each band about its mean, in standard deviations of its own bins.
Buffer<double, 2> deviations(const DynamicSpectrum& s, std::size_t n_bin) {
  Buffer<double, 2> rows({s.band_hz.size(), n_bin});
  for (std::size_t band = 0; band < s.band_hz.size(); ++band) {
    double sum = 0, square = 0, n = 0;
    for (std::size_t bin = 0; bin < n_bin; ++bin) {
      const double value = s.count(band, bin) > 0 ? s.sum(band, bin) / s.count(band, bin) : NAN;
      rows(band, bin) = value;
      if (std::isfinite(value)) sum += value, n += 1;
    }
    const double mean = n > 0 ? sum / n : 0;
    for (std::size_t bin = 0; bin < n_bin; ++bin)
      if (std::isfinite(rows(band, bin))) square += (rows(band, bin) - mean) * (rows(band, bin) - mean);
    const double sigma = n > 1 ? std::sqrt(square / (n - 1)) : 0;
    for (std::size_t bin = 0; bin < n_bin; ++bin)
      rows(band, bin) = sigma > 0 ? (rows(band, bin) - mean) / sigma : rows(band, bin) - mean;
  }
  return rows;
}

void draw_curve(Canvas& canvas, const Theme& theme, const Rect& panel, const Axis& x,
                const std::vector<double>& at, const std::vector<double>& values, const std::string& title) {
  double low = INFINITY, high = -INFINITY;
  for (double value : values)
    if (std::isfinite(value)) low = std::min(low, value), high = std::max(high, value);
  const double margin = high > low ? 0.08 * (high - low) : std::max(1e-30, 0.1 * std::abs(high));
  const Plot plot{panel, x, linear_axis(low - margin, high + margin, "Power", 4)};
  draw_plot_background(canvas, theme, plot);
  draw_lines(canvas, theme, plot, {{at, values, theme.accent, ""}});
  draw_plot_frame(canvas, theme, plot);
  draw_panel_title(canvas, theme, panel, title);
}

Heading heading_of(const DynamicSpectrum& s, const std::string& title) {
  const bool named = !s.source.empty() && s.source != "unknown";
  Heading heading{!title.empty() ? title : named ? s.source : "Dynamic spectrum", ""};
  std::string start = format_fits_utc(s.start, 0);
  if (const auto t = start.find('T'); t != std::string::npos) start[t] = ' ';
  const double span_s = static_cast<double>(s.n_time) * s.sample_s;
  const ScaledUnit unit = seconds_unit(span_s), sample = seconds_unit(s.sample_s);
  heading.subtitle =
      fmt::format("{} {} in samples of {} {}  \u00b7  {} UTC", short_number(span_s / unit.factor), unit.name,
                  short_number(s.sample_s / sample.factor), sample.name, start);
  return heading;
}

}  // namespace

Canvas draw_dynamic_spectrum(const DynamicSpectrum& s, const DynamicSpectrumOptions& options) {
  if (std::all_of(s.count.begin(), s.count.end(), [](double n) { return n == 0; }))
    throw FailureError("no usable data: every sample is missing");
  const Theme theme = figure_theme(options.size);
  const ColourMap map(options.colour_map);
  const auto n_bin = static_cast<std::size_t>(std::clamp(
      std::ceil(static_cast<double>(s.n_time) / s.time.width), 1.0, static_cast<double>(s.time.n)));
  const double bin_s = s.time.width * s.sample_s, span_s = static_cast<double>(n_bin) * bin_s;
  const ScaledUnit seconds = seconds_unit(span_s), hertz = hertz_unit(s.band_hz.back());
  const double half_hz = s.band_hz.size() > 1 ? (s.band_hz[1] - s.band_hz[0]) / 2 : 0.5e6;
  const double low_hz = s.band_hz.front() - half_hz, high_hz = s.band_hz.back() + half_hz;

  Canvas canvas(static_cast<std::size_t>(theme.px(1360)), static_cast<std::size_t>(theme.px(1450)));
  draw_heading(canvas, theme, theme.px(50), theme.px(1260), heading_of(s, options.title));
  Axis time = linear_axis(0, span_s / seconds.factor, "", 6);
  std::vector<double> at;
  for (std::size_t bin = 0; bin < n_bin; ++bin)
    at.push_back((static_cast<double>(bin) + 0.5) * bin_s / seconds.factor);
  for (Tick& tick : time.ticks) tick.label.clear();
  draw_curve(canvas, theme, theme.rect(150, 160, 1000, 220), time, at, means(s, n_bin, false),
             "Mean of all channels");

  const Rect panel = theme.rect(150, 440, 1000, 500);
  const Buffer<double, 2> rows = deviations(s, n_bin);
  const auto range = percentile_range(rows, 99.8);
  const Stretch stretch{StretchKind::linear, range.first, std::max(range.second, range.first + 1e-9), 1};
  const Plot plot{
      panel, linear_axis(0, span_s / seconds.factor, fmt::format("Time ({})", seconds.name), 6),
      linear_axis(low_hz / hertz.factor, high_hz / hertz.factor, fmt::format("Frequency ({})", hertz.name))};
  draw_raster(canvas, panel,
              {rows,
               {-0.5, -0.5, static_cast<double>(n_bin) - 0.5, static_cast<double>(s.band_hz.size()) - 0.5},
               Reduction::mean},
              map, stretch);
  draw_plot_frame(canvas, theme, plot);
  draw_panel_title(canvas, theme, panel, "Channels about their means");
  draw_colour_bar(canvas, theme, {panel.x1 + theme.px(18), panel.y0, panel.x1 + theme.px(40), panel.y1}, map,
                  stretch, "Standard deviations");

  std::vector<double> frequency;
  for (double hz : s.band_hz) frequency.push_back(hz / hertz.factor);
  draw_curve(canvas, theme, theme.rect(150, 1090, 1000, 260),
             linear_axis(low_hz / hertz.factor, high_hz / hertz.factor,
                         fmt::format("Frequency ({})", hertz.name), 6),
             frequency, means(s, n_bin, true), "Mean spectrum");
  return canvas;
}

}  // namespace apsyn
