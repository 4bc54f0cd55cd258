// SPDX-License-Identifier: GPL-3.0-or-later
// MWA metafits: the antennas of an observation and the delays of their beamformers.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/sky/beams.h"

namespace apsyn {

/// Tiles by rising antenna number, flags and electrical cable lengths (EL_) included; the MWA's site.
/// FailureError, DataError as for FITS images.
ArrayLayout read_metafits(const std::string& path);

/// One signal of a recording.
struct MwaInput {
  std::size_t antenna = 0;    ///< as read_metafits() orders them
  std::size_t pol = 0;        ///< 0 X, 1 Y
  std::size_t vcs_order = 0;  ///< its place in the recordings of the legacy voltage capture
};
/// All inputs; the places are those of column VCSOrder, or what it would hold where files are too old for it.
/// Throws as read_metafits; DataError unless each place is there once, and each
/// antenna's X and Y.
std::vector<MwaInput> read_metafits_inputs(const std::string& path);

/// Delays of the dipoles of X and of Y, by the name of the tile (columns TileName, Pol and Delays). Throws as
/// read_metafits.
std::map<std::string, std::array<MwaDelays, 2>> read_metafits_delays(const std::string& path);

/// A built-in array's name, an antennas CSV, or a *.metafits / *.fits file. UsageError for what is neither a
/// name nor a path; FailureError and DataError as the files' readers.
ArrayLayout load_layout(const std::string& name_or_path);

}  // namespace apsyn
