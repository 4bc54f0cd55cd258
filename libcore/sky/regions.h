// SPDX-License-Identifier: GPL-3.0-or-later
// Regions of the sky or of an image, as region text files of CASA (CRTF, version 0) and of DS9 list them, and
// the pixels whose centres lie in them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/base/view.h"
#include "libcore/image/image.h"

namespace apsyn {

enum class RegionShape {
  box,      ///< two opposite corners, sides along the image's
  polygon,  ///< its corners, edges straight in the image
  ellipse,  ///< centre; semi-axes, the first along the angle; a circle has two equal ones
  annulus,  ///< centre; inner and outer radius
  rotbox    ///< centre; full widths along x and y before it is turned by the angle
};

/// x and y: pixels from 0 at the centre of the first one, or right ascension and declination (J2000, ICRS).
struct RegionPoint {
  double x = 0, y = 0;
  bool in_pixels = false;
};

struct Region {
  RegionShape shape = RegionShape::box;
  std::vector<RegionPoint> points;
  std::array<double, 2> sizes{};  ///< pixels or radians
  bool sizes_in_pixels = false;
  double angle_rad = 0;  ///< counterclockwise in the image, from north through east on the sky
  bool exclude = false;  ///< "-": taken from what the regions before it, or the whole image, allow
  std::size_t line = 0;  ///< of the file, from 1
};

/// Whether a file begins as region text does: "#CRTF", or a comment, coordinate system or shape of DS9.
/// False, and nothing is read, of what is no ordinary file. FailureError when it cannot be read.
bool is_region_text(const std::string& path);
/// The regions of such a text, without its annotations. DataError with `source`, the line
/// and the cure.
std::vector<Region> parse_regions(std::string_view text, const std::string& source);

/// [y][x] 1 where a pixel's centre lies in the regions. Sizes in angles are angles on the sky, in every
/// direction from the centre, and angles count from north there; sizes in pixels are along the image's axes.
/// A region without a pixel is a warning with `source` and its line; a box or polygon with a corner that the
/// image's projection does not show, 90 degrees or more from its centre, a DataError with these.
Buffer<std::uint8_t, 2> region_mask(const std::vector<Region>& regions, const ImageInfo& info, std::size_t nx,
                                    std::size_t ny, const std::string& source);

}  // namespace apsyn
