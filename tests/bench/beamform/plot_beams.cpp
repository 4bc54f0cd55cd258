// SPDX-License-Identifier: GPL-3.0-or-later
// Draws what `bench_beam_schemes_cuda` prints, as figures 1 and 2 of Magro, Zarb Adami & Hickish (2014): time
// of a block by accumulators and threads, and by beams, of their scheme and of tensor cores.
//   bench_beam_schemes_cuda | plot_beams beams.png
//   plot_beams beams.png beams.jsonl
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/plot/density_plot.h"
#include "libcore/plot/figure_file.h"
#include "libcore/plot/layout.h"
#include "tests/bench/json_lines.h"

using namespace apsyn;

namespace {

struct Lines {
  std::map<double, std::map<double, double>> scan;                 ///< [accumulators][threads] ms
  std::map<std::string, std::map<double, double>> of_beams;        ///< [scheme][beams] ms, at best
  std::map<std::string, std::map<double, double>> times_of_beams;  ///< real time
};

Lines read_lines(std::istream& in) {
  Lines lines;
  for (std::string text; std::getline(in, text);) {
    const JsonLine line(text);
    if (line.text("bench") != "beam_schemes") continue;
    const std::string scheme = line.text("scheme");
    const double beams = line.number("beams"), ms = line.number("ms");
    if (scheme == "accumulators" && beams == 32)
      lines.scan[line.number("accumulators")][line.number("threads")] = ms;
    auto& best = lines.of_beams[scheme];
    if (best.count(beams) == 0 || ms < best[beams]) {
      best[beams] = ms;
      lines.times_of_beams[scheme][beams] = line.number("times_real_time");
    }
  }
  if (lines.scan.empty() || lines.of_beams.size() < 2)
    throw DataError("plot_beams: no lines of bench_beam_schemes_cuda, or of one scheme only");
  return lines;
}

void print_tables(const Lines& lines) {
  fmt::print("| accumulators \\ threads |");
  for (const auto& [threads, ms] : lines.scan.begin()->second) fmt::print(" {:.0f} |", threads);
  fmt::print("\n|---|");
  for (std::size_t i = 0; i < lines.scan.begin()->second.size(); ++i) fmt::print("---|");
  for (const auto& [accumulators, row] : lines.scan) {
    fmt::print("\n| {:.0f} |", accumulators);
    for (const auto& [threads, ms] : row) fmt::print(" {:.2f} |", ms);
  }
  fmt::print("\n\n| beams |");
  for (const auto& [scheme, row] : lines.of_beams) fmt::print(" {}, ms (times real time) |", scheme);
  fmt::print("\n|---|---|---|\n");
  for (const auto& [beams, first] : lines.of_beams.begin()->second) {
    fmt::print("| {:.0f} |", beams);
    for (const auto& [scheme, row] : lines.of_beams)
      if (row.count(beams) > 0)
        fmt::print(" {:.2f} ({:.0f}) |", row.at(beams), lines.times_of_beams.at(scheme).at(beams));
    fmt::print("\n");
  }
}

Axis powers_axis(double low, double high, const std::string& label) {
  Axis axis{std::log2(low) - 0.2, std::log2(high) + 0.2, {}, label};
  for (double value = low; value <= high; value *= 2)
    axis.ticks.push_back({std::log2(value), fmt::format("{:.0f}", value)});
  return axis;
}

std::vector<Series> series_of(const std::map<std::string, std::map<double, double>>& rows) {
  std::vector<Series> all;
  std::size_t i = 0;
  for (const auto& [name, row] : rows) {
    Series series;
    series.name = name;
    series.colour = series_colour(i++, rows.size());
    for (const auto& [x, y] : row) {
      series.x.push_back(std::log2(x));
      series.y.push_back(std::log10(y));
    }
    all.push_back(series);
  }
  return all;
}

void draw_panel(Canvas& canvas, const Theme& theme, const Plot& plot, const std::vector<Series>& series) {
  draw_plot_background(canvas, theme, plot);
  draw_lines(canvas, theme, plot, series);
  draw_dots(canvas, theme, plot, series);
  draw_plot_frame(canvas, theme, plot);
  draw_legend(canvas, theme, plot.panel, series);
}

std::pair<double, double> decades(const std::map<std::string, std::map<double, double>>& rows) {
  double low = 1e30, high = 0;
  for (const auto& [name, row] : rows)
    for (const auto& [x, y] : row) low = std::min(low, y), high = std::max(high, y);
  return {std::floor(std::log10(low)), std::ceil(std::log10(high))};
}

void draw(const Lines& lines, const std::string& path) {
  const Theme theme{.unit = 0.9};
  Canvas canvas(static_cast<std::size_t>(theme.px(1800)), static_cast<std::size_t>(theme.px(900)));
  draw_heading(
      canvas, theme, theme.px(60), theme.px(1680),
      {"Beams of BEST-2 on a GPU", "32 antennas, 1024 channels, 4-bit samples of 420 ms in its memory"});
  std::map<std::string, std::map<double, double>> scan;
  double max_threads = 0, fewest_threads = 1e9;
  for (const auto& [accumulators, row] : lines.scan) {
    const bool last = accumulators == lines.scan.rbegin()->first;  // names the others, too
    scan[fmt::format("{:2.0f}{}", accumulators, last ? " accumulators" : "")] = row;
    fewest_threads = std::min(fewest_threads, row.begin()->first);
    max_threads = std::max(max_threads, row.rbegin()->first);
  }
  const auto rect = [&](double x0, double x1) {
    return Rect{std::round(theme.px(x0)), std::round(theme.px(150)), std::round(theme.px(x1)),
                std::round(theme.px(780))};
  };
  const auto [low, high] = decades(scan);
  draw_panel(canvas, theme,
             {rect(140, 860), powers_axis(fewest_threads, max_threads, "Threads of a block"),
              log_axis(low, high, "Milliseconds for 32 beams")},
             series_of(scan));
  const auto& beams = lines.of_beams.begin()->second;
  const auto [least, most] = decades(lines.of_beams);
  draw_panel(canvas, theme,
             {rect(1040, 1760), powers_axis(beams.begin()->first, beams.rbegin()->first, "Beams"),
              log_axis(least, most, "Milliseconds")},
             series_of(lines.of_beams));
  write_figure(path, canvas, {"plot_beams", "Beams of BEST-2 on a GPU"}, true);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 2 || argc > 3) throw UsageError("usage: plot_beams PICTURE.png [JSON_LINES]");
    Lines lines;
    if (argc == 3) {
      std::ifstream file(argv[2]);
      if (!file) throw FailureError("{}: cannot be read", argv[2]);
      lines = read_lines(file);
    } else {
      lines = read_lines(std::cin);
    }
    print_tables(lines);
    draw(lines, argv[1]);
  } catch (const Error& error) {
    fmt::print(stderr, "plot_beams: error: {}\n", error.what());
    return static_cast<int>(error.status());
  }
  return 0;
}
