// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/plot/figures/beam_powers_figure.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "libcore/plot/figures/time_series_figure.h"

namespace apsyn {

Canvas draw_beam_powers(const std::vector<BeamPower>& beams, const DynamicSpectrumOptions& options) {
  TimeSeriesFigure figure;
  figure.label = "Power";
  figure.size = options.size;
  const std::string& source = beams.front().spectrum.source;
  const bool of_one_source = std::all_of(
      beams.begin(), beams.end(), [&](const BeamPower& beam) { return beam.spectrum.source == source; });
  const bool named = of_one_source && !source.empty() && source != "unknown";
  figure.title = !options.title.empty() ? options.title : named ? source : "Powers of beams";
  std::string start = format_fits_utc(beams.front().spectrum.start, 0);
  if (const auto t = start.find('T'); t != std::string::npos) start[t] = ' ';
  figure.subtitle = fmt::format("{} beams  \u00b7  from {} UTC", beams.size(), start);
  std::vector<TimeSeries> series;
  for (const BeamPower& beam : beams) {
    const DynamicSpectrum& s = beam.spectrum;
    const double offset_s = seconds_between(beams.front().spectrum.start, s.start);
    TimeSeries line{beam.name, {}, {}};
    for (std::size_t bin = 0;
         bin < s.time.n && s.time.low + s.time.width * static_cast<double>(bin) < s.n_time; ++bin) {
      line.time_s.push_back(offset_s + s.time.centre(bin) * s.sample_s);
      line.value.push_back(s.count(0, bin) > 0 ? s.sum(0, bin) / s.count(0, bin) : NAN);
    }
    figure.end_s = std::max(figure.end_s, offset_s + static_cast<double>(s.n_time) * s.sample_s);
    series.push_back(std::move(line));
  }
  return draw_time_series(series, figure);
}

}  // namespace apsyn
