// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/fits/hyperdrive.h"

#include <fitsio.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "libcore/base/error.h"
#include "libcore/formats/fits/keys.h"
#include "libcore/formats/fits/table.h"
#include "libcore/formats/fits/walk.h"

namespace apsyn {
namespace {

constexpr long kMaxSolutionRows = 1L << 20;
const char* const kCure = "solutions of hyperdrive are needed";

/// Closes what it opened.
struct OpenFits {
  explicit OpenFits(const std::string& path) {
    check_fits_structure(path);
    if (fits_open_diskfile(&file, path.c_str(), READONLY, &status) != 0)
      throw DataError("{}: {}", path, fits_error_text(status));
  }
  ~OpenFits() {
    int closing = 0;
    if (file != nullptr) fits_close_file(file, &closing);
  }
  OpenFits(const OpenFits&) = delete;
  fitsfile* file = nullptr;
  int status = 0;
};

/// Of a column beside the solutions, which is as long as their axis or counts as missing.
template <class Read>
auto beside(const std::string& path, const std::string& table, const char* column, std::size_t length,
            const Read& read) -> decltype(read(std::declval<const FitsTable&>())) {
  const auto tables = fits_table_names(path);
  const bool there =
      std::any_of(tables.begin(), tables.end(), [&](const auto& entry) { return entry.first == table; });
  if (!there) return {};
  const FitsTable rows(path, table, kMaxSolutionRows, kCure);
  if (!rows.has(column)) return {};
  if (static_cast<std::size_t>(rows.n_rows()) != length)
    throw DataError("{}: {} has {} rows, and SOLUTIONS {} of them: {}", path, table, rows.n_rows(), length,
                    kCure);
  return read(rows);
}

}  // namespace

bool is_hyperdrive(const std::string& path) {
  OpenFits fits(path);
  fits_movnam_hdu(fits.file, IMAGE_HDU, const_cast<char*>("SOLUTIONS"), 0, &fits.status);
  fits_clear_errmsg();
  return fits.status == 0;
}

HyperdriveSolutions read_hyperdrive(const std::string& path) {
  HyperdriveSolutions solutions;
  {
    OpenFits fits(path);
    const auto check = [&] {
      if (fits.status != 0)
        throw DataError("{}: SOLUTIONS: {}: {}", path, fits_error_text(fits.status), kCure);
    };
    fits_movnam_hdu(fits.file, IMAGE_HDU, const_cast<char*>("SOLUTIONS"), 0, &fits.status);
    check();
    int bitpix = 0, n_axis = 0;
    std::array<long, 4> axes{};
    fits_get_img_param(fits.file, static_cast<int>(axes.size()), &bitpix, &n_axis, axes.data(), &fits.status);
    check();
    if (n_axis != 4 || axes[0] != 8 || *std::min_element(axes.begin(), axes.end()) < 1 || bitpix > 0)
      throw DataError(
          "{}: SOLUTIONS is no image of floating-point numbers [timeblock][tile][chanblock][8]: {}", path,
          kCure);
    solutions.n_chan = static_cast<std::size_t>(axes[1]);
    solutions.n_tile = static_cast<std::size_t>(axes[2]);
    solutions.n_time = static_cast<std::size_t>(axes[3]);
    // The walk over the file has seen that all these numbers are there.
    solutions.values.resize(8 * solutions.n_chan * solutions.n_tile * solutions.n_time);
    int any_null = 0;
    fits_read_img(fits.file, TDOUBLE, 1, static_cast<LONGLONG>(solutions.values.size()), nullptr,
                  solutions.values.data(), &any_null, &fits.status);
    check();
  }
  solutions.tile_names = beside(path, "TILES", "TileName", solutions.n_tile,
                                [](const FitsTable& rows) { return rows.texts("TileName"); });
  const std::set<std::string> different(solutions.tile_names.begin(), solutions.tile_names.end());
  if (different.size() != solutions.tile_names.size() || different.contains("")) solutions.tile_names.clear();
  solutions.freq_hz = beside(path, "CHANBLOCKS", "Freq", solutions.n_chan,
                             [](const FitsTable& rows) { return rows.numbers("Freq"); });
  const bool good = std::all_of(solutions.freq_hz.begin(), solutions.freq_hz.end(),
                                [](double freq_hz) { return std::isfinite(freq_hz) && freq_hz > 0; });
  if (!good || std::adjacent_find(solutions.freq_hz.begin(), solutions.freq_hz.end(),
                                  std::greater_equal<>()) != solutions.freq_hz.end())
    solutions.freq_hz.clear();
  return solutions;
}

}  // namespace apsyn
