// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/fits/header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/formats/fits/keys.h"

namespace apsyn {

std::string format_fits_date(const UtcTime& time) {
  int decimals = 3;
  for (std::int64_t unit = 1000000000; decimals < 12 && time.picoseconds % unit != 0; unit /= 1000)
    decimals += 3;
  return format_fits_utc(time, decimals);
}

FitsStokes fits_stokes(const std::string& path, const std::vector<std::string>& stokes) {
  std::vector<int> numbers;
  FitsStokes axis;
  if (feed_number(stokes.front()) > 0) axis.type = "FEED";
  for (const std::string& label : stokes) {
    if (axis.type == "FEED" && feed_number(label) > 0) {
      numbers.push_back(feed_number(label));
      continue;
    }
    const auto& table = stokes_numbers();
    const auto entry =
        std::find_if(table.begin(), table.end(), [&](const auto& known) { return known.second == label; });
    if (entry == table.end()) throw UsageError("{}: Stokes '{}': FITS has no number for it", path, label);
    numbers.push_back(entry->first);
  }
  axis.first = numbers.front();
  if (numbers.size() > 1)
    axis.step = numbers[1] - numbers[0];
  else if (axis.first < 0)
    axis.step = -1;
  for (std::size_t i = 1; i < numbers.size(); ++i)
    if (axis.step == 0 || numbers[i] - numbers[i - 1] != axis.step)
      throw UsageError(
          "{}: the polarisations {} are not equally spaced in FITS' numbering: write them to several files, "
          "or in the order XX,YY,XY,YX, RR,LL,RL,LR or I,Q,U,V",
          path, fmt::join(stokes, ","));
  return axis;
}

void write_fits_coordinates(FitsBuilder& fits, const ImageInfo& info, const std::array<std::size_t, 2>& size,
                            const FitsStokes& stokes) {
  const auto pixel = reference_pixel(info, size[0], size[1]);
  double ra_deg = info.centre.ra_rad / kRadPerDeg;
  ra_deg -= 360 * std::floor(ra_deg / 360);
  if (ra_deg >= 360) ra_deg = 0;
  const double dec_deg = info.centre.dec_rad / kRadPerDeg;
  const double cell_y_rad = info.cell_y_rad != 0 ? info.cell_y_rad : info.cell_rad;
  auto axis = [&](int number, const char* type, std::array<double, 3> value_step_pixel, const char* unit) {
    fits.key(fmt::format("CTYPE{}", number), std::string(type), "");
    fits.key(fmt::format("CRPIX{}", number), value_step_pixel[2], "reference pixel, the first is 1");
    fits.key(fmt::format("CRVAL{}", number), value_step_pixel[0], "value at the reference pixel");
    fits.key(fmt::format("CDELT{}", number), value_step_pixel[1], "step per pixel");
    fits.key(fmt::format("CUNIT{}", number), std::string(unit), "");
  };
  axis(1, "RA---SIN", {ra_deg, -info.cell_rad / kRadPerDeg, pixel[0] + 1}, "deg");
  axis(2, "DEC--SIN", {dec_deg, cell_y_rad / kRadPerDeg, pixel[1] + 1}, "deg");
  axis(3, "FREQ", {info.freq_hz, info.bandwidth_hz != 0 ? info.bandwidth_hz : 1.0, 1}, "Hz");
  axis(4, stokes.type.c_str(), {double(stokes.first), double(stokes.step), 1}, "");
  fits.key("LONPOLE", 180.0, "native longitude of the celestial pole");
  fits.key("LATPOLE", dec_deg, "native latitude of the celestial pole");
  fits.key("RADESYS", std::string("ICRS"), "");
  fits.key("EQUINOX", 2000.0, "");
  fits.key("SPECSYS", info.frequency_frame,
           info.frequency_frame == "TOPOCENT" ? "frequencies as the telescope saw them" : "");
  if (info.freq_hz > 0) fits.key("RESTFRQ", info.freq_hz, "Hz");
}

void write_fits_description(FitsBuilder& fits, const ImageInfo& info, const std::string& quantity) {
  fits.key("ORIGIN", std::string("apsyn"), "");
  fits.key("OBJECT", info.object, "");
  fits.key("TELESCOP", info.telescope, "");
  if (!info.observer.empty()) fits.key("OBSERVER", info.observer, "");
  fits.key("BTYPE", quantity, "");
  if (!info.unit.empty()) fits.key("BUNIT", info.unit, "");
  if (info.beam) {
    fits.key("BMAJ", info.beam->major_rad / kRadPerDeg, "deg, FWHM of the beam's major axis");
    fits.key("BMIN", info.beam->minor_rad / kRadPerDeg, "deg, FWHM of the beam's minor axis");
    fits.key("BPA", info.beam->position_angle_rad / kRadPerDeg, "deg, major axis, north through east");
  }
  fits.key("TIMESYS", std::string("UTC"), "");
  if (info.time) {
    fits.key("DATE-OBS", format_fits_date(*info.time), "");
    fits.key("DATE-BEG", format_fits_date(*info.time), "");
  }
  if (info.end) fits.key("DATE-END", format_fits_date(*info.end), "");
  std::optional<UtcTime> middle = info.middle;
  if (!middle && info.time && info.end)
    middle = add_picoseconds(*info.time, std::llround(seconds_between(*info.time, *info.end) * 0.5e12));
  if (middle) fits.key("DATE-AVG", format_fits_date(*middle), "");
  for (const auto& [keyword, value] : info.keywords) fits.key(keyword, value, "");
  for (const std::string& line : info.history) fits.history(line);
}

}  // namespace apsyn
