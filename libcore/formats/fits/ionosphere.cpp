// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/fits/ionosphere.h"

#include <array>
#include <limits>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/files/output.h"
#include "libcore/formats/fits/builder.h"
#include "libcore/formats/fits/keys.h"
#include "libcore/formats/fits/memory.h"

namespace apsyn {
namespace {

constexpr std::array<std::pair<const char*, const char*>, 3> kAxes{
    {{"EAST", "m"}, {"NORTH", "m"}, {"TIME", "s"}}};

FitsAxis read_axis(const FitsKeys& keys, const FitsPrimary& fits, int number) {
  const auto [type, unit] = kAxes[static_cast<std::size_t>(number - 1)];
  return read_fits_axis(keys, fits, number, type, unit, "an ionospheric screen");
}

}  // namespace

IonosphereGrid read_ionosphere(const std::string& path) {
  FitsPrimary fits = read_fits_primary(path);
  const MemoryFits memory(fits);
  const FitsKeys keys(memory.get(), fits.name);
  const std::size_t n_axis = fits.axes.size();
  if (n_axis > 3)
    throw DataError("{}: NAXIS = {}: a screen has the axes EAST, NORTH and TIME", fits.name, n_axis);
  const FitsAxis east = read_axis(keys, fits, 1), north = read_axis(keys, fits, 2);
  IonosphereGrid grid;
  grid.east_m = east.first();
  grid.step_east_m = east.step;
  grid.north_m = north.first();
  grid.step_north_m = north.step;
  std::size_t n_time = 1;
  if (n_axis == 3) {
    const FitsAxis time = read_axis(keys, fits, 3);
    n_time = time.length;
    grid.time_mjd_s = time.first();
    grid.step_s = time.step;
  }
  if (const std::string unit = keys.text("BUNIT").value_or(""); unit != "TECU")
    throw DataError("{}: BUNIT = '{}': TECU is needed", fits.name, unit);
  const auto height_m = keys.number("HEIGHT");
  if (!height_m)
    throw DataError("{}: HEIGHT is missing: the height of the layer in metres is needed", fits.name);
  grid.height_m = *height_m;

  grid.tec_tecu.resize({n_time, north.length, east.length});
  double blank = std::numeric_limits<double>::quiet_NaN();
  int status = 0, any_blank = 0;
  memory.check(fits_read_img(memory.get(), TDOUBLE, 1, static_cast<LONGLONG>(grid.tec_tecu.size()),
                             fits.bitpix > 0 ? &blank : nullptr, grid.tec_tecu.data(), &any_blank, &status));
  return grid;
}

void write_ionosphere(const std::string& path, const IonosphereGrid& grid,
                      const std::vector<std::string>& history, bool overwrite) {
  OutputFile output(path, overwrite);
  const auto [n_time, n_north, n_east] = grid.tec_tecu.shape();
  FitsBuilder fits(path, grid.tec_tecu.size() * sizeof(double) + (64u << 10));
  fits.create_image(FitsPixel::float64,
                    {static_cast<long>(n_east), static_cast<long>(n_north), static_cast<long>(n_time)});
  const std::array<std::pair<double, double>, 3> value_step{
      {{grid.east_m, grid.step_east_m}, {grid.north_m, grid.step_north_m}, {grid.time_mjd_s, grid.step_s}}};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto [type, unit] = kAxes[i];
    fits.key(fmt::format("CTYPE{}", i + 1), std::string(type), "");
    fits.key(fmt::format("CRPIX{}", i + 1), 1.0, "reference pixel, the first is 1");
    fits.key(fmt::format("CRVAL{}", i + 1), value_step[i].first,
             i == 2 ? "middle of the first step, MJD in seconds" : "value at the reference pixel");
    fits.key(fmt::format("CDELT{}", i + 1), value_step[i].second, "step per pixel");
    fits.key(fmt::format("CUNIT{}", i + 1), std::string(unit), "");
  }
  fits.key("BTYPE", std::string("TEC"), "electrons in vertical columns");
  fits.key("BUNIT", std::string("TECU"), "1e16 electrons per square metre");
  fits.key("HEIGHT", grid.height_m, "m, of the layer above the array");
  fits.key("TIMESYS", std::string("UTC"), "");
  fits.key("ORIGIN", std::string("apsyn"), "");
  for (const std::string& line : history) fits.history(line);
  fits.pixels(0, grid.tec_tecu.view().span());
  fits.checksum();
  const std::span<const char> bytes = fits.finish();
  output.write(bytes.data(), bytes.size());
  output.commit();
}

}  // namespace apsyn
