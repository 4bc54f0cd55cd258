// SPDX-License-Identifier: GPL-3.0-or-later
// The subtables of a Measurement Set v2 that MeasurementSetWriter creates. For libcore/formats/ms only.
#pragma once

#include <casacore/ms/MeasurementSets/MeasurementSet.h>

#include "libcore/formats/ms/measurement_set.h"

namespace apsyn {

/// The UTC span of the rows, MJD seconds.
struct MsTimeRange {
  double first_s = 0, last_s = 0;
};

/// Makes the twelve required subtables, empty.
void create_subtables(casacore::MeasurementSet& ms);
/// Fills ANTENNA, FEED, FIELD, SPECTRAL_WINDOW, POLARIZATION, DATA_DESCRIPTION, PROCESSOR, STATE and one
/// OBSERVATION. DataError when the description's array has no site.
void fill_subtables(casacore::MeasurementSet& ms, const MsDescription& description);
/// Fills in times that are only known at the end, in OBSERVATION, FIELD and HISTORY, which also gets the
/// description's lines.
void fill_times_and_history(casacore::MeasurementSet& ms, const MsDescription& description,
                            const MsTimeRange& range);

/// Adds a row for each line. The time is the observation's, not the run's, so that a rerun gives the same
/// bytes.
void append_history(casacore::MSHistory& table, const std::vector<std::string>& lines, double time_s);

}  // namespace apsyn
