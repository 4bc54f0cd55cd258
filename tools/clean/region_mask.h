// SPDX-License-Identifier: GPL-3.0-or-later
// Masks from CASA's region text files.
#pragma once

#include <string>

#include "libcore/core/input.h"
#include "libcore/core/regions.h"

namespace apsyn::clean {

/// [y][x] of an image with these coordinates.
inline Buffer<std::uint8_t, 2> read_region_mask(const std::string& path, const ImageInfo& info,
                                                std::size_t nx, std::size_t ny) {
  constexpr std::size_t kMostBytes = 16 << 20;
  return region_mask(parse_regions(read_text_file(path, kMostBytes), path), info, nx, ny, path);
}

}  // namespace apsyn::clean
