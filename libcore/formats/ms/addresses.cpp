// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/ms/addresses.h"

#include "libcore/base/error.h"
#include "libcore/measures/casacore_log.h"

namespace apsyn {

using casacore::IPosition;

casacore::Table open_to_read(const std::string& path) {
  adopt_casacore_log();
  return casacore::Table(path, casacore::TableLock(casacore::TableLock::AutoNoReadLocking));
}

casacore::Table open_to_write(const std::string& path) {
  adopt_casacore_log();
  try {
    return casacore::Table(path, casacore::TableLock(casacore::TableLock::PermanentLocking),
                           casacore::Table::Update);
  } catch (const std::exception& error) {
    throw FailureError("{}: cannot be opened for writing: {}: does another program use it?", path,
                       reason_of(error));
  }
}

void check_home(const casacore::Table& table, const std::string& path, const std::string& column) {
  const std::vector<std::string> behind = tables_behind(table);
  if (!behind.empty())
    throw UsageError("{}: its rows are those of {}{}: give {}", path, behind[0],
                     behind.size() > 1 ? " and others" : "", behind.size() > 1 ? "these sets" : "that set");
  if (table.tableDesc().isColumn(column) && storage_manager(table, column).starts_with("Forward"))
    throw UsageError("{}: column {} is that of another set: choose another name, or give that set", path,
                     column);
}

std::vector<ChannelRun> adjacent(const std::vector<std::size_t>& channels) {
  std::vector<ChannelRun> runs;
  for (std::size_t i = 0; i < channels.size(); ++i) {
    if (!runs.empty() && runs.back().first + runs.back().n == channels[i])
      ++runs.back().n;
    else
      runs.push_back({i, channels[i], 1});
  }
  return runs;
}

std::size_t rows_within(std::size_t n_bytes, std::size_t n_channels, std::size_t n_products) {
  return std::max<std::size_t>(
      1, n_bytes / std::max<std::size_t>(1, n_channels * n_products * sizeof(casacore::Complex)));
}

std::vector<RowSpan> consecutive_rows(const MsRows& rows, std::size_t n_channels, std::size_t n_products) {
  const std::size_t n_rows = rows.row_number.size(),
                    at_once = rows_within(kCellBytesAtOnce, n_channels, n_products);
  std::vector<RowSpan> spans;
  for (std::size_t first = 0, n = 0; first < n_rows; first += n) {
    for (n = 1; n < at_once && first + n < n_rows; ++n)
      if (rows.row_number[first + n] != rows.row_number[first + n - 1] + 1) break;
    spans.push_back({first, n});
  }
  return spans;
}

void check_cells(const casacore::TableColumn& column, const MsTileCheck& tiles, const IPosition& expected,
                 const MsRows& rows, const std::string& path) {
  const bool fixed = column.columnDesc().isFixedShape();
  const std::size_t n_check = fixed ? 1 : rows.row_number.size();
  for (std::size_t i = 0; i < n_check; ++i) {
    const auto row = static_cast<casacore::rownr_t>(rows.row_number[i]);
    const std::string name = column.columnDesc().name();
    if (!column.isDefined(row)) throw DataError("{}: row {}: {} holds nothing", path, row, name);
    if (!column.shape(row).isEqual(expected))
      throw DataError("{}: row {}: {} has shape {}, its data description says {}", path, row, name,
                      column.shape(row).toString(), expected.toString());
    tiles.check(row, expected);
  }
}

}  // namespace apsyn
