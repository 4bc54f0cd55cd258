// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/plot/figures/visibility_figure.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "libcore/base/error.h"
#include "libcore/base/time.h"
#include "libcore/plot/figures/visibility_panels.h"

namespace apsyn {
namespace {

constexpr double kFooter = 60;

void append(std::string& line, const std::string& part) {
  if (!line.empty() && !part.empty()) line += "  \u00b7  ";
  line += part;
}

Heading heading_of(const VisibilitySummary& s, const std::string& title) {
  Heading heading;
  const bool source = !s.source.empty() && s.source != "unknown";
  const bool telescope = !s.telescope.empty() && s.telescope != "unknown";
  heading.title = !title.empty() ? title : source ? s.source : telescope ? s.telescope : "Visibilities";
  if (telescope && heading.title != s.telescope) append(heading.subtitle, s.telescope);
  if (!s.fringes.empty()) {
    const ScaledUnit unit = hertz_unit(s.fringe_hz);
    append(heading.subtitle, fmt::format("fringes at {:.7g} {}", s.fringe_hz / unit.factor, unit.name));
  }
  const ScaledUnit hz = hertz_unit(s.channel_hz.back());
  const double half = s.channel_width_hz / 2;
  append(heading.subtitle,
         fmt::format("{:.7g}\u2013{:.7g} {}, {} channel{}", (s.channel_hz.front() - half) / hz.factor,
                     (s.channel_hz.back() + half) / hz.factor, hz.name, s.channel_hz.size(),
                     s.channel_hz.size() == 1 ? "" : "s"));
  std::string products;
  for (Product product : s.products) products += (products.empty() ? "" : " ") + product_name(product);
  append(heading.subtitle, products);
  std::string start = format_fits_utc(from_mjd_seconds(s.first_time_mjd_s - s.interval_s / 2), 0);
  if (const auto t = start.find('T'); t != std::string::npos) start[t] = ' ';
  append(heading.subtitle, start + " UTC");
  return heading;
}

std::string footer_of(const VisibilitySummary& s) {
  std::string line = fmt::format("{} antennas", std::count(s.antenna_seen.begin(), s.antenna_seen.end(), 1));
  append(line, fmt::format("{} rows", s.n_rows));
  const ScaledUnit unit = wavelengths_unit(s.longest_wavelengths);
  append(line, fmt::format("longest baseline {} m, {} {}", short_number(s.longest_m),
                           short_number(s.longest_wavelengths / unit.factor), unit.name));
  const double span = s.last_time_mjd_s - s.first_time_mjd_s + s.interval_s;
  const ScaledUnit whole = seconds_unit(span), step = seconds_unit(s.interval_s);
  append(line, fmt::format("{} {} in steps of {} {}", short_number(span / whole.factor), whole.name,
                           short_number(s.interval_s / step.factor), step.name));
  append(line,
         fmt::format("{:.3g} % flagged", 100.0 * static_cast<double>(s.n_flagged) /
                                             static_cast<double>(std::max<std::uint64_t>(1, s.n_samples))));
  return line;
}

Canvas framed(const Theme& theme, double width, double height, const VisibilitySummary& s,
              const VisibilityFigureOptions& o) {
  Canvas canvas(static_cast<std::size_t>(theme.px(width)), static_cast<std::size_t>(theme.px(height)));
  draw_heading(canvas, theme, theme.px(60), theme.px(width - 90), heading_of(s, o.title));
  const TextStyle style = theme.small_text(20);
  canvas.text(fitted(footer_of(s), style, theme.px(width - 90)), {theme.px(60), theme.px(height - 24)},
              style);
  return canvas;
}

constexpr Against kAll[] = {Against::time, Against::frequency, Against::baseline};

/// Rows against time, frequency and baseline; amplitude left, phase right.
void draw_six(Canvas& canvas, const Theme& theme, const VisibilitySummary& s, Rect area, double row_height) {
  const double gap = (area.height() - 3 * row_height) / 2, column = (area.width() - 145) / 2;
  for (int i = 0; i < 3; ++i) {
    const double y = area.y0 + i * (row_height + gap);
    draw_amplitude(canvas, theme, theme.rect(area.x0, y, column, row_height), s, kAll[i]);
    draw_phase(canvas, theme, theme.rect(area.x0 + column + 145, y, column, row_height), s, kAll[i]);
  }
}

Canvas draw_autos(const Theme& theme, const VisibilitySummary& s, const VisibilityFigureOptions& o) {
  const std::vector<std::size_t> shown = parallel_products(s);
  if (s.n_auto_rows == 0 || shown.empty())
    throw FailureError("no usable data: there are no autocorrelations");
  const double width = 700, height = 800;
  const double total = 150 + static_cast<double>(shown.size()) * (width + 320);
  Canvas canvas = framed(theme, total, 160 + height + 95 + kFooter, s, o);
  const ColourMap map("ember");
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const Rect panel = theme.rect(150 + static_cast<double>(i) * (width + 320), 160, width, height);
    const Stretch stretch = draw_auto_spectra(canvas, theme, panel, s, shown[i], map);
    draw_colour_bar(canvas, theme, {panel.x1 + theme.px(20), panel.y0, panel.x1 + theme.px(44), panel.y1},
                    map, stretch, "dB above the median");
  }
  return canvas;
}

/// A column for each product: amplitudes over phases.
Canvas draw_waterfalls(const Theme& theme, const VisibilitySummary& s, const VisibilityFigureOptions& o) {
  const std::vector<std::size_t> shown = parallel_products(s);
  const Waterfall& w = s.waterfall;
  if (shown.empty() || std::all_of(w.n.begin(), w.n.end(), [](std::uint64_t n) { return n == 0; }))
    throw FailureError("no usable data: every visibility is flagged");
  const double width = 800, height = 420, column = width + 340, row = height + 130;
  Canvas canvas =
      framed(theme, 160 + static_cast<double>(shown.size()) * column, 160 + 2 * row + kFooter, s, o);
  const ColourMap ember("ember"), wheel("phase");
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const double x = 170 + static_cast<double>(i) * column;
    const auto bar = [&](const Rect& panel, const ColourMap& map, const Stretch& stretch, const char* label) {
      draw_colour_bar(canvas, theme, {panel.x1 + theme.px(20), panel.y0, panel.x1 + theme.px(44), panel.y1},
                      map, stretch, label);
    };
    const Rect upper = theme.rect(x, 160, width, height), lower = theme.rect(x, 160 + row, width, height);
    bar(upper, ember, draw_waterfall_amplitude(canvas, theme, upper, s, shown[i], ember),
        "dB above the median");
    bar(lower, wheel, draw_waterfall_phase(canvas, theme, lower, s, shown[i], wheel), "degrees");
  }
  return canvas;
}

/// Baselines in rows of four, the amplitudes on one scale.
Canvas draw_fringes(const Theme& theme, const VisibilitySummary& s, const VisibilityFigureOptions& o) {
  double most = 0;
  for (const Fringe& fringe : s.fringes)
    for (std::size_t p : parallel_products(s))
      for (const std::complex<float>& value : fringe.values[p])
        if (std::isfinite(std::abs(value))) most = std::max(most, static_cast<double>(std::abs(value)));
  if (most == 0) throw FailureError("no usable data: these baselines are flagged in this channel");
  const std::size_t n_columns = std::min<std::size_t>(4, s.fringes.size()),
                    n_rows = (s.fringes.size() + 3) / 4;
  const double width = 390, amplitude = 150, phase = 230, column = width + 160, row = amplitude + phase + 190;
  Canvas canvas = framed(theme, 160 + static_cast<double>(n_columns) * column - 110,
                         160 + static_cast<double>(n_rows) * row + kFooter - 70, s, o);
  for (std::size_t i = 0; i < s.fringes.size(); ++i) {
    const double x = 160 + static_cast<double>(i % 4) * column, y = 160 + static_cast<double>(i / 4) * row;
    draw_fringe(canvas, theme, theme.rect(x, y, width, amplitude),
                theme.rect(x, y + amplitude + 22, width, phase), s, s.fringes[i], most);
  }
  return canvas;
}

}  // namespace

VisibilityPlot parse_visibility_plot(std::string_view name) {
  if (name == "overview") return VisibilityPlot::overview;
  if (name == "uv") return VisibilityPlot::uv;
  if (name == "amplitude") return VisibilityPlot::amplitude;
  if (name == "spectrum") return VisibilityPlot::spectrum;
  if (name == "waterfall") return VisibilityPlot::waterfall;
  if (name == "autos") return VisibilityPlot::autos;
  if (name == "fringes") return VisibilityPlot::fringes;
  throw UsageError(
      "--plot {}: no such plot: use overview, uv, amplitude, spectrum, waterfall, autos or "
      "fringes",
      name);
}

Canvas draw_visibility_figure(const VisibilitySummary& s, const VisibilityFigureOptions& o) {
  const Theme theme = figure_theme(o.size);
  if (o.plot == VisibilityPlot::autos) return draw_autos(theme, s, o);
  if (o.plot == VisibilityPlot::fringes) return draw_fringes(theme, s, o);
  if (o.plot == VisibilityPlot::waterfall) return draw_waterfalls(theme, s, o);
  const bool any = std::any_of(s.n_cross.begin(), s.n_cross.end(), [](std::uint64_t n) { return n > 0; });
  const bool autos = std::any_of(s.n_auto.begin(), s.n_auto.end(), [](std::uint64_t n) { return n > 0; });
  if (!any && autos)
    throw FailureError("no usable data but autocorrelations: give --plot autos, which shows them");
  if (!any) throw FailureError("no usable data: every visibility is flagged");
  if (o.plot == VisibilityPlot::uv) {
    Canvas canvas = framed(theme, 1210, 160 + 1000 + 95 + kFooter, s, o);
    draw_uv_coverage(canvas, theme, theme.rect(160, 160, 1000, 1000), s);
    return canvas;
  }
  if (o.plot == VisibilityPlot::amplitude) {
    Canvas canvas = framed(theme, 1640, 1250, s, o);
    draw_six(canvas, theme, s, {160, 130, 1600, 1100}, 240);
    return canvas;
  }
  if (o.plot == VisibilityPlot::spectrum) {
    Canvas canvas = framed(theme, 1400, 1180, s, o);
    draw_amplitude_spectrum(canvas, theme, theme.rect(160, 160, 1200, 460), s);
    draw_phase_spectrum(canvas, theme, theme.rect(160, 770, 1200, 250), s);
    return canvas;
  }
  Canvas canvas = framed(theme, 2180, 1160, s, o);
  draw_uv_coverage(canvas, theme, theme.rect(160, 160, 840, 840), s);
  draw_six(canvas, theme, s, {1160, 160, 2140, 1000}, 200);
  return canvas;
}

}  // namespace apsyn
