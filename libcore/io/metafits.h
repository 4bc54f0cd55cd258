// SPDX-License-Identifier: GPL-3.0-or-later
// MWA metafits: the antennas of an observation and the delays of their beamformers.
#pragma once

#include <array>
#include <map>
#include <string>

#include "libcore/core/array_layout.h"
#include "libcore/core/beams.h"

namespace apsyn {

/// Tiles by rising antenna number, flags and electrical cable lengths (EL_) included; the MWA's site.
/// FailureError, DataError as for FITS images.
ArrayLayout read_metafits(const std::string& path);

/// Delays of the dipoles of X and of Y, by the name of the tile (columns TileName, Pol and Delays). Throws as
/// read_metafits.
std::map<std::string, std::array<MwaDelays, 2>> read_metafits_delays(const std::string& path);

}  // namespace apsyn
