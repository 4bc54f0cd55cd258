// SPDX-License-Identifier: GPL-3.0-or-later
// Draws what bench_projection and bench_idg print, as in figure 16 of Veenboer and Romein 2020: throughput of
// gridding (or, with --degridding, of degridding) against the side of the convolution kernel, a panel for
// each device, the throughput of image-domain gridding (four polarisations, several channels) as level lines.
// Where a line gives a rate of visibilities that are on the device already ("resident_Mvis_per_s"), it is
// drawn dashed.
//   (bench_projection cpu; bench_idg cpu) | plot_figure16 figure16.png
//   plot_figure16 [--degridding] figure16.png cpu.jsonl cuda.jsonl ...
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/plot/figure_file.h"
#include "libcore/plot/layout.h"
#include "tests/bench/json_lines.h"

using namespace apsyn;

namespace {

struct Sample {
  double kernel, rate, resident;  ///< cells, Mvis/s; resident 0 = not known
};

struct Curve {
  std::string name;
  bool level = false;  ///< does not depend on the kernel
  std::vector<Sample> samples;
  double min_error = 1e30;
};

struct Panel {
  std::string device;
  std::vector<Curve> curves;
};

template <class T, class Match>
T& find_or_add(std::vector<T>& all, Match match) {
  const auto at = std::find_if(all.begin(), all.end(), match);
  return at != all.end() ? *at : all.emplace_back();
}

/// Lines of other benchmarks are passed over.
void read_lines(std::istream& in, bool degridding, std::vector<Panel>& panels) {
  for (std::string text; std::getline(in, text);) {
    const JsonLine line(text);
    const std::string bench = line.text("bench");
    const bool idg = bench == (degridding ? "idg_degrid" : "idg_grid");
    if (!idg && (bench != "projection" || line.text("direction") != (degridding ? "degridding" : "gridding")))
      continue;
    if (idg && (line.number("planes") != 4 || line.number("channels") < 2)) continue;
    const std::string device = line.text("device");
    const double rate = line.number("Mvis_per_s");
    if (!(rate > 0)) throw DataError("plot_figure16: a line without Mvis_per_s: {}", text);
    const std::string name =
        idg ? fmt::format("IDG, subgrids of {}", line.text("subgrid")) : line.text("operation");
    Panel& panel = find_or_add(panels, [&](const Panel& p) { return p.device == device; });
    panel.device = device;
    Curve& curve = find_or_add(panel.curves, [&](const Curve& c) { return c.name == name; });
    curve.name = name;
    curve.level = idg;
    const double resident = device.rfind("cpu", 0) == 0 ? 0 : line.number("resident_Mvis_per_s");
    curve.samples.push_back({line.number("kernel"), rate, resident});
    curve.min_error = std::min(curve.min_error, line.number("error"));
  }
}

struct Range {
  double low = 1e30, high = -1e30;  ///< log10
  void include(double value) {
    if (!(value > 0)) return;
    low = std::min(low, std::log10(value));
    high = std::max(high, std::log10(value));
  }
};

Axis kernel_axis(const Range& range) {
  Axis axis{range.low - 0.05, range.high + 0.05, {}, "Side of the convolution kernel, N_{W} (cells)"};
  for (double size = 8; std::log10(size) <= axis.high; size *= 2)
    if (std::log10(size) >= axis.low) axis.ticks.push_back({std::log10(size), fmt::format("{:.0f}", size)});
  return axis;
}

Colour curve_colour(const Curve& curve, std::size_t index) {
  if (curve.level) return from_oklch(0.45 + 0.12 * static_cast<double>(index % 4), 0.15, 0.6);
  return from_oklch(0.55, 0.14, curve.name.rfind("AW", 0) == 0 ? 2.6 : 4.4);
}

void draw_curve(Canvas& canvas, const Theme& theme, const Plot& plot, const Curve& curve, Colour colour) {
  Path all, resident;
  for (const Sample& s : curve.samples) {
    const double x = std::log10(s.kernel);
    for (const double at :
         curve.level ? std::vector<double>{plot.x.low, plot.x.high} : std::vector<double>{x}) {
      all.push_back(plot.at(at, std::log10(s.rate)));
      if (s.resident > 0) resident.push_back(plot.at(at, std::log10(s.resident)));
    }
  }
  canvas.clip(plot.panel);
  canvas.stroke({all}, {colour, theme.px(3.4), 1});
  canvas.stroke({resident}, {colour, theme.px(2.6), 1, theme.px(12), theme.px(9)});
  if (!curve.level)
    for (const Path& path : {all, resident})
      for (const Point& point : path) canvas.fill({ellipse_path(point, theme.px(6), theme.px(6))}, colour);
  canvas.unclip();
}

void draw_panel(Canvas& canvas, const Theme& theme, Panel panel, const Rect& rect, const Axis& x,
                const Axis& y) {
  for (Curve& curve : panel.curves)
    std::sort(curve.samples.begin(), curve.samples.end(),
              [](const Sample& a, const Sample& b) { return a.kernel < b.kernel; });
  const Plot plot{rect, x, y};
  draw_plot_background(canvas, theme, plot);
  std::size_t n_levels = 0;
  double legend_y = rect.y1 + theme.px(125);
  for (const Curve& curve : panel.curves) {
    const Colour colour = curve_colour(curve, n_levels);
    n_levels += curve.level;
    draw_curve(canvas, theme, plot, curve, colour);
    canvas.line({rect.x0, legend_y}, {rect.x0 + theme.px(50), legend_y}, {colour, theme.px(3.4), 1});
    TextStyle style = theme.small_text(22);
    style.align_y = AlignY::middle;
    canvas.text(fmt::format("{}: error {}", curve.name, short_number(curve.min_error, 2)),
                {rect.x0 + theme.px(64), legend_y}, style);
    legend_y += theme.px(34);
  }
  draw_plot_frame(canvas, theme, plot);
  draw_panel_title(canvas, theme, rect, panel.device);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::vector<std::string> arguments(argv + 1, argv + argc);
    const bool degridding = !arguments.empty() && arguments[0] == "--degridding";
    if (degridding) arguments.erase(arguments.begin());
    if (arguments.empty())
      throw UsageError("usage: plot_figure16 [--degridding] PICTURE.png [JSON_LINES...]");
    std::vector<Panel> panels;
    if (arguments.size() == 1) read_lines(std::cin, degridding, panels);
    for (std::size_t i = 1; i < arguments.size(); ++i) {
      std::ifstream file(arguments[i]);
      if (!file) throw FailureError("{}: cannot be read", arguments[i]);
      read_lines(file, degridding, panels);
    }
    Range kernels, rates;
    std::size_t n_curves = 0;
    bool any_resident = false;
    for (const Panel& panel : panels) {
      n_curves = std::max(n_curves, panel.curves.size());
      for (const Curve& curve : panel.curves)
        for (const Sample& s : curve.samples) {
          if (!curve.level) kernels.include(s.kernel);
          rates.include(s.rate);
          rates.include(s.resident);
          any_resident = any_resident || s.resident > 0;
        }
    }
    if (kernels.high < kernels.low) throw DataError("plot_figure16: no line of bench_projection");
    const Axis x = kernel_axis(kernels);
    const Axis y = log_axis(rates.low - 0.2, rates.high + 0.3, "Throughput (Mvisibilities/s)");
    const Theme theme{.unit = 0.9};
    const double side = 760, gap = 150, n = static_cast<double>(panels.size());
    Canvas canvas(static_cast<std::size_t>(theme.px(190 + n * side + (n - 1) * gap)),
                  static_cast<std::size_t>(theme.px(1060 + 34 * static_cast<double>(n_curves))));
    draw_heading(canvas, theme, theme.px(60), theme.px(100 + n * side + (n - 1) * gap),
                 {degridding ? "Degridding against the size of convolution kernels"
                             : "Gridding against the size of convolution kernels",
                  any_resident ? "Solid: from host memory; dashed: visibilities on the device already. "
                                 "Errors are the least of a line."
                               : "From host memory. Errors are the least of a line."});
    for (std::size_t i = 0; i < panels.size(); ++i) {
      const double left = 130 + static_cast<double>(i) * (side + gap);
      draw_panel(canvas, theme, panels[i],
                 {std::round(theme.px(left)), std::round(theme.px(150)), std::round(theme.px(left + side)),
                  std::round(theme.px(150 + side))},
                 x, y);
    }
    write_figure(arguments[0], canvas, {"plot_figure16", "Throughput of gridders"}, true);
  } catch (const Error& error) {
    fmt::print(stderr, "plot_figure16: error: {}\n", error.what());
    return static_cast<int>(error.status());
  }
  return 0;
}
