// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/ms/main_table.h"

#include <casacore/ms/MeasurementSets/MeasurementSet.h>
#include <casacore/tables/DataMan/IncrementalStMan.h>
#include <casacore/tables/DataMan/StandardStMan.h>
#include <casacore/tables/DataMan/TiledColumnStMan.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "libcore/formats/ms/allocated_column.h"
#include "libcore/formats/ms/units.h"

namespace apsyn {
namespace {

using casacore::IPosition;
using casacore::MS;

/// Number of rows, of `bytes_per_row` each, in about a mebibyte.
std::size_t rows_per_tile(std::size_t bytes_per_row) {
  return std::clamp<std::size_t>((std::size_t{1} << 20) / bytes_per_row, 1, 4096);
}

casacore::TableDesc describe_main(const IPosition& cell, FluxUnit unit) {
  casacore::TableDesc desc = MS::requiredTableDesc();
  MS::addColumnToDesc(desc, MS::DATA, cell, casacore::ColumnDesc::FixedShape);
  set_unit(desc.rwColumnDesc(MS::columnName(MS::DATA)), unit);
  MS::addColumnToDesc(desc, MS::WEIGHT_SPECTRUM, cell, casacore::ColumnDesc::FixedShape);
  const std::pair<MS::PredefinedColumns, IPosition> fixed[] = {{MS::FLAG, cell},
                                                               {MS::WEIGHT, IPosition(1, cell[0])},
                                                               {MS::SIGMA, IPosition(1, cell[0])},
                                                               {MS::UVW, IPosition(1, 3)}};
  for (const auto& [column, shape] : fixed) {
    casacore::ColumnDesc& description = desc.rwColumnDesc(MS::columnName(column));
    description.setOptions(0);
    description.setShape(shape);
    description.setOptions(casacore::ColumnDesc::FixedShape);
  }
  return desc;
}

/// Binds `column` to its own tiled file and defines the hypercolumn it needs.
void bind_tiled(casacore::TableDesc& desc, std::vector<std::pair<MS::PredefinedColumns, IPosition>>& tiles,
                MS::PredefinedColumns column, const IPosition& cell, double bytes_per_element) {
  const auto bytes = static_cast<std::size_t>(static_cast<double>(cell.product()) * bytes_per_element);
  IPosition tile = cell;
  tile.append(IPosition(1, static_cast<ssize_t>(rows_per_tile(std::max<std::size_t>(bytes, 1)))));
  desc.defineHypercolumn("Tiled" + MS::columnName(column), tile.size(),
                         casacore::Vector<casacore::String>(1, MS::columnName(column)));
  tiles.emplace_back(column, tile);
}

}  // namespace

casacore::SetupNewTable set_up_main_table(const std::string& path, const IPosition& cell, FluxUnit unit,
                                          bool allocated) {
  casacore::TableDesc desc = describe_main(cell, unit);
  std::vector<std::pair<MS::PredefinedColumns, IPosition>> tiles;
  bind_tiled(desc, tiles, MS::DATA, cell, 8);
  bind_tiled(desc, tiles, MS::FLAG, cell, 0.125);
  bind_tiled(desc, tiles, MS::WEIGHT_SPECTRUM, cell, 4);
  bind_tiled(desc, tiles, MS::WEIGHT, IPosition(1, cell[0]), 4);
  bind_tiled(desc, tiles, MS::SIGMA, IPosition(1, cell[0]), 4);
  bind_tiled(desc, tiles, MS::UVW, IPosition(1, 3), 8);
  casacore::SetupNewTable setup(path, desc, casacore::Table::New);
  setup.bindAll(casacore::StandardStMan("Standard", 32768));
  const casacore::IncrementalStMan incremental("Incremental");
  for (MS::PredefinedColumns column : {MS::TIME, MS::TIME_CENTROID, MS::INTERVAL, MS::EXPOSURE, MS::ARRAY_ID,
                                       MS::DATA_DESC_ID, MS::FEED1, MS::FEED2, MS::FIELD_ID, MS::FLAG_ROW,
                                       MS::OBSERVATION_ID, MS::PROCESSOR_ID, MS::SCAN_NUMBER, MS::STATE_ID})
    setup.bindColumn(MS::columnName(column), incremental);
  for (const auto& [column, tile] : tiles) {
    const std::string name = MS::columnName(column), manager = "Tiled" + name;
    if (allocated)
      // Holes, which all threads fill: allocating the space would be done by one thread and take a fifth of
      // the time in memory. A full disk is noticed when the cells are written.
      setup.bindColumn(name, AllocatedColumnStMan(manager, tile, AllocatedColumnStMan::Space::holes));
    else
      setup.bindColumn(name, casacore::TiledColumnStMan(manager, tile));
  }
  return setup;
}

}  // namespace apsyn
