// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/array/beam_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "libcore/base/constants.h"
#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/files/input.h"

namespace apsyn {

namespace {

/// Angles are parsed as on a command line; here a wrong one is malformed data.
template <class Parse>
double angle(const CsvTable& table, const CsvRow& row, std::size_t column, Parse parse) {
  try {
    return parse(row.fields[column]);
  } catch (const UsageError& error) {
    throw DataError("{}: line {}: {}: {}", table.source, row.line, table.columns[column], error.what());
  }
}

void check_columns(const CsvTable& table) {
  for (std::string_view column : table.columns)
    if (column != "id" && column != "ra" && column != "dec" && column != "az" && column != "el" &&
        column != "l" && column != "m" && column != "antennas")
      throw DataError("{}: unknown column '{}': the columns are id,ra,dec or id,az,el or id,l,m[,antennas]",
                      table.source, column);
  std::size_t kinds = 0;
  for (const auto& [first, second] : {std::pair{"ra", "dec"}, {"az", "el"}, {"l", "m"}}) {
    const bool has_first = table.find(first).has_value(), has_second = table.find(second).has_value();
    if (has_first != has_second)
      throw DataError("{}: incomplete columns: {} and {} go together", table.source, first, second);
    kinds += has_first;
  }
  if (kinds != 1 || !table.find("id"))
    throw DataError("{}: incomplete columns: give id and one of ra,dec or az,el or l,m", table.source);
}

}  // namespace

Vec3 enu_from_azimuth(double azimuth_rad, double elevation_rad) {
  return {std::sin(azimuth_rad) * std::cos(elevation_rad), std::cos(azimuth_rad) * std::cos(elevation_rad),
          std::sin(elevation_rad)};
}

double azimuth_of(const Vec3& enu) {
  const double azimuth_rad = std::atan2(enu[0], enu[1]);
  return azimuth_rad < 0 ? azimuth_rad + kTwoPi : azimuth_rad;
}

std::string format_azimuth(const Vec3& enu, int decimals) {
  const std::string text = fmt::format("{:.{}f}", azimuth_of(enu) / kRadPerDeg, decimals);
  return text.starts_with("360") ? fmt::format("{:.{}f}", 0.0, decimals) : text;
}

double elevation_of(const Vec3& enu) {
  return std::atan2(enu[2], std::hypot(enu[0], enu[1]));
}

std::vector<BeamDirection> parse_beams_csv(std::string_view text, const std::string& source) {
  const CsvTable table = parse_csv(text, source);
  check_columns(table);
  const std::size_t id = *table.find("id");
  const auto antennas = table.find("antennas");
  std::vector<BeamDirection> beams;
  std::set<std::string> seen;
  for (const CsvRow& row : table.rows) {
    BeamDirection beam;
    beam.id = std::string(row.fields[id]);
    const auto refuse = [&](std::string_view what) {
      throw DataError("{}: line {}: beam '{}': {}", source, row.line, beam.id, what);
    };
    if (beam.id.empty() || std::any_of(beam.id.begin(), beam.id.end(),
                                       [](unsigned char c) { return c <= ' ' || c > '~' || c == '#'; }))
      refuse("an id is one word of printable ASCII without '#'");
    if (!seen.insert(beam.id).second) refuse("this id stands above already: give each beam its own");
    if (const auto ra = table.find("ra")) {
      beam.sky = SkyDirection{angle(table, row, *ra, parse_right_ascension),
                              angle(table, row, *table.find("dec"), parse_angle)};
      if (std::abs(beam.sky->dec_rad) > kPi / 2) refuse("a declination is within 90 degrees");
    } else if (const auto az = table.find("az")) {
      const double elevation_rad = angle(table, row, *table.find("el"), parse_angle);
      if (std::abs(elevation_rad) > kPi / 2) refuse("an elevation is within 90 degrees");
      beam.enu = enu_from_azimuth(angle(table, row, *az, parse_angle), elevation_rad);
    } else {
      const double l = table.number(row, *table.find("l")), m = table.number(row, *table.find("m"));
      const double rest = 1 - l * l - m * m;
      if (!(rest >= 0)) refuse("l and m lie beyond the horizon: l^2 + m^2 is at most 1");
      beam.enu = {l, m, std::sqrt(rest)};
    }
    if (antennas) {
      beam.antennas = std::string(row.fields[*antennas]);
      std::replace(beam.antennas.begin(), beam.antennas.end(), ';', ',');
    }
    beams.push_back(std::move(beam));
  }
  if (beams.empty()) throw DataError("{}: no beams: give one a line behind the names of the columns", source);
  return beams;
}

std::vector<BeamDirection> read_beams_csv(const std::string& path) {
  return parse_beams_csv(read_text_file(path), path);
}

std::string format_beams_csv(const std::vector<BeamDirection>& beams) {
  const bool sky = !beams.empty() && beams.front().sky.has_value();
  const bool antennas = std::any_of(beams.begin(), beams.end(),
                                    [](const BeamDirection& beam) { return !beam.antennas.empty(); });
  std::string text = sky ? "id,ra,dec" : "id,az,el";
  text += antennas ? ",antennas\n" : "\n";
  for (const BeamDirection& beam : beams) {
    text += sky ? fmt::format("{},{:.8f}deg,{:.8f}deg", beam.id, beam.sky->ra_rad / kRadPerDeg,
                              beam.sky->dec_rad / kRadPerDeg)
                : fmt::format("{},{}deg,{:.12f}deg", beam.id, format_azimuth(beam.enu, 12),
                              elevation_of(beam.enu) / kRadPerDeg);
    std::string list = beam.antennas;
    std::replace(list.begin(), list.end(), ',', ';');
    text += antennas ? "," + list + "\n" : "\n";
  }
  return text;
}

}  // namespace apsyn
