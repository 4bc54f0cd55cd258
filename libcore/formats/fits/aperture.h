// SPDX-License-Identifier: GPL-3.0-or-later
// Measured illuminations of antennas' apertures, apsyn-aperture(5).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "libcore/array/aperture.h"
#include "libcore/array/array_layout.h"

namespace apsyn {

/// DataError when it is no such FITS image, a value is not finite, or they add up to nothing.
Aperture read_aperture(const std::string& path);

struct ApertureTable {
  std::vector<std::shared_ptr<const Aperture>> kinds;
  std::vector<std::uint32_t> of_antenna;  ///< [ant] index of kinds
};

/// `path` is a FITS file for all antennas, or a table (CSV) of antenna,file; `antenna` is an index or a name
/// of the layout, or * for all others, `file` relative to the table. DataError when malformed, or an antenna
/// has no file or several.
ApertureTable read_apertures(const std::string& path, const ArrayLayout& layout);

}  // namespace apsyn
