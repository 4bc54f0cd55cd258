// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/simulate/gain_tracks.h"

#include <cstddef>

#include "libcore/array/gain_rows.h"
#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/files/input.h"

namespace apsyn {

std::vector<simulate::GainTrack> parse_gain_tracks(std::string_view text, const std::string& source,
                                                   const ArrayLayout& layout) {
  const GainRows rows(text, source, layout, "time_s");
  const CsvTable& table = rows.table();
  const auto time = table.find("time_s");
  std::vector<simulate::GainTrack> tracks(layout.antennas.size() * 2);
  for (const CsvRow& row : table.rows) {
    const std::size_t ant = rows.antenna(row);
    const IndexRange pols = rows.pols(row, 2);
    const double size = table.number(row, rows.amplitude_column()),
                 time_s = time ? table.number(row, *time) : 0;
    if (size < 0)
      throw DataError("{}: line {}: gain_amplitude {:g}: must not be negative: add pi to the phase", source,
                      row.line, size);
    for (std::size_t pol = pols.first; pol < pols.end; ++pol) {
      simulate::GainTrack& track = tracks[ant * 2 + pol];
      if (!track.time_s.empty() && !(time_s > track.time_s.back()))
        throw DataError(
            "{}: line {}: antenna '{}': time_s {:g} comes after {:g}: times of an input must rise", source,
            row.line, rows.antenna_name(row), time_s, track.time_s.back());
      track.time_s.push_back(time_s);
      track.amplitude.push_back(size);
      track.phase_rad.push_back(table.number(row, rows.phase_column()));
    }
  }
  return tracks;
}

std::vector<simulate::GainTrack> read_gain_tracks(const std::string& path, const ArrayLayout& layout) {
  return parse_gain_tracks(read_text_file(path), path, layout);
}

}  // namespace apsyn
