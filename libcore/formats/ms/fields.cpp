// SPDX-License-Identifier: GPL-3.0-or-later
// The phase centres of a set's fields, in J2000.
#include <casacore/casa/Arrays/Array.h>
#include <casacore/casa/Arrays/Vector.h>
#include <casacore/measures/Measures/MCDirection.h>
#include <casacore/measures/Measures/MDirection.h>
#include <casacore/measures/Measures/MeasConvert.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/ScalarColumn.h>
#include <casacore/tables/Tables/TableRecord.h>

#include <array>
#include <cmath>

#include "libcore/base/constants.h"
#include "libcore/formats/ms/metadata.h"
#include "libcore/formats/ms/times.h"
#include "libcore/measures/casacore_log.h"
#include "libcore/measures/coordinates.h"

namespace apsyn {
namespace {

/// Converts to J2000 from frames that need no position on the Earth; `time_of` returns the time of apparent
/// directions.
template <class TimeOf>
SkyDirection to_j2000(double longitude_rad, double latitude_rad, const std::string& reference,
                      const TimeOf& time_of, const std::string& path) {
  casacore::MDirection::Types type;
  if (!casacore::MDirection::getType(type, reference))
    throw DataError("{}: FIELD: direction reference '{}' is not known", path, reference);
  SkyDirection result{longitude_rad, latitude_rad};
  switch (type) {
    case casacore::MDirection::J2000:
    case casacore::MDirection::ICRS:
      break;
    case casacore::MDirection::B1950:
    case casacore::MDirection::GALACTIC:
    case casacore::MDirection::ECLIPTIC:
    case casacore::MDirection::SUPERGAL: {
      const std::lock_guard lock(casacore_measures_mutex());
      const casacore::MVDirection from(longitude_rad, latitude_rad);
      const casacore::MVDirection to =
          casacore::MDirection::Convert(casacore::MDirection(from, type), casacore::MDirection::J2000)()
              .getValue();
      result = {to.getLong(), to.getLat()};
      break;
    }
    case casacore::MDirection::APP: {
      const UtcTime time = time_of();
      if (time == UtcTime{})
        throw DataError(
            "{}: FIELD: directions in APP of an unknown time: neither FIELD's TIME nor a row tells it", path);
      result = SkyFrame(Site{}).direction_from_apparent(time, {longitude_rad, latitude_rad});
      break;
    }
    default:
      throw DataError(
          "{}: FIELD: directions in {}: only J2000, ICRS, B1950, GALACTIC, ECLIPTIC and APP are supported: "
          "leave the field out (--field), or move its phase centre to one of these",
          path, reference);
  }
  result.ra_rad = std::fmod(result.ra_rad, kTwoPi);
  if (result.ra_rad < 0) result.ra_rad += kTwoPi;
  return result;
}

/// The reference in MEASINFO, or the one that another column gives for each row.
std::string direction_reference(const casacore::Table& table, const std::string& column,
                                casacore::rownr_t row) {
  const casacore::TableRecord& keywords = casacore::TableColumn(table, column).keywordSet();
  if (!keywords.isDefined("MEASINFO")) return "J2000";
  const casacore::TableRecord& info = keywords.subRecord("MEASINFO");
  if (info.isDefined("VarRefCol")) {
    const casacore::String name = info.asString("VarRefCol");
    if (table.tableDesc().columnDesc(name).dataType() == casacore::TpString)
      return casacore::ScalarColumn<casacore::String>(table, name)(row);
    const int code = casacore::ScalarColumn<casacore::Int>(table, name)(row);
    if (info.isDefined("TabRefCodes") && info.isDefined("TabRefTypes")) {
      const casacore::Vector<casacore::uInt> codes(info.toArrayuInt("TabRefCodes"));
      const casacore::Vector<casacore::String> types(info.asArrayString("TabRefTypes"));
      for (std::size_t i = 0; i < codes.size() && i < types.size(); ++i)
        if (static_cast<int>(codes[i]) == code) return types[i];
    }
    return casacore::MDirection::showType(static_cast<casacore::uInt>(code));
  }
  return info.isDefined("Ref") ? std::string(info.asString("Ref")) : "J2000";
}

/// The time to which a field's directions refer: its TIME, or that of the set's first row, or else UtcTime().
UtcTime field_time(const casacore::Table& ms, const casacore::Table& fields, casacore::rownr_t row,
                   const std::string& path) {
  const auto time_of = [&](const casacore::Table& table, casacore::rownr_t at) {
    casacore::Vector<double> time_s(1, casacore::ScalarColumn<double>(table, "TIME")(at));
    if (!(time_s[0] > 0)) return UtcTime{};
    MsTimeScale(table, "TIME", path).to_utc(time_s);
    return from_mjd_seconds(time_s[0]);
  };
  const UtcTime own = fields.tableDesc().isColumn("TIME") ? time_of(fields, row) : UtcTime{};
  return own == UtcTime{} && ms.nrow() > 0 ? time_of(ms, 0) : own;
}

/// The first of a direction's polynomial.
std::array<double, 2> direction_values(const casacore::ArrayColumn<double>& column, casacore::rownr_t row,
                                       const std::string& name, const std::string& path) {
  const casacore::Array<double> direction = column(row);
  if (direction.size() < 2 || direction.shape()[0] != 2)
    throw DataError("{}: FIELD row {}: {} is no direction", path, row, name);
  const std::vector<double> values = direction.tovector();
  if (!std::isfinite(values[0]) || !std::isfinite(values[1]) || std::abs(values[0]) > 100 ||
      std::abs(values[1]) > 2)
    throw DataError("{}: FIELD row {}: {} is no direction", path, row, name);
  return {values[0], values[1]};
}

/// What FIELD tells of it in a way that is understood.
MsPointing read_pointing(const casacore::Table& ms, const std::string& path, const casacore::Table& table,
                         int row) {
  const auto direction = [&](const char* column) -> std::optional<SkyDirection> {
    if (!table.tableDesc().isColumn(column)) return std::nullopt;
    try {
      return read_ms_direction(ms, path, column, row);
    } catch (const DataError&) {
      return std::nullopt;  // of a frame that only the telescope knows
    }
  };
  return {direction("DELAY_DIR"), direction("REFERENCE_DIR"), direction("LOFAR_TILE_BEAM_DIR")};
}

}  // namespace

SkyDirection read_ms_direction(const casacore::Table& ms, const std::string& path, const std::string& column,
                               int row) {
  const casacore::Table table = ms_subtable(ms, path, "FIELD");
  const auto at = static_cast<casacore::rownr_t>(row);
  if (row < 0 || at >= table.nrow())
    throw DataError("{}: FIELD has {} rows: there is no field {}", path, table.nrow(), row);
  const std::array<double, 2> values =
      direction_values(casacore::ArrayColumn<double>(table, column), at, column, path);
  return to_j2000(
      values[0], values[1], direction_reference(table, column, at),
      [&] { return field_time(ms, table, at, path); }, path);
}

std::vector<MsField> read_ms_fields(const casacore::Table& ms, const std::string& path,
                                    const MsSelection& selection) {
  const casacore::Table table = ms_subtable(ms, path, "FIELD");
  const casacore::ScalarColumn<casacore::String> name(table, "NAME");
  const casacore::ArrayColumn<double> phase_dir(table, "PHASE_DIR");
  std::vector<MsField> fields;
  for (casacore::rownr_t row = 0; row < table.nrow(); ++row) {
    const std::array<double, 2> values = direction_values(phase_dir, row, "PHASE_DIR", path);
    fields.push_back({name(row), {}, read_pointing(ms, path, table, static_cast<int>(row))});
    try {
      const std::string reference = direction_reference(table, "PHASE_DIR", row);
      fields.back().phase_centre = to_j2000(
          values[0], values[1], reference, [&] { return field_time(ms, table, row, path); }, path);
    } catch (const DataError&) {
      if (selected(selection.fields, static_cast<int>(row))) throw;  // a planet beside the selected fields
    }
  }
  return fields;
}

}  // namespace apsyn
