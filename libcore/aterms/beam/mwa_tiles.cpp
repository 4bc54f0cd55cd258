// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/aterms/beam/mwa_tiles.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "libcore/base/constants.h"
#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/formats/fits/metafits.h"
#include "libcore/formats/ms/station_tables.h"

namespace apsyn {
namespace {

MwaDelays read_delays(const AtermEntry& entry) {
  const std::vector<std::string> words = entry.list("delays");
  if (words.size() != kMwaDipoles)
    throw DataError("{}: {} values: one for each of the {} dipoles is needed", entry.where("delays"),
                    words.size(), kMwaDipoles);
  MwaDelays delays{};
  for (std::size_t i = 0; i < kMwaDipoles; ++i) {
    const auto value = finite_number(words[i]);
    if (!value || *value != std::floor(*value) || *value < 0 || *value > kMwaDeadDipole)
      throw DataError("{}: '{}': an integer from 0 to {} is needed", entry.where("delays"), words[i],
                      kMwaDeadDipole);
    delays[i] = static_cast<int>(*value);
  }
  return delays;
}

MwaTiles read_tiles_of_metafits(const AtermEntry& entry, const ArrayLayout& layout) {
  const std::string path = entry.file("metafits");
  const auto delays = read_metafits_delays(path);
  MwaTiles tiles;
  std::map<std::array<MwaDelays, 2>, std::size_t> known;
  for (const Antenna& antenna : layout.antennas) {
    const auto tile = delays.find(antenna.name);
    if (tile == delays.end())
      throw DataError("{}: {} has no tile '{}': give the metafits of this observation, or delays",
                      entry.where("metafits"), path, antenna.name);
    const auto [at, is_new] = known.emplace(tile->second, tiles.patterns.size());
    if (is_new) tiles.patterns.push_back(tile->second);
    tiles.of_station.push_back(at->second);
  }
  return tiles;
}

}  // namespace

MwaTiles read_mwa_tiles(const AtermEntry& entry, const ArrayLayout& layout, const ArrayTables& tables) {
  if (entry.has("delays") && entry.has("metafits"))
    throw DataError("{}: give either delays or metafits, which say where the tiles point",
                    entry.where("model"));
  if (entry.has("metafits")) return read_tiles_of_metafits(entry, layout);
  MwaTiles tiles;
  tiles.of_station.assign(layout.antennas.size(), 0);
  if (entry.has("delays")) {
    const MwaDelays delays = read_delays(entry);
    tiles.patterns = {{delays, delays}};
    return tiles;
  }
  const auto delays = tables.sets.empty() ? std::nullopt : read_ms_mwa_delays(tables.sets[0]);
  if (!delays)
    throw DataError("{}: {}: give either delays or metafits, which say where the tiles point",
                    entry.where("model"),
                    tables.sets.empty() ? "a stream tells no delays"
                                        : tables.sets[0] + " has no table MWA_TILE_POINTING with DELAYS");
  tiles.patterns = {{*delays, *delays}};
  tiles.from_set = true;
  return tiles;
}

void warn_of_no_delays(const MwaTiles& tiles, const ArrayTables& tables, const SkyFrame& frame,
                       const UtcTime& time) {
  constexpr double kNear_rad = 5 * kRadPerDeg;
  const bool is_delayed = std::any_of(tiles.patterns.begin(), tiles.patterns.end(), [](const auto& pattern) {
    return std::any_of(pattern.begin(), pattern.end(), [](const MwaDelays& delays) {
      return std::any_of(delays.begin(), delays.end(), [](int delay) { return delay != 0; });
    });
  });
  if (!tiles.from_set || is_delayed) return;
  const Vec3 pointing = frame.enu_from_direction(time, read_ms_pointing(tables.sets[0], tables.fields));
  const double zenith_rad = std::atan2(std::hypot(pointing[0], pointing[1]), pointing[2]);
  if (zenith_rad > kNear_rad)
    log_warning(
        "{}: MWA_TILE_POINTING: all DELAYS are 0, as for the zenith, and the field is {:.0f} degrees from "
        "it: give "
        "delays or a metafits if the tiles looked there",
        tables.sets[0], zenith_rad / kRadPerDeg);
}

}  // namespace apsyn
