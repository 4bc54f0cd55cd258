// SPDX-License-Identifier: GPL-3.0-or-later
// Columns of a table as vectors, read by casacore itself.
#pragma once

#include <casacore/casa/Arrays/Array.h>
#include <casacore/casa/Arrays/Vector.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/ScalarColumn.h>
#include <casacore/tables/Tables/Table.h>

#include <string>
#include <vector>

namespace apsyn::support {

/// [row]
template <class T>
std::vector<T> scalars(const std::string& table, const std::string& column) {
  return casacore::ScalarColumn<T>(casacore::Table(table), column).getColumn().tovector();
}

/// The cells of arrays, row after row.
template <class T>
std::vector<T> cells(const std::string& table, const std::string& column) {
  const casacore::Table rows(table);
  const casacore::ArrayColumn<T> arrays(rows, column);
  std::vector<T> all;
  for (casacore::rownr_t row = 0; row < rows.nrow(); ++row) {
    const casacore::Array<T> cell = arrays(row);
    all.insert(all.end(), cell.begin(), cell.end());
  }
  return all;
}

}  // namespace apsyn::support
