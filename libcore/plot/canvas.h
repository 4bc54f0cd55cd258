// SPDX-License-Identifier: GPL-3.0-or-later
// A picture in memory and anti-aliased drawing into it. Coordinates are pixels from the upper left corner, y
// downwards; the first pixel covers 0..1. Blending is in the display's own (sRGB) values.
#pragma once

#include <cstdint>
#include <vector>

#include "libcore/base/view.h"

namespace apsyn {

struct Colour {
  float red = 0, green = 0, blue = 0;  ///< sRGB, 0..1
};
inline constexpr Colour kBlack{0, 0, 0}, kWhite{1, 1, 1};

struct Point {
  double x = 0, y = 0;
};
using Path = std::vector<Point>;
using Paths = std::vector<Path>;

struct Rect {
  double x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  double width() const { return x1 - x0; }
  double height() const { return y1 - y0; }
  bool contains(Point p) const { return p.x >= x0 && p.x <= x1 && p.y >= y0 && p.y <= y1; }
};

struct Pen {
  Colour colour = kBlack;
  double width = 1;  ///< pixels; below 1 the line grows fainter instead of thinner
  double alpha = 1;
};

class Canvas {
 public:
  /// Throws std::length_error beyond 32768 pixels a side.
  Canvas(std::size_t width, std::size_t height, Colour background = kWhite);
  std::size_t width() const { return width_; }
  std::size_t height() const { return height_; }
  Rect bounds() const { return {0, 0, static_cast<double>(width_), static_cast<double>(height_)}; }

  /// Drawing is confined to `clip`, cut to whole pixels; unclip() lifts it.
  void clip(const Rect& clip);
  void unclip() { clip(bounds()); }

  /// Mixes `colour` into a pixel; outside the clip nothing happens.
  void blend(long x, long y, Colour colour, double alpha = 1);
  Colour pixel(std::size_t x, std::size_t y) const;
  /// Copies another picture with its upper left corner to pixel (x, y), as much of it as fits.
  void paste(const Canvas& other, std::size_t x, std::size_t y);

  /// Lines with round ends and joints. All paths of one call are one shape: crossings do not darken.
  void stroke(const Paths& paths, const Pen& pen);
  void line(Point from, Point to, const Pen& pen) { stroke({{from, to}}, pen); }
  /// Even-odd filling of closed polygons; 4 x 4 or better sub-pixel coverage.
  void fill(const Paths& polygons, Colour colour, double alpha = 1);
  void fill(const Rect& rect, Colour colour, double alpha = 1);
  void frame(const Rect& rect, const Pen& pen);

  /// 8-bit [y][x][red, green, blue], rounded to nearest.
  Buffer<std::uint8_t, 3> to_rgb8() const;

 private:
  std::size_t width_, height_;
  long clip_x0_ = 0, clip_y0_ = 0, clip_x1_ = 0, clip_y1_ = 0;
  std::vector<Colour> pixels_;  ///< [y][x]
};

/// A closed ellipse; `angle_rad` turns the first half-axis from +x towards -y (anticlockwise on the screen).
Path ellipse_path(Point centre, double half_axis1, double half_axis2, double angle_rad = 0);
Path rect_path(const Rect& rect);
/// Cuts a path into dashes of `on` pixels with gaps of `off` pixels.
Paths dashed(const Path& path, double on, double off);

}  // namespace apsyn
