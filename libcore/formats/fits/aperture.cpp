// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/fits/aperture.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>

#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/files/input.h"
#include "libcore/files/output.h"
#include "libcore/formats/fits/keys.h"
#include "libcore/formats/fits/memory.h"
#include "libcore/streams/detect.h"

namespace apsyn {
namespace {

constexpr double kFarthest_m = 1e6;  ///< no aperture is larger
constexpr const char* kWhat = "an aperture's illumination";

FitsAxis read_place(const FitsKeys& keys, const FitsPrimary& fits, int number, const char* type) {
  const FitsAxis axis = read_fits_axis(keys, fits, number, type, "m", kWhat);
  if (!(axis.step > 0))
    throw DataError("{}: CDELT{} = {}: metres that rise are needed", fits.name, number, axis.step);
  const double first_m = axis.first(), last_m = first_m + axis.step * static_cast<double>(axis.length - 1);
  if (!(std::max(std::abs(first_m), std::abs(last_m)) < kFarthest_m))  // nor NaN
    throw DataError("{}: axis {} runs from {} to {} m: within {} m of the antenna is needed", fits.name,
                    number, first_m, last_m, kFarthest_m);
  return axis;
}

std::size_t antenna_of(const CsvTable& table, const CsvRow& row, std::size_t column,
                       const ArrayLayout& layout) {
  for (std::size_t ant = 0; ant < layout.antennas.size(); ++ant)
    if (layout.antennas[ant].name == row.fields[column]) return ant;
  return table.index(row, column, layout.antennas.size());
}

}  // namespace

Aperture read_aperture(const std::string& path) {
  FitsPrimary fits = read_fits_primary(path);
  const MemoryFits memory(fits);
  const FitsKeys keys(memory.get(), fits.name);
  if (fits.axes.size() > 3)
    throw DataError("{}: NAXIS = {}: {} has the axes EAST, NORTH and COMPLEX", fits.name, fits.axes.size(),
                    kWhat);
  const FitsAxis east = read_place(keys, fits, 1, "EAST"), north = read_place(keys, fits, 2, "NORTH");
  std::size_t n_part = 1;
  if (fits.axes.size() == 3) {
    n_part = read_fits_axis(keys, fits, 3, "COMPLEX", "", kWhat).length;
    if (n_part != 1 && n_part != 2)
      throw DataError("{}: NAXIS3 = {}: real and imaginary parts are two planes", fits.name, n_part);
  }
  Buffer<double, 3> parts({n_part, north.length, east.length});
  int status = 0, any_blank = 0;
  double blank = std::numeric_limits<double>::quiet_NaN();
  memory.check(fits_read_img(memory.get(), TDOUBLE, 1, static_cast<LONGLONG>(parts.size()),
                             fits.bitpix > 0 ? &blank : nullptr, parts.data(), &any_blank, &status));
  Aperture aperture{{}, east.first(), north.first(), east.step, north.step};
  aperture.samples.resize({north.length, east.length});
  std::complex<double> sum = 0;
  double all = 0;
  for (std::size_t y = 0; y < north.length; ++y)
    for (std::size_t x = 0; x < east.length; ++x) {
      const std::complex<double> sample{parts(0, y, x), n_part == 2 ? parts(1, y, x) : 0};
      if (!std::isfinite(std::norm(sample)))
        throw DataError("{}: pixel {}, {} is not finite: write 0 where nothing is illuminated", fits.name,
                        x + 1, y + 1);
      aperture.samples(y, x) = sample;
      sum += sample;
      all += std::abs(sample);
    }
  if (!(std::abs(sum) > 1e-6 * all))
    throw DataError("{}: the illumination adds up to nothing: the antenna would hear nothing from the zenith",
                    fits.name);
  return aperture;
}

ApertureTable read_apertures(const std::string& path, const ArrayLayout& layout) {
  const std::size_t n_ant = layout.antennas.size();
  ApertureTable apertures;
  if (is_fits_file(path)) {
    apertures.kinds.push_back(std::make_shared<const Aperture>(read_aperture(path)));
    apertures.of_antenna.assign(n_ant, 0);
    return apertures;
  }
  const std::string text = read_text_file(path);
  const CsvTable table = parse_csv(text, path);
  const auto antenna = table.find("antenna"), file = table.find("file");
  if (!antenna || !file || table.columns.size() != 2)
    throw DataError("{}: the columns are antenna,file, or it is a FITS image", path);
  std::map<std::string, std::uint32_t> kinds;
  std::vector<std::optional<std::uint32_t>> of_antenna(n_ant);
  std::optional<std::uint32_t> others;
  for (const CsvRow& row : table.rows) {
    const std::string name =
        (std::filesystem::path(path).parent_path() / std::string(row.fields[*file])).string();
    const auto [at, is_new] = kinds.emplace(name, static_cast<std::uint32_t>(kinds.size()));
    if (is_new) {
      protect_input(name);
      apertures.kinds.push_back(std::make_shared<const Aperture>(read_aperture(name)));
    }
    auto& place = row.fields[*antenna] == "*" ? others : of_antenna[antenna_of(table, row, *antenna, layout)];
    if (place)
      throw DataError("{}: line {}: antenna {} has a file already", path, row.line, row.fields[*antenna]);
    place = at->second;
  }
  for (std::size_t ant = 0; ant < n_ant; ++ant) {
    if (!of_antenna[ant] && !others)
      throw DataError("{}: no file for antenna {}: add a line for it, or for *, all others", path,
                      layout.antennas[ant].name);
    apertures.of_antenna.push_back(of_antenna[ant] ? *of_antenna[ant] : *others);
  }
  return apertures;
}

}  // namespace apsyn
