// SPDX-License-Identifier: GPL-3.0-or-later
// Files for the tests of A-terms: FITS cubes written card by card, and configurations.
#pragma once

#include <fmt/core.h>
#include <unistd.h>

#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/base/constants.h"
#include "libcore/sky/aterms.h"

namespace aterm_test {

constexpr double kTecPhase = -8.44797245e9;  // rad Hz / TECU
constexpr double kFreq_hz = 150e6;
const apsyn::SkyDirection kCentre{0.3, -0.5};

/// About kCentre.
inline apsyn::AtermGrid grid_of(std::size_t side, double step_rad) {
  return {kCentre, side, step_rad, step_rad};
}

/// An empty folder for the life of the object.
struct Folder {
  Folder()
      : path((std::filesystem::temp_directory_path() / fmt::format("apsyn-aterms-{}", ::getpid())).string()) {
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path + "/" + name, std::ios::binary) << text;
    return path + "/" + name;
  }
  std::string path;
};

struct CubeAxis {
  std::string type;
  std::size_t length = 1;
  double value = 0, step = 1, pixel = 1;
};

/// Pixels in the order of the file, NAXIS1 fastest; bitpix -32 or -64.
inline std::string cube_text(const std::vector<CubeAxis>& axes, int bitpix,
                             const std::function<double(const std::vector<std::size_t>&)>& value,
                             const std::vector<std::string>& cards = {}) {
  std::string text;
  const auto card = [&](const std::string& content) { text += fmt::format("{:<80}", content); };
  card(fmt::format("SIMPLE  = {:>20}", "T"));
  card(fmt::format("BITPIX  = {:>20}", bitpix));
  card(fmt::format("NAXIS   = {:>20}", axes.size()));
  std::size_t n = 1;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    card(fmt::format("NAXIS{:<3}= {:>20}", i + 1, axes[i].length));
    n *= axes[i].length;
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    card(fmt::format("CTYPE{:<3}= '{:<8}'", i + 1, axes[i].type));
    card(fmt::format("CRVAL{:<3}= {:>25.17E}", i + 1, axes[i].value));
    card(fmt::format("CDELT{:<3}= {:>25.17E}", i + 1, axes[i].step));
    card(fmt::format("CRPIX{:<3}= {:>25.17E}", i + 1, axes[i].pixel));
  }
  for (const std::string& extra : cards) card(extra);
  card("END");
  text.resize((text.size() + 2879) / 2880 * 2880, ' ');
  std::vector<std::size_t> index(axes.size(), 0);
  for (std::size_t i = 0; i < n; ++i) {
    const double pixel = value(index);
    const std::uint64_t bits =
        bitpix == -64 ? std::bit_cast<std::uint64_t>(pixel)
                      : std::uint64_t{std::bit_cast<std::uint32_t>(static_cast<float>(pixel))} << 32;
    for (int byte = 0; byte < -bitpix / 8; ++byte) text += static_cast<char>(bits >> (56 - 8 * byte) & 0xff);
    for (std::size_t axis = 0; axis < axes.size() && ++index[axis] == axes[axis].length; ++axis)
      index[axis] = 0;
  }
  text.resize((text.size() + 2879) / 2880 * 2880, '\0');
  return text;
}

/// The first two axes about a centre: nx x ny pixels, the reference pixel (from 1) and cells in degrees.
inline std::vector<CubeAxis> sky_axes(const apsyn::SkyDirection& centre, std::size_t nx, std::size_t ny,
                                      double cell_x_deg, double cell_y_deg) {
  return {{"RA---SIN", nx, centre.ra_rad / apsyn::kRadPerDeg, cell_x_deg, static_cast<double>(nx / 2 + 1)},
          {"DEC--SIN", ny, centre.dec_rad / apsyn::kRadPerDeg, cell_y_deg, static_cast<double>(ny / 2 + 1)}};
}

/// l and m of a pixel (from 0) of such axes: l = CDELT (pixel - CRPIX), as the FITS standard's SIN
/// projection.
inline double axis_lm(const CubeAxis& axis, std::size_t pixel) {
  return (static_cast<double>(pixel + 1) - axis.pixel) * axis.step * apsyn::kRadPerDeg;
}

inline std::vector<CubeAxis> joined(std::vector<CubeAxis> axes, const std::vector<CubeAxis>& more) {
  axes.insert(axes.end(), more.begin(), more.end());
  return axes;
}

inline apsyn::ArrayLayout three_stations() {
  apsyn::ArrayLayout layout;
  layout.telescope = "TEST";
  layout.site = apsyn::Site{-26.7 * apsyn::kRadPerDeg, 116.67 * apsyn::kRadPerDeg, 377};
  layout.antennas = {{"a", {0, 0, 0}}, {"b", {310, -40, 2}}, {"c", {-120, 250, -1}}};
  return layout;
}

/// Evaluated into poisoned memory.
inline apsyn::Buffer<std::complex<float>, 4> evaluate(apsyn::AtermModel& model, double time_mjd_s,
                                                      double freq_hz, const apsyn::AtermGrid& grid,
                                                      unsigned n_threads = 1) {
  apsyn::Buffer<std::complex<float>, 4> jones({model.n_stations(), grid.side, grid.side, 4});
  jones.fill({1e30f, -1e30f});
  model.evaluate(model.slot_of(time_mjd_s), freq_hz, grid, n_threads, jones);
  return jones;
}

}  // namespace aterm_test
