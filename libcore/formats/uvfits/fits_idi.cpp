// SPDX-License-Identifier: GPL-3.0-or-later
// FITS-IDI (AIPS Memo 114): the rows of tables UV_DATA are groups as UVFITS has them, with parameters in
// columns of their own types, the array in the column that TMATXn names, and weights in column WEIGHT.
#include <algorithm>
#include <cmath>
#include <utility>

#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/formats/fits/columns.h"
#include "libcore/formats/fits/walk.h"
#include "libcore/formats/uvfits/layout.h"

namespace apsyn {
namespace {

UvfitsNumber stored_in(const FitsColumn& column) {
  return {column.byte, column.bitpix};
}

struct UvTable {
  const FitsUnit& unit;
  std::string path;
  FitsColumns columns;

  [[noreturn]] void fail(const std::string& what) const { throw DataError("{}: {}", where(), what); }
  std::string where() const { return fmt::format("{}: HDU {}, UV_DATA", path, unit.number); }

  std::size_t whole(const std::string& keyword, double least, double most) const {
    return static_cast<std::size_t>(unit.whole(keyword, least, most, where()));
  }

  /// "UU---SIN" and "UU" are the same.
  static std::string_view stem(std::string_view name) { return trim(name.substr(0, name.find('-'))); }

  const FitsColumn* find(std::string_view wanted) const {
    for (const FitsColumn& column : columns.all)
      if (stem(column.name) == wanted) return &column;
    return nullptr;
  }

  void add_parameter(UvfitsParameter& parameter, std::string_view name) const {
    const FitsColumn* at = find(name);
    if (at == nullptr) return;
    const FitsColumn& column = *at;
    const std::string number = std::to_string(column.number);
    if (column.bitpix == 0 || column.repeat != 1)
      fail(fmt::format("column {} has no number in each row", column.name));
    if (column.name.starts_with("UU-L") || column.name.starts_with("VV-L") || column.name.starts_with("WW-L"))
      fail(fmt::format("column {}: coordinates in wavelengths: seconds are needed", column.name));
    parameter.parts.push_back({stored_in(column), unit.number_of("TSCAL" + number).value_or(1),
                               unit.number_of("TZERO" + number).value_or(0)});
  }

  /// The column of the visibilities.
  const FitsColumn& matrix() const {
    for (const FitsColumn& column : columns.all)
      if (unit.text(fmt::format("TMATX{}", column.number)).value_or("") == "T") return column;
    if (const FitsColumn* flux = find("FLUX")) return *flux;
    fail("no column of visibilities: TMATXn = T or FLUX is needed");
  }
};

void read_parameters(const UvTable& table, UvfitsLayout& layout) {
  const std::pair<const char*, UvfitsParameter*> wanted[] = {{"UU", &layout.u},
                                                             {"VV", &layout.v},
                                                             {"WW", &layout.w},
                                                             {"DATE", &layout.date},
                                                             {"TIME", &layout.date},
                                                             {"BASELINE", &layout.baseline},
                                                             {"ARRAY", &layout.subarray},
                                                             {"SOURCE", &layout.source},
                                                             {"SOURCE_ID", &layout.source},
                                                             {"FREQID", &layout.setup},
                                                             {"INTTIM", &layout.integration}};
  for (const auto& [name, parameter] : wanted)
    if (parameter != &layout.source || !parameter->there()) table.add_parameter(*parameter, name);
  for (const auto& [what, there] : {std::pair{"UU", layout.u.there()},
                                    {"VV", layout.v.there()},
                                    {"WW", layout.w.there()},
                                    {"DATE", layout.date.there()},
                                    {"BASELINE", layout.baseline.there()}})
    if (!there) table.fail(fmt::format("no column {}", what));
}

UvfitsCentre read_array(const UvTable& table, UvfitsLayout& layout) {
  const FitsUnit& unit = table.unit;
  const FitsColumn& column = table.matrix();
  if (column.bitpix == 0) table.fail(fmt::format("column {} has no numbers", column.name));
  layout.array = stored_in(column);
  layout.scale = unit.number_of(fmt::format("TSCAL{}", column.number)).value_or(1);
  layout.zero = unit.number_of(fmt::format("TZERO{}", column.number)).value_or(0);
  const UvfitsAxisCards cards{
      [&](int axis) { return table.whole(fmt::format("MAXIS{}", axis), 1, 1e8); },
      [&](const char* keyword, int axis) { return unit.number_of(keyword + std::to_string(axis)); },
      [&](const char* keyword, int axis) { return unit.text(keyword + std::to_string(axis)); }};
  const UvfitsCentre centre =
      read_uvfits_axes(layout, cards, 1, 1 + static_cast<int>(table.whole("MAXIS", 1, 16)));
  if (column.repeat != layout.n_values)
    table.fail(fmt::format("column {} has {} numbers, but its axes (MAXISn) {}", column.name, column.repeat,
                           layout.n_values));
  read_uvfits_products(layout);
  if (const FitsColumn* weight = table.find("WEIGHT")) {
    const FitsColumn& weights = *weight;
    const std::size_t n_if = layout.if_.length, n_stokes = layout.stokes.length;
    if (weights.bitpix == 0 || (weights.repeat != n_if && weights.repeat != n_if * n_stokes))
      table.fail(fmt::format("column WEIGHT has {} numbers: {} bands or {} products of bands are needed",
                             weights.repeat, n_if, n_if * n_stokes));
    layout.weights = stored_in(weights);
    layout.weights_per_if = weights.repeat / n_if;
  }
  return centre;
}

}  // namespace

bool is_fits_idi(const std::string& path) {
  bool empty = false;
  try {
    walk_fits(path, [&](const FitsUnit& unit) {
      empty |= unit.number == 1 && unit.number_of("NAXIS") == 0;  // UVFITS has its groups there
    });
  } catch (const DataError&) {  // who reads it tells
  }
  return empty;
}

UvfitsLayout read_fits_idi_layout(const std::string& path) {
  UvfitsLayout layout;
  layout.name = path;
  layout.idi = true;
  layout.names = {"ARRAY_GEOMETRY",
                  "FREQUENCY",
                  "FREQID",
                  "BANDFREQ",
                  "CH_WIDTH",
                  "SOURCE",
                  "SOURCE_ID",
                  "FLAG",
                  {"CALIBRATION", "BANDPASS", "BASELINE", "GAIN_CURVE", "SYSTEM_TEMPERATURE", "PHASE-CAL"},
                  "a FITS-IDI file is needed"};
  MsDescription& set = layout.description;
  set.telescope = set.observer = set.source = "unknown";
  UvfitsCentre centre;
  FitsColumns columns;
  walk_fits(path, [&](const FitsUnit& unit) {
    for (const auto& [keyword, value] : {std::pair{"TELESCOP", &set.telescope}, {"OBSERVER", &set.observer}})
      if (const auto text = unit.text(keyword); text && !text->empty()) *value = *text;
    if (unit.number == 1 || unit.text("EXTNAME").value_or("") != "UV_DATA") return;
    UvTable table{unit, path, {}};
    table.columns = fits_columns(unit, table.where());
    if (columns.all.empty()) {
      read_parameters(table, layout);
      centre = read_array(table, layout);
      columns = table.columns;
      layout.group_bytes = table.columns.row_bytes;
    } else if (columns.all != table.columns.all) {
      table.fail("its columns are not those of the UV_DATA before it: only one layout is read");
    }
    const auto n_rows = static_cast<std::int64_t>(table.columns.n_rows);
    layout.segments.push_back({unit.data_byte, n_rows});
    layout.n_groups += n_rows;
  });
  if (layout.n_groups == 0)
    throw DataError("{}: no table UV_DATA with rows: neither UVFITS nor FITS-IDI", path);
  read_uvfits_tables(layout, centre);
  return layout;
}

}  // namespace apsyn
