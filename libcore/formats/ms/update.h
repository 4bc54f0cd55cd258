// SPDX-License-Identifier: GPL-3.0-or-later
// Changes to Measurement Sets in place. Nothing is ever removed from a set: an interrupted removal can leave
// it unreadable, an interrupted addition cannot. For libcore/formats/ms only.
#pragma once

#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/Table.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "libcore/base/units.h"

namespace apsyn {

/// DataError when there is no column `name` of complex arrays.
void require_visibility_column(const casacore::Table& table, const std::string& path,
                               const std::string& name);
/// UsageError when `name` belongs to something other than visibilities, in this set or in the standard.
void check_visibility_name(const casacore::Table& table, const std::string& path, const std::string& name);

/// Bytes of the cells of a visibility column for all rows. DataError for malformed subtables.
std::uint64_t visibility_bytes(const casacore::Table& table, const std::string& path);

/// Adds a column of complex zeros, with cells shaped as their data descriptions say, and flushes it to disk.
/// FailureError when there is no space: the set on disk is then unchanged. `table` must have been passed to
/// keep_open(). `made_of`: the column of the data that it will hold, corrected; a beam that was applied to it
/// is that of the new one. Empty: none.
void add_visibility_column(casacore::Table& table, const std::string& path, const std::string& name,
                           FluxUnit unit, const std::string& made_of = {});

/// Keywords of a column that tell which beam was applied to its data: LOFAR_APPLIED_BEAM_...
void copy_applied_beam(const casacore::TableRecord& from, casacore::TableRecord& to);

/// The same for a column of real numbers. `fill`, if given, sets its values before the column becomes part of
/// the set, so that killing the process before that leaves the set unchanged.
using FillRealColumn = std::function<void(casacore::ArrayColumn<float>& column)>;
void add_real_column(casacore::Table& table, const std::string& path, const std::string& name,
                     const std::string& comment, const FillRealColumn& fill);

/// Fills undefined cells of the rows with zeros.
void define_cells(casacore::ArrayColumn<casacore::Complex>& column, const casacore::IPosition& cell,
                  const std::vector<std::int64_t>& rows);

/// Adds lines to the subtable HISTORY; not when it ends with them already, or is missing. The subtable is
/// replaced as a whole by a copy with the lines: if rows were added in place and the process were killed
/// before their number is updated, the table would crash its readers.
void add_history(const casacore::Table& table, const std::vector<std::string>& lines);

/// Reads in advance what add_history() will read.
void look_at_history(const casacore::Table& table);

/// Flushes a column to its file.
void flush_column(casacore::Table& table, const std::string& column);

/// Keeps a table open until the process ends. Closing it would write again: on a full disk in a destructor,
/// where a failure ends the process, and in any case the header of a tiled column, which is empty for a
/// moment: killing the process then would make the set unreadable.
void keep_open(const casacore::Table& table);

}  // namespace apsyn
