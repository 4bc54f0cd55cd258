// SPDX-License-Identifier: GPL-3.0-or-later
// How the main table of a Measurement Set is stored. For libcore/formats/ms only.
#pragma once

#include <casacore/casa/Arrays/IPosition.h>
#include <casacore/tables/Tables/SetupNewTab.h>

#include <string>

#include "libcore/base/units.h"

namespace apsyn {

/// A new table at `path` with the required columns, DATA in `unit` and WEIGHT_SPECTRUM; `cell`: products,
/// channels.
/// Visibilities, flags, weights and coordinates are stored in tiles of whole rows; columns that hardly change
/// from row to row with the incremental manager; the rest with the standard manager. `allocated`: all rows
/// with which the table is created exist from the start, filled with zeros.
casacore::SetupNewTable set_up_main_table(const std::string& path, const casacore::IPosition& cell,
                                          FluxUnit unit, bool allocated = false);

}  // namespace apsyn
