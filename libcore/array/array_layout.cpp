// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/array/array_layout.h"

#include <charconv>
#include <cmath>
#include <unordered_set>

#include "libcore/base/constants.h"
#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/base/units.h"
#include "libcore/files/input.h"

namespace apsyn {
namespace {

// "... site LAT LON HEIGHT ..." in a comment line; any other use of the word is prose.
std::optional<Site> find_site(std::string_view comment, const std::string& source) {
  std::vector<std::string_view> words;
  while (!(comment = trim(comment)).empty()) {
    const std::size_t end = comment.find_first_of(" \t");
    words.push_back(comment.substr(0, end));
    comment.remove_prefix(words.back().size());
  }
  for (std::size_t i = 0; i + 3 < words.size(); ++i) {
    if (words[i] != "site") continue;
    const auto lat = finite_number(words[i + 1]), lon = finite_number(words[i + 2]),
               height = finite_number(words[i + 3]);
    if (!lat || !lon || !height) continue;
    if (std::abs(*lat) > 90 || std::abs(*lon) > 360)
      throw DataError("{}: site {} {}: the latitude is within 90 and the longitude within 360 degrees",
                      source, words[i + 1], words[i + 2]);
    return Site{*lat * kRadPerDeg, *lon * kRadPerDeg, *height};
  }
  return std::nullopt;
}

struct PositionColumns {
  std::array<std::size_t, 3> axis{};
  bool geocentric = false;
};

PositionColumns find_positions(const CsvTable& table) {
  static constexpr std::string_view kNames[2][3] = {{"east", "north", "up"}, {"x", "y", "z"}};
  PositionColumns found;
  std::array<bool, 3> local{}, geocentric{};
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    std::string_view name = table.columns[column];
    if (name == "name") continue;
    if (name.ends_with("_m")) name.remove_suffix(2);
    bool known = false;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (name != kNames[0][axis] && name != kNames[1][axis]) continue;
      bool& seen = name == kNames[0][axis] ? local[axis] : geocentric[axis];
      if (seen) throw DataError("{}: column '{}' appears twice: name each axis once", table.source, name);
      seen = true;
      found.axis[axis] = column;
      known = true;
    }
    if (!known)
      throw DataError("{}: unknown column '{}': the columns are name,east_m,north_m,up_m or name,x_m,y_m,z_m",
                      table.source, table.columns[column]);
  }
  constexpr std::array<bool, 3> kAll{true, true, true}, kNone{};
  found.geocentric = geocentric == kAll;
  const bool complete = (local == kAll && geocentric == kNone) || (geocentric == kAll && local == kNone);
  if (!complete || !table.find("name"))
    throw DataError("{}: incomplete columns: the columns are name,east_m,north_m,up_m or name,x_m,y_m,z_m",
                    table.source);
  return found;
}

// Turns geocentric positions into local ones about the named site, or else about their mean.
void make_local(ArrayLayout& layout, const std::string& source) {
  Vec3 mean_m{};
  for (const Antenna& antenna : layout.antennas) {
    const double radius_m = std::sqrt(dot(antenna.enu_m, antenna.enu_m));
    if (radius_m < 6.3e6 || radius_m > 6.45e6)
      throw DataError(
          "{}: antenna '{}' is {:.6g} m from the Earth's centre: geocentric x, y, z lie near the Earth's "
          "surface; name the columns east_m,north_m,up_m when they are local offsets",
          source, antenna.name, radius_m);
    for (std::size_t axis = 0; axis < 3; ++axis)
      mean_m[axis] += antenna.enu_m[axis] / static_cast<double>(layout.antennas.size());
  }
  if (!layout.site) {
    layout.site = site_from_geocentric(mean_m);
    layout.site_is_mean = true;
  }
  for (Antenna& antenna : layout.antennas) antenna.enu_m = enu_from_geocentric(*layout.site, antenna.enu_m);
}

}  // namespace

ArrayLayout parse_antennas_csv(std::string_view text, const std::string& source) {
  const CsvTable table = parse_csv(text, source);
  const PositionColumns positions = find_positions(table);
  const std::size_t name_column = *table.find("name");
  ArrayLayout layout;
  for (std::string_view comment : table.comments)
    if (!layout.site) layout.site = find_site(comment, source);
  std::unordered_set<std::string_view> names;
  for (const CsvRow& row : table.rows) {
    const std::string_view name = row.fields[name_column];
    if (name.empty() || name.find_first_of(" \t") != std::string_view::npos)
      throw DataError("{}: line {}: antenna name '{}': names are not empty and contain no blanks", source,
                      row.line, name);
    if (!names.insert(name).second)
      throw DataError("{}: line {}: antenna '{}' appears twice: give each antenna its own name", source,
                      row.line, name);
    Antenna antenna;
    antenna.name = name;
    for (std::size_t axis = 0; axis < 3; ++axis)
      antenna.enu_m[axis] = table.number(row, positions.axis[axis]);
    layout.antennas.push_back(std::move(antenna));
  }
  if (layout.antennas.empty()) throw DataError("{}: no antennas: give one line per antenna", source);
  if (positions.geocentric) make_local(layout, source);
  return layout;
}

ArrayLayout read_antennas_csv(const std::string& path) {
  return parse_antennas_csv(read_text_file(path, 64u << 20), path);
}

Site parse_site(std::string_view text) {
  const auto fields = split(text, ',');
  if (fields.size() != 3)
    throw UsageError("site '{}': give LAT,LON,ALT in degrees, degrees and metres", text);
  // A plain number is in degrees or metres here, as the option's name says; any other unit may be given.
  const auto angle = [&](std::string_view field) {
    const auto plain = finite_number(field);
    return plain ? *plain * kRadPerDeg : parse_angle(field);
  };
  const auto height = finite_number(fields[2]);
  const Site site{angle(fields[0]), angle(fields[1]), height ? *height : parse_length(fields[2])};
  if (std::abs(site.lat_rad) > kPi / 2 * (1 + 1e-15) || std::abs(site.lon_rad) > kTwoPi * (1 + 1e-15))
    throw UsageError("site '{}': the latitude is within 90 and the longitude within 360 degrees", text);
  return site;
}

void set_site(ArrayLayout& layout, const Site& site) {
  if (layout.site && layout.site_is_mean)
    for (Antenna& antenna : layout.antennas)
      antenna.enu_m = enu_from_geocentric(site, geocentric_from_enu(*layout.site, antenna.enu_m));
  layout.site = site;
  layout.site_is_mean = false;
}

void flag_antennas(ArrayLayout& layout, std::string_view list) {
  if (trim(list).empty()) return;
  for (std::string_view item : split(list, ',')) {
    Antenna* found = nullptr;
    for (Antenna& antenna : layout.antennas)
      if (antenna.name == item) found = &antenna;
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), index);
    if (found == nullptr && error == std::errc() && end == item.data() + item.size() &&
        index < layout.antennas.size())
      found = &layout.antennas[index];
    if (found == nullptr)
      throw UsageError("antenna '{}' is unknown: give names of the layout or indices from 0 to {}", item,
                       layout.antennas.empty() ? 0 : layout.antennas.size() - 1);
    found->flagged = true;
  }
}

}  // namespace apsyn
