// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/plot/figures/image_figure.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/plot/contours.h"
#include "libcore/plot/figures/image_captions.h"
#include "libcore/plot/figures/sky_furniture.h"

namespace apsyn {
namespace {

constexpr Colour kContour{0.45f, 0.95f, 0.90f};  // light, and opposite to the hues of the default map

struct Margins {
  double left, right, top, bottom;
};

Margins margins(const Theme& theme, bool wide) {
  return {theme.px(wide ? 70 : 195), theme.px(wide ? 218 : 190),
          heading_height(theme) + theme.px(wide ? 40 : 12), theme.px(wide ? 125 : 172)};
}

/// Sides of the data area: a whole number of canvas pixels per image pixel unless the image is much larger.
Rect place_panel(const ImageFigureOptions& options, const SinProjection& projection, const Rect& pixels,
                 const Margins& margins) {
  const double width_rad = pixels.width() * projection.cell_x_rad;
  const double height_rad = pixels.height() * projection.cell_y_rad;
  const double size = static_cast<double>(options.size);
  double scale = size / std::max(width_rad, height_rad);
  const double per_pixel = scale * projection.cell_x_rad;
  if (per_pixel >= 0.75 && projection.cell_x_rad == projection.cell_y_rad)
    scale = std::round(per_pixel) / projection.cell_x_rad;
  const double width = std::max(1.0, std::round(width_rad * scale));
  const double height = std::max(1.0, std::round(height_rad * scale));
  const double left = std::round(margins.left), top = std::round(margins.top);
  return {left, top, left + width, top + height};
}

/// Of an image that reaches beyond the horizon, the part within it.
Rect within_horizon(const Rect& pixels, const SinProjection& sky) {
  const double rx = std::ceil(1 / sky.cell_x_rad) + 1.5, ry = std::ceil(1 / sky.cell_y_rad) + 1.5;
  const double x = std::round(sky.ref_x), y = std::round(sky.ref_y);
  const Rect cut{std::max(pixels.x0, x - rx), std::max(pixels.y0, y - ry), std::min(pixels.x1, x + rx),
                 std::min(pixels.y1, y + ry)};
  return cut.width() >= 1 && cut.height() >= 1 ? cut : pixels;
}

Rect shown_pixels(const Image& image, const ImageFigureOptions& o, const SinProjection& sky) {
  const std::size_t ny = image.pixels.extent(2), nx = image.pixels.extent(3);
  const std::size_t width = o.width == 0 ? nx : o.width, height = o.height == 0 ? ny : o.height;
  if (o.x0 >= nx || o.y0 >= ny || width > nx - o.x0 || height > ny - o.y0)
    throw UsageError("--crop: {} x {} pixels at {},{}: that leaves the image of {} x {}", width, height, o.x0,
                     o.y0, nx, ny);
  const double x = static_cast<double>(o.x0), y = static_cast<double>(o.y0);
  const Rect asked{x - 0.5, y - 0.5, x - 0.5 + static_cast<double>(width),
                   y - 0.5 + static_cast<double>(height)};
  return o.width == 0 ? within_horizon(asked, sky) : asked;
}

/// A pixel that the horizon cuts may have its centre below it: what is above shows the inner neighbour's
/// value.
void extend_to_horizon(Buffer<double, 2>& plane, const SkyView& view) {
  const SinProjection& sky = view.projection;
  const long height = static_cast<long>(plane.extent(0)), width = static_cast<long>(plane.extent(1));
  for (long y = 0; y < height; ++y)
    for (long x = 0; x < width; ++x) {
      const double px = static_cast<double>(x) + view.pixels.x0 + 0.5;
      const double py = static_cast<double>(y) + view.pixels.y0 + 0.5;
      const double dx = px > sky.ref_x ? -1 : 1, dy = py > sky.ref_y ? -1 : 1;
      if (sky.direction({px, py}) || !sky.direction({px + dx / 2, py + dy / 2})) continue;
      const bool mostly_x = std::abs(px - sky.ref_x) > std::abs(py - sky.ref_y);
      const long from_x = mostly_x ? x + static_cast<long>(dx) : x;
      const long from_y = mostly_x ? y : y + static_cast<long>(dy);
      if (from_x < 0 || from_y < 0 || from_x >= width || from_y >= height) continue;
      plane(y, x) = plane(from_y, from_x);
    }
}

Stretch choose_stretch(const ImageFigureOptions& o, View<const double, 2> plane, const PlaneStatistics& s) {
  Stretch stretch = default_stretch(s);
  if (o.percentile) std::tie(stretch.low, stretch.high) = percentile_range(plane, *o.percentile);
  if (o.range) std::tie(stretch.low, stretch.high) = *o.range;
  if (o.range || o.percentile) stretch.kind = StretchKind::linear;
  if (o.stretch) stretch.kind = *o.stretch;
  stretch.soft = s.noise > 0 ? 3 * s.noise : std::max(std::abs(stretch.low), std::abs(stretch.high)) / 100;
  if (!(stretch.soft > 0)) stretch.soft = 1;
  if (!(stretch.high > stretch.low)) {  // a constant plane
    const double half = std::max(std::abs(stretch.low) * 0.1, 1e-6);
    stretch.low -= half, stretch.high += half;
  }
  if (stretch.kind == StretchKind::log) {
    if (!(stretch.high > 0))
      throw UsageError("--stretch log: no positive values up to {}: use linear or asinh", stretch.high);
    if (!(stretch.low > 0)) stretch.low = std::min(std::max(s.noise, stretch.high / 1e4), stretch.high / 10);
  }
  return stretch;
}

void scale_values(Buffer<double, 2>& plane, Stretch& stretch, double factor) {
  for (double& value : plane) value *= factor;
  stretch.low *= factor, stretch.high *= factor, stretch.soft *= factor;
}

double level_of(const ContourLevel& contour, const PlaneStatistics& s) {
  if (contour.of == ContourLevel::Of::unit) return contour.value;
  return contour.value * (contour.of == ContourLevel::Of::peak ? s.maximum / 100 : s.noise);
}

/// Lines through the image's own pixels, or through what is left of them when many become one.
void draw_contours(Canvas& canvas, const Theme& theme, const Rect& panel, const Raster& raster,
                   const std::vector<double>& levels) {
  const bool many = raster.range.width() > panel.width();
  Buffer<double, 2> reduced;
  if (many) {
    reduced = reduce_raster(raster, static_cast<std::size_t>(panel.width()),
                            static_cast<std::size_t>(panel.height()));
    for (std::size_t y = 0; 2 * y + 1 < reduced.extent(0); ++y)  // upwards, as the image
      std::swap_ranges(&reduced(y, 0), &reduced(y, 0) + reduced.extent(1),
                       &reduced(reduced.extent(0) - 1 - y, 0));
  }
  const View<const double, 2> values = many ? reduced.view() : raster.values;
  const double step_x = panel.width() / static_cast<double>(values.extent(1));
  const double step_y = panel.height() / static_cast<double>(values.extent(0));
  for (double level : levels) {
    Paths lines;
    for (Path& path : contour_lines(values, level)) {
      for (Point& at : path) at = {panel.x0 + (at.x + 0.5) * step_x, panel.y1 - (at.y + 0.5) * step_y};
      lines.push_back(std::move(path));
    }
    const double dash = level < 0 ? theme.px(7) : 0, gap = level < 0 ? theme.px(5) : 0;
    canvas.stroke(lines, {kBlack, theme.px(3.6), 0.45, dash, gap});
    canvas.stroke(lines, {kContour, theme.px(1.6), 1, dash, gap});
  }
}

}  // namespace

std::vector<ContourLevel> parse_contours(const std::string& list) {
  std::vector<ContourLevel> levels;
  for (std::string_view text : split(list, ',')) {
    ContourLevel level;
    if (text.ends_with('%')) level.of = ContourLevel::Of::peak;
    if (text.ends_with('s')) level.of = ContourLevel::Of::noise;
    if (level.of != ContourLevel::Of::unit) text.remove_suffix(1);
    try {
      level.value = parse_number(text);
    } catch (const UsageError&) {
      throw UsageError("--contours {}: give numbers, with % of the maximum or with s of the noise: -3s,3s,6s",
                       list);
    }
    levels.push_back(level);
  }
  return levels;
}

SkyView image_figure_view(const Image& image, const ImageFigureOptions& options) {
  SkyView view;
  view.projection = sin_projection(image.info, image.pixels.extent(3), image.pixels.extent(2));
  view.pixels = shown_pixels(image, options, view.projection);
  view.panel = place_panel(options, view.projection, view.pixels, {0, 0, 0, 0});
  const Theme theme = figure_theme(options.size);
  const bool wide = is_wide(view);
  Margins m = margins(theme, wide);
  if (!wide) m.left = std::max(m.left, declination_labels_width(theme, view) + theme.px(70));
  view.panel = place_panel(options, view.projection, view.pixels, m);
  return view;
}

Buffer<double, 2> image_figure_plane(const Image& image, const ImageFigureOptions& o, const SkyView& view) {
  if (o.stokes >= image.pixels.extent(0) || o.channel >= image.pixels.extent(1))
    throw UsageError("--plane: Stokes plane {}, channel {}: the image has {} and {}", o.stokes, o.channel,
                     image.pixels.extent(0), image.pixels.extent(1));
  const auto width = static_cast<std::size_t>(view.pixels.width());
  const auto height = static_cast<std::size_t>(view.pixels.height());
  const auto x0 = static_cast<std::size_t>(view.pixels.x0 + 0.5),
             y0 = static_cast<std::size_t>(view.pixels.y0 + 0.5);
  Buffer<double, 2> plane({height, width});
  for (std::size_t y = 0; y < height; ++y)
    for (std::size_t x = 0; x < width; ++x) {
      const Point pixel{static_cast<double>(x + x0), static_cast<double>(y + y0)};
      const double value = image.pixels(o.stokes, o.channel, y + y0, x + x0);
      plane(y, x) = std::isfinite(value) && view.projection.direction(pixel) ? value : NAN;
    }
  return plane;
}

Canvas draw_image_figure(const Image& image, const ImageFigureOptions& options) {
  const Theme theme = figure_theme(options.size);
  const SkyView view = image_figure_view(image, options);
  const bool wide = is_wide(view);
  const Margins m = margins(theme, wide);
  Buffer<double, 2> plane = image_figure_plane(image, options, view);
  const PlaneStatistics statistics = plane_statistics(plane);
  if (statistics.n_finite == 0) throw FailureError("no usable data: every pixel of the plane is blank");
  Stretch stretch = choose_stretch(options, plane, statistics);
  const DisplayUnit unit =
      display_unit(image.info.unit, std::max(std::abs(stretch.low), std::abs(stretch.high)));
  if (wide) extend_to_horizon(plane, view);
  scale_values(plane, stretch, unit.factor);

  const Rect& panel = view.panel;
  const double text_span = std::max(panel.width(), 0.9 * static_cast<double>(options.size));
  Canvas canvas(static_cast<std::size_t>(panel.x0 + text_span + m.right),
                static_cast<std::size_t>(panel.y1 + m.bottom));
  ColourMap map(options.colour_map);
  if (wide) map.set_missing(kWhite);  // blank pixels along the horizon are no data, but no hole either
  const Rect range{-0.5, -0.5, view.pixels.width() - 0.5, view.pixels.height() - 0.5};
  draw_raster(canvas, panel, {plane, range, options.reduction}, map, stretch);
  blank_off_sky(canvas, view);

  TakenSpace taken;
  canvas.clip(panel);
  std::vector<double> levels;
  for (const ContourLevel& contour : options.contours)
    levels.push_back(level_of(contour, statistics) * unit.factor);
  draw_contours(canvas, theme, panel, {plane, range, options.reduction}, levels);
  if (image.info.beam) draw_beam(canvas, theme, view, *image.info.beam, taken);
  canvas.unclip();
  draw_sky_coordinates(canvas, theme, view, options.grid, taken);
  canvas.clip(panel);
  draw_marks(canvas, theme, view, image.info.beam, options.marks, taken);
  canvas.unclip();

  const double bar_left = panel.x1 + theme.px(wide ? 56 : 28);  // the W of a wide field stands before it
  const Rect bar{bar_left, panel.y0, bar_left + theme.px(28), panel.y1};
  draw_colour_bar(canvas, theme, bar, map, stretch, unit.label);
  const double width = static_cast<double>(canvas.width()) - panel.x0 - theme.px(20);
  draw_heading(canvas, theme, panel.x0, width, image_heading(image.info, options));
  const TextStyle style = theme.small_text(20);
  double y = static_cast<double>(canvas.height()) - theme.px(50);
  for (const std::string& line : image_footer(image.info, view, statistics, stretch.kind)) {
    canvas.text(fitted(line, style, width), {panel.x0, y}, style);
    y += theme.px(29);
  }
  return canvas;
}

}  // namespace apsyn
