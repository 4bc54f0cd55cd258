// SPDX-License-Identifier: GPL-3.0-or-later
// Comma-separated side files: antennas, gains, beams, weights. A header line of column names, one row a line;
// '#' starts a comment line; blanks around fields and empty lines are ignored; no quoting.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace apsyn {

struct CsvRow {
  std::size_t line = 0;  ///< counted from 1
  std::vector<std::string_view> fields;
};

/// The views point into the text that was parsed.
struct CsvTable {
  std::string source;  ///< names the text in errors
  std::vector<std::string_view> columns;
  std::vector<CsvRow> rows;                ///< each as long as columns
  std::vector<std::string_view> comments;  ///< without the '#'

  std::optional<std::size_t> find(std::string_view column) const;
  /// DataError "source: line N: ..." for a value that is no finite number.
  double number(const CsvRow& row, std::size_t column) const;
  /// DataError for a value that is no integer in 0 .. below-1.
  std::size_t index(const CsvRow& row, std::size_t column, std::size_t below) const;
};

/// DataError when the header line is missing or names a column twice, or a row has too few or too many
/// fields.
CsvTable parse_csv(std::string_view text, const std::string& source);

std::string_view trim(std::string_view text);
/// ASCII letters only.
std::string lower(std::string_view text);
/// The pieces between separators, blanks around them removed; an empty text has one empty piece.
std::vector<std::string_view> split(std::string_view text, char separator);
/// A finite decimal number and nothing else; absent otherwise.
std::optional<double> finite_number(std::string_view text);

}  // namespace apsyn
