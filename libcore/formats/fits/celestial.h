// SPDX-License-Identifier: GPL-3.0-or-later
// The first two axes of a FITS image of the sky. For libcore/formats/fits only.
#pragma once

#include "libcore/formats/fits/keys.h"
#include "libcore/formats/fits/memory.h"
#include "libcore/formats/fits/scan.h"
#include "libcore/image/image.h"

namespace apsyn {

/// Fills centre, cells and reference pixel, for pixels that are mirrored in x when x.step > 0 and in y when
/// y.step < 0; turns both axes into radians (CUNIT is degrees unless it says radians or parts of degrees).
/// DataError unless the axes are RA---SIN and DEC--SIN of J2000, neither rotated nor slant.
void read_fits_celestial(const FitsKeys& keys, const FitsPrimary& fits, FitsAxis& x, FitsAxis& y,
                         ImageInfo& info);

}  // namespace apsyn
