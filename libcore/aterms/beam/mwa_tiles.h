// SPDX-License-Identifier: GPL-3.0-or-later
// How the tiles of the MWA look: delays of their dipoles. For libcore/aterms only.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/array/array_tables.h"
#include "libcore/aterms/config.h"
#include "libcore/base/time.h"
#include "libcore/measures/coordinates.h"
#include "libcore/sky/beams.h"

namespace apsyn {

struct MwaTiles {
  std::vector<std::array<MwaDelays, 2>> patterns;  ///< those that differ, of the X and the Y dipoles
  std::vector<std::size_t> of_station;             ///< [station]
  bool from_set = false;  ///< of the table MWA_TILE_POINTING, which some programs leave empty
};

/// From the entry's `delays` or `metafits`, else from the set's MWA_TILE_POINTING. DataError when there is
/// none, or both parameters, or the metafits lacks a tile.
MwaTiles read_mwa_tiles(const AtermEntry& entry, const ArrayLayout& layout, const ArrayTables& tables);

/// Warns where the set's delays are all 0, as if nobody had filled them in, while its field is not at the
/// zenith.
void warn_of_no_delays(const MwaTiles& tiles, const ArrayTables& tables, const SkyFrame& frame,
                       const UtcTime& time);

}  // namespace apsyn
