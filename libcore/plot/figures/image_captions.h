// SPDX-License-Identifier: GPL-3.0-or-later
// What an image figure says in words.
#pragma once

#include <string>

#include "libcore/plot/figures/image_figure.h"

namespace apsyn {

/// "JY/BEAM" of faint images -> "mJy/beam", factor 1000.
struct DisplayUnit {
  std::string label;
  double factor = 1;
};
DisplayUnit display_unit(const std::string& unit, double largest);

/// "mean of 31 of 32 channels, 4 times"; empty for a single plane.
std::string averaging_label(const PlanesAveraged& averaged);
Heading image_heading(const ImageInfo& info, const ImageFigureOptions& options);
/// Two lines: peak and where it is, noise; beam, pixels, stretch. `statistics` are in the image's own unit.
std::vector<std::string> image_footer(const ImageInfo& info, const SkyView& view,
                                      const PlaneStatistics& statistics, StretchKind stretch);
/// "2.3′", "10.5″", "1.2°".
std::string angle_label(double rad);

}  // namespace apsyn
