// SPDX-License-Identifier: GPL-3.0-or-later
// Draws, and lists, which method of direct imaging takes least time, by antennas and by spectra of an
// accumulation, from what `bench_epic crossover` prints for one core (seconds are those of a spectrum times
// so many, and of an image), `bench_epic_cuda` for a GPU, or both, one beside the other. A GPU's seconds are
// those of a straight line through runs of different --spectra, two at least for each array.
//   bench_epic --threads 1 crossover | plot_epic crossover.png
//   for n in 100 1000; do bench_epic_cuda --spectra $n core-128 random-512 random-1024; done | plot_epic
//   gpu.png plot_epic crossover.png bench_epic.jsonl
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/plot/figure_file.h"
#include "libcore/plot/layout.h"
#include "tests/bench/json_lines.h"

using namespace apsyn;

namespace {

constexpr std::size_t kMethods = 3;
const char* const kNames[kMethods] = {"dft", "corr", "fft"};
const Colour kColours[kMethods] = {from_oklch(0.83, 0.09, 4.4), from_oklch(0.86, 0.10, 1.4),
                                   from_oklch(0.80, 0.10, 0.6)};

struct Cost {
  double spectrum_us = INFINITY, image_us = INFINITY;
  double of(double n_spectra) const { return image_us + n_spectra * spectrum_us; }
};
using Costs = std::array<Cost, kMethods>;

/// [antennas]
using Arrays = std::map<double, Costs>;

struct Measured {
  Arrays cpu, gpu;
  std::string gpu_name;
};

/// The straight line through milliseconds of accumulations of so many spectra.
Cost line_through(const std::map<double, double>& ms) {
  if (ms.size() < 2) return {};
  const auto [few, few_ms] = *ms.begin();
  const auto [many, many_ms] = *ms.rbegin();
  const double spectrum_us = 1e3 * (many_ms - few_ms) / (many - few);
  return {spectrum_us, std::max(1e-3, 1e3 * few_ms - few * spectrum_us)};
}

Measured read_lines(std::istream& in) {
  Measured measured;
  std::map<std::pair<double, std::size_t>, std::map<double, double>> gpu_ms;  // [antennas, method][spectra]
  for (std::string text; std::getline(in, text);) {
    const JsonLine line(text);
    for (std::size_t method = 0; method < kMethods; ++method) {
      const std::string name = line.text("method");
      if (line.text("bench") == "epic" && line.text("case") == "crossover" && name == kNames[method])
        measured.cpu[line.number("antennas")][method] = {line.number("cpu_us_per_spectrum"),
                                                         1e3 * line.number("cpu_ms_per_image")};
      if (line.text("bench") != "epic_cuda" ||
          (name != kNames[method] && name != kNames[method] + std::string("-half")))
        continue;
      measured.gpu_name = line.text("device");
      gpu_ms[{line.number("antennas"), method}][line.number("spectra")] =
          line.number("add_ms") + line.number("take_ms");
    }
  }
  for (const auto& [at, ms] : gpu_ms) measured.gpu[at.first][at.second] = line_through(ms);
  if (measured.cpu.size() < 2 && measured.gpu.size() < 2)
    throw DataError("plot_epic: fewer than two arrays of bench_epic crossover or bench_epic_cuda");
  return measured;
}

std::size_t cheapest(const Costs& costs, double n_spectra) {
  std::size_t best = 0;
  for (std::size_t method = 1; method < kMethods; ++method)
    if (costs[method].of(n_spectra) < costs[best].of(n_spectra)) best = method;
  return best;
}

/// Between two arrays, as straight lines in the logarithms.
Costs at_antennas(const Arrays& costs, double antennas) {
  auto high = costs.lower_bound(antennas);
  if (high == costs.begin()) ++high;
  if (high == costs.end()) --high;
  const auto low = std::prev(high);
  const double t = std::log(antennas / low->first) / std::log(high->first / low->first);
  const auto between = [&](double a, double b) { return std::exp((1 - t) * std::log(a) + t * std::log(b)); };
  Costs result;
  for (std::size_t method = 0; method < kMethods; ++method) {
    const Cost &a = low->second[method], &b = high->second[method];
    if (std::isinf(a.image_us) || std::isinf(b.image_us)) continue;
    result[method] = {between(a.spectrum_us, b.spectrum_us), between(a.image_us, b.image_us)};
  }
  return result;
}

/// Spectra at which the cheapest method changes, up to 10^6.
void print_table(const Arrays& costs) {
  fmt::print("| antennas | cheapest method, by spectra of an accumulation |\n|---|---|\n");
  for (const auto& [antennas, of] : costs) {
    std::string row = fmt::format("| {:.0f} | {}", antennas, kNames[cheapest(of, 1)]);
    for (double n = 1; n < 1e6; n *= 1.02)
      if (cheapest(of, n) != cheapest(of, n * 1.02))
        row += fmt::format(", from {:.2g} {}", n * 1.02, kNames[cheapest(of, n * 1.02)]);
    fmt::print("{} |\n", row);
  }
}

void draw_panel(Canvas& canvas, const Theme& theme, const Rect& panel, const Arrays& costs,
                const std::string& what) {
  const double low = std::log10(costs.begin()->first), high = std::log10(costs.rbegin()->first);
  Axis x{low, high, {}, "Antennas, " + what};
  for (const auto& [antennas, of] : costs)
    x.ticks.push_back({std::log10(antennas), fmt::format("{:.0f}", antennas)});
  const Plot plot{panel, x, log_axis(0, 5, "Spectra of an accumulation", 6)};
  draw_plot_background(canvas, theme, plot);
  std::array<std::array<double, 3>, kMethods> middle{};  // sum of x, of y, and pixels of each region
  Buffer<std::uint32_t, 2> regions({std::size_t(panel.height()), std::size_t(panel.width())});
  for (long at_y = long(panel.y0); at_y < long(panel.y1); ++at_y)
    for (long at_x = long(panel.x0); at_x < long(panel.x1); ++at_x) {
      const double antennas =
          std::pow(10, low + (high - low) * (double(at_x) + 0.5 - panel.x0) / panel.width());
      const double n = std::pow(10, 5 * (panel.y1 - double(at_y) - 0.5) / panel.height());
      const std::size_t method = cheapest(at_antennas(costs, antennas), n);
      regions(std::size_t(at_y - long(panel.y0)), std::size_t(at_x - long(panel.x0))) =
          image_pixel(kColours[method], 0.85);
      middle[method][0] += double(at_x);
      middle[method][1] += double(at_y);
      middle[method][2] += 1;
    }
  canvas.image(panel, std::move(regions), panel);
  for (std::size_t method = 0; method < kMethods; ++method) {
    if (middle[method][2] < 400) continue;
    TextStyle style = theme.text(34);
    style.align_x = AlignX::centre;
    style.align_y = AlignY::middle;
    canvas.text(kNames[method],
                {middle[method][0] / middle[method][2], middle[method][1] / middle[method][2]}, style);
  }
  draw_plot_frame(canvas, theme, plot);
}

void draw(const Measured& measured, const std::string& path) {
  const Theme theme{.unit = 0.9};
  std::vector<std::pair<const Arrays*, std::string>> panels;
  if (measured.cpu.size() > 1) panels.emplace_back(&measured.cpu, "one core");
  if (measured.gpu.size() > 1) panels.emplace_back(&measured.gpu, measured.gpu_name);
  const double step = 1040;
  const double width = 60 + step * static_cast<double>(panels.size());
  Canvas canvas(static_cast<std::size_t>(theme.px(width)), static_cast<std::size_t>(theme.px(980)));
  draw_heading(canvas, theme, theme.px(60), theme.px(width - 120),
               {"The cheapest method of direct imaging",
                "128 x 128 pixels of the hemisphere, XX YY XY, 4-bit samples"});
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const double left = 140 + step * static_cast<double>(i);
    draw_panel(canvas, theme,
               {std::round(theme.px(left)), std::round(theme.px(150)), std::round(theme.px(left + 900)),
                std::round(theme.px(850))},
               *panels[i].first, panels[i].second);
  }
  write_figure(path, canvas, {"plot_epic", "The cheapest method of direct imaging"}, true);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 2 || argc > 3) throw UsageError("usage: plot_epic PICTURE.png [JSON_LINES]");
    Measured measured;
    if (argc == 3) {
      std::ifstream file(argv[2]);
      if (!file) throw FailureError("{}: cannot be read", argv[2]);
      measured = read_lines(file);
    } else {
      measured = read_lines(std::cin);
    }
    for (const Arrays* costs : {&measured.cpu, &measured.gpu})
      if (costs->size() > 1) print_table(*costs);
    draw(measured, argv[1]);
  } catch (const Error& error) {
    fmt::print(stderr, "plot_epic: error: {}\n", error.what());
    return static_cast<int>(error.status());
  }
  return 0;
}
