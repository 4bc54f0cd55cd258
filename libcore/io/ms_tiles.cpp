// SPDX-License-Identifier: GPL-3.0-or-later
#include <casacore/tables/Tables/TableRecord.h>

#include <string_view>

#include "libcore/io/ms_rows.h"

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

MsTileCheck::MsTileCheck(const casacore::Table& table, const std::string& column, const std::string& path)
    : column_(column), path_(path) {
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

void MsTileCheck::check(casacore::rownr_t row, const casacore::IPosition& cell) const {
  if (!tiles_) return;
  const casacore::IPosition& shape = tiles_->hypercubeShape(row);
  bool good = shape.size() >= cell.size();
  for (std::size_t axis = 0; good && axis < cell.size(); ++axis) good = shape[axis] == cell[axis];
  if (!good)
    throw DataError("{}: row {}: {} has shape {} but lies in a cube of shape {}: the set is damaged", path_,
                    row, column_, cell.toString(), shape.toString());
}

}  // namespace apsyn
