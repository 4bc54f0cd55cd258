// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/simulate/gain_tracks.h"

#include <cstddef>
#include <unordered_map>

#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/files/input.h"

namespace apsyn {
namespace {

/// The polarisations of a row: both, or one.
std::vector<std::size_t> pols_of(const CsvTable& table, const CsvRow& row) {
  const auto column = table.find("pol");
  const std::string_view name = column ? std::string_view(row.fields[*column]) : "";
  if (name.empty()) return {0, 1};
  if (name == "0" || name == "X") return {0};
  if (name == "1" || name == "Y") return {1};
  throw DataError("{}: line {}: pol '{}': give 0 or 1, or X or Y", table.source, row.line, name);
}

}  // namespace

std::vector<simulate::GainTrack> parse_gain_tracks(std::string_view text, const std::string& source,
                                                   const ArrayLayout& layout) {
  const CsvTable table = parse_csv(text, source);
  for (const std::string_view column : table.columns)
    if (column != "antenna" && column != "pol" && column != "time_s" && column != "gain_amplitude" &&
        column != "phase_rad")
      throw DataError(
          "{}: unknown column '{}': the columns are antenna[,pol][,time_s],gain_amplitude,phase_rad", source,
          column);
  const auto antenna = table.find("antenna"), amplitude = table.find("gain_amplitude"),
             phase = table.find("phase_rad"), time = table.find("time_s");
  if (!antenna || !amplitude || !phase)
    throw DataError("{}: incomplete columns: antenna, gain_amplitude and phase_rad are required", source);
  const std::size_t n_ant = layout.antennas.size();
  std::unordered_map<std::string_view, std::size_t> index_of_name;
  for (std::size_t ant = 0; ant < n_ant; ++ant) index_of_name.emplace(layout.antennas[ant].name, ant);

  std::vector<simulate::GainTrack> tracks(n_ant * 2);
  for (const CsvRow& row : table.rows) {
    const auto named = index_of_name.find(row.fields[*antenna]);
    const std::size_t ant = named != index_of_name.end() ? named->second : table.index(row, *antenna, n_ant);
    const double size = table.number(row, *amplitude), time_s = time ? table.number(row, *time) : 0;
    if (size < 0)
      throw DataError("{}: line {}: gain_amplitude {:g}: must not be negative: add pi to the phase", source,
                      row.line, size);
    for (const std::size_t pol : pols_of(table, row)) {
      simulate::GainTrack& track = tracks[ant * 2 + pol];
      if (!track.time_s.empty() && !(time_s > track.time_s.back()))
        throw DataError(
            "{}: line {}: antenna '{}': time_s {:g} comes after {:g}: times of an input must rise", source,
            row.line, row.fields[*antenna], time_s, track.time_s.back());
      track.time_s.push_back(time_s);
      track.amplitude.push_back(size);
      track.phase_rad.push_back(table.number(row, *phase));
    }
  }
  return tracks;
}

std::vector<simulate::GainTrack> read_gain_tracks(const std::string& path, const ArrayLayout& layout) {
  return parse_gain_tracks(read_text_file(path), path, layout);
}

}  // namespace apsyn
