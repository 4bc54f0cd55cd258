// SPDX-License-Identifier: GPL-3.0-or-later
// Thin ionospheric screens as FITS cubes, apsyn-ionosphere(5): axes EAST, NORTH (m) and, when there are
// several steps, TIME (MJD seconds, UTC), BUNIT TECU, HEIGHT in metres.
#pragma once

#include <string>
#include <vector>

#include "libcore/sky/ionosphere_screen.h"

namespace apsyn {

/// From a file or from standard input ("-"). DataError when malformed or no such cube; FailureError when it
/// cannot be read. IonosphereScreen checks the values.
IonosphereGrid read_ionosphere(const std::string& path);

/// Atomically, with DATASUM and CHECKSUM, as float64; "-" is standard output. Throws as write_fits_image.
void write_ionosphere(const std::string& path, const IonosphereGrid& grid,
                      const std::vector<std::string>& history, bool overwrite);

}  // namespace apsyn
