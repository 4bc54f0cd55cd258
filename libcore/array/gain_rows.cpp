// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/array/gain_rows.h"

#include "libcore/base/error.h"

namespace apsyn {

GainRows::GainRows(std::string_view text, const std::string& source, const ArrayLayout& layout,
                   std::string_view extra)
    : table_(parse_csv(text, source)), n_ant_(layout.antennas.size()) {
  for (const std::string_view column : table_.columns)
    if (column != "antenna" && column != "pol" && column != extra && column != "gain_amplitude" &&
        column != "phase_rad")
      throw DataError("{}: unknown column '{}': the columns are antenna[,pol][,{}],gain_amplitude,phase_rad",
                      source, column, extra);
  const auto antenna = table_.find("antenna"), amplitude = table_.find("gain_amplitude"),
             phase = table_.find("phase_rad");
  if (!antenna || !amplitude || !phase)
    throw DataError("{}: incomplete columns: antenna, gain_amplitude and phase_rad are required", source);
  antenna_ = *antenna;
  amplitude_ = *amplitude;
  phase_ = *phase;
  for (std::size_t ant = 0; ant < n_ant_; ++ant) index_of_name_.emplace(layout.antennas[ant].name, ant);
}

std::size_t GainRows::antenna(const CsvRow& row) const {
  const auto named = index_of_name_.find(row.fields[antenna_]);
  return named != index_of_name_.end() ? named->second : table_.index(row, antenna_, n_ant_);
}

IndexRange GainRows::pols(const CsvRow& row, std::size_t n_pol) const {
  const auto at = table_.find("pol");
  const std::string_view name = at ? std::string_view(row.fields[*at]) : "";
  if (name.empty()) return {0, n_pol};
  if (name == "0" || name == "X" || name == "R") return {0, 1};
  if (n_pol > 1 && (name == "1" || name == "Y" || name == "L")) return {1, 2};
  throw DataError("{}: line {}: pol '{}': give {}", table_.source, row.line, name,
                  n_pol > 1 ? "0 or 1, or X or Y (R or L)" : "0, or X (R): the data have one polarisation");
}

}  // namespace apsyn
