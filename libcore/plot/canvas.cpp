// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/plot/canvas.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "libcore/base/constants.h"

namespace apsyn {
namespace {

bool finite(Point p) {
  return std::isfinite(p.x) && std::isfinite(p.y);
}

double distance_to_segment(Point p, Point a, Point b) {
  const double dx = b.x - a.x, dy = b.y - a.y, length2 = dx * dx + dy * dy;
  double t = length2 > 0 ? ((p.x - a.x) * dx + (p.y - a.y) * dy) / length2 : 0;
  t = std::clamp(t, 0.0, 1.0);
  return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

/// Pixel index of a coordinate that may be far outside what a long holds.
long pixel_index(double coordinate) {
  return static_cast<long>(std::clamp(std::floor(coordinate), -1e6, 1e6));
}

/// A rectangle of coverage values, pixels x0..x1-1, y0..y1-1.
struct Mask {
  long x0, y0, x1, y1;
  std::vector<float> coverage;
  Mask(long left, long top, long right, long bottom)
      : x0(left), y0(top), x1(std::max(left, right)), y1(std::max(top, bottom)) {
    coverage.assign(static_cast<std::size_t>((x1 - x0) * (y1 - y0)), 0.0f);
  }
  float& at(long x, long y) { return coverage[static_cast<std::size_t>((y - y0) * (x1 - x0) + x - x0)]; }
};

Rect bounding_box(const Paths& paths, double margin) {
  Rect box{1e9, 1e9, -1e9, -1e9};
  for (const Path& path : paths)
    for (Point p : path) {
      if (!finite(p)) continue;
      box.x0 = std::min(box.x0, p.x - margin), box.x1 = std::max(box.x1, p.x + margin);
      box.y0 = std::min(box.y0, p.y - margin), box.y1 = std::max(box.y1, p.y + margin);
    }
  return box;
}

void stroke_segment(Mask& mask, Point a, Point b, double half_width) {
  const double reach = half_width + 1;
  const long x0 = std::max(mask.x0, pixel_index(std::min(a.x, b.x) - reach));
  const long x1 = std::min(mask.x1, pixel_index(std::max(a.x, b.x) + reach) + 1);
  const long y0 = std::max(mask.y0, pixel_index(std::min(a.y, b.y) - reach));
  const long y1 = std::min(mask.y1, pixel_index(std::max(a.y, b.y) + reach) + 1);
  for (long y = y0; y < y1; ++y)
    for (long x = x0; x < x1; ++x) {
      const Point centre{static_cast<double>(x) + 0.5, static_cast<double>(y) + 0.5};
      const double cover = half_width + 0.5 - distance_to_segment(centre, a, b);
      float& best = mask.at(x, y);
      best = std::max(best, static_cast<float>(std::clamp(cover, 0.0, 1.0)));
    }
}

/// Adds the part of each pixel of row y that [left, right] covers, times `weight`.
void cover_span(Mask& mask, long y, double left, double right, float weight) {
  left = std::max(left, static_cast<double>(mask.x0));
  right = std::min(right, static_cast<double>(mask.x1));
  for (long x = pixel_index(left); x < mask.x1 && static_cast<double>(x) < right; ++x) {
    const double begin = std::max(left, static_cast<double>(x));
    const double end = std::min(right, static_cast<double>(x) + 1);
    if (end > begin) mask.at(x, y) += weight * static_cast<float>(end - begin);
  }
}

}  // namespace

Canvas::Canvas(std::size_t width, std::size_t height, Colour background) : width_(width), height_(height) {
  if (width > 32768 || height > 32768) throw std::length_error("Canvas: more than 32768 pixels a side");
  pixels_.assign(width * height, background);
  unclip();
}

void Canvas::clip(const Rect& clip) {
  clip_x0_ = std::clamp(pixel_index(clip.x0), 0L, static_cast<long>(width_));
  clip_y0_ = std::clamp(pixel_index(clip.y0), 0L, static_cast<long>(height_));
  clip_x1_ = std::clamp(pixel_index(std::ceil(clip.x1)), clip_x0_, static_cast<long>(width_));
  clip_y1_ = std::clamp(pixel_index(std::ceil(clip.y1)), clip_y0_, static_cast<long>(height_));
}

void Canvas::blend(long x, long y, Colour colour, double alpha) {
  if (x < clip_x0_ || x >= clip_x1_ || y < clip_y0_ || y >= clip_y1_) return;
  Colour& pixel = pixels_[static_cast<std::size_t>(y) * width_ + static_cast<std::size_t>(x)];
  const float a = static_cast<float>(std::clamp(alpha, 0.0, 1.0));
  pixel.red += a * (colour.red - pixel.red);
  pixel.green += a * (colour.green - pixel.green);
  pixel.blue += a * (colour.blue - pixel.blue);
}

Colour Canvas::pixel(std::size_t x, std::size_t y) const {
  return pixels_.at(y * width_ + x);
}

void Canvas::paste(const Canvas& other, std::size_t x, std::size_t y) {
  for (std::size_t row = 0; row < other.height_ && y + row < height_ && x < width_; ++row)
    std::copy_n(&other.pixels_[row * other.width_], std::min(other.width_, width_ - x),
                &pixels_[(y + row) * width_ + x]);
}

void Canvas::stroke(const Paths& paths, const Pen& pen) {
  const double half_width = std::max(pen.width, 1.0) / 2;
  const Rect box = bounding_box(paths, half_width + 1);
  if (box.x1 < box.x0) return;
  Mask mask(std::max(clip_x0_, pixel_index(box.x0)), std::max(clip_y0_, pixel_index(box.y0)),
            std::min(clip_x1_, pixel_index(box.x1) + 1), std::min(clip_y1_, pixel_index(box.y1) + 1));
  for (const Path& path : paths)
    for (std::size_t i = 0; i + 1 < path.size(); ++i)
      if (finite(path[i]) && finite(path[i + 1])) stroke_segment(mask, path[i], path[i + 1], half_width);
  const double alpha = pen.alpha * std::min(pen.width, 1.0);
  for (long y = mask.y0; y < mask.y1; ++y)
    for (long x = mask.x0; x < mask.x1; ++x)
      if (mask.at(x, y) > 0) blend(x, y, pen.colour, alpha * mask.at(x, y));
}

void Canvas::fill(const Paths& polygons, Colour colour, double alpha) {
  constexpr int kRows = 8;  // sub-rows of a pixel; along a row the coverage is exact
  const Rect box = bounding_box(polygons, 0);
  if (box.x1 < box.x0) return;
  Mask mask(std::max(clip_x0_, pixel_index(box.x0)), std::max(clip_y0_, pixel_index(box.y0)),
            std::min(clip_x1_, pixel_index(box.x1) + 1), std::min(clip_y1_, pixel_index(box.y1) + 1));
  std::vector<double> crossings;
  for (long y = mask.y0; y < mask.y1; ++y)
    for (int sub = 0; sub < kRows; ++sub) {
      const double scan = static_cast<double>(y) + (sub + 0.5) / kRows;
      crossings.clear();
      for (const Path& polygon : polygons)
        for (std::size_t i = 0; i < polygon.size(); ++i) {
          const Point a = polygon[i], b = polygon[(i + 1) % polygon.size()];
          if ((a.y <= scan) != (b.y <= scan))
            crossings.push_back(a.x + (scan - a.y) / (b.y - a.y) * (b.x - a.x));
        }
      std::sort(crossings.begin(), crossings.end());
      for (std::size_t i = 0; i + 1 < crossings.size(); i += 2)
        cover_span(mask, y, crossings[i], crossings[i + 1], 1.0f / kRows);
    }
  for (long y = mask.y0; y < mask.y1; ++y)
    for (long x = mask.x0; x < mask.x1; ++x)
      if (mask.at(x, y) > 0) blend(x, y, colour, alpha * mask.at(x, y));
}

void Canvas::fill(const Rect& rect, Colour colour, double alpha) {
  fill(Paths{rect_path(rect)}, colour, alpha);
}

void Canvas::frame(const Rect& rect, const Pen& pen) {
  Path path = rect_path(rect);
  path.push_back(path.front());
  stroke({path}, pen);
}

Buffer<std::uint8_t, 3> Canvas::to_rgb8() const {
  Buffer<std::uint8_t, 3> rgb({height_, width_, 3});
  std::uint8_t* out = rgb.data();
  auto byte = [](float value) {
    return static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0f, 1.0f) * 255.0f));
  };
  for (const Colour& pixel : pixels_) {
    *out++ = byte(pixel.red);
    *out++ = byte(pixel.green);
    *out++ = byte(pixel.blue);
  }
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

Paths dashed(const Path& path, double on, double off) {
  Paths dashes;
  double phase = 0;  // distance since the start of the current dash and gap
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    const Point a = path[i], b = path[i + 1];
    const double length = std::hypot(b.x - a.x, b.y - a.y);
    if (!(length > 0) || length > 1e5) continue;
    auto at = [&](double t) { return Point{a.x + t / length * (b.x - a.x), a.y + t / length * (b.y - a.y)}; };
    for (double t = 0; t < length;) {
      const bool drawing = phase < on;
      const double step = std::min(length - t, (drawing ? on : on + off) - phase);
      if (drawing) {
        if (phase == 0 || t == 0) dashes.push_back({at(t)});
        dashes.back().push_back(at(t + step));
      }
      t += step;
      phase += step;
      if (phase >= on + off - 1e-9) phase = 0;
      if (step < 1e-12) break;
    }
  }
  return dashes;
}

}  // namespace apsyn
