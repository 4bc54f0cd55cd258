// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/plot/canvas.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "libcore/base/constants.h"
#include "libcore/plot/cairo_handles.h"
#include "libcore/plot/text.h"

namespace apsyn {
namespace {

constexpr std::size_t kMaxSide = 32767;

/// Cairo's coordinates are fixed-point numbers that end at 2^23. What is this far out of the picture may lie
/// anywhere there.
double within_cairo(double coordinate) {
  return std::clamp(coordinate, -1e6, 1e6);
}

bool finite(Point p) {
  return std::isfinite(p.x) && std::isfinite(p.y);
}

void set_colour(cairo_t* cairo, Colour colour, double alpha) {
  cairo_set_source_rgba(cairo, colour.red, colour.green, colour.blue, std::clamp(alpha, 0.0, 1.0));
}

/// The runs of finite points; a point alone is none.
void add_paths(cairo_t* cairo, const Paths& paths) {
  cairo_new_path(cairo);
  for (const Path& path : paths) {
    bool drawing = false;
    for (std::size_t i = 0; i < path.size(); ++i) {
      if (!finite(path[i])) {
        drawing = false;
        continue;
      }
      const double x = within_cairo(path[i].x), y = within_cairo(path[i].y);
      if (drawing)
        cairo_line_to(cairo, x, y);
      else if (i + 1 < path.size() && finite(path[i + 1]))
        cairo_move_to(cairo, x, y), drawing = true;
    }
  }
}

/// A raster with each pixel repeated so often that none is larger than one of the canvas: programs that show
/// PDF and SVG smooth enlarged pixels, whatever the file says, and then have nothing to smooth.
struct Replicas {
  std::size_t x, y;
};
Replicas replicas(const Rect& place, const Rect& window, std::size_t width, std::size_t height) {
  const auto times = [](double shown, std::size_t n) {
    return static_cast<std::size_t>(
        std::clamp(std::ceil(shown / static_cast<double>(n) - 1e-6), 1.0, static_cast<double>(kMaxSide / n)));
  };
  return {times(std::min(place.width(), window.width()), width),
          times(std::min(place.height(), window.height()), height)};
}

CairoSurface image_surface(View<const std::uint32_t, 2> pixels, Replicas n) {
  const std::size_t height = pixels.extent(0) * n.y, width = pixels.extent(1) * n.x;
  CairoSurface surface(
      cairo_image_surface_create(CAIRO_FORMAT_ARGB32, static_cast<int>(width), static_cast<int>(height)));
  check_cairo(cairo_surface_status(surface.get()));
  unsigned char* row = cairo_image_surface_get_data(surface.get());
  for (std::size_t y = 0; y < height; ++y, row += cairo_image_surface_get_stride(surface.get())) {
    auto* out = reinterpret_cast<std::uint32_t*>(row);
    for (std::size_t x = 0; x < width; ++x) out[x] = pixels(y / n.y, x / n.x);
  }
  cairo_surface_mark_dirty(surface.get());
  return surface;
}

}  // namespace

std::uint32_t image_pixel(Colour colour, double alpha) {
  const double a = std::clamp(alpha, 0.0, 1.0);
  const auto byte = [a](double value) {
    return static_cast<std::uint32_t>(std::lround(std::clamp(value, 0.0, 1.0) * a * 255));
  };
  return byte(1) << 24 | byte(colour.red) << 16 | byte(colour.green) << 8 | byte(colour.blue);
}

Canvas::Canvas(std::size_t width, std::size_t height) : width_(width), height_(height) {
  if (width > kMaxSide || height > kMaxSide)
    throw UsageError(
        "a picture of {} x {} pixels is too large, at most {} on a side can be drawn: choose a smaller "
        "--size or fewer panels",
        width, height, kMaxSide);
}

void Canvas::clip(const Rect& clip) {
  clip_ = {std::floor(clip.x0), std::floor(clip.y0), std::ceil(clip.x1), std::ceil(clip.y1)};
}

void Canvas::stroke(Paths paths, const Pen& pen) {
  add([paths = std::move(paths), pen](cairo_t* cairo) {
    add_paths(cairo, paths);
    cairo_set_line_width(cairo, pen.width);
    const double dashes[] = {pen.dash, pen.gap};
    if (pen.dash > 0 && pen.gap > 0) cairo_set_dash(cairo, dashes, 2, 0);
    set_colour(cairo, pen.colour, pen.alpha);
    cairo_stroke(cairo);
  });
}

void Canvas::fill(Paths polygons, Colour colour, double alpha) {
  add([polygons = std::move(polygons), colour, alpha](cairo_t* cairo) {
    add_paths(cairo, polygons);
    set_colour(cairo, colour, alpha);
    cairo_fill(cairo);
  });
}

void Canvas::fill(const Rect& rect, Colour colour, double alpha) {
  fill(Paths{rect_path(rect)}, colour, alpha);
}

void Canvas::frame(const Rect& rect, const Pen& pen) {
  Path path = rect_path(rect);
  path.push_back(path.front());
  stroke({path}, pen);
}

void Canvas::image(const Rect& place, Buffer<std::uint32_t, 2> pixels, const Rect& window) {
  const std::size_t height = pixels.extent(0), width = pixels.extent(1);
  if (width == 0 || height == 0) return;
  if (width > kMaxSide || height > kMaxSide)
    throw FailureError("a raster of {} x {} pixels is too large to be drawn", width, height);
  const auto shared = std::make_shared<const Buffer<std::uint32_t, 2>>(std::move(pixels));
  add([shared, place, window](cairo_t* cairo) {
    const CairoSurface surface =
        image_surface(*shared, replicas(place, window, shared->extent(1), shared->extent(0)));
    cairo_rectangle(cairo, window.x0, window.y0, window.width(), window.height());
    cairo_clip(cairo);
    cairo_translate(cairo, place.x0, place.y0);
    cairo_scale(cairo, place.width() / cairo_image_surface_get_width(surface.get()),
                place.height() / cairo_image_surface_get_height(surface.get()));
    cairo_set_source_surface(cairo, surface.get(), 0, 0);
    cairo_pattern_set_filter(cairo_get_source(cairo), CAIRO_FILTER_NEAREST);
    cairo_paint(cairo);
  });
}

void Canvas::text(std::string_view text, Point at, const TextStyle& style) {
  if (!text.empty() && finite(at))
    labels_.push_back({std::string(text), {within_cairo(at.x), within_cairo(at.y)}, style});
}

void Canvas::paste(const Canvas& other, double x, double y) {
  add([other, x, y](cairo_t* cairo) {
    cairo_translate(cairo, x, y);
    other.draw_shapes(cairo);
  });
  for (Label label : other.labels_) {
    label.at = {label.at.x + x, label.at.y + y};
    labels_.push_back(std::move(label));
  }
}

void Canvas::draw_shapes(cairo_t* cairo) const {
  cairo_set_line_cap(cairo, CAIRO_LINE_CAP_ROUND);
  cairo_set_line_join(cairo, CAIRO_LINE_JOIN_ROUND);
  cairo_set_fill_rule(cairo, CAIRO_FILL_RULE_EVEN_ODD);
  cairo_rectangle(cairo, 0, 0, static_cast<double>(width_), static_cast<double>(height_));
  set_colour(cairo, kWhite, 1);
  cairo_fill(cairo);
  for (const Shape& shape : shapes_) {
    cairo_save(cairo);
    if (shape.clip) {
      cairo_rectangle(cairo, within_cairo(shape.clip->x0), within_cairo(shape.clip->y0),
                      within_cairo(shape.clip->width()), within_cairo(shape.clip->height()));
      cairo_clip(cairo);
    }
    shape.draw(cairo);
    cairo_restore(cairo);
  }
  check_cairo(cairo_status(cairo));
}

CairoSurface draw_pixels(const Canvas& canvas) {
  CairoSurface surface(cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(canvas.width()),
                                                  static_cast<int>(canvas.height())));
  check_cairo(cairo_surface_status(surface.get()));
  const CairoContext cairo(cairo_create(surface.get()));
  canvas.draw_shapes(cairo.get());
  for (const Label& label : canvas.labels()) draw_label(cairo.get(), label);
  check_cairo(cairo_status(cairo.get()));
  cairo_surface_flush(surface.get());
  return surface;
}

Buffer<std::uint8_t, 3> Canvas::to_rgb8() const {
  const CairoSurface surface = draw_pixels(*this);
  Buffer<std::uint8_t, 3> rgb({height_, width_, 3});
  const unsigned char* row = cairo_image_surface_get_data(surface.get());
  std::uint8_t* out = rgb.data();
  for (std::size_t y = 0; y < height_; ++y, row += cairo_image_surface_get_stride(surface.get()))
    for (std::size_t x = 0; x < width_; ++x)
      for (const int shift : {16, 8, 0})
        *out++ = static_cast<std::uint8_t>(reinterpret_cast<const std::uint32_t*>(row)[x] >> shift);
  return rgb;
}

Path ellipse_path(Point centre, double half_axis1, double half_axis2, double angle_rad) {
  const double reach = std::max(std::abs(half_axis1), std::abs(half_axis2));
  const int n = std::clamp(static_cast<int>(4 * std::sqrt(reach)) * 4, 24, 1440);
  const double c = std::cos(angle_rad), s = std::sin(angle_rad);
  Path path;
  for (int i = 0; i <= n; ++i) {
    const double t = kTwoPi * i / n, a = half_axis1 * std::cos(t), b = half_axis2 * std::sin(t);
    path.push_back({centre.x + a * c - b * s, centre.y - a * s - b * c});
  }
  return path;
}

Path rect_path(const Rect& rect) {
  return {{rect.x0, rect.y0}, {rect.x1, rect.y0}, {rect.x1, rect.y1}, {rect.x0, rect.y1}};
}

}  // namespace apsyn
