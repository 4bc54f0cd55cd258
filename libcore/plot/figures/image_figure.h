// SPDX-License-Identifier: GPL-3.0-or-later
// The figure of an image plane: sky coordinates, colour bar, beam, marked sources.
#pragma once

#include <optional>
#include <string>

#include "libcore/image/image.h"
#include "libcore/image/image_mean.h"
#include "libcore/plot/canvas.h"
#include "libcore/plot/figures/sky_view.h"
#include "libcore/plot/layout.h"
#include "libcore/sky/sky_model.h"

namespace apsyn {

enum class GridLines { automatic, on, off };

/// A line of equal value, dashed below zero.
struct ContourLevel {
  enum class Of { unit, peak, noise };  ///< of the image's unit, of the maximum, of the noise
  double value = 0;
  Of of = Of::unit;
};
/// "0.5,1,2", "5%,50%" or "-3s,3s,6s": in the image's unit, of the maximum, in standard deviations of the
/// noise. UsageError.
std::vector<ContourLevel> parse_contours(const std::string& list);

struct ImageFigureOptions {
  std::string title;                               ///< empty: from the image's header
  std::size_t stokes = 0, channel = 0;             ///< the plane
  PlanesAveraged averaged;                         ///< what the plane is the mean of, for the heading
  std::optional<std::pair<double, double>> range;  ///< in the image's unit
  std::optional<double> percentile;                ///< instead of `range`
  std::optional<StretchKind> stretch;
  std::string colour_map = "ember";
  Reduction reduction = Reduction::mean;
  GridLines grid = GridLines::automatic;
  std::size_t x0 = 0, y0 = 0, width = 0, height = 0;  ///< cut-out in pixels, width 0 = all
  std::size_t size = 1000;                            ///< longer side of the data area, canvas pixels
  SkyModel marks;
  std::vector<ContourLevel> contours;
};

/// Throws FailureError when the plane has no finite pixel, UsageError for a plane or a cut-out outside the
/// image, or an impossible range.
Canvas draw_image_figure(const Image& image, const ImageFigureOptions& options);

/// The view that the figure uses, for callers that need to know where pixels are drawn.
SkyView image_figure_view(const Image& image, const ImageFigureOptions& options);
/// The pixels of that view, [y][x]; NaN off the sky and where the image is blank.
Buffer<double, 2> image_figure_plane(const Image& image, const ImageFigureOptions& options,
                                     const SkyView& view);

}  // namespace apsyn
