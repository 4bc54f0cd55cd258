// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/plot/figures/transient_figure.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "libcore/base/constants.h"
#include "libcore/plot/density_plot.h"

namespace apsyn {
namespace {

constexpr std::size_t kMaxDetails = 3;

double highest_sn(const TransientFigure& f) {
  double most = f.threshold * 1.2;
  for (const TransientPoint& point : f.candidates) most = std::max(most, point.sn);
  return most;
}

Axis dm_axis(const TransientFigure& f, const std::string& label) {
  const double margin = std::max(0.03 * (f.dm_high - f.dm_low), 0.5);
  return linear_axis(std::max(0.0, f.dm_low - margin), f.dm_high + margin, label);
}

struct Disc {
  Point centre;
  double radius = 0;
};

bool overlap(const Disc& a, const Disc& b) {
  return std::hypot(a.centre.x - b.centre.x, a.centre.y - b.centre.y) < a.radius + b.radius;
}

/// Beside its bubble, where a label covers least: other labels above all, then bubbles; rather a little away.
Disc label_place(const Theme& theme, const Rect& panel, const Disc& own, const std::vector<Disc>& bubbles,
                 const std::vector<Disc>& labels) {
  constexpr int n_rings = 4, n_directions = 8;
  const double size = theme.px(11);
  Disc best;
  double least = std::numeric_limits<double>::infinity();
  for (int ring = 0; ring < n_rings; ++ring)
    for (int direction : {0, 4, 2, 6, 1, 7, 3, 5}) {  // right, left, above, below, and between
      const double distance = own.radius + theme.px(5) + size + ring * theme.px(20),
                   angle = direction * 2 * kPi / n_directions;
      const Disc label{{own.centre.x + distance * std::cos(angle), own.centre.y - distance * std::sin(angle)},
                       size};
      auto covered = [&](const std::vector<Disc>& others) {
        return static_cast<double>(std::count_if(others.begin(), others.end(),
                                                 [&](const Disc& disc) { return overlap(disc, label); }));
      };
      const bool outside = label.centre.x - size < panel.x0 || label.centre.x + size > panel.x1 ||
                           label.centre.y - size < panel.y0 || label.centre.y + size > panel.y1;
      const double cost = (outside ? 1e6 : 0) + 1e3 * covered(labels) + covered(bubbles) + 0.4 * ring;
      if (cost >= least) continue;
      least = cost;
      best = label;
    }
  return best;
}

/// Area grows with the signal-to-noise ratio above the threshold.
class Radius {
 public:
  Radius(const Theme& theme, const TransientFigure& f)
      : theme_(theme), threshold_(f.threshold), range_(highest_sn(f) - f.threshold) {}
  double operator()(const TransientPoint& point) const {
    return theme_.px(5 + 17 * std::sqrt(std::clamp((point.sn - threshold_) / range_, 0.0, 1.0)));
  }

 private:
  const Theme& theme_;
  double threshold_, range_;
};

/// The numbers of the details, joined to their bubble where they are farther from it.
void draw_ranks(Canvas& canvas, const Theme& theme, const Plot& plot, const TransientFigure& f,
                const std::vector<Disc>& bubbles, auto x_of) {
  TextStyle style = theme.text(22);
  style.halo_width = theme.px(4);
  style.align_x = AlignX::centre;
  style.align_y = AlignY::middle;
  const Radius radius(theme, f);
  std::vector<Disc> labels;
  for (std::size_t i = 0; i < std::min(kMaxDetails, f.best.size()); ++i) {
    const TransientPoint& point = f.best[i].point;
    const Disc own{plot.at(x_of(point), point.dm), radius(point)};
    const Disc label = label_place(theme, plot.panel, own, bubbles, labels);
    const double x = label.centre.x - own.centre.x, y = label.centre.y - own.centre.y,
                 distance = std::hypot(x, y), begin = own.radius / distance,
                 end = 1 - label.radius / distance;
    if ((end - begin) * distance > label.radius)
      canvas.line({own.centre.x + begin * x, own.centre.y + begin * y},
                  {own.centre.x + end * x, own.centre.y + end * y}, {theme.ink, theme.px(1.2), 0.7});
    canvas.text(fmt::format("{}", i + 1), label.centre, style);
    labels.push_back(label);
  }
}

void draw_bubbles(Canvas& canvas, const Theme& theme, const Plot& plot, const TransientFigure& f, auto x_of) {
  draw_plot_background(canvas, theme, plot);
  canvas.clip(plot.panel);
  std::vector<const TransientPoint*> order;
  for (const TransientPoint& point : f.candidates) order.push_back(&point);
  std::stable_sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->sn > b->sn; });
  const double alpha = order.size() > 500 ? 0.35 : 0.6;
  const Radius radius(theme, f);
  std::vector<Disc> bubbles;
  for (const TransientPoint* point : order) {
    const Disc& own = bubbles.emplace_back(Disc{plot.at(x_of(*point), point->dm), radius(*point)});
    const Path circle = ellipse_path(own.centre, own.radius, own.radius);
    canvas.fill({circle}, theme.accent, alpha);
    canvas.stroke({circle}, {theme.ink, theme.px(1.2), 0.7});
  }
  draw_ranks(canvas, theme, plot, f, bubbles, x_of);
  canvas.unclip();
  draw_plot_frame(canvas, theme, plot);
}

void draw_overview(Canvas& canvas, const Theme& theme, const TransientFigure& f) {
  const ScaledUnit unit = seconds_unit(f.duration_s);
  const Plot time{
      theme.rect(130, 160, 1120, 470),
      linear_axis(0, std::max(f.duration_s, 1e-9) / unit.factor, fmt::format("Time ({})", unit.name), 8),
      dm_axis(f, "DM (pc cm^{-3})")};
  draw_bubbles(canvas, theme, time, f, [&](const TransientPoint& p) { return p.time_s / unit.factor; });
  // Half the largest bubble is a twentieth of the panel.
  const double low = std::log10(f.threshold), high = std::log10(highest_sn(f)), margin = 0.06 * (high - low);
  const Plot sn{theme.rect(1390, 160, 450, 470), log_axis(low - margin, high + margin, "S/N", 4),
                dm_axis(f, "DM (pc cm^{-3})")};
  draw_bubbles(canvas, theme, sn, f, [](const TransientPoint& p) { return std::log10(p.sn); });
}

void draw_profile(Canvas& canvas, const Theme& theme, const Rect& panel, const TransientDetail& detail,
                  const Axis& time, double unit) {
  double low = 0, high = 1;
  Series line;
  line.colour = theme.accent;
  const PulseCutout& cutout = detail.cutout;
  for (std::size_t i = 0; i < cutout.profile.size(); ++i) {
    // bins as steps
    const double left = (cutout.first_s + static_cast<double>(i) * cutout.step_s) / unit,
                 right = left + cutout.step_s / unit;
    line.x.insert(line.x.end(), {left, right});
    line.y.insert(line.y.end(), {cutout.profile(i), cutout.profile(i)});
    if (!std::isfinite(cutout.profile(i))) continue;
    low = std::min(low, cutout.profile(i)), high = std::max(high, cutout.profile(i));
  }
  Axis x = time;
  x.label.clear();
  for (Tick& tick : x.ticks) tick.label.clear();
  const double margin = 0.08 * (high - low);
  const Plot plot{panel, x, linear_axis(low - margin, high + margin, "S/N", 3)};
  draw_plot_background(canvas, theme, plot);
  draw_lines(canvas, theme, plot, {line});
  draw_plot_frame(canvas, theme, plot);
}

void draw_spectrum(Canvas& canvas, const Theme& theme, const Rect& panel, const PulseCutout& cutout,
                   const Axis& time) {
  const std::size_t n_band = cutout.spectrum.extent(0), n_time = cutout.spectrum.extent(1);
  const ScaledUnit unit = hertz_unit(cutout.high_hz);
  const Plot plot{panel, time,
                  linear_axis(cutout.low_hz / unit.factor, cutout.high_hz / unit.factor,
                              fmt::format("Frequency ({})", unit.name), 4)};
  const Rect range{-0.5, -0.5, static_cast<double>(n_time) - 0.5, static_cast<double>(n_band) - 0.5};
  const auto [low, high] = percentile_range(cutout.spectrum, 99.5);
  const Stretch stretch{StretchKind::linear, std::min(low, -2.0), std::max(high, 3.0), 1};
  const ColourMap map("ember");
  draw_raster(canvas, panel, {cutout.spectrum, range, Reduction::mean}, map, stretch);
  draw_plot_frame(canvas, theme, plot);
  draw_colour_bar(canvas, theme, {panel.x1 + theme.px(16), panel.y0, panel.x1 + theme.px(36), panel.y1}, map,
                  stretch, "Standard deviations");
}

void draw_curve(Canvas& canvas, const Theme& theme, const Rect& panel, const TransientFigure& f,
                const TransientDetail& detail) {
  const double reach = std::max({detail.dm.back() - detail.point.dm, detail.point.dm - detail.dm.front(),
                                 0.002 * (f.dm_high - f.dm_low), 0.05});
  const Plot plot{
      panel, linear_axis(detail.point.dm - 1.1 * reach, detail.point.dm + 1.1 * reach, "DM (pc cm^{-3})", 4),
      linear_axis(0, 1.12 * detail.point.sn, "S/N", 3)};
  draw_plot_background(canvas, theme, plot);
  const Series series{detail.dm, detail.sn, theme.accent, ""};
  draw_lines(canvas, theme, plot, {series});
  draw_dots(canvas, theme, plot, {series});
  draw_plot_frame(canvas, theme, plot);
}

/// Where the panels of a detail stand, in units of the theme.
struct DetailPlace {
  double x, width;          ///< of profile and spectrum
  double curve_x, curve_y;  ///< of S/N against DM
  double curve_width, curve_height;
};

/// One detail takes the width of the overview, two or three share it.
DetailPlace detail_place(std::size_t index, std::size_t n_detail) {
  constexpr double kLeft = 130, kRight = 1880, kBar = 125, kLabels = 120;
  if (n_detail == 1) return {kLeft, 1250 - kLeft - kBar, 1390, 780, 450, 460};
  const auto n = static_cast<double>(n_detail);
  const double width = (kRight - kLeft - n * kBar - (n - 1) * kLabels) / n;
  const double x = kLeft + static_cast<double>(index) * (width + kBar + kLabels);
  return {x, width, x, 1360, width, 170};
}

void draw_detail(Canvas& canvas, const Theme& theme, const TransientFigure& f, std::size_t index,
                 std::size_t n_detail) {
  const TransientDetail& detail = f.best[index];
  const PulseCutout& cutout = detail.cutout;
  const DetailPlace place = detail_place(index, n_detail);
  const double end = cutout.first_s + static_cast<double>(cutout.profile.size()) * cutout.step_s;
  const ScaledUnit unit = seconds_unit(std::max(end, 1e-6));
  const Axis time = linear_axis(cutout.first_s / unit.factor, end / unit.factor,
                                fmt::format("Time after the pulse ({})", unit.name));
  const TextStyle style = theme.text(22);
  canvas.text(fitted(fmt::format("{}  {} s, DM {}, S/N {}", index + 1, short_number(detail.point.time_s, 7),
                                 short_number(detail.point.dm, 5), short_number(detail.point.sn)),
                     style, theme.px(place.width + 120)),
              {theme.px(place.x), theme.px(762)}, style);
  draw_profile(canvas, theme, theme.rect(place.x, 780, place.width, 134), detail, time, unit.factor);
  draw_spectrum(canvas, theme, theme.rect(place.x, 940, place.width, 300), cutout, time);
  if (!detail.dm.empty())
    draw_curve(canvas, theme, theme.rect(place.curve_x, place.curve_y, place.curve_width, place.curve_height),
               f, detail);
}

}  // namespace

Canvas draw_transient_figure(const TransientFigure& f, std::size_t size) {
  const Theme theme = figure_theme(size);
  const std::size_t n_detail = std::min(kMaxDetails, f.best.size());
  const double height = n_detail == 0 ? 800 : n_detail == 1 ? 1390 : 1690;
  Canvas canvas(static_cast<std::size_t>(theme.px(1900)), static_cast<std::size_t>(theme.px(height)));
  draw_heading(canvas, theme, theme.px(60), theme.px(1800), {f.title, f.subtitle});
  draw_overview(canvas, theme, f);
  for (std::size_t i = 0; i < n_detail; ++i) draw_detail(canvas, theme, f, i, n_detail);
  const TextStyle style = theme.small_text(20);
  canvas.text(fitted(f.footer, style, theme.px(1800)), {theme.px(60), theme.px(height - 24)}, style);
  return canvas;
}

}  // namespace apsyn
