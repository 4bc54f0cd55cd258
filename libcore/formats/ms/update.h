// SPDX-License-Identifier: GPL-3.0-or-later
// Changes to Measurement Sets in place. Nothing is ever removed from a set: a removal that is cut short can
// leave it unreadable, an addition cannot. For libcore/formats/ms only.
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

/// Adds a column of complex zeros, its cells shaped as their data descriptions say, and brings it to the
/// disk. FailureError when there is no space: the set on the disk is then as it was. `table` is one of
/// keep_open().
void add_visibility_column(casacore::Table& table, const std::string& path, const std::string& name,
                           FluxUnit unit);

/// The same of a column of real zeros, which `fill`, if there is one, gives values before the set says that
/// it has the column: who kills the process until then leaves the set as it was.
using FillRealColumn = std::function<void(casacore::ArrayColumn<float>& column)>;
void add_real_column(casacore::Table& table, const std::string& path, const std::string& name,
                     const std::string& comment, const FillRealColumn& fill);

/// Gives zeros to those cells of the rows that hold nothing.
void define_cells(casacore::ArrayColumn<casacore::Complex>& column, const casacore::IPosition& cell,
                  const std::vector<std::int64_t>& rows);

/// Adds lines to the subtable HISTORY; not when it ends with them already, or is missing. A copy with the
/// lines takes its place as a whole: rows that are added in place leave a table that crashes its readers when
/// the process is killed between the rows and their number.
void add_history(const casacore::Table& table, const std::vector<std::string>& lines);

/// Reads what add_history() will read.
void look_at_history(const casacore::Table& table);

/// Brings what was written to a column to its file.
void flush_column(casacore::Table& table, const std::string& column);

/// Keeps a table open until the process ends. Closing it would write again: on a full disk in a destructor,
/// where a failure ends the process, and in any case the header of a tiled column, which is empty for a
/// moment; who kills the process then makes the set unreadable.
void keep_open(const casacore::Table& table);

}  // namespace apsyn
