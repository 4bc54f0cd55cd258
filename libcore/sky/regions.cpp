// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/sky/regions.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/sky/projection.h"

namespace apsyn {
namespace {

// Corners that are pixel centres, given as directions, come back to within rounding.
constexpr double kRounding = 1e-6;

struct Pixel {
  double x = 0, y = 0;
};
/// Rows and columns that may lie in a region, and the test of one pixel.
struct Shape {
  Pixel low, high;
  std::function<bool(double x, double y)> contains;
};

/// Between pixels of one image and the sky.
class Grid {
 public:
  Grid(const ImageInfo& info, std::size_t nx, std::size_t ny)
      : centre_(info.centre),
        reference_(reference_pixel(info, nx, ny)),
        cell_x_(info.cell_rad),
        cell_y_(info.cell_y_rad != 0 ? info.cell_y_rad : info.cell_rad) {}

  double cell_rad() const { return std::min(cell_x_, cell_y_); }
  /// Empty behind the sky.
  std::optional<Pixel> pixel(const RegionPoint& point) const {
    if (point.in_pixels) return Pixel{point.x, point.y};
    const DirectionCosines c = project(centre_, {point.x, point.y});
    if (c.n <= 0) return std::nullopt;
    return Pixel{reference_[0] - c.l / cell_x_, reference_[1] + c.m / cell_y_};
  }
  std::optional<SkyDirection> direction(double x, double y) const {
    const double l = (reference_[0] - x) * cell_x_, m = (y - reference_[1]) * cell_y_;
    if (l * l + m * m > 1) return std::nullopt;
    return unproject(centre_, l, m);
  }

 private:
  SkyDirection centre_;
  std::array<double, 2> reference_;
  double cell_x_, cell_y_;
};

std::optional<Shape> corners(const Region& region, const Grid& grid) {
  std::vector<Pixel> pixels;
  for (const RegionPoint& point : region.points) {
    const auto pixel = grid.pixel(point);
    if (!pixel) return std::nullopt;
    pixels.push_back(*pixel);
  }
  Shape shape{pixels[0], pixels[0], {}};
  for (const Pixel& p : pixels) {
    shape.low = {std::min(shape.low.x, p.x - kRounding), std::min(shape.low.y, p.y - kRounding)};
    shape.high = {std::max(shape.high.x, p.x + kRounding), std::max(shape.high.y, p.y + kRounding)};
  }
  if (region.shape == RegionShape::box) {
    shape.contains = [low = shape.low, high = shape.high](double x, double y) {
      return x >= low.x && x <= high.x && y >= low.y && y <= high.y;
    };
    return shape;
  }
  // Even-odd rule: edges that a ray towards larger x crosses.
  shape.contains = [pixels](double x, double y) {
    bool inside = false;
    for (std::size_t i = 0, j = pixels.size() - 1; i < pixels.size(); j = i++)
      if ((pixels[i].y > y) != (pixels[j].y > y) &&
          x < (pixels[j].x - pixels[i].x) * (y - pixels[i].y) / (pixels[j].y - pixels[i].y) + pixels[i].x)
        inside = !inside;
    return inside;
  };
  return shape;
}

/// Of a shape around a centre: how far east and north of it a pixel lies, in units of the sizes.
using Offset = std::function<std::optional<std::array<double, 2>>(double x, double y)>;

bool contains(const Region& region, double east, double north) {
  const double s = std::sin(region.angle_rad), c = std::cos(region.angle_rad);
  const double along = east * s + north * c, across = east * c - north * s;
  const double a = region.sizes[0] * (1 + kRounding), b = region.sizes[1] * (1 + kRounding);
  switch (region.shape) {
    case RegionShape::annulus:
      return std::hypot(along, across) <= b && std::hypot(along, across) >= region.sizes[0];
    case RegionShape::ellipse:
      return (along / a) * (along / a) + (across / b) * (across / b) <= 1;
    default:
      return std::abs(across) <= a / 2 && std::abs(along) <= b / 2;
  }
}

/// Nothing where sizes in pixels are about a place that the image has no pixel for, or angles about a pixel
/// that has no direction.
std::optional<Shape> around_centre(const Region& region, const Grid& grid, const Pixel& image_size) {
  const auto middle = grid.pixel(region.points[0]);
  Shape shape{{0, 0}, image_size, {}};  // a region around a centre behind the horizon may reach before it
  if (middle) {
    // The projection shortens angles, never the other way.
    const double unit = region.sizes_in_pixels ? 1 : grid.cell_rad();
    const double reach = std::hypot(region.sizes[0], region.sizes[1]) / unit + 1;
    shape.low = {middle->x - reach, middle->y - reach};
    shape.high = {middle->x + reach, middle->y + reach};
  }
  Offset offset;
  if (region.sizes_in_pixels) {
    if (!middle) return std::nullopt;
    offset = [at = *middle](double x, double y) { return std::array{at.x - x, y - at.y}; };
  } else {
    const auto centre = region.points[0].in_pixels ? grid.direction(middle->x, middle->y)
                                                   : SkyDirection{region.points[0].x, region.points[0].y};
    if (!centre) return std::nullopt;
    offset = [&grid, from = *centre](double x, double y) -> std::optional<std::array<double, 2>> {
      const auto direction = grid.direction(x, y);
      if (!direction) return std::nullopt;
      const DirectionCosines c = project(from, *direction);
      const double sine = std::hypot(c.l, c.m);
      const double stretch = sine > 0 ? std::atan2(sine, c.n) / sine : 1;
      return std::array{c.l * stretch, c.m * stretch};
    };
  }
  shape.contains = [&region, offset](double x, double y) {
    const auto at = offset(x, y);
    return at && contains(region, (*at)[0], (*at)[1]);
  };
  return shape;
}

std::size_t first_of(double low, std::size_t n) {
  return static_cast<std::size_t>(std::clamp(std::ceil(low), 0.0, static_cast<double>(n)));
}
std::size_t end_of(double high, std::size_t n) {
  return static_cast<std::size_t>(std::clamp(std::floor(high) + 1, 0.0, static_cast<double>(n)));
}

}  // namespace

Buffer<std::uint8_t, 2> region_mask(const std::vector<Region>& regions, const ImageInfo& info, std::size_t nx,
                                    std::size_t ny, const std::string& source) {
  Buffer<std::uint8_t, 2> mask({ny, nx});
  if (!regions.empty() && regions[0].exclude) mask.fill(1);
  const Grid grid(info, nx, ny);
  for (const Region& region : regions) {
    const bool by_corners = region.shape == RegionShape::box || region.shape == RegionShape::polygon;
    const auto shape = by_corners
                           ? corners(region, grid)
                           : around_centre(region, grid, {static_cast<double>(nx), static_cast<double>(ny)});
    if (by_corners && !shape)
      throw DataError("{}: line {}: a corner lies behind the image's horizon: move it inside", source,
                      region.line);
    std::size_t n_pixels = 0;
    for (std::size_t y = shape ? first_of(shape->low.y, ny) : ny; shape && y < end_of(shape->high.y, ny); ++y)
      for (std::size_t x = first_of(shape->low.x, nx); x < end_of(shape->high.x, nx); ++x)
        if (shape->contains(static_cast<double>(x), static_cast<double>(y))) {
          mask(y, x) = region.exclude ? 0 : 1;
          ++n_pixels;
        }
    if (n_pixels == 0)
      log_warning("{}: line {}: no pixel of the image lies in this region", source, region.line);
  }
  return mask;
}

}  // namespace apsyn
