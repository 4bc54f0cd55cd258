// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/fits/aterm_cube.h"

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/files/output.h"
#include "libcore/formats/fits/builder.h"

namespace apsyn {

void write_aterm_cube(const std::string& path, const AtermCubeAxes& axes,
                      const std::vector<std::string>& history, bool overwrite,
                      const std::function<void(std::size_t time, std::span<double> pixels)>& step) {
  OutputFile output(path, overwrite);
  const std::size_t step_size = axes.step_size();
  FitsBuilder fits(path, step_size * axes.n_time * sizeof(float) + (64u << 10));
  std::vector<long> lengths{static_cast<long>(axes.side), static_cast<long>(axes.side)};
  if (!axes.tec) lengths.push_back(static_cast<long>(axes.n_matrix()));
  for (const std::size_t n : {axes.n_antenna, axes.n_freq, axes.n_time})
    lengths.push_back(static_cast<long>(n));
  fits.create_image(FitsPixel::float32, lengths);

  int number = 0;
  const auto axis = [&](const char* type, double pixel, double value, double width, const char* unit) {
    ++number;
    fits.key(fmt::format("CTYPE{}", number), std::string(type), "");
    fits.key(fmt::format("CRPIX{}", number), pixel, "reference pixel, the first is 1");
    fits.key(fmt::format("CRVAL{}", number), value, "value at the reference pixel");
    fits.key(fmt::format("CDELT{}", number), width, "step per pixel");
    if (*unit != '\0') fits.key(fmt::format("CUNIT{}", number), std::string(unit), "");
  };
  const double middle = static_cast<double>(axes.side / 2) + 1, cell_deg = axes.cell_rad / kRadPerDeg;
  axis("RA---SIN", middle, axes.centre.ra_rad / kRadPerDeg, -cell_deg, "deg");
  axis("DEC--SIN", middle, axes.centre.dec_rad / kRadPerDeg, cell_deg, "deg");
  if (!axes.tec) axis("MATRIX", 1, 0, 1, "");
  axis("ANTENNA", 1, 0, 1, "");
  axis("FREQ", 1, axes.freq_hz, axes.n_freq > 1 ? axes.freq_step_hz : 1, "Hz");
  axis("TIME", 1, axes.time_mjd_s, axes.n_time > 1 ? axes.time_step_s : 1, "s");
  fits.key("RADESYS", std::string("ICRS"), "");
  fits.key("BTYPE", std::string(axes.tec ? "TEC" : "GAIN"),
           axes.tec ? "electrons along the line of sight" : "Re XX, Im XX, Re YY, Im YY");
  if (axes.tec) fits.key("BUNIT", std::string("TECU"), "1e16 electrons per square metre");
  fits.key("TIMESYS", std::string("UTC"), "TIME is MJD in seconds");
  fits.key("ORIGIN", std::string("apsyn"), "");
  for (const std::string& line : history) fits.history(line);

  std::vector<double> pixels(step_size);
  for (std::size_t time = 0; time < axes.n_time; ++time) {
    step(time, pixels);
    fits.pixels(time * step_size, pixels);
  }
  fits.checksum();
  const std::span<const char> bytes = fits.finish();
  output.write(bytes.data(), bytes.size());
  output.commit();
}

}  // namespace apsyn
