// SPDX-License-Identifier: GPL-3.0-or-later
// The keywords of an image of the sky: axes RA---SIN, DEC--SIN, FREQ, STOKES. For libcore/formats/fits only.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "libcore/formats/fits/builder.h"
#include "libcore/image/image.h"

namespace apsyn {

/// The STOKES axis in FITS' numbering, or FEED for X, Y, R, L, polarisations of a field: 1 to 4.
struct FitsStokes {
  std::string type = "STOKES";
  int first = 1, step = 1;
};

/// UsageError, beginning with `path`, when the labels are no arithmetic sequence of numbers.
FitsStokes fits_stokes(const std::string& path, const std::vector<std::string>& stokes);

/// Axes 1 to 4 of an image of {nx, ny} pixels, and the celestial system.
void write_fits_coordinates(FitsBuilder& fits, const ImageInfo& info, const std::array<std::size_t, 2>& size,
                            const FitsStokes& stokes);
/// What it is an image of (BTYPE `quantity`), DATE-OBS, other keywords and HISTORY.
void write_fits_description(FitsBuilder& fits, const ImageInfo& info,
                            const std::string& quantity = "Intensity");

/// A date with as many decimals of a second, in threes, as the time needs.
std::string format_fits_date(const UtcTime& time);

}  // namespace apsyn
