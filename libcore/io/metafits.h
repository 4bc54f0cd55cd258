// SPDX-License-Identifier: GPL-3.0-or-later
// MWA metafits: the antennas of an observation, in the order of its inputs.
#pragma once

#include <string>

#include "libcore/core/array_layout.h"

namespace apsyn {

/// Tiles by rising antenna number, flags and electrical cable lengths (EL_) included; the MWA's site.
/// FailureError, DataError as for FITS images.
ArrayLayout read_metafits(const std::string& path);

}  // namespace apsyn
