// SPDX-License-Identifier: GPL-3.0-or-later
// The keys that describe when and where: UTC_START, SITE_*, ANT_nnn, PHASE_*.
#include <cmath>

#include "libcore/base/constants.h"
#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/header/ascii_header.h"
#include "libcore/header/plausible.h"

namespace apsyn {
namespace {

constexpr std::int64_t kPsPerSecond = 1'000'000'000'000;

Vec3 three_numbers(const std::string& source, std::string_view key, std::string_view text) {
  const auto fields = split(text, ',');
  Vec3 values{};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto value = fields.size() == 3 ? finite_number(fields[i]) : std::nullopt;
    if (!value) throw DataError("{}: {} {}: x,y,z in metres are needed", source, key, text);
    values[i] = *value;
  }
  return values;
}

Antenna parse_antenna(const std::string& source, std::string_view key, std::string_view text) {
  const auto fields = split(text, ',');
  Antenna antenna;
  bool good = fields.size() >= 4 && fields.size() <= 6 && !fields[0].empty();
  if (good) {
    antenna.name = fields[0];
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const auto value = finite_number(fields[axis + 1]);
      good = good && value.has_value();
      antenna.enu_m[axis] = value.value_or(0);
    }
    if (fields.size() > 4) {
      const auto delay_s = scaled_number(fields[4], -9);
      good = good && delay_s.has_value();
      antenna.cable_delay_s = delay_s.value_or(0);
    }
    if (fields.size() > 5) {
      good = good && (fields[5] == "0" || fields[5] == "1");
      antenna.flagged = fields[5] == "1";
    }
  }
  if (!good)
    throw DataError("{}: {} {}: name,e,n,u,delay_ns,flag is needed, the flag 0 or 1", source, key, text);
  check_position(source, key, antenna.enu_m);
  return antenna;
}

std::optional<Site> read_site(HeaderReader& header) {
  const auto lat = header.angle("SITE_LAT"), lon = header.angle("SITE_LON"), alt = header.number("SITE_ALT");
  const auto xyz = header.text("SITE_XYZ");
  if (lat || lon || alt) {
    if (!lat || !lon || !alt)
      throw DataError("{}: SITE_LAT, SITE_LON and SITE_ALT: one is missing, all three are needed",
                      header.source());
    if (std::abs(*lat) > kPi / 2)
      throw DataError("{}: SITE_LAT {}: at most 90 degrees are needed", header.source(), *lat / kRadPerDeg);
    return Site{*lat, *lon, *alt};
  }
  if (!xyz) return std::nullopt;
  const Vec3 itrf_m = three_numbers(header.source(), "SITE_XYZ", *xyz);
  if (dot(itrf_m, itrf_m) < 6.3e6 * 6.3e6)
    throw DataError("{}: SITE_XYZ {}: geocentric metres, near the Earth's surface, are needed",
                    header.source(), *xyz);
  check_position(header.source(), "SITE_XYZ", itrf_m);
  return site_from_geocentric(itrf_m);
}

}  // namespace

UtcTime HeaderReader::start_time() {
  const std::string word = require_text("UTC_START");
  UtcTime start;
  try {
    start = parse_utc(word);
  } catch (const Error&) {
    throw DataError("{}: UTC_START {}: yyyy-mm-dd-hh:mm:ss[.f] is needed", source_, word);
  }
  if (const auto picoseconds = integer("PICOSECONDS", 0, kPsPerSecond - 1))
    start.picoseconds = start.picoseconds / kPsPerSecond * kPsPerSecond + *picoseconds;
  return start;
}

ArrayLayout HeaderReader::layout(std::size_t n_ant) {
  ArrayLayout layout;
  layout.telescope = text_or("TELESCOPE", "unknown");
  layout.site = read_site(*this);
  const std::string frame = text_or("ANT_FRAME", "ENU");
  if (frame != "ENU" && frame != "ITRF")
    throw DataError("{}: ANT_FRAME {}: ENU or ITRF is needed", source_, frame);
  for (std::size_t ant = 0; ant < n_ant; ++ant) {
    const std::string key = fmt::format("ANT_{:03}", ant);
    const auto value = text(key);
    if (!value && ant == 0) break;
    if (!value)
      throw DataError("{}: {} is missing: one ANT_nnn for each of NANT {} or none", source_, key, n_ant);
    layout.antennas.push_back(parse_antenna(source_, key, *value));
  }
  for (const Entry& entry : entries_)
    if (!entry.known && entry.key.size() > 4 && entry.key.starts_with("ANT_") &&
        entry.key.find_first_not_of("0123456789", 4) == std::string::npos)
      throw DataError("{}: {} does not fit NANT {}: ANT_000 to ANT_{:03} or none", source_, entry.key, n_ant,
                      n_ant - 1);
  if (frame == "ENU" || layout.antennas.empty()) return layout;
  if (!layout.site) {
    Vec3 mean_m{};
    for (const Antenna& antenna : layout.antennas)
      for (std::size_t axis = 0; axis < 3; ++axis)
        mean_m[axis] += antenna.enu_m[axis] / static_cast<double>(layout.antennas.size());
    if (dot(mean_m, mean_m) < 6.3e6 * 6.3e6)
      throw DataError("{}: ANT_FRAME ITRF: geocentric metres, near the Earth's surface, are needed", source_);
    layout.site = site_from_geocentric(mean_m);
    layout.site_is_mean = true;
  }
  for (Antenna& antenna : layout.antennas) antenna.enu_m = enu_from_geocentric(*layout.site, antenna.enu_m);
  return layout;
}

std::optional<SkyDirection> HeaderReader::phase_centre() {
  const auto ra = angle("PHASE_RA"), dec = angle("PHASE_DEC");
  if (ra.has_value() != dec.has_value())
    throw DataError("{}: PHASE_RA and PHASE_DEC: one is missing, both are needed", source_);
  if (!ra) return std::nullopt;
  if (std::abs(*dec) > kPi / 2)
    throw DataError("{}: PHASE_DEC {}: at most 90 degrees are needed", source_, *dec / kRadPerDeg);
  return SkyDirection{*ra, *dec};
}

void HeaderWriter::start_time(const UtcTime& time) {
  token("UTC_START", format_dada_utc(time));
  integer("PICOSECONDS", time.picoseconds % kPsPerSecond);
}

void HeaderWriter::layout(const ArrayLayout& layout) {
  if (layout.site) {
    angle("SITE_LAT", layout.site->lat_rad);
    angle("SITE_LON", layout.site->lon_rad);
    number("SITE_ALT", layout.site->height_m);
  }
  if (layout.antennas.empty()) return;
  token("ANT_FRAME", "ENU");
  for (std::size_t ant = 0; ant < layout.antennas.size(); ++ant) {
    const Antenna& antenna = layout.antennas[ant];
    std::string name = antenna.name.empty() ? fmt::format("ant{:03}", ant) : antenna.name;
    for (char& letter : name)
      if (letter == ',' || letter == '#') letter = '_';
    token(fmt::format("ANT_{:03}", ant),
          fmt::format("{},{},{},{},{},{}", name, format_scaled(antenna.enu_m[0], 0),
                      format_scaled(antenna.enu_m[1], 0), format_scaled(antenna.enu_m[2], 0),
                      format_scaled(antenna.cable_delay_s, 9), antenna.flagged ? 1 : 0));
  }
}

void HeaderWriter::phase_centre(const std::optional<SkyDirection>& direction) {
  if (!direction) return;
  angle("PHASE_RA", direction->ra_rad);
  angle("PHASE_DEC", direction->dec_rad);
}

}  // namespace apsyn
