// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/ms/station_tables.h"

#include <casacore/casa/Arrays/Array.h>
#include <casacore/casa/Arrays/Vector.h>
#include <casacore/casa/Containers/Record.h>
#include <casacore/measures/Measures/MCDirection.h>
#include <casacore/measures/Measures/MDirection.h>
#include <casacore/measures/Measures/MeasConvert.h>
#include <casacore/measures/Measures/MeasureHolder.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/ScalarColumn.h>
#include <casacore/tables/Tables/TableRecord.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "libcore/base/csv.h"
#include "libcore/base/log.h"
#include "libcore/formats/ms/metadata.h"
#include "libcore/measures/casacore_log.h"

namespace apsyn {
namespace {

using casacore::rownr_t;
using casacore::Table;

Table open_set(const std::string& path) {
  adopt_casacore_log();
  return Table(path, casacore::TableLock(casacore::TableLock::AutoNoReadLocking));
}

/// A subtable that only some telescopes write.
Table beam_table(const Table& ms, const std::string& path, const std::string& name, const char* cure) {
  const casacore::TableRecord& keywords = ms.keywordSet();
  if (!keywords.isDefined(name) || keywords.dataType(name) != casacore::TpTable)
    throw DataError("{}: no subtable {}, which says where the elements of its stations stand: {}", path, name,
                    cure);
  return keywords.asTable(name);
}

void need_column(const Table& table, const std::string& path, const char* table_name, const char* column,
                 const char* cure) {
  if (!table.tableDesc().isColumn(column))
    throw DataError("{}: {} has no column {}: {}", path, table_name, column, cure);
}

constexpr const char* kLofarCure = "copy the tables of the set that the observatory delivered";
constexpr const char* kOskarCure = "write it with OSKAR 2.8 or later, or leave the beam out";

/// Cells of one table, with errors that name it.
class Cells {
 public:
  Cells(const Table& table, std::string where) : table_(table), where_(std::move(where)) {}

  std::vector<double> numbers(const char* column, rownr_t row) const {
    const std::vector<double> values = casacore::ArrayColumn<double>(table_, column)(row).tovector();
    for (const double value : values)
      if (!std::isfinite(value)) throw error(column, row, "holds what is no number");
    return values;
  }
  Vec3 point(const char* column, rownr_t row) const {
    const std::vector<double> values = numbers(column, row);
    if (values.size() != 3) throw error(column, row, "is no point of three coordinates");
    return {values[0], values[1], values[2]};
  }
  /// casacore's columns are the axes.
  Mat3 axes(const char* column, rownr_t row) const {
    const std::vector<double> values = numbers(column, row);
    if (values.size() != 9) throw error(column, row, "is no matrix of 3 x 3");
    Mat3 axes;
    for (std::size_t axis = 0; axis < 3; ++axis)
      for (std::size_t i = 0; i < 3; ++i) axes[axis][i] = values[3 * axis + i];
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j <= i; ++j)
        if (std::abs(dot(axes[i], axes[j]) - (i == j ? 1 : 0)) > 1e-3)
          throw error(column, row, "holds no three unit vectors at right angles");
    return axes;
  }
  /// Points from a cell of shape [3, n] or, with `by_coordinate`, [n, 3].
  std::vector<Vec3> points(const char* column, rownr_t row, bool by_coordinate) const {
    const casacore::IPosition shape = casacore::ArrayColumn<double>(table_, column).shape(row);
    const std::size_t along = by_coordinate ? 1 : 0;
    if (shape.size() != 2 || shape[along] != 3)
      throw error(column, row, by_coordinate ? "has not the shape [n, 3]" : "has not the shape [3, n]");
    const std::vector<double> values = numbers(column, row);
    std::vector<Vec3> points(values.size() / 3);
    for (std::size_t k = 0; k < points.size(); ++k)
      for (std::size_t i = 0; i < 3; ++i)
        points[k][i] = by_coordinate ? values[i * points.size() + k] : values[3 * k + i];
    return points;
  }
  /// ELEMENT_FLAG inverted, [element][X, Y]; of shape [2, n], or [n, 2] where `by_receptor`.
  std::vector<std::array<bool, 2>> enabled(rownr_t row, std::size_t n_elements, bool by_receptor) const {
    const casacore::ArrayColumn<casacore::Bool> column(table_, "ELEMENT_FLAG");
    const casacore::IPosition shape = column.shape(row);
    const auto n = static_cast<ssize_t>(n_elements);
    if (shape.size() != 2 || shape[by_receptor ? 1 : 0] != 2 || shape[by_receptor ? 0 : 1] != n)
      throw error("ELEMENT_FLAG", row, "has not two flags for each element of ELEMENT_OFFSET");
    const auto flags = column(row).tovector();
    std::vector<std::array<bool, 2>> enabled(n_elements);
    for (std::size_t k = 0; k < n_elements; ++k)
      for (std::size_t i = 0; i < 2; ++i)
        enabled[k][i] = !flags[by_receptor ? i * n_elements + k : 2 * k + i];
    return enabled;
  }

 private:
  DataError error(const char* column, rownr_t row, const char* what) const {
    return DataError(
        "{} row {}: {} {}: the table is damaged, or of another layout: copy it from the original set", where_,
        row, column, what);
  }
  const Table& table_;
  std::string where_;
};

/// The only field with data, for delays of which the set has a single one.
int only_field(const Table& ms, const std::string& path, const std::vector<int>& fields) {
  if (fields.size() == 1) return fields[0];
  const Table table = ms_subtable(ms, path, "FIELD");
  if (fields.empty() && table.nrow() == 1) return 0;
  throw DataError(
      "{}: FIELD has {} fields: station beams need one, whose DELAY_DIR the stations look at: select one "
      "with "
      "--field, or split the set",
      path, fields.empty() ? table.nrow() : fields.size());
}

std::vector<StationWindow> read_windows(const std::vector<std::string>& sets) {
  std::vector<StationWindow> windows;
  for (const std::string& path : sets)
    with_measurement_set(path, [&] {
      const Table ms = open_set(path);
      const Table table = ms_subtable(ms, path, "SPECTRAL_WINDOW");
      const casacore::ScalarColumn<double> reference(table, "REF_FREQUENCY");
      const casacore::ArrayColumn<double> channels(table, "CHAN_FREQ");
      for (rownr_t row = 0; row < table.nrow(); ++row) {
        const std::vector<double> hz = channels(row).tovector();
        if (hz.empty()) continue;
        const auto [low, high] = std::minmax_element(hz.begin(), hz.end());
        windows.push_back({*low, *high, reference(row)});
      }
    });
  return windows;
}

void warn_of_flags(const std::string& path, const Station& station, const StationField& field, bool both) {
  std::size_t unlike = 0, n = 0;
  for (const auto& enabled : field.enabled) {
    unlike += enabled[0] != enabled[1];
    n += enabled[0] || (!both && enabled[1]);
  }
  if (both && unlike > 0)
    log_warning(
        "{}: {}: {} elements have another flag of Y than of X in ELEMENT_FLAG: that of X is taken for both",
        path, station.name, unlike);
  if (n == 0) log_warning("{}: {}: all elements of a field are flagged: its beam is 0", path, station.name);
}

/// Elements that broke in LOFAR_ELEMENT_FAILURE's words: [row of LOFAR_ANTENNA_FIELD, element].
std::set<std::pair<rownr_t, std::size_t>> read_failures(const Table& ms) {
  std::set<std::pair<rownr_t, std::size_t>> failures;
  const casacore::TableRecord& keywords = ms.keywordSet();
  if (!keywords.isDefined("LOFAR_ELEMENT_FAILURE") ||
      keywords.dataType("LOFAR_ELEMENT_FAILURE") != casacore::TpTable)
    return failures;
  const Table table = keywords.asTable("LOFAR_ELEMENT_FAILURE");
  if (table.nrow() == 0 || !table.tableDesc().isColumn("ANTENNA_FIELD_ID") ||
      !table.tableDesc().isColumn("ELEMENT_INDEX"))
    return failures;
  const casacore::ScalarColumn<casacore::Int> field(table, "ANTENNA_FIELD_ID"),
      element(table, "ELEMENT_INDEX");
  for (rownr_t row = 0; row < table.nrow(); ++row)
    if (field(row) >= 0 && element(row) >= 0)
      failures.emplace(static_cast<rownr_t>(field(row)), static_cast<std::size_t>(element(row)));
  return failures;
}

bool same(const SkyDirection& a, const SkyDirection& b) {
  return std::abs(a.ra_rad - b.ra_rad) < 1e-6 && std::abs(a.dec_rad - b.dec_rad) < 1e-6;
}

std::vector<int> rows_of_fields(const Table& ms, const std::string& path, const std::vector<int>& fields) {
  std::vector<int> rows = fields;
  if (rows.empty())
    for (rownr_t row = 0; row < ms_subtable(ms, path, "FIELD").nrow(); ++row)
      rows.push_back(static_cast<int>(row));
  return rows;
}

/// Those of DELAY_DIR, REFERENCE_DIR and LOFAR_TILE_BEAM_DIR that exist, for the fields that are read.
std::vector<SkyDirection> all_directions(const ArrayTables& tables) {
  const std::string& path = tables.sets[0];
  return with_measurement_set(path, [&] {
    const Table ms = open_set(path);
    const Table table = ms_subtable(ms, path, "FIELD");
    std::vector<SkyDirection> directions;
    for (const int row : rows_of_fields(ms, path, tables.fields))
      for (const char* column : {"DELAY_DIR", "REFERENCE_DIR", "LOFAR_TILE_BEAM_DIR"})
        if (table.tableDesc().isColumn(column))
          directions.push_back(read_ms_direction(ms, path, column, row));
    return directions;
  });
}

}  // namespace

StationArray read_lofar_stations(const ArrayTables& tables) {
  const std::string& path = tables.sets.at(0);
  return with_measurement_set(path, [&] {
    const Table ms = open_set(path);
    StationArray array;
    array.kind = StationKind::lofar;
    const int field_row = only_field(ms, path, tables.fields);
    need_column(ms_subtable(ms, path, "FIELD"), path, "FIELD", "LOFAR_TILE_BEAM_DIR", kLofarCure);
    array.delay = read_ms_direction(ms, path, "DELAY_DIR", field_row);
    array.tile = read_ms_direction(ms, path, "LOFAR_TILE_BEAM_DIR", field_row);
    array.reference = read_ms_direction(ms, path, "REFERENCE_DIR", field_row);
    array.windows = read_windows(tables.sets);

    const Table antennas = ms_subtable(ms, path, "ANTENNA");
    need_column(antennas, path, "ANTENNA", "LOFAR_PHASE_REFERENCE", kLofarCure);
    const Cells antenna_cells(antennas, path + ": ANTENNA");
    const casacore::ScalarColumn<casacore::String> station_name(antennas, "NAME");
    for (rownr_t row = 0; row < antennas.nrow(); ++row)
      array.stations.push_back({station_name(row), antenna_cells.point("LOFAR_PHASE_REFERENCE", row), {}});

    const Table table = beam_table(ms, path, "LOFAR_ANTENNA_FIELD", kLofarCure);
    for (const char* column : {"ANTENNA_ID", "NAME", "POSITION", "COORDINATE_AXES", "ELEMENT_OFFSET",
                               "ELEMENT_FLAG", "TILE_ELEMENT_OFFSET"})
      need_column(table, path, "LOFAR_ANTENNA_FIELD", column, kLofarCure);
    const Cells cells(table, path + ": LOFAR_ANTENNA_FIELD");
    const casacore::ScalarColumn<casacore::Int> antenna(table, "ANTENNA_ID");
    const casacore::ScalarColumn<casacore::String> name(table, "NAME");
    const auto failures = read_failures(ms);
    std::size_t n_failed = 0;
    for (rownr_t row = 0; row < table.nrow(); ++row) {
      const int id = antenna(row);
      if (id < 0 || id >= static_cast<int>(array.stations.size()))
        throw DataError("{}: LOFAR_ANTENNA_FIELD row {}: ANTENNA_ID {}: ANTENNA has {} rows: {}", path, row,
                        id, array.stations.size(), kLofarCure);
      StationField field;
      field.position_m = cells.point("POSITION", row);
      field.axes = cells.axes("COORDINATE_AXES", row);
      field.elements_m = cells.points("ELEMENT_OFFSET", row, false);
      field.enabled = cells.enabled(row, field.elements_m.size(), false);
      for (std::size_t k = 0; k < field.enabled.size(); ++k)
        if (failures.contains({row, k})) {
          field.enabled[k] = {false, false};
          ++n_failed;
        }
      const bool is_hba = name(row) != "LBA";
      field.element = is_hba ? 1 : 0;
      if (is_hba) {
        field.tile_m = cells.points("TILE_ELEMENT_OFFSET", row, false);
        if (field.tile_m.size() != 16)
          throw DataError(
              "{}: LOFAR_ANTENNA_FIELD row {}: TILE_ELEMENT_OFFSET has {} dipoles: a tile has 16: {}", path,
              row, field.tile_m.size(), kLofarCure);
      }
      Station& station = array.stations[static_cast<std::size_t>(id)];
      warn_of_flags(path, station, field, true);
      station.fields.push_back(std::move(field));
    }
    if (n_failed > 0)
      log_info("{}: LOFAR_ELEMENT_FAILURE names {} elements: they are left out of the beams", path, n_failed);
    for (const Station& station : array.stations)
      if (station.fields.empty())
        throw DataError("{}: LOFAR_ANTENNA_FIELD has no row for {}: {}", path, station.name, kLofarCure);
    return array;
  });
}

StationArray read_oskar_stations(const ArrayTables& tables) {
  const std::string& path = tables.sets.at(0);
  return with_measurement_set(path, [&] {
    const Table ms = open_set(path);
    StationArray array;
    array.kind = StationKind::oskar;
    const int field_row = only_field(ms, path, tables.fields);
    array.delay = read_ms_direction(ms, path, "DELAY_DIR", field_row);
    array.tile = array.delay;
    array.reference = read_ms_direction(ms, path, "REFERENCE_DIR", field_row);
    array.windows = read_windows(tables.sets);
    const Table antennas = ms_subtable(ms, path, "ANTENNA");
    const Table table = beam_table(ms, path, "PHASED_ARRAY", kOskarCure);
    for (const char* column : {"POSITION", "COORDINATE_AXES", "ELEMENT_OFFSET", "ELEMENT_FLAG"})
      need_column(table, path, "PHASED_ARRAY", column, kOskarCure);
    if (table.nrow() != antennas.nrow())
      throw DataError("{}: PHASED_ARRAY has {} rows and ANTENNA {}: one for each antenna is needed: {}", path,
                      table.nrow(), antennas.nrow(), kOskarCure);
    const Cells cells(table, path + ": PHASED_ARRAY");
    const casacore::ScalarColumn<casacore::String> name(antennas, "NAME");
    for (rownr_t row = 0; row < table.nrow(); ++row) {
      StationField field;
      field.position_m = cells.point("POSITION", row);
      field.axes = cells.axes("COORDINATE_AXES", row);
      field.elements_m = cells.points("ELEMENT_OFFSET", row, true);
      field.enabled = cells.enabled(row, field.elements_m.size(), true);
      Station station{name(row), field.position_m, {}};
      warn_of_flags(path, station, field, false);
      station.fields.push_back(std::move(field));
      array.stations.push_back(std::move(station));
    }
    if (array.stations.empty()) throw DataError("{}: PHASED_ARRAY is empty: {}", path, kOskarCure);
    return array;
  });
}

SkyDirection read_ms_pointing(const std::string& path, const std::vector<int>& fields) {
  return with_measurement_set(path, [&] {
    const Table ms = open_set(path);
    const std::vector<int> rows = rows_of_fields(ms, path, fields);
    if (rows.empty()) throw DataError("{}: FIELD is empty: no pointing is known: give beam.pointing", path);
    const SkyDirection first = read_ms_direction(ms, path, "DELAY_DIR", rows[0]);
    for (const int row : rows) {
      const SkyDirection other = read_ms_direction(ms, path, "DELAY_DIR", row);
      if (!same(other, first))
        throw DataError(
            "{}: FIELD: rows {} and {} point to different directions (DELAY_DIR), and a beam has one: select "
            "the fields of one pointing with --field",
            path, rows[0], row);
    }
    return first;
  });
}

std::vector<StationWindow> read_ms_windows(const ArrayTables& tables) {
  return read_windows(tables.sets);
}

std::vector<double> read_ms_dish_diameters(const std::string& path) {
  return with_measurement_set(path, [&] {
    const Table table = ms_subtable(open_set(path), path, "ANTENNA");
    return casacore::Array<double>(casacore::ScalarColumn<double>(table, "DISH_DIAMETER").getColumn())
        .tovector();
  });
}

std::optional<MwaDelays> read_ms_mwa_delays(const std::string& path) {
  return with_measurement_set(path, [&]() -> std::optional<MwaDelays> {
    const Table ms = open_set(path);
    const casacore::TableRecord& keywords = ms.keywordSet();
    if (!keywords.isDefined("MWA_TILE_POINTING") ||
        keywords.dataType("MWA_TILE_POINTING") != casacore::TpTable)
      return std::nullopt;
    const Table table = keywords.asTable("MWA_TILE_POINTING");
    if (table.nrow() == 0 || !table.tableDesc().isColumn("DELAYS")) return std::nullopt;
    const auto values = casacore::ArrayColumn<casacore::Int>(table, "DELAYS")(0).tovector();
    if (values.size() != kMwaDipoles)
      throw DataError("{}: MWA_TILE_POINTING: DELAYS has {} values: a tile has {} dipoles: give beam.delays",
                      path, values.size(), kMwaDipoles);
    MwaDelays delays{};
    for (std::size_t i = 0; i < kMwaDipoles; ++i) {
      if (values[i] < 0 || values[i] > kMwaDeadDipole)
        throw DataError("{}: MWA_TILE_POINTING: DELAYS holds {}: 0 to {} is possible: give beam.delays", path,
                        values[i], kMwaDeadDipole);
      delays[i] = values[i];
    }
    return delays;
  });
}

AppliedBeam read_applied_beam(const std::string& path, const std::string& column) {
  return with_measurement_set(path, [&] {
    const Table ms = open_set(path);
    AppliedBeam applied;
    if (column.empty() || !ms.tableDesc().isColumn(column)) return applied;
    const casacore::TableRecord& keywords = casacore::TableColumn(ms, column).keywordSet();
    if (!keywords.isDefined("LOFAR_APPLIED_BEAM_MODE")) return applied;
    const std::string mode = lower(std::string(keywords.asString("LOFAR_APPLIED_BEAM_MODE")));
    if (mode == "none") return applied;
    if (mode == "full")
      applied.mode = AppliedBeam::Mode::full;
    else if (mode == "arrayfactor")
      applied.mode = AppliedBeam::Mode::array_factor;
    else if (mode == "element")
      applied.mode = AppliedBeam::Mode::element;
    else
      throw DataError(
          "{}: column {}: LOFAR_APPLIED_BEAM_MODE '{}': None, Full, ArrayFactor or Element is known: set "
          "beam.beam_normalisation_mode",
          path, column, printable(mode));
    if (!keywords.isDefined("LOFAR_APPLIED_BEAM_DIR"))
      throw DataError(
          "{}: column {}: a beam was applied (LOFAR_APPLIED_BEAM_MODE), and LOFAR_APPLIED_BEAM_DIR, which "
          "says "
          "where, is missing: set beam.beam_normalisation_mode",
          path, column);
    const std::lock_guard lock(casacore_measures_mutex());
    casacore::MeasureHolder holder;
    casacore::String why;
    if (!holder.fromRecord(why, keywords.subRecord("LOFAR_APPLIED_BEAM_DIR")) || !holder.isMDirection())
      throw DataError(
          "{}: column {}: LOFAR_APPLIED_BEAM_DIR is no direction: set beam.beam_normalisation_mode", path,
          column);
    const casacore::MVDirection there =
        casacore::MDirection::Convert(holder.asMDirection(), casacore::MDirection::J2000)().getValue();
    applied.direction = {there.getLong(), there.getLat()};
    return applied;
  });
}

bool same_pointing(const ArrayTables& a, const ArrayTables& b) {
  if (a.sets.empty() || b.sets.empty()) return a.sets.empty() == b.sets.empty();
  const AppliedBeam beam_a = read_applied_beam(a.sets[0], a.column),
                    beam_b = read_applied_beam(b.sets[0], b.column);
  if (beam_a.mode != beam_b.mode || !same(beam_a.direction, beam_b.direction)) return false;
  const std::vector<SkyDirection> of_a = all_directions(a), of_b = all_directions(b);
  return std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), same);
}

}  // namespace apsyn
