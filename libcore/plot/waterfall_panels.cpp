// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>

#include "libcore/core/constants.h"
#include "libcore/core/median.h"
#include "libcore/plot/visibility_panels.h"

namespace apsyn {
namespace {

std::size_t used_bins(const VisibilitySummary& s) {
  const double last_s = s.last_time_mjd_s - s.first_time_mjd_s + s.interval_s / 2;
  const double bins = std::floor(last_s / s.waterfall.time.width) + 1;
  return static_cast<std::size_t>(std::clamp(bins, 1.0, static_cast<double>(s.waterfall.time.n)));
}

void draw_rows(Canvas& canvas, const Theme& theme, const Rect& panel, const VisibilitySummary& s,
               View<const double, 2> rows, const std::string& title, const ColourMap& map,
               const Stretch& stretch) {
  auto [x, seconds] = time_axis(s);
  x.high = static_cast<double>(rows.extent(1)) * s.waterfall.time.width / seconds;
  const Plot plot{panel, linear_axis(0, x.high, x.label), frequency_axis(s).first};
  const Rect range{-0.5, -0.5, static_cast<double>(rows.extent(1)) - 0.5,
                   static_cast<double>(rows.extent(0)) - 0.5};
  draw_raster(canvas, panel, {rows, range, Reduction::mean}, map, stretch);
  draw_plot_frame(canvas, theme, plot);
  draw_panel_title(canvas, theme, panel, title);
}

}  // namespace

Stretch draw_waterfall_amplitude(Canvas& canvas, const Theme& theme, const Rect& panel,
                                 const VisibilitySummary& s, std::size_t product, const ColourMap& map) {
  const Waterfall& w = s.waterfall;
  Buffer<double, 2> decibel({w.n_band, used_bins(s)});
  std::vector<double> values;
  for (std::size_t band = 0; band < w.n_band; ++band)
    for (std::size_t bin = 0; bin < decibel.extent(1); ++bin) {
      const double mean = w.sum_amplitude(product, band, bin) / static_cast<double>(w.n(product, band, bin));
      decibel(band, bin) = mean > 0 ? 20 * std::log10(mean) : NAN;
      if (mean > 0) values.push_back(decibel(band, bin));
    }
  const double reference = median_of(values);
  for (double& value : decibel) value -= reference;
  for (double& value : values) value -= reference;
  std::sort(values.begin(), values.end());
  const auto at = [&](double part) {
    return values.empty() ? 0
                          : values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
  };
  const Stretch stretch{StretchKind::linear, at(0.005) - 0.1, at(0.995) + 0.1, 1};
  draw_rows(canvas, theme, panel, s, decibel, product_name(s.products[product]) + ", mean amplitude", map,
            stretch);
  return stretch;
}

Stretch draw_waterfall_phase(Canvas& canvas, const Theme& theme, const Rect& panel,
                             const VisibilitySummary& s, std::size_t product, const ColourMap& map) {
  const Waterfall& w = s.waterfall;
  Buffer<double, 2> phase_deg({w.n_band, used_bins(s)});
  for (std::size_t band = 0; band < w.n_band; ++band)
    for (std::size_t bin = 0; bin < phase_deg.extent(1); ++bin)
      phase_deg(band, bin) =
          w.n(product, band, bin) > 0 ? std::arg(w.sum_visibility(product, band, bin)) / kRadPerDeg : NAN;
  const Stretch stretch{StretchKind::linear, -180, 180, 1};
  draw_rows(canvas, theme, panel, s, phase_deg, product_name(s.products[product]) + ", phase of the mean",
            map, stretch);
  return stretch;
}

}  // namespace apsyn
