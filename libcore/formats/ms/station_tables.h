// SPDX-License-Identifier: GPL-3.0-or-later
// What a Measurement Set says about the beams of its stations: LOFAR_ANTENNA_FIELD, PHASED_ARRAY,
// MWA_TILE_POINTING, and the directions of FIELD.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/array/array_tables.h"
#include "libcore/base/units.h"
#include "libcore/beams/station.h"
#include "libcore/sky/beams.h"

namespace apsyn {

/// LOFAR: ANTENNA::LOFAR_PHASE_REFERENCE, LOFAR_ANTENNA_FIELD and LOFAR_ELEMENT_FAILURE, FIELD's DELAY_DIR,
/// LOFAR_TILE_BEAM_DIR and REFERENCE_DIR of the first set, and windows of all. StationField::element is 0 for
/// LBA and 1 for HBA. DataError, naming the table and the cure, when something is missing or has another
/// shape; warnings when X and Y of an element are not flagged alike, and when all elements of a field are
/// flagged.
StationArray read_lofar_stations(const ArrayTables& tables);

/// OSKAR and SKA-Low: PHASED_ARRAY, a row for each antenna. StationField::element is 0.
StationArray read_oskar_stations(const ArrayTables& tables);

/// FIELD::DELAY_DIR, where the dishes point. DataError where several of `fields` differ in it.
SkyDirection read_ms_pointing(const std::string& path, const std::vector<int>& fields);

/// SPECTRAL_WINDOW of all sets.
std::vector<StationWindow> read_ms_windows(const ArrayTables& tables);

/// ANTENNA::DISH_DIAMETER.
std::vector<double> read_ms_dish_diameters(const std::string& path);

/// MWA_TILE_POINTING::DELAYS of the first row; absent where the set has no such table.
std::optional<MwaDelays> read_ms_mwa_delays(const std::string& path);

/// What was already applied to the data of a column (its keyword LOFAR_APPLIED_BEAM_MODE), and where.
struct AppliedBeam {
  enum class Mode { none, full, array_factor, element };
  Mode mode = Mode::none;
  SkyDirection direction;
};
AppliedBeam read_applied_beam(const std::string& path, const std::string& column);

/// Whether the stations of both point at the same directions and the same beam was applied to their data;
/// true if neither has a set.
bool same_pointing(const ArrayTables& a, const ArrayTables& b);

}  // namespace apsyn
