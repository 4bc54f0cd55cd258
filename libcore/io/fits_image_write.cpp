// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "libcore/core/constants.h"
#include "libcore/core/error.h"
#include "libcore/core/output.h"
#include "libcore/io/fits_builder.h"
#include "libcore/io/fits_image.h"
#include "libcore/io/fits_keys.h"

namespace apsyn {
namespace {

struct StokesAxis {
  int first = 1, step = 1;
};

StokesAxis stokes_axis(const std::string& path, const std::vector<std::string>& stokes) {
  std::vector<int> numbers;
  for (const std::string& label : stokes) {
    const auto& table = stokes_numbers();
    const auto entry =
        std::find_if(table.begin(), table.end(), [&](const auto& known) { return known.second == label; });
    if (entry == table.end()) throw UsageError("{}: Stokes '{}': FITS has no number for it", path, label);
    numbers.push_back(entry->first);
  }
  StokesAxis axis;
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

std::string format_date(const UtcTime& time) {
  int decimals = 3;
  for (std::int64_t unit = 1000000000; decimals < 12 && time.picoseconds % unit != 0; unit /= 1000)
    decimals += 3;
  return format_fits_utc(time, decimals);
}

void write_coordinates(FitsBuilder& fits, const Image& image, const StokesAxis& stokes) {
  const ImageInfo& info = image.info;
  const auto pixel = reference_pixel(info, image.pixels.extent(3), image.pixels.extent(2));
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
  axis(4, "STOKES", {double(stokes.first), double(stokes.step), 1}, "");
  fits.key("LONPOLE", 180.0, "native longitude of the celestial pole");
  fits.key("LATPOLE", dec_deg, "native latitude of the celestial pole");
  fits.key("RADESYS", std::string("ICRS"), "");
  fits.key("EQUINOX", 2000.0, "");
  fits.key("SPECSYS", std::string("TOPOCENT"), "frequencies as the telescope saw them");
  if (info.freq_hz > 0) fits.key("RESTFRQ", info.freq_hz, "Hz");
}

void write_description(FitsBuilder& fits, const ImageInfo& info) {
  fits.key("ORIGIN", std::string("apsyn"), "");
  fits.key("OBJECT", info.object, "");
  fits.key("TELESCOP", info.telescope, "");
  fits.key("BTYPE", std::string("Intensity"), "");
  if (!info.unit.empty()) fits.key("BUNIT", info.unit, "");
  if (info.beam) {
    fits.key("BMAJ", info.beam->major_rad / kRadPerDeg, "deg, FWHM of the beam's major axis");
    fits.key("BMIN", info.beam->minor_rad / kRadPerDeg, "deg, FWHM of the beam's minor axis");
    fits.key("BPA", info.beam->position_angle_rad / kRadPerDeg, "deg, major axis, north through east");
  }
  fits.key("TIMESYS", std::string("UTC"), "");
  if (info.time) fits.key("DATE-OBS", format_date(*info.time), "");
  for (const auto& [keyword, value] : info.keywords) fits.key(keyword, value, "");
  for (const std::string& line : info.history) fits.history(line);
}

}  // namespace

void write_fits_image(const std::string& path, const Image& image, FitsPixel pixel, bool overwrite) {
  const auto& shape = image.pixels.shape();
  if (image.pixels.size() == 0 || shape[0] != image.info.stokes.size())
    throw std::invalid_argument("write_fits_image: the pixels do not have one plane per Stokes label");
  const StokesAxis stokes = stokes_axis(path, image.info.stokes);
  OutputFile output(path, overwrite);

  const std::size_t n_plane = shape[2] * shape[3];
  const std::size_t pixel_bytes = pixel == FitsPixel::float32 ? 4 : 8;
  FitsBuilder fits(path, image.pixels.size() * pixel_bytes + (64u << 10));
  fits.create_image(pixel, {static_cast<long>(shape[3]), static_cast<long>(shape[2]),
                            static_cast<long>(shape[1]), static_cast<long>(shape[0])});
  write_coordinates(fits, image, stokes);
  write_description(fits, image.info);
  for (std::size_t plane = 0; plane < shape[0] * shape[1]; ++plane)
    fits.pixels(plane * n_plane, {image.pixels.data() + plane * n_plane, n_plane});
  fits.checksum();
  const std::span<const char> bytes = fits.finish();
  output.write(bytes.data(), bytes.size());
  output.commit();
}

}  // namespace apsyn
