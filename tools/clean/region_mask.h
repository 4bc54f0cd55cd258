// SPDX-License-Identifier: GPL-3.0-or-later
// Masks from FITS images and region text files of CASA and DS9.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "libcore/base/units.h"
#include "libcore/base/view.h"
#include "libcore/cli/imaging_options.h"
#include "libcore/image/image.h"

namespace apsyn::clean {

/// [y][x] of an image with these coordinates.
Buffer<std::uint8_t, 2> read_region_mask(const std::string& path, const ImageInfo& info, std::size_t nx,
                                         std::size_t ny);

/// Of an image around `centre`.
Buffer<std::uint8_t, 2> read_mask(const std::string& path, const ImagingOptions& wanted,
                                  const SkyDirection& centre);

}  // namespace apsyn::clean
