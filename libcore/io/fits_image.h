// SPDX-License-Identifier: GPL-3.0-or-later
// FITS images through CFITSIO, never through its extended file names; "-" streams through a pipe.
#pragma once

#include <string>

#include "libcore/core/image.h"

namespace apsyn {

enum class FitsPixel { float32 = -32, float64 = -64 };

/// 2 to 4 axes of a plain image HDU; the header and the file's size are checked before CFITSIO sees it.
/// FailureError when it cannot be opened, DataError when malformed or no celestial image.
Image read_fits_image(const std::string& path);
void write_fits_image(const std::string& path, const Image& image, FitsPixel pixel, bool overwrite);

}  // namespace apsyn
