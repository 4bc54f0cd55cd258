// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/sky/sky_model_format.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "libcore/base/csv.h"

namespace apsyn::sky_text {
namespace {

constexpr std::pair<std::string_view, Column> kColumns[] = {
    {"name", Column::name},
    {"type", Column::type},
    {"patch", Column::patch},
    {"ra", Column::ra},
    {"dec", Column::dec},
    {"i", Column::i},
    {"q", Column::q},
    {"u", Column::u},
    {"v", Column::v},
    {"spectralindex", Column::spectral_index},
    {"logarithmicsi", Column::logarithmic_si},
    {"referencefrequency", Column::reference_frequency},
    {"rotationmeasure", Column::rotation_measure},
    {"polarizedfraction", Column::polarized_fraction},
    {"polarizationangle", Column::polarization_angle},
    {"referencewavelength", Column::reference_wavelength},
    {"majoraxis", Column::major_axis},
    {"minoraxis", Column::minor_axis},
    {"orientation", Column::orientation},
    {"orientationisabsolute", Column::orientation_is_absolute},
    {"category", Column::category}};

}  // namespace

std::string_view unquoted(std::string_view text) {
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front())
    return trim(text.substr(1, text.size() - 2));
  return text;
}

std::vector<std::string_view> split_fields(std::string_view line) {
  std::vector<std::string_view> fields;
  std::size_t start = 0;
  int depth = 0;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '[') {
      ++depth;
    } else if (c == ']') {
      if (--depth < 0) throw Malformed{"']' without '['"};
    } else if (c == ',' && depth == 0) {
      fields.push_back(trim(line.substr(start, i - start)));
      start = i + 1;
    }
  }
  if (depth != 0 || quote != 0) throw Malformed{"a bracket or quote that does not end"};
  fields.push_back(trim(line.substr(start)));
  return fields;
}

std::optional<std::string_view> format_columns(std::string_view line) {
  line = trim(line);
  while (!line.empty() && line.front() == '#') line = trim(line.substr(1));
  const std::size_t first = line.find('='), last = line.rfind('=');
  if (first == std::string_view::npos) return std::nullopt;
  std::string_view columns;
  if (lower(trim(line.substr(0, first))) == "format")
    columns = trim(line.substr(first + 1));
  else if (lower(trim(line.substr(last + 1))) == "format")
    columns = trim(line.substr(0, last));
  else
    return std::nullopt;
  if (!columns.empty() && columns.front() == '(' && columns.back() == ')')
    columns = columns.substr(1, columns.size() - 2);
  return columns;
}

Format parse_format(std::string_view columns) {
  Format format;
  for (std::string_view field : split_fields(columns)) {
    const std::size_t equals = field.find('=');
    const std::string key = lower(trim(field.substr(0, equals)));
    const auto known = std::find_if(std::begin(kColumns), std::end(kColumns),
                                    [&](const auto& column) { return column.first == key; });
    if (known == std::end(kColumns))
      throw Malformed{fmt::format("column '{}' is not known: remove it", trim(field.substr(0, equals)))};
    if (std::count(format.columns.begin(), format.columns.end(), known->second) != 0)
      throw Malformed{fmt::format("column '{}' comes twice", known->first)};
    format.columns.push_back(known->second);
    format.defaults.emplace_back(equals == std::string_view::npos ? ""
                                                                  : unquoted(trim(field.substr(equals + 1))));
  }
  for (auto [needed, name] :
       {std::pair{Column::type, "Type"}, {Column::ra, "Ra"}, {Column::dec, "Dec"}, {Column::i, "I"}})
    if (std::count(format.columns.begin(), format.columns.end(), needed) == 0)
      throw Malformed{fmt::format("the format has no column {}", name)};
  return format;
}

}  // namespace apsyn::sky_text
