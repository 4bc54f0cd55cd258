// SPDX-License-Identifier: GPL-3.0-or-later
// The lines of sky models in text, taken apart: the list of columns, and fields. For libcore/sky only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace apsyn::sky_text {

/// Thrown by the parts that know no line; parse_sky_model adds the place.
struct Malformed {
  std::string text;
};

enum class Column {
  name,
  type,
  patch,
  ra,
  dec,
  i,
  q,
  u,
  v,
  spectral_index,
  logarithmic_si,
  reference_frequency,
  rotation_measure,
  polarized_fraction,
  polarization_angle,
  reference_wavelength,
  major_axis,
  minor_axis,
  orientation,
  orientation_is_absolute,
  category
};

struct Format {
  std::vector<Column> columns;
  std::vector<std::string> defaults;  ///< as columns, "" = none
};

/// Without the quotes around it.
std::string_view unquoted(std::string_view text);
/// Fields between commas, without blanks around them; brackets and quotes keep commas.
std::vector<std::string_view> split_fields(std::string_view line);
/// The column list of "Format = ..." or "(...) = format", with or without '#'; nothing for other lines.
std::optional<std::string_view> format_columns(std::string_view line);
Format parse_format(std::string_view columns);

}  // namespace apsyn::sky_text
