// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/plot/figures/sky_furniture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "libcore/base/constants.h"

namespace apsyn {
namespace {

constexpr Colour kMark{0.25f, 0.95f, 1.0f};

TextStyle overlay_text(const Theme& theme, double size) {
  TextStyle style = theme.text(size);
  style.colour = kWhite;
  style.halo = {0.05f, 0.05f, 0.08f};
  style.halo_width = theme.px(2.4);
  return style;
}

/// Steps that divide the labelled one into at most `most` parts.
double minor_step(double major, double (*choose)(double, int), int most) {
  for (int parts = most; parts >= 2; --parts) {
    const double step = choose(major * 0.999999, parts);
    const double ratio = major / step;
    if (ratio > 1.5 && ratio < most + 0.5 && std::abs(ratio - std::round(ratio)) < 1e-6) return step;
  }
  return major;
}

struct EdgeStyle {
  Edge edge;
  Point inward;
};
constexpr std::array<EdgeStyle, 4> kEdges = {
    {{Edge::bottom, {0, -1}}, {Edge::top, {0, 1}}, {Edge::left, {1, 0}}, {Edge::right, {-1, 0}}}};

SkyAxis axis_of(Edge edge) {
  return edge == Edge::bottom || edge == Edge::top ? SkyAxis::right_ascension : SkyAxis::declination;
}

/// White with a dark edge: seen on any colour of the image.
void tick_line(Canvas& canvas, const Theme& theme, Point from, Point inward, double length) {
  const Point to{from.x + inward.x * length, from.y + inward.y * length};
  canvas.line(from, to, {{0.05f, 0.05f, 0.08f}, theme.px(4.2), 0.5});
  canvas.line(from, to, {kWhite, theme.px(1.8), 1});
}

void draw_edge_labels(Canvas& canvas, const Theme& theme, const SkyView& view, double ra_step,
                      double dec_step) {
  TextStyle style = theme.text(23);
  style.align_x = AlignX::centre;
  style.align_y = AlignY::top;
  const Rect& p = view.panel;
  TakenSpace labels;
  auto put = [&](const std::string& text, Point at) {
    Rect box = text_box(text, at, style);
    box.x0 -= theme.px(8), box.x1 += theme.px(8);
    if (!labels.is_free(box)) return at.x;
    labels.take(box);
    canvas.text(text, at, style);
    return box.x0;
  };
  for (const SkyTick& tick : edge_ticks(view, Edge::bottom, SkyAxis::right_ascension, ra_step))
    put(right_ascension_label(tick.value_rad, ra_step), {tick.at.x, p.y1 + theme.px(12)});
  style.align_x = AlignX::right;
  style.align_y = AlignY::middle;
  double left = p.x0;
  for (const SkyTick& tick : edge_ticks(view, Edge::left, SkyAxis::declination, dec_step))
    left = std::min(left, put(declination_label(tick.value_rad, dec_step), {p.x0 - theme.px(11), tick.at.y}));
  style = theme.text(24);
  style.align_x = AlignX::centre;
  style.align_y = AlignY::top;
  canvas.text("Right ascension (J2000)", {(p.x0 + p.x1) / 2, p.y1 + theme.px(48)}, style);
  style.align_y = AlignY::baseline;
  style.angle_rad = kPi / 2;
  canvas.text("Declination (J2000)", {left - theme.px(8), (p.y0 + p.y1) / 2}, style);
}

/// Whether parallels bend by over a hundredth of the frame's height, so that ticks on it mislead further in.
bool is_curved(const SkyView& view) {
  const double middle_x = (view.pixels.x0 + view.pixels.x1) / 2, y = (view.pixels.y0 + view.pixels.y1) / 2;
  const auto centre = view.projection.direction({middle_x, y});
  for (const double x : {view.pixels.x0, view.pixels.x1}) {
    const auto side = view.projection.direction({x, y});
    if (!centre || !side) return true;
    if (std::abs(side->dec_rad - centre->dec_rad) > 0.01 * edge_span(view, Edge::left, SkyAxis::declination))
      return true;
  }
  return false;
}

double frame_dec_step(const Theme& theme, const SkyView& view) {
  const double aspect_y = view.panel.height() / theme.px(1000);
  const double span = edge_span(view, Edge::left, SkyAxis::declination);
  return declination_step(span, std::max(2, static_cast<int>(7 * aspect_y)));
}

void draw_frame_coordinates(Canvas& canvas, const Theme& theme, const SkyView& view, GridLines grid) {
  const double aspect = view.panel.width() / theme.px(1000);
  const double ra_span = edge_span(view, Edge::bottom, SkyAxis::right_ascension);
  const double ra_step = right_ascension_step(ra_span, std::max(2, static_cast<int>(6 * aspect)));
  const double dec_step = frame_dec_step(theme, view);
  if (grid == GridLines::on || (grid == GridLines::automatic && is_curved(view))) {
    canvas.clip(view.panel);
    for (const Path& path : graticule(view, ra_step, dec_step))
      canvas.stroke({path}, {kWhite, theme.px(1.2), 0.3});
    canvas.unclip();
  }
  const double ra_minor = minor_step(ra_step, right_ascension_step, 6);
  const double dec_minor = minor_step(dec_step, declination_step, 6);
  for (const EdgeStyle& side : kEdges) {
    const bool ra = axis_of(side.edge) == SkyAxis::right_ascension;
    for (const SkyTick& tick : edge_ticks(view, side.edge, axis_of(side.edge), ra ? ra_minor : dec_minor))
      tick_line(canvas, theme, tick.at, side.inward, theme.px(7));
    for (const SkyTick& tick : edge_ticks(view, side.edge, axis_of(side.edge), ra ? ra_step : dec_step))
      tick_line(canvas, theme, tick.at, side.inward, theme.px(14));
  }
  canvas.frame(view.panel, theme.frame_pen());
  draw_edge_labels(canvas, theme, view, ra_step, dec_step);
}

/// Places grid labels where they stand clear of each other and of the rim.
void label_grid(Canvas& canvas, const Theme& theme, const SkyView& view, double ra_step, double dec_step,
                TakenSpace& taken) {
  TextStyle style = overlay_text(theme, 20);
  style.align_x = AlignX::centre;
  style.align_y = AlignY::middle;
  const Rect& p = view.panel;
  auto put = [&](const std::string& text, const SkyDirection& direction) {
    const auto at = view.to_canvas(direction);
    if (!at) return;
    Rect box = text_box(text, *at, style);
    box.x0 -= theme.px(5), box.x1 += theme.px(5);
    const bool inside = box.x0 > p.x0 + 4 && box.x1 < p.x1 - 4 && box.y0 > p.y0 + 4 && box.y1 < p.y1 - 4;
    const std::array<Point, 4> corners = {
        {{box.x0, box.y0}, {box.x1, box.y0}, {box.x0, box.y1}, {box.x1, box.y1}}};
    const bool on_sky = std::all_of(corners.begin(), corners.end(), [&](Point corner) {
      return view.projection.direction(view.to_pixel(corner)).has_value();
    });
    if (!inside || !on_sky || !taken.is_free(box)) return;
    taken.take(box);
    canvas.text(text, *at, style);
  };
  const SkyDirection& centre = view.projection.centre;
  const double ra_middle = (std::floor(centre.ra_rad / ra_step) + 0.5) * ra_step;
  double dec_middle = (std::floor(centre.dec_rad / dec_step) + 0.5) * dec_step;
  dec_middle = std::clamp(dec_middle, -kPi / 2 + 1.5 * dec_step, kPi / 2 - 1.5 * dec_step);
  const SkyRange range = sky_range(view);
  for (const double dec : parallels(range, dec_step)) put(declination_label(dec, dec_step), {ra_middle, dec});
  for (const double ra : meridians(range, ra_step)) put(right_ascension_label(ra, ra_step), {ra, dec_middle});
}

void draw_compass(Canvas& canvas, const Theme& theme, const SkyView& view) {
  TextStyle style = theme.text(26);
  style.bold = true;
  style.align_x = AlignX::centre;
  style.align_y = AlignY::middle;
  const SinProjection& s = view.projection;
  const Point c = view.to_canvas(Point{s.ref_x, s.ref_y});
  const double rx = 1 / s.cell_x_rad / view.pixels.width() * view.panel.width() + theme.px(24);
  const double ry = 1 / s.cell_y_rad / view.pixels.height() * view.panel.height() + theme.px(24);
  canvas.text("N", {c.x, c.y - ry}, style);
  canvas.text("S", {c.x, c.y + ry}, style);
  canvas.text("E", {c.x - rx, c.y}, style);
  canvas.text("W", {c.x + rx, c.y}, style);
}

void draw_wide_coordinates(Canvas& canvas, const Theme& theme, const SkyView& view, GridLines grid,
                           TakenSpace& taken) {
  const SinProjection& s = view.projection;
  const double field = std::max(view.pixels.width() * s.cell_x_rad, view.pixels.height() * s.cell_y_rad);
  const bool all_sky = field > 1.2;
  const double hour = kTwoPi / 24;
  const double dec_step = all_sky ? 30 * kRadPerDeg : declination_step(field, 6);
  const double c = std::max(0.15, std::cos(s.centre.dec_rad));
  const double ra_step = all_sky ? 2 * hour : std::min(2 * hour, right_ascension_step(field / c, 6));
  canvas.clip(view.panel);
  if (grid != GridLines::off) {
    const Paths lines = graticule(view, ra_step, dec_step);
    canvas.stroke(lines, {kWhite, theme.px(1.3), 0.38});
    label_grid(canvas, theme, view, ra_step, dec_step, taken);
  }
  const Path horizon = horizon_path(view);
  canvas.unclip();
  // an image of just 180 degrees leaves half a pixel of the horizon out
  const double slack = std::max(2.0, view.panel.width() / view.pixels.width());
  const bool whole = std::all_of(horizon.begin(), horizon.end(), [&](Point at) {
    return at.x > view.panel.x0 - slack && at.x < view.panel.x1 + slack && at.y > view.panel.y0 - slack &&
           at.y < view.panel.y1 + slack;
  });
  if (whole) {
    canvas.stroke({horizon}, {theme.ink, theme.px(2.4), 1});
    draw_compass(canvas, theme, view);
    return;
  }
  canvas.clip(view.panel);
  canvas.stroke({horizon}, {theme.ink, theme.px(2.4), 1});
  canvas.unclip();
  canvas.frame(view.panel, theme.frame_pen());
}

}  // namespace

double declination_labels_width(const Theme& theme, const SkyView& view) {
  const double step = frame_dec_step(theme, view);
  double widest = 0;
  for (const SkyTick& tick : edge_ticks(view, Edge::left, SkyAxis::declination, step)) {
    const Rect box = text_box(declination_label(tick.value_rad, step), {0, 0}, theme.text(23));
    widest = std::max(widest, box.width());
  }
  return widest;
}

void blank_off_sky(Canvas& canvas, const SkyView& view) {
  const Rect& p = view.panel;
  const std::array<Point, 4> corners = {{{p.x0, p.y0}, {p.x1, p.y0}, {p.x0, p.y1}, {p.x1, p.y1}}};
  const bool all_sky = std::all_of(corners.begin(), corners.end(), [&](Point corner) {
    return view.projection.direction(view.to_pixel(corner)).has_value();
  });
  if (all_sky) return;  // the horizon is convex: with all corners the whole panel is within it
  canvas.clip(p);
  canvas.fill(Paths{rect_path(p), horizon_path(view)}, kWhite);
  canvas.unclip();
}

void draw_sky_coordinates(Canvas& canvas, const Theme& theme, const SkyView& view, GridLines grid,
                          TakenSpace& taken) {
  if (is_wide(view))
    draw_wide_coordinates(canvas, theme, view, grid, taken);
  else
    draw_frame_coordinates(canvas, theme, view, grid);
}

void draw_beam(Canvas& canvas, const Theme& theme, const SkyView& view, const RestoringBeam& beam,
               TakenSpace& taken) {
  const double per_rad = view.panel.width() / (view.pixels.width() * view.projection.cell_x_rad);
  const double major = beam.major_rad * per_rad, minor = beam.minor_rad * per_rad;
  if (!(major > 0) || !(minor > 0) || major > 0.5 * view.panel.width()) return;
  const double box = std::max(major + theme.px(20), theme.px(34));
  const Rect frame{view.panel.x0 + theme.px(20), view.panel.y1 - theme.px(20) - box,
                   view.panel.x0 + theme.px(20) + box, view.panel.y1 - theme.px(20)};
  canvas.fill(frame, kWhite, 0.88);
  canvas.frame(frame, {theme.ink, theme.px(1.2), 1});
  const Point centre{(frame.x0 + frame.x1) / 2, (frame.y0 + frame.y1) / 2};
  const Path ellipse = ellipse_path(centre, major / 2, minor / 2, kPi / 2 + beam.position_angle_rad);
  canvas.fill({ellipse}, {0.45f, 0.47f, 0.52f});
  canvas.stroke({ellipse}, {theme.ink, theme.px(1.4), 1});
  taken.take(frame);
}

void draw_marks(Canvas& canvas, const Theme& theme, const SkyView& view,
                const std::optional<RestoringBeam>& beam, const SkyModel& marks, TakenSpace& taken) {
  const double per_rad = view.panel.width() / (view.pixels.width() * view.projection.cell_x_rad);
  const double radius = std::max(theme.px(15), beam ? 0.8 * beam->major_rad * per_rad : 0.0);
  std::vector<std::size_t> order(marks.components.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return marks.components[a].stokes_jy[0] > marks.components[b].stokes_jy[0];
  });
  std::vector<std::pair<std::size_t, Point>> seen;
  for (std::size_t i : order) {
    const auto at = view.to_canvas(marks.components[i].direction);
    if (!at || !view.panel.contains(*at)) continue;
    seen.emplace_back(i, *at);
    taken.take({at->x - radius, at->y - radius, at->x + radius, at->y + radius});
    const Path circle = ellipse_path(*at, radius, radius);
    canvas.stroke({circle}, {{0.05f, 0.05f, 0.08f}, theme.px(5), 0.55});
    canvas.stroke({circle}, {kMark, theme.px(2.2), 1});
  }
  TextStyle style = overlay_text(theme, 21);
  style.colour = kMark;
  style.align_y = AlignY::middle;
  for (const auto& [i, at] : seen) {
    const double gap = radius + theme.px(7);
    const std::array<std::pair<Point, AlignX>, 4> places = {
        {{{at.x + gap, at.y}, AlignX::left},
         {{at.x - gap, at.y}, AlignX::right},
         {{at.x, at.y - gap - theme.px(8)}, AlignX::centre},
         {{at.x, at.y + gap + theme.px(8)}, AlignX::centre}}};
    for (const auto& [place, align] : places) {
      style.align_x = align;
      const Rect box = text_box(marks.components[i].name, place, style);
      const bool inside = view.panel.contains({box.x0, box.y0}) && view.panel.contains({box.x1, box.y1});
      if (!inside || !taken.is_free(box)) continue;
      taken.take(box);
      canvas.text(marks.components[i].name, place, style);
      break;
    }
  }
}

}  // namespace apsyn
