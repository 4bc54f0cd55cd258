// SPDX-License-Identifier: GPL-3.0-or-later
// PNG pictures through libpng.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "libcore/base/view.h"

namespace apsyn {

/// Keyword (1-79 Latin letters) and UTF-8 text.
using PngText = std::vector<std::pair<std::string, std::string>>;

/// Writes an 8-bit RGB picture [y][x][red, green, blue] to a file (atomic) or to "-", with the texts. The
/// same picture gives the same bytes. FailureError when it cannot be written.
void write_png(const std::string& path, View<const std::uint8_t, 3> rgb, const PngText& texts,
               bool overwrite);

}  // namespace apsyn
