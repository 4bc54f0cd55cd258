// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

namespace apsyn {

/// Walks the HDUs of a FITS file before CFITSIO sees it: every header ends, the sizes it promises lie inside
/// the file, and nothing is compressed in tiles. DataError with the byte offset otherwise; FailureError when
/// the file cannot be read or is no regular file.
void check_fits_structure(const std::string& path);

}  // namespace apsyn
