// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/plot/layout.h"

#include <algorithm>
#include <cmath>

#include "libcore/base/constants.h"

namespace apsyn {
namespace {

/// Both axes' ticks, mirrored on the far sides.
void draw_ticks(Canvas& canvas, const Theme& theme, const Plot& plot) {
  const Rect& p = plot.panel;
  for (const Tick& tick : plot.x.ticks) {
    const double length = theme.px(tick.label.empty() ? 5 : 10), x = plot.at(tick.value, 0).x;
    if (x < p.x0 - 0.5 || x > p.x1 + 0.5) continue;
    canvas.stroke({{{x, p.y1}, {x, p.y1 - length}}, {{x, p.y0}, {x, p.y0 + length}}}, theme.frame_pen());
  }
  for (const Tick& tick : plot.y.ticks) {
    const double length = theme.px(tick.label.empty() ? 5 : 10), y = plot.at(0, tick.value).y;
    if (y < p.y0 - 0.5 || y > p.y1 + 0.5) continue;
    canvas.stroke({{{p.x0, y}, {p.x0 + length, y}}, {{p.x1, y}, {p.x1 - length, y}}}, theme.frame_pen());
  }
}

/// Draws the x labels that do not run into each other; returns nothing.
void draw_x_labels(Canvas& canvas, const Theme& theme, const Plot& plot) {
  TextStyle style = theme.text(22);
  style.align_x = AlignX::centre;
  style.align_y = AlignY::top;
  double last_right = -1e9;
  for (const Tick& tick : plot.x.ticks) {
    const Point at{plot.at(tick.value, 0).x, plot.panel.y1 + theme.px(11)};
    const Rect box = text_box(tick.label, at, style);
    if (tick.label.empty() || at.x < plot.panel.x0 - 1 || at.x > plot.panel.x1 + 1) continue;
    if (box.x0 < last_right + theme.px(8)) continue;
    canvas.text(tick.label, at, style);
    last_right = box.x1;
  }
}

/// Returns the left end of the widest label.
double draw_y_labels(Canvas& canvas, const Theme& theme, const Plot& plot) {
  TextStyle style = theme.text(22);
  style.align_x = AlignX::right;
  style.align_y = AlignY::middle;
  double left = plot.panel.x0 - theme.px(10), last_y = 1e9;
  for (const Tick& tick : plot.y.ticks) {
    const Point at{plot.panel.x0 - theme.px(10), plot.at(0, tick.value).y};
    if (tick.label.empty() || at.y < plot.panel.y0 - 1 || at.y > plot.panel.y1 + 1) continue;
    if (std::abs(last_y - at.y) < theme.px(24)) continue;
    canvas.text(tick.label, at, style);
    left = std::min(left, text_box(tick.label, at, style).x0);
    last_y = at.y;
  }
  return left;
}

/// The overlap of each canvas column with the values' columns: first index and weights.
struct Overlap {
  long first = 0;
  std::vector<double> weights;
};
std::vector<Overlap> overlaps(double low, double high, std::size_t n_out, std::size_t n_in) {
  std::vector<Overlap> out(n_out);
  const double step = (high - low) / static_cast<double>(n_out);
  for (std::size_t i = 0; i < n_out; ++i) {
    const double begin = low + step * static_cast<double>(i) + 0.5, end = begin + step;
    const long first = std::max(0L, static_cast<long>(std::floor(begin + 1e-9)));
    const long last = std::min(static_cast<long>(n_in), static_cast<long>(std::ceil(end - 1e-9)));
    out[i].first = first;
    for (long k = first; k < last; ++k)
      out[i].weights.push_back(std::min(end, static_cast<double>(k) + 1) -
                               std::max(begin, static_cast<double>(k)));
  }
  return out;
}

/// An axis of the raster that is drawn: n pixels of the indices low to high, which take the part begin to end
/// of the panel's side.
struct RasterAxis {
  double low = 0, high = 0;
  std::size_t n = 0;
  double begin = 0, end = 1;
};
RasterAxis raster_axis(double low, double high, double side, std::size_t n_in) {
  if (high - low > side) return {low, high, static_cast<std::size_t>(side)};
  const double first = std::max(0.0, std::floor(low + 0.5 + 1e-9));
  const double last = std::min(static_cast<double>(n_in), std::ceil(high + 0.5 - 1e-9));
  if (!(last > first)) return {};
  return {first - 0.5, last - 0.5, static_cast<std::size_t>(last - first), (first - 0.5 - low) / (high - low),
          (last - 0.5 - low) / (high - low)};
}

}  // namespace

Theme figure_theme(std::size_t size) {
  return {.unit = std::max(static_cast<double>(size) / 1000, kMinUnit)};
}

Axis linear_axis(double low, double high, const std::string& label, int n_ticks) {
  if (!(high > low)) high = low + std::max(1e-6, std::abs(low) * 1e-6), low -= high - low;
  return {low, high, linear_ticks(low, high, n_ticks), label};
}

Axis log_axis(double low, double high, const std::string& label, int n_ticks) {
  if (!(high > low + 0.01)) low -= 0.5, high = low + 1;
  return {low, high, log_ticks(low, high, n_ticks), label};
}

void draw_plot_background(Canvas& canvas, const Theme& theme, const Plot& plot) {
  const Pen pen{theme.faint, theme.px(1.2), 1};
  for (const Tick& tick : plot.x.ticks)
    if (!tick.label.empty())
      canvas.line({plot.at(tick.value, 0).x, plot.panel.y0}, {plot.at(tick.value, 0).x, plot.panel.y1}, pen);
  for (const Tick& tick : plot.y.ticks)
    if (!tick.label.empty())
      canvas.line({plot.panel.x0, plot.at(0, tick.value).y}, {plot.panel.x1, plot.at(0, tick.value).y}, pen);
}

void draw_plot_frame(Canvas& canvas, const Theme& theme, const Plot& plot) {
  draw_ticks(canvas, theme, plot);
  canvas.frame(plot.panel, theme.frame_pen());
  draw_x_labels(canvas, theme, plot);
  const double left = draw_y_labels(canvas, theme, plot);
  TextStyle style = theme.text(23);
  style.align_x = AlignX::centre;
  style.align_y = AlignY::top;
  canvas.text(plot.x.label, {(plot.panel.x0 + plot.panel.x1) / 2, plot.panel.y1 + theme.px(42)}, style);
  style.align_y = AlignY::baseline;
  style.angle_rad = kPi / 2;
  canvas.text(plot.y.label, {left - theme.px(14), (plot.panel.y0 + plot.panel.y1) / 2}, style);
}

void draw_panel_title(Canvas& canvas, const Theme& theme, const Rect& panel, const std::string& title,
                      std::optional<double> width) {
  TextStyle style = theme.text(20);
  style.bold = true;
  canvas.text(fitted(title, style, width.value_or(panel.width())), {panel.x0, panel.y0 - theme.px(11)},
              style);
}

void draw_colour_bar(Canvas& canvas, const Theme& theme, const Rect& bar, const ColourMap& map,
                     const Stretch& stretch, const std::string& label) {
  const std::size_t rows = static_cast<std::size_t>(std::max(1.0, std::round(bar.height())));
  Buffer<std::uint32_t, 2> colours({rows, 1});
  for (std::size_t i = 0; i < rows; ++i)
    colours(rows - 1 - i, 0) = image_pixel(map((static_cast<double>(i) + 0.5) / static_cast<double>(rows)));
  canvas.image(bar, std::move(colours), bar);
  canvas.frame(bar, theme.frame_pen());
  TextStyle style = theme.text(22);
  style.align_y = AlignY::middle;
  double right = bar.x1;
  for (const Tick& tick : stretch.ticks(std::min(0.3, theme.px(34) / bar.height()))) {
    if (tick.value < -1e-6 || tick.value > 1 + 1e-6) continue;
    const double y = bar.y1 - tick.value * bar.height();
    canvas.line({bar.x1, y}, {bar.x1 + theme.px(tick.label.empty() ? 4 : 8), y}, theme.frame_pen());
    const Point at{bar.x1 + theme.px(13), y};
    canvas.text(tick.label, at, style);
    right = std::max(right, text_box(tick.label, at, style).x1);
  }
  style = theme.text(23);
  style.align_x = AlignX::centre;
  style.align_y = AlignY::top;
  style.angle_rad = kPi / 2;
  canvas.text(label, {right + theme.px(12), (bar.y0 + bar.y1) / 2}, style);
}

std::string fitted(const std::string& text, const TextStyle& style, double width) {
  if (text_width(text, style) <= width) return text;
  const auto continues = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; };
  const auto cut = [&](std::size_t n) {
    while (n > 0 && continues(text[n])) --n;
    return text.substr(0, n) + "\u2026";
  };
  std::size_t fits = 0, too_long = text.size();  // bytes
  while (too_long - fits > 1) {
    const std::size_t middle = (fits + too_long) / 2;
    (text_width(cut(middle), style) <= width ? fits : too_long) = middle;
  }
  return cut(fits);
}

double heading_height(const Theme& theme) {
  return theme.px(104);
}

void draw_heading(Canvas& canvas, const Theme& theme, double x, double width, const Heading& heading) {
  TextStyle style = theme.text(36);
  style.bold = true;
  canvas.text(fitted(heading.title, style, width), {x, theme.px(50)}, style);
  const TextStyle small = theme.small_text(23);
  canvas.text(fitted(heading.subtitle, small, width), {x, theme.px(84)}, small);
}

bool TakenSpace::is_free(const Rect& box) const {
  return std::none_of(boxes_.begin(), boxes_.end(), [&](const Rect& other) {
    return box.x0 < other.x1 && other.x0 < box.x1 && box.y0 < other.y1 && other.y0 < box.y1;
  });
}

Buffer<double, 2> reduce_raster(const Raster& raster, std::size_t width, std::size_t height) {
  const auto columns = overlaps(raster.range.x0, raster.range.x1, width, raster.values.extent(1));
  const auto rows = overlaps(raster.range.y0, raster.range.y1, height, raster.values.extent(0));
  Buffer<double, 2> out({height, width});
  for (std::size_t y = 0; y < height; ++y) {
    const Overlap& row = rows[height - 1 - y];
    for (std::size_t x = 0; x < width; ++x) {
      double sum = 0, weight = 0, maximum = -INFINITY;
      for (std::size_t j = 0; j < row.weights.size(); ++j)
        for (std::size_t i = 0; i < columns[x].weights.size(); ++i) {
          const double value = raster.values(static_cast<std::size_t>(row.first) + j,
                                             static_cast<std::size_t>(columns[x].first) + i);
          if (!std::isfinite(value)) continue;
          const double w = row.weights[j] * columns[x].weights[i];
          sum += w * value, weight += w, maximum = std::max(maximum, value);
        }
      if (!(weight > 0))
        out(y, x) = NAN;
      else
        out(y, x) = raster.reduction == Reduction::mean ? sum / weight : maximum;
    }
  }
  return out;
}

void draw_raster(Canvas& canvas, const Rect& panel, const Raster& raster, const ColourMap& map,
                 const Stretch& stretch) {
  draw_raster(canvas, panel, raster, [&](double value) { return image_pixel(map(stretch(value))); });
}

void draw_raster(Canvas& canvas, const Rect& panel, const Raster& raster,
                 const std::function<std::uint32_t(double)>& pixel_of) {
  const Rect window{std::round(panel.x0), std::round(panel.y0),
                    std::max(std::round(panel.x1), std::round(panel.x0) + 1),
                    std::max(std::round(panel.y1), std::round(panel.y0) + 1)};
  const RasterAxis x = raster_axis(raster.range.x0, raster.range.x1, window.width(), raster.values.extent(1));
  const RasterAxis y =
      raster_axis(raster.range.y0, raster.range.y1, window.height(), raster.values.extent(0));
  if (x.n == 0 || y.n == 0) return;
  const Buffer<double, 2> reduced =
      reduce_raster({raster.values, {x.low, y.low, x.high, y.high}, raster.reduction}, x.n, y.n);
  Buffer<std::uint32_t, 2> pixels(reduced.shape());
  std::transform(reduced.begin(), reduced.end(), pixels.begin(), pixel_of);
  canvas.image({window.x0 + x.begin * window.width(), window.y1 - y.end * window.height(),
                window.x0 + x.end * window.width(), window.y1 - y.begin * window.height()},
               std::move(pixels), window);
}

}  // namespace apsyn
