// SPDX-License-Identifier: GPL-3.0-or-later
// The unit of a visibility column: casacore's column keyword QuantumUnits, or UNIT as older writers have it.
// For libcore/formats/ms only.
#pragma once

#include <casacore/tables/Tables/ColumnDesc.h>
#include <casacore/tables/Tables/Table.h>

#include <string>

#include "libcore/base/units.h"

namespace apsyn {

/// Jy if the column names no unit or does not exist. A unit other than Jy and adu is taken as Jy, with a
/// warning.
FluxUnit unit_of_column(const casacore::Table& table, const std::string& path, const std::string& column);

void set_unit(casacore::ColumnDesc& column, FluxUnit unit);

}  // namespace apsyn
