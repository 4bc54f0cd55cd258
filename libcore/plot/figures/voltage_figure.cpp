// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/plot/figures/voltage_figure.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "libcore/base/error.h"
#include "libcore/plot/density_plot.h"

namespace apsyn {
namespace {

constexpr Colour kSaturated{0.90f, 0.42f, 0.05f}, kMissing{0.45f, 0.48f, 0.55f}, kBar{0.20f, 0.43f, 0.71f};

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

/// Rows of mean powers in dB about their median; the first input becomes the last row, so it is drawn on top.
struct Decibels {
  Buffer<double, 2> rows;
  Stretch stretch;
};
Decibels decibels(View<const double, 2> sums, View<const std::uint64_t, 2> counts, std::size_t n_columns) {
  Decibels out;
  const std::size_t n = sums.extent(0);
  out.rows.resize({n, n_columns});
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n_columns; ++j) {
      const double power = sums(i, j) / static_cast<double>(counts(i, j));
      out.rows(n - 1 - i, j) = power > 0 ? 10 * std::log10(power) : NAN;
      if (power > 0) values.push_back(10 * std::log10(power));
    }
  if (values.empty()) return out;
  std::sort(values.begin(), values.end());
  const auto at = [&](double f) {
    return values[static_cast<std::size_t>(f * static_cast<double>(values.size() - 1))];
  };
  for (double& value : out.rows) value -= at(0.5);
  const double low = std::max(at(0.005) - at(0.5), -40.0), high = at(0.998) - at(0.5),
               margin = std::max(0.1, 0.05 * (high - low));
  out.stretch = {StretchKind::linear, low - margin, high + margin, 1};
  return out;
}

void draw_heat(Canvas& canvas, const Theme& theme, const Rect& panel, const Decibels& data, const Axis& x,
               const ColourMap& map) {
  const Plot plot{panel, x, row_axis(data.rows.extent(0), "Input")};
  const Rect range{-0.5, -0.5, static_cast<double>(data.rows.extent(1)) - 0.5,
                   static_cast<double>(data.rows.extent(0)) - 0.5};
  draw_raster(canvas, panel, {data.rows, range, Reduction::mean}, map, data.stretch);
  draw_plot_frame(canvas, theme, plot);
  draw_colour_bar(canvas, theme, {panel.x1 + theme.px(18), panel.y0, panel.x1 + theme.px(40), panel.y1}, map,
                  data.stretch, "dB about the median");
}

void draw_powers(Canvas& canvas, const Theme& theme, const Rect& panel, const VoltageSummary& s,
                 const ColourMap& map) {
  const auto n_bins = static_cast<std::size_t>(std::clamp(
      std::ceil(static_cast<double>(s.n_time) / s.time.width), 1.0, static_cast<double>(s.time.n)));
  const double span = static_cast<double>(n_bins) * s.time.width * s.sample_s;
  const ScaledUnit unit = seconds_unit(span);
  draw_heat(canvas, theme, panel, decibels(s.power_sum, s.n_power, n_bins),
            linear_axis(0, span / unit.factor, fmt::format("Time ({})", unit.name)), map);
  draw_panel_title(canvas, theme, panel, "Power of the inputs");
}

void draw_bandpasses(Canvas& canvas, const Theme& theme, const Rect& panel, const VoltageSummary& s,
                     const ColourMap& map) {
  const ScaledUnit unit = hertz_unit(s.freq_hz.back());
  const double half = s.freq_hz.size() > 1 ? (s.freq_hz[1] - s.freq_hz[0]) / 2 : 0.5 / s.sample_s;
  draw_heat(canvas, theme, panel, decibels(s.spectrum, s.n_spectrum, s.freq_hz.size()),
            linear_axis((s.freq_hz.front() - half) / unit.factor, (s.freq_hz.back() + half) / unit.factor,
                        fmt::format("Frequency ({})", unit.name)),
            map);
  draw_panel_title(canvas, theme, panel, "Spectra of the inputs");
}

/// The fraction of values at each level, a faint line for each input and the mean of all.
void draw_levels(Canvas& canvas, const Theme& theme, const Rect& panel, const VoltageSummary& s) {
  std::size_t first = 255, last = 0;
  std::vector<double> total(256, 0);
  double all = 0, lowest = 1;
  for (std::size_t i = 0; i < s.n_inputs(); ++i)
    for (std::size_t b = 0; b < 256; ++b) {
      if (s.levels(i, b) == 0) continue;
      first = std::min(first, b), last = std::max(last, b);
      total[b] += static_cast<double>(s.levels(i, b)), all += static_cast<double>(s.levels(i, b));
    }
  for (double count : total)
    if (count > 0) lowest = std::min(lowest, count / all);
  const auto value = [&](std::size_t bin) { return (static_cast<double>(bin) - 128) * s.level_step; };
  const double margin = std::max(s.level_step, 0.03 * (value(last) - value(first)));
  const Plot plot{panel,
                  linear_axis(value(first) - margin, value(last) + margin,
                              s.integer ? "Sample value (steps)" : "Sample value", 8),
                  log_axis(std::max(-8.0, std::log10(lowest) - 0.3), 0.1, "Fraction of samples", 5)};
  draw_plot_background(canvas, theme, plot);
  const auto line = [&](auto count, double sum) {
    Path path;
    for (std::size_t b = first; b <= last; ++b) {
      const double y = count(b) > 0 ? std::log10(static_cast<double>(count(b)) / sum) : plot.y.low - 1;
      path.push_back(plot.at(value(b) - s.level_step / 2, y));
      path.push_back(plot.at(value(b) + s.level_step / 2, y));
    }
    return path;
  };
  canvas.clip(panel);
  for (std::size_t i = 0; i < s.n_inputs(); ++i)
    if (s.n_values[i] > 0)
      canvas.stroke({line([&](std::size_t b) { return s.levels(i, b); }, static_cast<double>(s.n_values[i]))},
                    {kBar, theme.px(1.2), std::clamp(8.0 / static_cast<double>(s.n_inputs()), 0.15, 0.6)});
  canvas.stroke({line([&](std::size_t b) { return total[b]; }, all)}, {theme.ink, theme.px(2.6), 1});
  canvas.unclip();
  draw_plot_frame(canvas, theme, plot);
  const double width =
      draw_legend(canvas, theme, panel, {{{}, {}, kBar, "inputs"}, {{}, {}, theme.ink, "all"}});
  draw_panel_title(canvas, theme, panel, "Levels of real and imaginary parts", width);
}

/// Bars for each input.
void draw_bars(Canvas& canvas, const Plot& plot, const std::vector<double>& heights, Colour colour,
               double from, double to) {
  canvas.clip(plot.panel);
  for (std::size_t i = 0; i < heights.size(); ++i) {
    if (!(heights[i] > 0)) continue;
    const Point corner = plot.at(static_cast<double>(i) + from, heights[i]);
    canvas.fill(Rect{corner.x, corner.y, plot.at(static_cast<double>(i) + to, 0).x, plot.at(0, plot.y.low).y},
                colour);
  }
  canvas.unclip();
}

Axis input_axis(std::size_t n) {
  Axis axis = row_axis(n, "Input");
  std::swap(axis.low, axis.high);
  return axis;
}

void draw_rms(Canvas& canvas, const Theme& theme, const Rect& panel, const VoltageSummary& s) {
  std::vector<double> rms(s.n_inputs());
  for (std::size_t i = 0; i < rms.size(); ++i) {
    double sum = 0, n = 0;
    for (std::size_t b = 0; b < s.time.n; ++b)
      sum += s.power_sum(i, b), n += static_cast<double>(s.n_power(i, b));
    rms[i] = n > 0 ? std::sqrt(sum / n / s.n_dim) : 0;
  }
  const double most = *std::max_element(rms.begin(), rms.end());
  const Plot plot{panel, input_axis(rms.size()),
                  linear_axis(0, most > 0 ? 1.1 * most : 1, s.integer ? "RMS (steps)" : "RMS", 3)};
  draw_plot_background(canvas, theme, plot);
  draw_bars(canvas, plot, rms, kBar, -0.38, 0.38);
  draw_plot_frame(canvas, theme, plot);
  draw_panel_title(canvas, theme, panel, "RMS of real and imaginary parts");
}

void draw_losses(Canvas& canvas, const Theme& theme, const Rect& panel, const VoltageSummary& s) {
  std::vector<double> saturated(s.n_inputs()), missing(s.n_inputs());
  for (std::size_t i = 0; i < s.n_inputs(); ++i) {
    saturated[i] = percent(s.n_saturated[i], s.n_values[i]);
    missing[i] = percent(s.n_missing[i / s.n_pol], static_cast<std::uint64_t>(s.n_time) * s.n_chan * s.n_pol);
  }
  double most = 0;
  for (const auto* all : {&saturated, &missing})
    most = std::max(most, *std::max_element(all->begin(), all->end()));
  const Plot plot{panel, input_axis(s.n_inputs()), linear_axis(0, most > 0 ? 1.1 * most : 1, "%", 3)};
  draw_plot_background(canvas, theme, plot);
  draw_bars(canvas, plot, saturated, kSaturated, -0.38, 0);
  draw_bars(canvas, plot, missing, kMissing, 0, 0.38);
  draw_plot_frame(canvas, theme, plot);
  const double width =
      draw_legend(canvas, theme, panel, {{{}, {}, kSaturated, "saturated"}, {{}, {}, kMissing, "missing"}});
  draw_panel_title(canvas, theme, panel, "Saturated and missing samples", width);
}

Heading heading_of(const VoltageSummary& s, const std::string& title) {
  const bool source = !s.source.empty() && s.source != "unknown";
  const bool telescope = !s.telescope.empty() && s.telescope != "unknown";
  Heading heading{!title.empty() ? title : source ? s.source : telescope ? s.telescope : "Voltages", ""};
  if (telescope && heading.title != s.telescope) heading.subtitle = s.telescope + "  \u00b7  ";
  std::string start = format_fits_utc(s.start, 0);
  if (const auto t = start.find('T'); t != std::string::npos) start[t] = ' ';
  heading.subtitle += fmt::format(
      "{} antennas \u00d7 {} pol  \u00b7  {} channel{}  \u00b7  {} bit {}  \u00b7  {} UTC", s.n_ant, s.n_pol,
      s.n_chan, s.n_chan == 1 ? "" : "s", s.n_bit, s.n_dim == 2 ? "complex" : "real", start);
  return heading;
}

std::string footer_of(const VoltageSummary& s) {
  std::uint64_t values = 0, saturated = 0, missing = 0;
  for (std::uint64_t n : s.n_values) values += n;
  for (std::uint64_t n : s.n_saturated) saturated += n;
  for (std::uint64_t n : s.n_missing) missing += n;
  const double span = static_cast<double>(s.n_time) * s.sample_s;
  const ScaledUnit unit = seconds_unit(span);
  const std::uint64_t all = static_cast<std::uint64_t>(s.n_time) * s.n_chan * s.n_inputs();
  return fmt::format(
      "{} samples, {} {}  \u00b7  {:.3g} % saturated (at the ends of the range)  \u00b7  {:.3g} % missing",
      s.n_time, short_number(span / unit.factor), unit.name, percent(saturated, values),
      percent(missing, all));
}

}  // namespace

Canvas draw_voltage_figure(const VoltageSummary& s, const VoltageFigureOptions& o) {
  if (std::all_of(s.n_values.begin(), s.n_values.end(), [](std::uint64_t n) { return n == 0; }))
    throw FailureError("no usable data: every sample is missing");
  const Theme theme = figure_theme(o.size);
  const ColourMap map(o.colour_map);
  Canvas canvas(static_cast<std::size_t>(theme.px(1900)), static_cast<std::size_t>(theme.px(1290)));
  draw_heading(canvas, theme, theme.px(60), theme.px(1800), heading_of(s, o.title));
  draw_powers(canvas, theme, theme.rect(130, 160, 640, 440), s, map);
  draw_bandpasses(canvas, theme, theme.rect(1080, 160, 640, 440), s, map);
  draw_levels(canvas, theme, theme.rect(130, 730, 760, 400), s);
  draw_rms(canvas, theme, theme.rect(1080, 730, 760, 140), s);
  draw_losses(canvas, theme, theme.rect(1080, 1000, 760, 130), s);
  const TextStyle style = theme.small_text(20);
  canvas.text(fitted(footer_of(s), style, theme.px(1800)), {theme.px(60), theme.px(1266)}, style);
  return canvas;
}

}  // namespace apsyn
