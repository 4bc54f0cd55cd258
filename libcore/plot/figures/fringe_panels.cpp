// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/core.h>

#include <cmath>

#include "libcore/base/constants.h"
#include "libcore/plot/figures/visibility_panels.h"

namespace apsyn {

std::vector<std::size_t> parallel_products(const VisibilitySummary& s) {
  std::vector<std::size_t> parallel;
  for (std::size_t p = 0; p < s.products.size(); ++p) {
    const Product product = s.products[p];
    if (product == Product::XX || product == Product::YY || product == Product::RR ||
        product == Product::LL || product == Product::I)
      parallel.push_back(p);
  }
  return parallel;
}

void draw_fringe(Canvas& canvas, const Theme& theme, const Rect& amplitude_panel, const Rect& phase_panel,
                 const VisibilitySummary& s, const Fringe& fringe, double most) {
  const double span = s.last_time_mjd_s - s.first_time_mjd_s + s.interval_s;
  const ScaledUnit unit = seconds_unit(span);
  const std::vector<std::size_t> parallel = parallel_products(s);
  std::vector<Series> amplitudes, phases;
  for (std::size_t k = 0; k < parallel.size(); ++k) {
    const auto& values = fringe.values[parallel[k]];
    Series amplitude{{},
                     {},
                     series_colour(k, std::max<std::size_t>(2, parallel.size())),
                     product_name(s.products[parallel[k]])};
    Series phase = amplitude;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::complex<double> value(values[i]);
      amplitude.x.push_back(fringe.time_s[i] / unit.factor);
      amplitude.y.push_back(std::abs(value));
      phase.x.push_back(fringe.time_s[i] / unit.factor);
      phase.y.push_back(std::abs(value) > 0 ? std::arg(value) / kRadPerDeg : NAN);
    }
    amplitudes.push_back(std::move(amplitude));
    phases.push_back(std::move(phase));
  }
  Axis time = linear_axis(0, span / unit.factor, fmt::format("Time ({})", unit.name), 4);
  const Plot below{phase_panel, time, {-180, 180, phase_ticks(), "Phase"}};
  for (Tick& tick : time.ticks) tick.label.clear();
  time.label.clear();
  const Plot above{amplitude_panel, time, linear_axis(0, 1.1 * most, "Amplitude", 3)};
  draw_plot_background(canvas, theme, above);
  draw_lines(canvas, theme, above, amplitudes);
  draw_plot_frame(canvas, theme, above);
  draw_plot_background(canvas, theme, below);
  draw_dots(canvas, theme, below, phases);
  draw_plot_frame(canvas, theme, below);
  const auto name = [&](int ant) {
    const auto number = static_cast<std::size_t>(ant);
    return number < s.antennas.size() ? s.antennas[number] : fmt::format("{}", ant);
  };
  const double width = draw_legend(canvas, theme, amplitude_panel, amplitudes);
  draw_panel_title(
      canvas, theme, amplitude_panel,
      fmt::format("{} \u2013 {}, {} m", name(fringe.ant1), name(fringe.ant2), short_number(fringe.length_m)),
      width);
}

}  // namespace apsyn
