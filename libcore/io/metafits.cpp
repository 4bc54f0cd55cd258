// SPDX-License-Identifier: GPL-3.0-or-later
// The TILEDATA table of an MWA metafits has one row per input: two per tile. Columns: Antenna (tile number in
// the correlator's order), TileName, Flag, East, North (m about the site), Height (m above the ellipsoid) and
// Length, "EL_x" for an electrical length of x m or a plain physical length.
#include "libcore/io/metafits.h"

#include <fitsio.h>

#include <cmath>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "libcore/core/constants.h"
#include "libcore/core/csv.h"
#include "libcore/core/error.h"
#include "libcore/io/fits_walk.h"

namespace apsyn {
namespace {

// The MWA's reference point (MWA memo and mwa_client agree).
constexpr double kMwaLat_deg = -26.703319405555554, kMwaLon_deg = 116.67081523611111, kMwaHeight_m = 377.827;
// Electrical over physical length of the MWA's coaxial cables.
constexpr double kCableVelocityFactor = 1.204;
constexpr long kMaxRows = 1 << 20;

struct Close {
  void operator()(fitsfile* file) const {
    int status = 0;
    fits_close_file(file, &status);
  }
};

struct TileTable {
  std::string path;
  std::unique_ptr<fitsfile, Close> file;
  long n_rows = 0;

  void check(int status, std::string_view what) const {
    if (status == 0) return;
    char text[FLEN_STATUS] = {};
    fits_get_errstatus(status, text);
    fits_clear_errmsg();
    throw DataError("{}: {}: {}: an MWA metafits is needed", path, what, text);
  }

  int column(const char* name) const {
    int number = 0, status = 0;
    fits_get_colnum(file.get(), CASEINSEN, const_cast<char*>(name), &number, &status);
    check(status, fmt::format("column {} of TILEDATA", name));
    return number;
  }

  /// `repeat` values of each row.
  template <class T>
  std::vector<T> read(const char* name, int type, long repeat = 1) const {
    std::vector<T> values(static_cast<std::size_t>(n_rows * repeat));
    int status = 0, any_null = 0;
    fits_read_col(file.get(), type, column(name), 1, 1, n_rows * repeat, nullptr, values.data(), &any_null,
                  &status);
    check(status, fmt::format("column {} of TILEDATA", name));
    return values;
  }

  std::vector<std::string> read_text(const char* name) const {
    const int number = column(name);
    int type = 0, status = 0;
    long repeat = 0, width = 0;
    fits_get_coltype(file.get(), number, &type, &repeat, &width, &status);
    check(status, fmt::format("column {} of TILEDATA", name));
    if (type != TSTRING || repeat < 1 || repeat > 1024)
      throw DataError(
          "{}: column {} of TILEDATA is no text of 1 to 1024 characters: an MWA metafits is needed", path,
          name);
    std::vector<std::string> values;
    std::vector<char> cell(static_cast<std::size_t>(repeat) + 1);
    char* pointer = cell.data();
    for (long row = 1; row <= n_rows; ++row) {
      fits_read_col_str(file.get(), number, row, 1, 1, const_cast<char*>(""), &pointer, nullptr, &status);
      check(status, fmt::format("column {} of TILEDATA", name));
      values.emplace_back(trim(cell.data()));
    }
    return values;
  }
};

double cable_delay_s(const std::string& path, std::string_view length) {
  const bool electrical = length.starts_with("EL_");
  const auto metres = finite_number(electrical ? length.substr(3) : length);
  if (!metres) throw DataError("{}: cable length '{}': 'EL_metres' or metres are needed", path, length);
  return *metres * (electrical ? 1.0 : kCableVelocityFactor) / kSpeedOfLight_m_s;
}

TileTable open_table(const std::string& path) {
  check_fits_structure(path);
  TileTable table{path, nullptr, 0};
  fitsfile* file = nullptr;
  int status = 0;
  fits_open_diskfile(&file, path.c_str(), READONLY, &status);
  table.file.reset(file);
  table.check(status, "cannot open");
  fits_movnam_hdu(file, BINARY_TBL, const_cast<char*>("TILEDATA"), 0, &status);
  table.check(status, "table TILEDATA");
  fits_get_num_rows(file, &table.n_rows, &status);
  table.check(status, "table TILEDATA");
  if (table.n_rows < 1 || table.n_rows > kMaxRows)
    throw DataError("{}: TILEDATA has {} rows: 1 to {} are needed", path, table.n_rows, kMaxRows);
  return table;
}

}  // namespace

ArrayLayout read_metafits(const std::string& path) {
  const TileTable table = open_table(path);
  const auto number = table.read<int>("Antenna", TINT), flag = table.read<int>("Flag", TINT);
  const auto east_m = table.read<double>("East", TDOUBLE), north_m = table.read<double>("North", TDOUBLE),
             height_m = table.read<double>("Height", TDOUBLE);
  const auto name = table.read_text("TileName"), length = table.read_text("Length");

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

std::map<std::string, std::array<MwaDelays, 2>> read_metafits_delays(const std::string& path) {
  const TileTable table = open_table(path);
  int type = 0, status = 0;
  long repeat = 0, width = 0;
  fits_get_coltype(table.file.get(), table.column("Delays"), &type, &repeat, &width, &status);
  table.check(status, "column Delays of TILEDATA");
  if (repeat != static_cast<long>(kMwaDipoles))
    throw DataError("{}: column Delays of TILEDATA has {} values a row: {} are needed", path, repeat,
                    kMwaDipoles);
  const auto name = table.read_text("TileName"), polarisation = table.read_text("Pol");
  const auto delays = table.read<int>("Delays", TINT, repeat);
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

}  // namespace apsyn
