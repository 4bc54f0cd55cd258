// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/plot/beam_powers_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "libcore/core/error.h"
#include "libcore/plot/density_plot.h"

namespace apsyn {

Canvas draw_beam_powers(const std::vector<BeamPower>& beams, const DynamicSpectrumOptions& options) {
  const Theme theme{.unit = static_cast<double>(options.size) / 1000};
  double end_s = 0, high = -INFINITY, low = INFINITY;
  std::vector<Series> series;
  for (const BeamPower& beam : beams) {
    const DynamicSpectrum& s = beam.spectrum;
    const double offset_s = seconds_between(beams.front().spectrum.start, s.start);
    Series line{{}, {}, series_colour(series.size(), std::max<std::size_t>(2, beams.size())), beam.name};
    for (std::size_t bin = 0;
         bin < s.time.n && s.time.low + s.time.width * static_cast<double>(bin) < s.n_time; ++bin) {
      const double power = s.count(0, bin) > 0 ? s.sum(0, bin) / s.count(0, bin) : NAN;
      line.x.push_back(offset_s + s.time.centre(bin) * s.sample_s);
      line.y.push_back(power);
      if (std::isfinite(power)) low = std::min(low, power), high = std::max(high, power);
    }
    end_s = std::max(end_s, offset_s + static_cast<double>(s.n_time) * s.sample_s);
    series.push_back(std::move(line));
  }
  if (!(high >= low)) throw FailureError("no usable data: every sample is missing");
  const ScaledUnit unit = seconds_unit(end_s);
  for (Series& line : series)
    for (double& x : line.x) x /= unit.factor;
  const double margin = high > low ? 0.06 * (high - low) : std::max(1e-30, 0.1 * std::abs(high));

  Canvas canvas(static_cast<std::size_t>(theme.px(1260)), static_cast<std::size_t>(theme.px(960)));
  std::string start = format_fits_utc(beams.front().spectrum.start, 0);
  if (const auto t = start.find('T'); t != std::string::npos) start[t] = ' ';
  const std::string& source = beams.front().spectrum.source;
  draw_heading(canvas, theme, theme.px(50), theme.px(1160),
               {!options.title.empty() ? options.title : source,
                fmt::format("{} beams  \u00b7  from {} UTC", beams.size(), start)});
  const Rect panel{std::round(theme.px(150)), std::round(theme.px(190)), std::round(theme.px(1200)),
                   std::round(theme.px(840))};
  const Plot plot{panel, linear_axis(0, end_s / unit.factor, fmt::format("Time ({})", unit.name), 8),
                  linear_axis(low - margin, high + margin, "Power", 6)};
  draw_plot_background(canvas, theme, plot);
  draw_lines(canvas, theme, plot, series);
  draw_plot_frame(canvas, theme, plot);
  draw_legend(canvas, theme, panel, series);
  return canvas;
}

}  // namespace apsyn
