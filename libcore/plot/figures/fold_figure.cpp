// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/plot/figures/fold_figure.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "libcore/plot/density_plot.h"

namespace apsyn {
namespace {

void draw_profile(Canvas& canvas, const Theme& theme, const Rect& panel, const FoldedPulses& folded,
                  bool labels) {
  const std::size_t n = folded.n_bin();
  Series series{{}, {}, theme.accent, ""};
  for (std::size_t i = 0; i < 2 * n; ++i) {
    series.x.push_back((static_cast<double>(i) + 0.5) / static_cast<double>(n));
    series.y.push_back(folded.profile[i % n] * folded.unit);
  }
  const auto [low, high] = std::minmax_element(series.y.begin(), series.y.end());
  const double margin = *high > *low ? 0.08 * (*high - *low) : 1;
  Axis x = linear_axis(0, 2, labels ? "Phase (turns)" : "", 8);
  if (!labels)
    for (Tick& tick : x.ticks) tick.label.clear();
  const Plot plot{panel, x, linear_axis(*low - margin, *high + margin, "Power", 4)};
  draw_plot_background(canvas, theme, plot);
  draw_lines(canvas, theme, plot, {series});
  draw_plot_frame(canvas, theme, plot);
  draw_panel_title(canvas, theme, panel, "Profile");
}

/// Means [row][two turns], each row about its own mean; rows without data are NaN.
Buffer<double, 2> rows_of(const FoldedPulses& folded, bool of_time) {
  const std::size_t n_row = folded.sum.extent(of_time ? 0 : 1), n_other = folded.sum.extent(of_time ? 1 : 0);
  const std::size_t n = folded.n_bin();
  Buffer<double, 2> rows({n_row, 2 * n});
  for (std::size_t row = 0; row < n_row; ++row) {
    double total = 0, n_total = 0;
    for (std::size_t bin = 0; bin < n; ++bin) {
      double sum = 0, count = 0;
      for (std::size_t other = 0; other < n_other; ++other) {
        const std::size_t subint = of_time ? row : other, band = of_time ? other : row;
        sum += folded.sum(subint, band, bin), count += folded.count(subint, band, bin);
      }
      rows(row, bin) = count > 0 ? sum / count : NAN;
      if (count > 0) total += sum / count, n_total += 1;
    }
    for (std::size_t bin = 0; bin < n; ++bin)
      rows(row, n + bin) = rows(row, bin) =
          (rows(row, bin) - (n_total > 0 ? total / n_total : 0)) * folded.unit;
  }
  return rows;
}

void draw_heat(Canvas& canvas, const Theme& theme, const Rect& panel, Buffer<double, 2> rows, const Axis& y,
               const std::string& title, const ColourMap& map, bool labels) {
  Axis x = linear_axis(0, 2, labels ? "Phase (turns)" : "", 8);
  if (!labels)
    for (Tick& tick : x.ticks) tick.label.clear();
  const Plot plot{panel, x, y};
  Stretch stretch{StretchKind::linear, 0, 1, 1};
  std::tie(stretch.low, stretch.high) = percentile_range(rows, 99.9);
  const PlaneStatistics statistics = plane_statistics(rows);
  stretch.low = std::max(stretch.low, statistics.median - 3 * statistics.noise);
  if (!(stretch.high > stretch.low)) stretch.high = stretch.low + 1;
  const Rect range{-0.5, -0.5, static_cast<double>(rows.extent(1)) - 0.5,
                   static_cast<double>(rows.extent(0)) - 0.5};
  draw_raster(canvas, panel, {rows, range, Reduction::mean}, map, stretch);
  draw_plot_frame(canvas, theme, plot);
  draw_panel_title(canvas, theme, panel, title);
  draw_colour_bar(canvas, theme, {panel.x1 + theme.px(18), panel.y0, panel.x1 + theme.px(40), panel.y1}, map,
                  stretch, "Power");
}

Heading heading_of(const FoldedPulses& folded, const std::string& title) {
  const bool named = !folded.source.empty() && folded.source != "unknown";
  Heading heading{!title.empty() ? title : named ? folded.source : "Folded pulses", ""};
  heading.subtitle =
      fmt::format("P {:.9g} s  \u00b7  DM {:g} pc cm^{{-3}}  \u00b7  S/N {:.1f}  \u00b7  {:.0f} turns",
                  folded.period_s, folded.dm_pc_cm3, folded.pulse.snr, folded.length_s / folded.period_s);
  return heading;
}

std::string footer_of(const FoldedPulses& folded) {
  std::string start;
  if (folded.start) {
    start = " from " + format_fits_utc(*folded.start, 0) + " UTC";
    if (const auto t = start.find('T'); t != std::string::npos) start[t] = ' ';
  }
  const ScaledUnit unit = seconds_unit(folded.length_s);
  return fmt::format("{} {}{}  \u00b7  {} bins", short_number(folded.length_s / unit.factor), unit.name,
                     start, folded.n_bin());
}

}  // namespace

Canvas draw_fold_figure(const FoldedPulses& folded, const FoldFigureOptions& options) {
  const Theme theme = figure_theme(options.size);
  const ColourMap map(options.colour_map);
  const bool profile_alone = folded.sum.extent(0) * folded.sum.extent(1) == 1;
  const double height = profile_alone ? 640 : 1490;
  Canvas canvas(static_cast<std::size_t>(theme.px(1020)), static_cast<std::size_t>(theme.px(height)));
  draw_heading(canvas, theme, theme.px(50), theme.px(920), heading_of(folded, options.title));
  draw_profile(canvas, theme, theme.rect(140, 160, 680, 320), folded, profile_alone);
  canvas.text(footer_of(folded), {theme.px(50), theme.px(height - 24)}, theme.small_text(20));
  if (profile_alone) return canvas;
  const ScaledUnit time = seconds_unit(folded.length_s);
  const double span_s = static_cast<double>(folded.sum.extent(0)) * folded.subint_s;
  draw_heat(canvas, theme, theme.rect(140, 540, 680, 380), rows_of(folded, true),
            linear_axis(0, span_s / time.factor, fmt::format("Time ({})", time.name)), "Time", map, false);
  Buffer<double, 2> bands = rows_of(folded, false);
  std::vector<double> hz = folded.band_hz;
  if (hz.size() > 1 && hz.back() < hz.front()) {  // rising upwards
    std::reverse(hz.begin(), hz.end());
    for (std::size_t row = 0; row < bands.extent(0) / 2; ++row)
      std::swap_ranges(&bands(row, 0), &bands(row, 0) + bands.extent(1),
                       &bands(bands.extent(0) - 1 - row, 0));
  }
  const ScaledUnit frequency = hertz_unit(hz.back());
  const double half = hz.size() > 1 ? (hz[1] - hz[0]) / 2 : 0.5e6;
  draw_heat(canvas, theme, theme.rect(140, 980, 680, 380), std::move(bands),
            linear_axis((hz.front() - half) / frequency.factor, (hz.back() + half) / frequency.factor,
                        fmt::format("Frequency ({})", frequency.name)),
            "Frequency", map, true);
  return canvas;
}

}  // namespace apsyn
