// SPDX-License-Identifier: GPL-3.0-or-later
// What the parsers of region text share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "libcore/sky/regions.h"

namespace apsyn {

/// What is wrong with a line, without the file and the line's number.
struct MalformedRegion {
  std::string text;
};

/// Whether a text begins as a region file of DS9: a comment, a coordinate system or a shape.
bool begins_as_ds9_regions(std::string_view text);
std::vector<Region> parse_ds9_regions(std::string_view text, const std::string& source);

}  // namespace apsyn
