// SPDX-License-Identifier: GPL-3.0-or-later
// The TILEDATA table of an MWA metafits has one row per input: two per tile. Columns: Antenna (tile number in
// the correlator's order), TileName, Flag, East, North (m about the site), Height (m above the ellipsoid) and
// Length, "EL_x" for an electrical length of x m or a plain physical length.
#include "libcore/formats/fits/metafits.h"

#include <fmt/ranges.h>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string_view>

#include "libcore/base/constants.h"
#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/formats/fits/table.h"

namespace apsyn {
namespace {

// The MWA's reference point (MWA memo and mwa_client agree).
constexpr double kMwaLat_deg = -26.703319405555554, kMwaLon_deg = 116.67081523611111, kMwaHeight_m = 377.827;
// Electrical over physical length of the MWA's coaxial cables.
constexpr double kCableVelocityFactor = 1.204;
constexpr long kMaxTileRows = 1 << 20;

double cable_delay_s(const std::string& path, std::string_view length) {
  const bool electrical = length.starts_with("EL_");
  const auto metres = finite_number(electrical ? length.substr(3) : length);
  if (!metres) throw DataError("{}: cable length '{}': 'EL_metres' or metres are needed", path, length);
  return *metres * (electrical ? 1.0 : kCableVelocityFactor) / kSpeedOfLight_m_s;
}

FitsTable open_table(const std::string& path) {
  return FitsTable(path, "TILEDATA", kMaxTileRows, "an MWA metafits is needed");
}

}  // namespace

ArrayLayout read_metafits(const std::string& path) {
  const FitsTable table = open_table(path);
  const auto number = table.integers("Antenna"), flag = table.integers("Flag");
  const auto east_m = table.numbers("East"), north_m = table.numbers("North"),
             height_m = table.numbers("Height");
  const auto name = table.texts("TileName"), length = table.texts("Length");

  std::map<int, Antenna> tiles;
  for (std::size_t row = 0; row < number.size(); ++row) {
    Antenna tile;
    tile.name = name[row];
    tile.enu_m = {east_m[row], north_m[row], height_m[row] - kMwaHeight_m};
    tile.cable_delay_s = cable_delay_s(path, length[row]);
    tile.flagged = flag[row] != 0;
    for (double value : tile.enu_m)
      if (!std::isfinite(value))
        throw DataError("{}: TILEDATA row {}: the position is not finite: give it in metres", path, row + 1);
    if (tile.name.empty() || tile.name.find_first_of(" ,") != std::string::npos)
      throw DataError("{}: TILEDATA row {}: tile name '{}': names are not empty and hold no blank or comma",
                      path, row + 1, tile.name);
    const auto [at, is_new] = tiles.emplace(number[row], tile);
    if (is_new) continue;
    // The other polarisation of the same tile: one flag flags both.
    if (at->second.name != tile.name || at->second.enu_m != tile.enu_m)
      throw DataError("{}: TILEDATA row {}: antenna {} is both '{}' and '{}': its rows must agree", path,
                      row + 1, number[row], at->second.name, tile.name);
    at->second.flagged |= tile.flagged;
  }
  ArrayLayout layout;
  layout.telescope = "MWA";
  layout.site = Site{kMwaLat_deg * kRadPerDeg, kMwaLon_deg * kRadPerDeg, kMwaHeight_m};
  for (auto& [index, tile] : tiles) layout.antennas.push_back(std::move(tile));
  return layout;
}

std::vector<MwaInput> read_metafits_inputs(const std::string& path) {
  const FitsTable table = open_table(path);
  const bool told = table.has("VCSOrder");
  const auto antenna = table.integers("Antenna"), order = table.integers(told ? "VCSOrder" : "Input");
  const auto polarisation = table.texts("Pol");
  std::map<int, std::size_t> ranks;
  for (int number : antenna) ranks.emplace(number, 0);
  std::size_t rank = 0;
  for (auto& [number, place] : ranks) place = rank++;
  std::vector<MwaInput> inputs;
  std::vector<bool> seen(antenna.size());
  std::vector<int> signals(antenna.size());
  for (std::size_t row = 0; row < antenna.size(); ++row) {
    if (polarisation[row] != "X" && polarisation[row] != "Y")
      throw DataError("{}: TILEDATA row {}: Pol '{}': X or Y is needed", path, row + 1, polarisation[row]);
    auto place = static_cast<std::size_t>(order[row]);
    // The polyphase filterbanks' order: bits 5 and 4 of the input's number change places with bits 3 to 0.
    if (!told && place < 256) place = (place & 0xC0) | (place & 0x30) >> 4 | (place & 0x0F) << 2;
    if (place >= seen.size() || seen[place])
      throw DataError("{}: TILEDATA row {}: {} {}: each of 0 to {} is needed once", path, row + 1,
                      told ? "VCSOrder" : "Input", order[row], seen.size() - 1);
    seen[place] = true;
    inputs.push_back({ranks[antenna[row]], polarisation[row] == "Y" ? 1u : 0u, place});
    if (const std::size_t signal = 2 * inputs.back().antenna + inputs.back().pol;
        signal >= signals.size() || signals[signal]++ > 0)
      throw DataError("{}: TILEDATA row {}: antenna {} {}: each has X once and Y once", path, row + 1,
                      antenna[row], polarisation[row]);
  }
  return inputs;
}

std::map<std::string, std::array<MwaDelays, 2>> read_metafits_delays(const std::string& path) {
  const FitsTable table = open_table(path);
  const long repeat = table.repeat("Delays");
  if (repeat != static_cast<long>(kMwaDipoles))
    throw DataError("{}: column Delays of TILEDATA has {} values a row: {} are needed", path, repeat,
                    kMwaDipoles);
  const auto name = table.texts("TileName"), polarisation = table.texts("Pol");
  const auto delays = table.integers("Delays", repeat);
  MwaDelays unknown;
  unknown.fill(-1);
  std::map<std::string, std::array<MwaDelays, 2>> tiles;
  for (std::size_t row = 0; row < name.size(); ++row) {
    if (polarisation[row] != "X" && polarisation[row] != "Y")
      throw DataError("{}: TILEDATA row {}: Pol '{}': X or Y is needed", path, row + 1, polarisation[row]);
    auto& tile = tiles.try_emplace(name[row], std::array{unknown, unknown}).first->second;
    MwaDelays& steps = tile[polarisation[row] == "Y"];
    for (std::size_t i = 0; i < kMwaDipoles; ++i) {
      steps[i] = delays[row * kMwaDipoles + i];
      if (steps[i] < 0 || steps[i] > kMwaDeadDipole)
        throw DataError("{}: TILEDATA row {}: delay {}: 0 to {} steps are needed", path, row + 1, steps[i],
                        kMwaDeadDipole);
    }
  }
  for (const auto& [tile, delays_of] : tiles)
    for (const MwaDelays& steps : delays_of)
      if (steps == unknown)
        throw DataError("{}: tile '{}' has delays for one polarisation only: X and Y are needed", path, tile);
  return tiles;
}

ArrayLayout load_layout(const std::string& name_or_path) {
  const auto names = builtin_array_names();
  if (std::find(names.begin(), names.end(), name_or_path) != names.end()) return builtin_array(name_or_path);
  if (name_or_path.ends_with(".metafits") || name_or_path.ends_with(".fits"))
    return read_metafits(name_or_path);
  if (name_or_path.find_first_of("/.") == std::string::npos && !std::filesystem::exists(name_or_path))
    throw UsageError("{}: no file and no built-in array: give a file, or one of {}", name_or_path,
                     fmt::join(names, ", "));
  return read_antennas_csv(name_or_path);
}

}  // namespace apsyn
