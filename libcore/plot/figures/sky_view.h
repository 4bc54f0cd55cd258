// SPDX-License-Identifier: GPL-3.0-or-later
// The sky under a picture: orthographic (SIN) projection (FITS paper II, Calabretta & Greisen 2002, A&A 395,
// 1077, section 5.1.5 with xi = eta = 0), and where its meridians and parallels run. Pixel coordinates count
// from 0 with whole numbers at pixel centres, y northwards, as in libcore/image/image.h.
#pragma once

#include <optional>
#include <vector>

#include "libcore/image/image.h"
#include "libcore/plot/canvas.h"

namespace apsyn {

struct SinProjection {
  SkyDirection centre;
  double ref_x = 0, ref_y = 0;            ///< pixel of `centre`
  double cell_x_rad = 0, cell_y_rad = 0;  ///< both positive; east is towards smaller x

  /// Empty where l^2 + m^2 > 1. Right ascension in [0, 2 pi).
  std::optional<SkyDirection> direction(Point pixel) const;
  /// Empty for directions of the far hemisphere.
  std::optional<Point> pixel(const SkyDirection& direction) const;
};

/// DataError when the image has no usable cell size.
SinProjection sin_projection(const ImageInfo& info, std::size_t nx, std::size_t ny);

/// A rectangle of image pixels shown in a rectangle of the canvas.
struct SkyView {
  SinProjection projection;
  Rect pixels;  ///< shown range; y0 is the southern edge, edges lie between pixels (-0.5, ...)
  Rect panel;   ///< on the canvas
  Point to_canvas(Point pixel) const;
  Point to_pixel(Point canvas) const;
  std::optional<Point> to_canvas(const SkyDirection& direction) const;
};

enum class Edge { bottom, left, top, right };
enum class SkyAxis { right_ascension, declination };

struct SkyTick {
  Point at;              ///< on the canvas
  double value_rad = 0;  ///< right ascension in [0, 2 pi), or declination
};

/// Where the lines at multiples of `step_rad` cross an edge of the panel, exact to 1e-6 pixels.
std::vector<SkyTick> edge_ticks(const SkyView& view, Edge edge, SkyAxis axis, double step_rad);
/// How far the coordinate runs along an edge, radians; 0 when part of the edge is off the sky, or the edge
/// too short for a double to tell.
double edge_span(const SkyView& view, Edge edge, SkyAxis axis);

/// What a view shows of the sky; right ascensions run on beyond 0 and 2 pi.
struct SkyRange {
  double ra_low_rad = 0, ra_high_rad = 0, dec_low_rad = 0, dec_high_rad = 0;
  bool all_around = false;  ///< a pole or the horizon is in view: right ascensions are 0 to 2 pi
};
SkyRange sky_range(const SkyView& view);
/// Multiples of the step in the range; of a multiple of the step when they were over 360. Poles are no
/// parallels.
std::vector<double> meridians(const SkyRange& range, double step_rad);
std::vector<double> parallels(const SkyRange& range, double step_rad);

/// Meridians and parallels at multiples of the steps, as far as they are in the panel and on the near
/// hemisphere. Meridians other than those of 0, 6, 12, 18 h stop at the last parallel before a pole.
Paths graticule(const SkyView& view, double ra_step_rad, double dec_step_rad);
/// The circle l^2 + m^2 = 1 on the canvas.
Path horizon_path(const SkyView& view);

/// Whether ticks on the frame would mislead: a pole or the horizon is in view, or it spans over 40 degrees.
bool is_wide(const SkyView& view);

}  // namespace apsyn
