// SPDX-License-Identifier: GPL-3.0-or-later
// FITS-IDI (AIPS Memo 114): the rows of tables UV_DATA are groups as UVFITS has them, with parameters in
// columns of their own types, the array in the column that TMATXn names, and weights in column WEIGHT.
#include <algorithm>
#include <cmath>
#include <utility>

#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/formats/fits/walk.h"
#include "libcore/formats/uvfits/layout.h"

namespace apsyn {
namespace {

constexpr std::size_t kMaxColumns = 999;

struct Column {
  std::string name;
  UvfitsNumber first;
  std::size_t repeat = 1;
  bool numbers = false;  ///< of a type that is read

  bool operator==(const Column& other) const {
    return name == other.name && first.byte == other.first.byte && first.bitpix == other.first.bitpix &&
           repeat == other.repeat;
  }
};

/// Bytes of a column's element and its BITPIX, by the letter of TFORM; bits are counted apart.
struct ColumnType {
  char letter;
  std::size_t bytes;
  int bitpix;
};
constexpr ColumnType kTypes[] = {{'B', 1, 8},   {'I', 2, 16},  {'J', 4, 32}, {'K', 8, 64},
                                 {'E', 4, -32}, {'D', 8, -64}, {'A', 1, 0},  {'L', 1, 0},
                                 {'C', 8, 0},   {'M', 16, 0},  {'P', 8, 0},  {'Q', 16, 0}};

struct UvTable {
  const FitsUnit& unit;
  std::string path;
  std::vector<Column> columns;
  std::size_t row_bytes = 0;

  [[noreturn]] void fail(const std::string& what) const {
    throw DataError("{}: HDU {}, UV_DATA: {}", path, unit.number, what);
  }

  std::size_t whole(const std::string& keyword, double least, double most) const {
    return static_cast<std::size_t>(
        unit.whole(keyword, least, most, fmt::format("{}: HDU {}, UV_DATA", path, unit.number)));
  }

  void read_columns() {
    row_bytes = whole("NAXIS1", 1, 1e9);
    const std::size_t n = whole("TFIELDS", 1, kMaxColumns);
    std::size_t byte = 0;
    for (std::size_t i = 1; i <= n; ++i) {
      const std::string form = unit.text(fmt::format("TFORM{}", i)).value_or("");
      const std::size_t digits = form.find_first_not_of("0123456789");
      const auto type = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const ColumnType& t) {
        return digits != form.npos && t.letter == form[digits];
      });
      const double repeat = digits == 0 ? 1 : finite_number(form.substr(0, digits)).value_or(0);
      if ((type == std::end(kTypes) && !(digits != form.npos && form[digits] == 'X')) || repeat > 1e8)
        fail(fmt::format("TFORM{} = '{}': no type of FITS", i, form));
      const auto count = static_cast<std::size_t>(repeat);
      Column column;
      column.name = unit.text(fmt::format("TTYPE{}", i)).value_or("");
      column.repeat = count;
      if (type == std::end(kTypes)) {
        byte += (count + 7) / 8;
      } else {
        column.first = {byte, type->bitpix};
        column.numbers = type->bitpix != 0;
        byte += count * type->bytes;
      }
      columns.push_back(column);
      if (byte > row_bytes) break;
    }
    if (byte != row_bytes)
      fail(fmt::format("NAXIS1 = {} bytes a row, but its columns take {}", row_bytes, byte));
  }

  /// "UU---SIN" and "UU" are the same.
  static std::string_view stem(std::string_view name) { return trim(name.substr(0, name.find('-'))); }

  std::optional<std::size_t> find(std::string_view wanted) const {
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (stem(columns[i].name) == wanted) return i;
    return std::nullopt;
  }

  void add_parameter(UvfitsParameter& parameter, std::string_view name) const {
    const auto at = find(name);
    if (!at) return;
    const Column& column = columns[*at];
    const std::string number = std::to_string(*at + 1);
    if (!column.numbers || column.repeat != 1)
      fail(fmt::format("column {} has no number in each row", column.name));
    if (column.name.starts_with("UU-L") || column.name.starts_with("VV-L") || column.name.starts_with("WW-L"))
      fail(fmt::format("column {}: coordinates in wavelengths: seconds are needed", column.name));
    parameter.parts.push_back({column.first, unit.number_of("TSCAL" + number).value_or(1),
                               unit.number_of("TZERO" + number).value_or(0)});
  }

  /// The column of the visibilities.
  std::size_t matrix() const {
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (unit.text(fmt::format("TMATX{}", i + 1)).value_or("") == "T") return i;
    if (const auto flux = find("FLUX")) return *flux;
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
  const std::size_t at = table.matrix();
  const Column& column = table.columns[at];
  if (!column.numbers) table.fail(fmt::format("column {} has no numbers", column.name));
  layout.array = column.first;
  layout.scale = unit.number_of(fmt::format("TSCAL{}", at + 1)).value_or(1);
  layout.zero = unit.number_of(fmt::format("TZERO{}", at + 1)).value_or(0);
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
  if (const auto weight = table.find("WEIGHT")) {
    const Column& weights = table.columns[*weight];
    const std::size_t n_if = layout.if_.length, n_stokes = layout.stokes.length;
    if (!weights.numbers || (weights.repeat != n_if && weights.repeat != n_if * n_stokes))
      table.fail(fmt::format("column WEIGHT has {} numbers: {} bands or {} products of bands are needed",
                             weights.repeat, n_if, n_if * n_stokes));
    layout.weights = weights.first;
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
                  {"FLAG", "CALIBRATION", "BANDPASS", "BASELINE"},
                  "a FITS-IDI file is needed"};
  MsDescription& set = layout.description;
  set.telescope = set.observer = set.source = "unknown";
  UvfitsCentre centre;
  std::vector<Column> columns;
  walk_fits(path, [&](const FitsUnit& unit) {
    for (const auto& [keyword, value] : {std::pair{"TELESCOP", &set.telescope}, {"OBSERVER", &set.observer}})
      if (const auto text = unit.text(keyword); text && !text->empty()) *value = *text;
    if (unit.number == 1 || unit.text("EXTNAME").value_or("") != "UV_DATA") return;
    UvTable table{unit, path, {}, 0};
    table.read_columns();
    if (columns.empty()) {
      read_parameters(table, layout);
      centre = read_array(table, layout);
      columns = table.columns;
      layout.group_bytes = table.row_bytes;
    } else if (columns != table.columns) {
      table.fail("its columns are not those of the UV_DATA before it: only one layout is read");
    }
    const auto n_rows = static_cast<std::int64_t>(table.whole("NAXIS2", 0, 1e15));
    layout.segments.push_back({unit.data_byte, n_rows});
    layout.n_groups += n_rows;
  });
  if (layout.n_groups == 0)
    throw DataError("{}: no table UV_DATA with rows: neither UVFITS nor FITS-IDI", path);
  read_uvfits_tables(layout, centre);
  return layout;
}

}  // namespace apsyn
