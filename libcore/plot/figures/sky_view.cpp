// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/plot/figures/sky_view.h"

#include <algorithm>
#include <cmath>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/sky/projection.h"

namespace apsyn {
namespace {

constexpr int kEdgeSamples = 256;

double wrapped(double angle) {
  angle = std::fmod(angle, kTwoPi);
  return angle < 0 ? angle + kTwoPi : angle;
}

Point edge_point(const Rect& panel, Edge edge, double t) {
  switch (edge) {
    case Edge::bottom:
      return {panel.x0 + t * panel.width(), panel.y1};
    case Edge::top:
      return {panel.x0 + t * panel.width(), panel.y0};
    case Edge::left:
      return {panel.x0, panel.y1 - t * panel.height()};
    default:
      return {panel.x1, panel.y1 - t * panel.height()};
  }
}

/// The coordinate at `t` along an edge; right ascension is unwrapped to within half a turn of `near`.
std::optional<double> edge_value(const SkyView& view, Edge edge, SkyAxis axis, double t, double near) {
  const auto direction = view.projection.direction(view.to_pixel(edge_point(view.panel, edge, t)));
  if (!direction) return std::nullopt;
  if (axis == SkyAxis::declination) return direction->dec_rad;
  return near + std::remainder(direction->ra_rad - near, kTwoPi);
}

bool edge_on_sky(const SkyView& view, Edge edge) {
  for (int i = 0; i <= kEdgeSamples; ++i)
    if (!edge_value(view, edge, SkyAxis::declination, static_cast<double>(i) / kEdgeSamples, 0)) return false;
  return true;
}

bool pole_in_view(const SkyView& view, double pole_rad) {
  const auto at = view.to_canvas(SkyDirection{0, pole_rad});
  return at && view.panel.contains(*at);
}

/// The t in [low, high] where the coordinate is `wanted`, by bisection.
double find_crossing(const SkyView& view, Edge edge, SkyAxis axis, double wanted, double low, double high) {
  const double sign = *edge_value(view, edge, axis, high, wanted) > wanted ? 1 : -1;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    const auto value = edge_value(view, edge, axis, middle, wanted);
    if (!value) break;
    (sign * (*value - wanted) > 0 ? high : low) = middle;
  }
  return (low + high) / 2;
}

/// Follows point(t), t in 0..1, and keeps the runs that are on the near side and inside the panel.
template <class Direction>
void trace(const SkyView& view, int n, Direction direction, Paths& paths) {
  bool drawing = false;
  for (int i = 0; i <= n; ++i) {
    const auto at = view.to_canvas(direction(static_cast<double>(i) / n));
    const Rect& p = view.panel;
    const bool inside =
        at && at->x > p.x0 - 50 && at->x < p.x1 + 50 && at->y > p.y0 - 50 && at->y < p.y1 + 50;
    if (inside && !drawing) paths.emplace_back();
    if (inside) paths.back().push_back(*at);
    drawing = inside;
  }
}

/// Multiples of `step` from `low` to `high`, or, when they were over 360, of a multiple of it.
std::vector<double> multiples(double low, double high, double step) {
  constexpr double kMax = 360;
  const double coarser = step * std::max(1.0, std::ceil((high - low) / step / kMax));
  std::vector<double> values;
  const double first = std::ceil(low / coarser), last = std::floor(high / coarser);
  for (int i = 0; first + i <= last && i <= kMax; ++i) values.push_back((first + i) * coarser);
  return values;
}

}  // namespace

std::optional<SkyDirection> SinProjection::direction(Point pixel) const {
  const double l = (ref_x - pixel.x) * cell_x_rad, m = (pixel.y - ref_y) * cell_y_rad;
  if (!(l * l + m * m <= 1)) return std::nullopt;
  return unproject(centre, l, m);
}

std::optional<Point> SinProjection::pixel(const SkyDirection& direction) const {
  const DirectionCosines cosines = project(centre, direction);
  if (cosines.n < 0) return std::nullopt;
  return Point{ref_x - cosines.l / cell_x_rad, ref_y + cosines.m / cell_y_rad};
}

SinProjection sin_projection(const ImageInfo& info, std::size_t nx, std::size_t ny) {
  if (!(info.cell_rad > 0) || !std::isfinite(info.cell_rad))
    throw DataError("image: cell size {} rad: a celestial image needs CDELT", info.cell_rad);
  const auto [x, y] = reference_pixel(info, nx, ny);
  return {info.centre, x, y, info.cell_rad, info.cell_y_rad > 0 ? info.cell_y_rad : info.cell_rad};
}

Point SkyView::to_canvas(Point pixel) const {
  return {panel.x0 + (pixel.x - pixels.x0) / pixels.width() * panel.width(),
          panel.y1 - (pixel.y - pixels.y0) / pixels.height() * panel.height()};
}

Point SkyView::to_pixel(Point canvas) const {
  return {pixels.x0 + (canvas.x - panel.x0) / panel.width() * pixels.width(),
          pixels.y0 + (panel.y1 - canvas.y) / panel.height() * pixels.height()};
}

std::optional<Point> SkyView::to_canvas(const SkyDirection& direction) const {
  const auto pixel = projection.pixel(direction);
  if (!pixel) return std::nullopt;
  return to_canvas(*pixel);
}

std::vector<SkyTick> edge_ticks(const SkyView& view, Edge edge, SkyAxis axis, double step_rad) {
  std::vector<SkyTick> ticks;
  auto last = edge_value(view, edge, axis, 0, view.projection.centre.ra_rad);
  for (int i = 1; i <= kEdgeSamples; ++i) {
    const double t = static_cast<double>(i) / kEdgeSamples;
    const auto value = edge_value(view, edge, axis, t, last ? *last : view.projection.centre.ra_rad);
    if (value && last) {
      const double low = std::min(*last, *value), high = std::max(*last, *value);
      // a step finer than the edge's own resolution would never end
      const double first = std::floor(low / step_rad) + 1, end = std::floor(high / step_rad);
      for (double k = first; k <= end && end - first < 100 && std::abs(end) < 1e12; ++k) {
        const double at = find_crossing(view, edge, axis, k * step_rad, t - 1.0 / kEdgeSamples, t);
        const double tick = axis == SkyAxis::right_ascension ? wrapped(k * step_rad) : k * step_rad;
        ticks.push_back({edge_point(view.panel, edge, at), tick});
      }
    }
    last = value;
  }
  return ticks;
}

double edge_span(const SkyView& view, Edge edge, SkyAxis axis) {
  auto last = edge_value(view, edge, axis, 0, view.projection.centre.ra_rad);
  if (!last) return 0;
  double low = *last, high = *last;
  for (int i = 1; i <= kEdgeSamples; ++i) {
    last = edge_value(view, edge, axis, static_cast<double>(i) / kEdgeSamples, *last);
    if (!last) return 0;
    low = std::min(low, *last), high = std::max(high, *last);
  }
  return high - low;
}

SkyRange sky_range(const SkyView& view) {
  const SkyRange whole{0, kTwoPi, -kPi / 2, kPi / 2, true};
  const bool south = pole_in_view(view, -kPi / 2), north = pole_in_view(view, kPi / 2);
  const double near = view.projection.centre.ra_rad;
  SkyRange range{near, near, kPi / 2, -kPi / 2, south || north};
  for (Edge edge : {Edge::bottom, Edge::top, Edge::left, Edge::right})
    for (int i = 0; i <= kEdgeSamples; ++i) {
      const double t = static_cast<double>(i) / kEdgeSamples;
      const auto ra = edge_value(view, edge, SkyAxis::right_ascension, t, near);
      const auto dec = edge_value(view, edge, SkyAxis::declination, t, 0);
      if (!ra || !dec) return whole;
      const bool first = edge == Edge::bottom && i == 0;
      range.ra_low_rad = first ? *ra : std::min(range.ra_low_rad, *ra);
      range.ra_high_rad = first ? *ra : std::max(range.ra_high_rad, *ra);
      range.dec_low_rad = std::min(range.dec_low_rad, *dec);
      range.dec_high_rad = std::max(range.dec_high_rad, *dec);
    }
  if (south) range.dec_low_rad = -kPi / 2;
  if (north) range.dec_high_rad = kPi / 2;
  if (range.all_around) range.ra_low_rad = 0, range.ra_high_rad = kTwoPi;
  return range;
}

std::vector<double> meridians(const SkyRange& range, double step_rad) {
  return multiples(range.ra_low_rad, range.ra_high_rad - (range.all_around ? step_rad / 2 : 0), step_rad);
}

std::vector<double> parallels(const SkyRange& range, double step_rad) {
  const double last = kPi / 2 - step_rad / 2;  // a pole is no line
  return multiples(std::max(-last, range.dec_low_rad), std::min(last, range.dec_high_rad), step_rad);
}

Paths graticule(const SkyView& view, double ra_step_rad, double dec_step_rad) {
  Paths paths;
  const SkyRange range = sky_range(view);
  const double last_parallel = dec_step_rad * (std::ceil(kPi / 2 / dec_step_rad - 1e-9) - 1);
  for (const double ra : meridians(range, ra_step_rad)) {
    const bool to_pole = std::abs(std::remainder(ra, kPi / 2)) < 1e-9;
    const double end = to_pole ? kPi / 2 : last_parallel;
    const double low = std::max(-end, range.dec_low_rad), high = std::min(end, range.dec_high_rad);
    trace(
        view, 720,
        [&](double t) {
          return SkyDirection{ra, low + (high - low) * t};
        },
        paths);
  }
  for (const double dec : parallels(range, dec_step_rad))
    trace(
        view, 1440,
        [&](double t) {
          return SkyDirection{range.ra_low_rad + (range.ra_high_rad - range.ra_low_rad) * t, dec};
        },
        paths);
  return paths;
}

Path horizon_path(const SkyView& view) {
  Path path;
  constexpr int n = 1440;
  const SinProjection& p = view.projection;
  for (int i = 0; i <= n; ++i) {
    const double t = kTwoPi * i / n;
    path.push_back(
        view.to_canvas(Point{p.ref_x + std::cos(t) / p.cell_x_rad, p.ref_y + std::sin(t) / p.cell_y_rad}));
  }
  return path;
}

bool is_wide(const SkyView& view) {
  const SinProjection& p = view.projection;
  const double width = view.pixels.width() * p.cell_x_rad, height = view.pixels.height() * p.cell_y_rad;
  if (std::max(width, height) > 40 * kRadPerDeg) return true;
  for (Edge edge : {Edge::bottom, Edge::top, Edge::left, Edge::right})
    if (!edge_on_sky(view, edge)) return true;
  return pole_in_view(view, -kPi / 2) || pole_in_view(view, kPi / 2);
}

}  // namespace apsyn
