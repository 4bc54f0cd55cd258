// SPDX-License-Identifier: GPL-3.0-or-later
#include <casacore/tables/Tables/RowNumbers.h>
#include <casacore/tables/Tables/TableRecord.h>

#include <algorithm>
#include <string_view>

#include "libcore/formats/ms/rows.h"

namespace apsyn {

std::string storage_manager(const casacore::Table& table, const std::string& column) {
  const casacore::Record managers = table.dataManagerInfo();
  for (int i = 0; i < static_cast<int>(managers.nfields()); ++i) {
    const casacore::Record& manager = managers.subRecord(casacore::RecordFieldId(i));
    for (const casacore::String& name : manager.asArrayString("COLUMNS"))
      if (std::string_view(name) == column) return manager.asString("TYPE");
  }
  return "";
}

std::vector<std::string> tables_behind(const casacore::Table& table) {
  const casacore::Block<casacore::String> names = table.getPartNames();
  if (names.size() == 1 && names[0] == table.tableName()) return {};
  return {names.begin(), names.end()};
}

MsTileCheck::MsTileCheck(const casacore::Table& table, const std::string& column, const std::string& path)
    : column_(column), path_(path) {
  const std::vector<std::string> behind = tables_behind(table);
  if (!behind.empty()) {
    look_behind(table, behind);
    return;
  }
  if (!table.tableDesc().isColumn(column)) return;  // a reference may give it another name
  const std::string type = storage_manager(table, column);
  if (type.rfind("Tiled", 0) != 0) return;
  tiles_.emplace(table, column, true);
  for (casacore::uInt cube = 0; cube < tiles_->nhypercubes(); ++cube) {
    const casacore::IPosition shape = tiles_->getHypercubeShape(cube), tile = tiles_->getTileShape(cube);
    bool good = shape.size() == tile.size();
    for (std::size_t axis = 0; good && axis < shape.size(); ++axis) good = shape[axis] >= 0 && tile[axis] > 0;
    if (type == "TiledColumnStMan" && good)
      good = shape.size() > 0 && static_cast<casacore::rownr_t>(shape[shape.size() - 1]) == table.nrow();
    if (!good)
      throw DataError(
          "{}: column {}: tiles of shape {} in a cube of shape {} for {} rows: the set is damaged", path,
          column, tile.toString(), shape.toString(), table.nrow());
  }
}

void MsTileCheck::look_behind(const casacore::Table& table, const std::vector<std::string>& names) {
  casacore::rownr_t n_rows = 0;
  for (const std::string& name : names) {
    const casacore::Table part(name, casacore::TableLock(casacore::TableLock::AutoNoReadLocking));
    parts_.emplace_back(part, column_, name);
    first_rows_.push_back(n_rows);
    n_rows += part.nrow();
  }
  if (!table.isRootTable()) rows_.reference(table.rowNumbers());
}

void MsTileCheck::check(casacore::rownr_t row, const casacore::IPosition& cell) const {
  if (!parts_.empty()) {
    const casacore::rownr_t behind = rows_.empty() ? row : rows_[row];
    const auto next = std::upper_bound(first_rows_.begin(), first_rows_.end(), behind);
    const auto part = static_cast<std::size_t>(next - first_rows_.begin()) - 1;
    return parts_[part].check(behind - first_rows_[part], cell);
  }
  if (!tiles_) return;
  const casacore::IPosition& shape = tiles_->hypercubeShape(row);
  bool good = shape.size() >= cell.size();
  for (std::size_t axis = 0; good && axis < cell.size(); ++axis) good = shape[axis] == cell[axis];
  if (!good)
    throw DataError("{}: row {}: {} has shape {} but lies in a cube of shape {}: the set is damaged", path_,
                    row, column_, cell.toString(), shape.toString());
}

}  // namespace apsyn
