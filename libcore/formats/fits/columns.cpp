// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/fits/columns.h"

#include <algorithm>

#include "libcore/base/csv.h"
#include "libcore/base/error.h"

namespace apsyn {
namespace {

constexpr double kMaxColumns = 999, kMaxRowBytes = 1e9, kMaxRows = 1e15;

/// Bytes of a column's element and its BITPIX, by the letter of TFORM; bits are counted apart.
struct ColumnType {
  char letter;
  std::size_t bytes;
  int bitpix;
};
constexpr ColumnType kTypes[] = {{'B', 1, 8},   {'I', 2, 16},  {'J', 4, 32}, {'K', 8, 64},
                                 {'E', 4, -32}, {'D', 8, -64}, {'A', 1, 0},  {'L', 1, 0},
                                 {'C', 8, 0},   {'M', 16, 0},  {'P', 8, 0},  {'Q', 16, 0}};

}  // namespace

const FitsColumn* FitsColumns::find(std::string_view name) const {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const FitsColumn& column) { return column.name == name; });
  return found == all.end() ? nullptr : &*found;
}

FitsColumns fits_columns(const FitsUnit& unit, const std::string& where) {
  const auto whole = [&](const char* keyword, double least, double most) {
    return static_cast<std::size_t>(unit.whole(keyword, least, most, where));
  };
  FitsColumns columns;
  columns.row_bytes = whole("NAXIS1", 1, kMaxRowBytes);
  columns.n_rows = whole("NAXIS2", 0, kMaxRows);
  const std::size_t n = whole("TFIELDS", 1, kMaxColumns);
  std::size_t byte = 0;
  for (std::size_t i = 1; i <= n; ++i) {
    const std::string form = unit.text(fmt::format("TFORM{}", i)).value_or("");
    const std::size_t digits = form.find_first_not_of("0123456789");
    const auto type = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const ColumnType& t) {
      return digits != form.npos && t.letter == form[digits];
    });
    const bool of_bits = digits != form.npos && form[digits] == 'X';
    const double repeat = digits == 0 ? 1 : finite_number(form.substr(0, digits)).value_or(0);
    if ((type == std::end(kTypes) && !of_bits) || repeat > 8 * kMaxRowBytes)
      throw DataError("{}: TFORM{} = '{}': no type of FITS", where, i, form);
    FitsColumn column;
    column.name = unit.text(fmt::format("TTYPE{}", i)).value_or("");
    column.number = i;
    column.byte = byte;
    column.repeat = static_cast<std::size_t>(repeat);
    column.n_bytes = of_bits ? (column.repeat + 7) / 8 : column.repeat * type->bytes;
    column.bitpix = of_bits ? 0 : type->bitpix;
    byte += column.n_bytes;
    columns.all.push_back(std::move(column));
    if (byte > columns.row_bytes) break;
  }
  if (byte != columns.row_bytes)
    throw DataError("{}: NAXIS1 = {} bytes a row, but its columns take {}", where, columns.row_bytes, byte);
  return columns;
}

}  // namespace apsyn
