// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "libcore/base/constants.h"
#include "libcore/base/median.h"
#include "libcore/plot/broken_axis.h"
#include "libcore/plot/figures/visibility_panels.h"

namespace apsyn {
namespace {

BrokenAxis time_bins(const VisibilitySummary& s) {
  std::vector<std::int64_t> bins;
  for (const auto& [bin, index] : s.waterfall.bins) bins.push_back(bin);
  return break_axis(bins, s.waterfall.bin_s);
}

/// The sums of one product in the columns of the axis, [band][column].
struct Columns {
  Buffer<double, 2> amplitude, n;
  Buffer<std::complex<double>, 2> visibility;
};
Columns columns_of(const Waterfall& w, const BrokenAxis& axis, std::size_t product) {
  Columns out;
  out.amplitude.resize({w.n_band, axis.n_column()});
  out.n.resize(out.amplitude.shape());
  out.visibility.resize(out.amplitude.shape());
  for (const auto& [bin, index] : w.bins) {
    const std::size_t column = axis.column(bin);
    for (std::size_t band = 0; band < w.n_band; ++band) {
      out.amplitude(band, column) += w.sum_amplitude(product, band, index);
      out.visibility(band, column) += w.sum_visibility(product, band, index);
      out.n(band, column) += static_cast<double>(w.n(product, band, index));
    }
  }
  return out;
}

/// True times at fractions of the axis, in a unit that suits what is shown of them.
Axis labelled(const VisibilitySummary& s, const BrokenAxis& bins) {
  constexpr int kTicks = 6;
  constexpr double kMaxOfUnit = 1e6;  // longer numbers are not written out
  const double last_s = bins.high(bins.parts.back());
  if (bins.parts.size() == 1 && bins.parts[0].first_bin == 0) {
    const auto [whole, seconds] = time_axis(s);
    return {0, 1, broken_ticks(bins, seconds, kTicks), whole.label};
  }
  ScaledUnit unit = seconds_unit(bins.bin_width * static_cast<double>(bins.n_column()));
  if (last_s / unit.factor > kMaxOfUnit) unit = seconds_unit(last_s);
  const std::size_t n_break = bins.parts.size() - 1;
  const std::string breaks =
      n_break == 0 ? "" : fmt::format(", {} gap{} cut", n_break, n_break == 1 ? "" : "s");
  return {0, 1, broken_ticks(bins, unit.factor, kTicks), since_start_label(s, unit) + breaks};
}

/// A dotted line in the white between two parts.
void draw_breaks(Canvas& canvas, const Theme& theme, const Rect& panel, const BrokenAxis& bins) {
  for (std::size_t i = 1; i < bins.parts.size(); ++i) {
    const double middle = (bins.parts[i - 1].end + bins.parts[i].begin) / 2;
    const double x = panel.x0 + middle * panel.width();
    canvas.line({x, panel.y0}, {x, panel.y1}, {theme.soft_ink, theme.px(2), 1, theme.px(3), theme.px(6)});
  }
}

void draw_rows(Canvas& canvas, const Theme& theme, const Rect& panel, const VisibilitySummary& s,
               const BrokenAxis& bins, View<const double, 2> rows, const std::string& title,
               const ColourMap& map, const Stretch& stretch) {
  const Plot plot{panel, labelled(s, bins), frequency_axis(s).first};
  double first = 0;
  for (const AxisPart& part : bins.parts) {
    const Rect range{first - 0.5, -0.5, first + static_cast<double>(part.n_bin) - 0.5,
                     static_cast<double>(rows.extent(0)) - 0.5};
    const Rect area{panel.x0 + part.begin * panel.width(), panel.y0, panel.x0 + part.end * panel.width(),
                    panel.y1};
    draw_raster(canvas, area, {rows, range, Reduction::mean}, map, stretch);
    first += static_cast<double>(part.n_bin);
  }
  draw_plot_frame(canvas, theme, plot);
  draw_breaks(canvas, theme, panel, bins);
  draw_panel_title(canvas, theme, panel, title);
}

}  // namespace

Stretch draw_waterfall_amplitude(Canvas& canvas, const Theme& theme, const Rect& panel,
                                 const VisibilitySummary& s, std::size_t product, const ColourMap& map) {
  const Waterfall& w = s.waterfall;
  const BrokenAxis bins = time_bins(s);
  const Columns columns = columns_of(w, bins, product);
  Buffer<double, 2> decibel(columns.n.shape());
  std::vector<double> values;
  for (std::size_t band = 0; band < w.n_band; ++band)
    for (std::size_t column = 0; column < decibel.extent(1); ++column) {
      const double mean = columns.amplitude(band, column) / columns.n(band, column);
      decibel(band, column) = mean > 0 ? 20 * std::log10(mean) : NAN;
      if (mean > 0) values.push_back(decibel(band, column));
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
  draw_rows(canvas, theme, panel, s, bins, decibel, product_name(s.products[product]) + ", mean amplitude",
            map, stretch);
  return stretch;
}

Stretch draw_waterfall_phase(Canvas& canvas, const Theme& theme, const Rect& panel,
                             const VisibilitySummary& s, std::size_t product, const ColourMap& map) {
  const Waterfall& w = s.waterfall;
  const BrokenAxis bins = time_bins(s);
  const Columns columns = columns_of(w, bins, product);
  Buffer<double, 2> phase_deg(columns.n.shape());
  for (std::size_t band = 0; band < w.n_band; ++band)
    for (std::size_t column = 0; column < phase_deg.extent(1); ++column)
      phase_deg(band, column) =
          columns.n(band, column) > 0 ? std::arg(columns.visibility(band, column)) / kRadPerDeg : NAN;
  const Stretch stretch{StretchKind::linear, -180, 180, 1};
  draw_rows(canvas, theme, panel, s, bins, phase_deg,
            product_name(s.products[product]) + ", phase of the mean", map, stretch);
  return stretch;
}

}  // namespace apsyn
