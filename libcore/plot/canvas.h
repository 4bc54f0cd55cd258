// SPDX-License-Identifier: GPL-3.0-or-later
// A drawing: a list of what Cairo is to draw, until figure_file.h has it written as pixels (PNG) or as
// vectors (PDF, SVG). Coordinates are pixels of the PNG from the upper left corner, y downwards; the first
// pixel covers 0..1. Texts stand above all shapes, whatever was drawn first, and are never clipped: SVG holds
// them as text elements behind what Cairo writes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/base/view.h"

typedef struct _cairo cairo_t;

namespace apsyn {

struct Colour {
  float red = 0, green = 0, blue = 0;  ///< sRGB, 0..1
};
inline constexpr Colour kBlack{0, 0, 0}, kWhite{1, 1, 1};
/// A pixel of Canvas::image(): 8 bits each of alpha and of the colours, which are multiplied by it.
std::uint32_t image_pixel(Colour colour, double alpha = 1);
inline constexpr std::uint32_t kTransparent = 0;

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
  double width = 1;  ///< pixels
  double alpha = 1;
  double dash = 0, gap = 0;  ///< pixels; a line without gaps has none of them
};

enum class AlignX { left, centre, right };
enum class AlignY { baseline, middle, top };  ///< middle and top: of the capitals

struct TextStyle {
  double size = 16;  ///< pixels from the top of the ascenders to the bottom of the descenders
  bool bold = false;
  Colour colour = kBlack;
  AlignX align_x = AlignX::left;
  AlignY align_y = AlignY::baseline;
  double angle_rad = 0;   ///< anticlockwise
  double halo_width = 0;  ///< pixels of outline around the letters
  Colour halo = kWhite;
};
/// A text with its place: see text.h.
struct Label {
  std::string text;
  Point at;
  TextStyle style;
};

class Canvas {
 public:
  /// White paper. UsageError beyond 32767 pixels a side, which is Cairo's limit.
  Canvas(std::size_t width, std::size_t height);
  std::size_t width() const { return width_; }
  std::size_t height() const { return height_; }
  Rect bounds() const { return {0, 0, static_cast<double>(width_), static_cast<double>(height_)}; }

  /// Shapes are confined to `clip`, widened to whole pixels; unclip() lifts it.
  void clip(const Rect& clip);
  void unclip() { clip_.reset(); }

  /// Lines with round ends and joints. All paths of one call are one shape: crossings do not darken. Points
  /// that are not finite interrupt a path.
  void stroke(Paths paths, const Pen& pen);
  void line(Point from, Point to, const Pen& pen) { stroke({{from, to}}, pen); }
  /// Even-odd filling of closed polygons.
  void fill(Paths polygons, Colour colour, double alpha = 1);
  void fill(const Rect& rect, Colour colour, double alpha = 1);
  void frame(const Rect& rect, const Pen& pen);
  /// A raster [y downwards][x] of image_pixel() that fills `place`, with sharp edges between its pixels
  /// however large they become; only what lies in `window` is drawn.
  void image(const Rect& place, Buffer<std::uint32_t, 2> pixels, const Rect& window);
  void text(std::string_view text, Point at, const TextStyle& style);
  /// Another drawing with its upper left corner at (x, y).
  void paste(const Canvas& other, double x, double y);

  /// Everything but the texts, drawn by Cairo onto whatever surface `cairo` belongs to.
  void draw_shapes(cairo_t* cairo) const;
  const std::vector<Label>& labels() const { return labels_; }
  /// 8-bit [y][x][red, green, blue] of the whole drawing.
  Buffer<std::uint8_t, 3> to_rgb8() const;

 private:
  struct Shape {
    std::optional<Rect> clip;
    std::function<void(cairo_t*)> draw;
  };
  void add(std::function<void(cairo_t*)> draw) { shapes_.push_back({clip_, std::move(draw)}); }

  std::size_t width_, height_;
  std::optional<Rect> clip_;
  std::vector<Shape> shapes_;
  std::vector<Label> labels_;
};

/// A closed ellipse; `angle_rad` turns the first half-axis from +x towards -y (anticlockwise on the screen).
Path ellipse_path(Point centre, double half_axis1, double half_axis2, double angle_rad = 0);
Path rect_path(const Rect& rect);

}  // namespace apsyn
