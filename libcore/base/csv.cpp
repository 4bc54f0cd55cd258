// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/base/csv.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "libcore/base/error.h"

namespace apsyn {

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  while (true) {
    const std::size_t end = text.find(separator);
    pieces.push_back(trim(text.substr(0, end)));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

std::optional<double> finite_number(std::string_view text) {
  if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::size_t> CsvTable::find(std::string_view column) const {
  const auto at = std::find(columns.begin(), columns.end(), column);
  if (at == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(at - columns.begin());
}

double CsvTable::number(const CsvRow& row, std::size_t column) const {
  const auto value = finite_number(row.fields[column]);
  if (!value)
    throw DataError("{}: line {}: {} '{}' is no finite number: write a plain decimal number", source,
                    row.line, columns[column], row.fields[column]);
  return *value;
}

std::size_t CsvTable::index(const CsvRow& row, std::size_t column, std::size_t below) const {
  const std::string_view text = row.fields[column];
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value >= below)
    throw DataError("{}: line {}: {} '{}' is out of range: give an integer from 0 to {}", source, row.line,
                    columns[column], text, below == 0 ? 0 : below - 1);
  return value;
}

CsvTable parse_csv(std::string_view text, const std::string& source) {
  CsvTable table;
  table.source = source;
  std::size_t line_number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++line_number;
    if (line.empty()) continue;
    if (line.front() == '#') {
      table.comments.push_back(line.substr(1));
      continue;
    }
    std::vector<std::string_view> fields = split(line, ',');
    if (table.columns.empty()) {
      for (std::size_t i = 0; i < fields.size(); ++i)
        if (std::find(fields.begin(), fields.begin() + static_cast<std::ptrdiff_t>(i), fields[i]) !=
            fields.begin() + static_cast<std::ptrdiff_t>(i))
          throw DataError("{}: line {}: column '{}' appears twice: name each column once", source,
                          line_number, fields[i]);
      table.columns = std::move(fields);
      continue;
    }
    if (fields.size() != table.columns.size())
      throw DataError("{}: line {}: {} fields where the header line names {}: give one field per column",
                      source, line_number, fields.size(), table.columns.size());
    table.rows.push_back({line_number, std::move(fields)});
  }
  if (table.columns.empty())
    throw DataError("{}: no header line: the first line that is no comment names the columns", source);
  return table;
}

}  // namespace apsyn
