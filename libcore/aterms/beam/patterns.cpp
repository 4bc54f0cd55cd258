// SPDX-License-Identifier: GPL-3.0-or-later
// Voltage patterns of any dish in FITS cubes, as CASA and MeqTrees name them: a file for the real and the
// imaginary part of each of XX, XY, YX and YY.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "libcore/aterms/beam/pointing.h"
#include "libcore/aterms/beam/telescope.h"
#include "libcore/base/constants.h"
#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/beams/pattern.h"
#include "libcore/files/output.h"
#include "libcore/formats/fits/sky_cube.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

constexpr std::uint64_t kMaxValues = std::uint64_t{1} << 28;

/// How the first two axes lie on the sky.
enum class PatternFrame { sky, azimuth_elevation, parallactic };

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const auto at = text.find(what);
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

PatternFrame frame_of(const SkyCube& cube) {
  const auto axis = [&](const FitsAxis& of) { return lower(std::string(trim(of.type))); };
  const std::string x = axis(cube.x_axis()), y = axis(cube.y_axis());
  if (x == "l" && y == "m") return PatternFrame::parallactic;
  if (x == "az" && y == "el") return PatternFrame::azimuth_elevation;
  if ((x == "x" && y == "y") || (x.starts_with("ra") && y.starts_with("dec"))) return PatternFrame::sky;
  throw DataError("{}: axes {} and {}: L and M, AZ and EL, or X and Y (towards east and north) are needed",
                  cube.path(), cube.x_axis().type, cube.y_axis().type);
}

class PatternPart final : public AtermPart {
 public:
  PatternPart(const AtermEntry& entry, const ArrayLayout& layout, const ArrayTables& tables)
      : interval_(read_update_interval(entry, kSkyUpdate_s)), pointing_(entry, layout, tables) {
    const std::string name = entry.text("images");
    if (name.find("$(corr)") == std::string::npos || name.find("$(reim)") == std::string::npos)
      throw DataError("{} = '{}': a name like beam_$(corr)_$(reim).fits is needed", entry.where("images"),
                      name);
    constexpr const char* kCorrelations[] = {"xx", "xy", "yx", "yy"};
    for (std::size_t corr = 0; corr < 4; ++corr)
      for (std::size_t part = 0; part < 2; ++part)
        add(entry.found_file("images", replaced(replaced(name, "$(corr)", kCorrelations[corr]), "$(reim)",
                                                part == 0 ? "re" : "im")),
            corr, part);
    if (frame_ != PatternFrame::sky) pointing_.need_site(entry);
  }

  std::int64_t slot_of(double time_mjd_s) const override {
    return frame_ == PatternFrame::sky ? 0 : interval_.index(time_mjd_s);
  }

  void multiply(double time_mjd_s, double freq_hz, const AtermGrid& grid, unsigned n_threads,
                View<std::complex<float>, 4> jones) override {
    const std::vector<DishOffset> offsets = frame_ == PatternFrame::sky
                                                ? pointing_.sky_offsets(grid)
                                                : pointing_.local_offsets(interval_.middle(time_mjd_s), grid);
    // L grows to the east where the zenith is to the north, against the azimuth.
    const double sign_x = frame_ == PatternFrame::parallactic ? -1 : 1;
    std::vector<Jones> beam(offsets.size());
    parallel_for(n_threads, grid.side, [&](std::size_t y, unsigned) {
      for (std::size_t i = y * grid.side; i < (y + 1) * grid.side; ++i)
        beam[i] = std::isnan(offsets[i].azimuth)
                      ? Jones{}
                      : pattern_.at(sign_x * offsets[i].azimuth, offsets[i].elevation, freq_hz);
    });
    parallel_for(n_threads, jones.extent(0), [&](std::size_t station, unsigned) {
      std::complex<float>* to = jones[station].data();
      for (std::size_t i = 0; i < beam.size(); ++i, to += 4) {
        const Jones out = product({to[0], to[1], to[2], to[3]}, beam[i]);
        std::copy(out.begin(), out.end(), to);
      }
    });
  }

  std::vector<std::string> warnings(const AtermGrid&, double) const override { return {}; }

 private:
  void add(const std::string& path, std::size_t corr, std::size_t part) {
    const SkyCube cube(path, CubePlane::linear);
    const auto& axes = cube.axes();
    const bool has_freq = !axes.empty() && lower(axes[0].type).starts_with("freq");
    const std::size_t n_freq = has_freq ? axes[0].length : 1;
    for (std::size_t i = has_freq ? 1 : 0; i < axes.size(); ++i)
      if (axes[i].length != 1)
        throw DataError("{}: axis {} '{}': only FREQ may be longer than 1", path, i + 3, axes[i].type);
    const FitsAxis &x = cube.x_axis(), &y = cube.y_axis();
    const bool is_first = corr == 0 && part == 0;
    if (is_first) {
      if (std::uint64_t{cube.nx()} * cube.ny() * n_freq > kMaxValues)
        throw DataError("{}: {} x {} x {} pixels: at most {} are read", path, cube.nx(), cube.ny(), n_freq,
                        kMaxValues);
      if (!(x.step != 0) || !(y.step != 0) || (n_freq > 1 && !(axes[0].step > 0)))
        throw DataError("{}: CDELT 0, or falling frequencies", path);
      frame_ = frame_of(cube);
      pattern_.first_x = x.first() * kRadPerDeg;
      pattern_.step_x = x.step * kRadPerDeg;
      pattern_.first_y = y.first() * kRadPerDeg;
      pattern_.step_y = y.step * kRadPerDeg;
      for (std::size_t f = 0; f < n_freq; ++f)
        pattern_.freq_hz.push_back(has_freq ? axes[0].first() + static_cast<double>(f) * axes[0].step : 0);
      pattern_.values.resize({n_freq, cube.ny(), cube.nx(), 4});
    } else if (cube.nx() != pattern_.values.extent(2) || cube.ny() != pattern_.values.extent(1) ||
               n_freq != pattern_.values.extent(0) ||
               std::abs(x.first() * kRadPerDeg - pattern_.first_x) > 1e-9 ||
               std::abs(y.first() * kRadPerDeg - pattern_.first_y) > 1e-9) {
      throw DataError("{}: other axes than the file of the real part of XX: all eight need the same", path);
    }
    Buffer<double, 2> plane({cube.ny(), cube.nx()});
    for (std::size_t f = 0; f < n_freq; ++f) {
      cube.read_plane(f, plane);
      for (std::size_t i = 0; i < plane.size(); ++i) {
        const auto value = static_cast<float>(std::isfinite(plane.data()[i]) ? plane.data()[i] : 0);
        std::complex<float>& to = pattern_.values.data()[(f * plane.size() + i) * 4 + corr];
        to = part == 0 ? std::complex<float>(value, to.imag()) : std::complex<float>(to.real(), value);
      }
    }
  }

  UpdateInterval interval_;
  DishPointing pointing_;
  PatternFrame frame_ = PatternFrame::sky;
  VoltagePattern pattern_;
};

}  // namespace

std::unique_ptr<AtermPart> open_aterm_patterns(const AtermEntry& entry, const ArrayLayout& layout,
                                               const ArrayTables& tables) {
  entry.allow({"model", "images", "pointing", "update_interval", "usechannelfreq"});
  return std::make_unique<PatternPart>(entry, layout, tables);
}

}  // namespace apsyn
