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
/// Visibilities, flags, weights and coordinates in tiles of whole rows; what hardly changes from row to row
/// incrementally; the rest in the standard manager. `allocated`: tiles of all rows that the table is made
/// with are there at once, of zeros.
casacore::SetupNewTable set_up_main_table(const std::string& path, const casacore::IPosition& cell,
                                          FluxUnit unit, bool allocated = false);

}  // namespace apsyn
