// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/fits/celestial.h"

#include <array>
#include <cmath>
#include <string>

#include "libcore/base/constants.h"
#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/header/plausible.h"

namespace apsyn {
namespace {

/// The equator of an image is that of J2000 unless it says otherwise (FITS standard 4.0, section 8.3).
void check_equator(const FitsKeys& keys, const FitsPrimary& fits) {
  std::string system = keys.text("RADESYS").value_or("");
  if (system.empty()) system = keys.text("RADECSYS").value_or("");
  const auto other = other_equinox(keys);
  if (other && system != "ICRS")
    throw DataError("{}: {}: only coordinates of J2000 are supported: precess the image", fits.name, *other);
  if (!system.empty() && system != "ICRS" && system != "FK5")
    throw DataError("{}: RADESYS = '{}': ICRS or FK5 is needed: regrid the image", fits.name, system);
}

}  // namespace

void read_fits_celestial(const FitsKeys& keys, const FitsPrimary& fits, FitsAxis& x, FitsAxis& y,
                         ImageInfo& info) {
  if (x.type != "RA---SIN" || y.type != "DEC--SIN")
    throw DataError("{}: axes '{}', '{}': RA---SIN, DEC--SIN are needed: regrid the image", fits.name, x.type,
                    y.type);
  check_equator(keys, fits);
  for (const char* keyword : {"PV2_1", "PV2_2"})
    if (const auto value = keys.number(keyword); value && *value != 0)
      throw DataError("{}: {} = {}: slant projections are not supported: regrid the image", fits.name,
                      keyword, *value);
  if (const double pole = keys.number("LONPOLE").value_or(180); pole != 180)
    throw DataError("{}: LONPOLE = {}: 180 is needed: regrid the image", fits.name, pole);
  int number = 1;
  for (FitsAxis* axis : {&x, &y}) {
    const std::string keyword = fmt::format("CUNIT{}", number++);
    const std::string unit = lower(keys.text(keyword).value_or("deg"));
    double to_rad = kRadPerDeg;
    if (unit == "rad")
      to_rad = 1;
    else if (unit == "arcmin")
      to_rad = 60 * kRadPerArcsec;
    else if (unit == "arcsec")
      to_rad = kRadPerArcsec;
    else if (!unit.starts_with("deg") && !unit.empty())
      throw DataError("{}: {} = '{}': deg is needed", fits.name, keyword, unit);
    axis->value *= to_rad;
    axis->step *= to_rad;
    if (axis->step == 0) throw DataError("{}: CDELT{} = 0: a cell size is needed", fits.name, number - 1);
    check_range(fits.name, fmt::format("CDELT{}", number - 1), axis->step / kRadPerDeg, -180, 180, "deg");
    check_range(fits.name, fmt::format("CRPIX{}", number - 1), axis->pixel, -1e9, 1e9, "pixels");
  }
  if (std::abs(y.value) > kPi / 2 * (1 + 1e-12))
    throw DataError("{}: CRVAL2 = {}: a declination is needed", fits.name, y.value / kRadPerDeg);
  check_range(fits.name, "CRVAL1", x.value / kRadPerDeg, -720, 720, "deg");
  info.centre.dec_rad = y.value;
  info.centre.ra_rad = x.value - kTwoPi * std::floor(x.value / kTwoPi);
  if (info.centre.ra_rad >= kTwoPi) info.centre.ra_rad = 0;
  info.cell_rad = std::abs(x.step);
  if (std::abs(y.step) != info.cell_rad) info.cell_y_rad = std::abs(y.step);
  std::array<double, 2> pixel{x.pixel - 1, y.pixel - 1};
  if (x.step > 0) pixel[0] = static_cast<double>(x.length - 1) - pixel[0];
  if (y.step < 0) pixel[1] = static_cast<double>(y.length - 1) - pixel[1];
  if (pixel != reference_pixel(info, x.length, y.length)) info.reference_pixel = pixel;
}

}  // namespace apsyn
