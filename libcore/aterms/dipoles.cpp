// SPDX-License-Identifier: GPL-3.0-or-later
// Beams of dipoles that stand on the ground while the sky turns above them: the Jones matrix is the
// projection of the sky's axes on the dipoles, times the ground plane's and the tile's pattern.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "libcore/aterms/part.h"
#include "libcore/aterms/sky.h"
#include "libcore/base/constants.h"
#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/base/units.h"
#include "libcore/fits/metafits.h"
#include "libcore/sky/beams.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

using Complex = std::complex<double>;
using Matrix = std::array<Complex, 4>;
using PatternPair = std::array<MwaDelays, 2>;  // of the X and the Y dipoles
constexpr double kUpdate_s = 60;               // a quarter of a degree of Earth rotation

Matrix product(const Matrix& a, const Matrix& b) {
  return {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
          a[2] * b[1] + a[3] * b[3]};
}

Vec3 dipole_along(const AtermEntry& entry, const std::string& key, double otherwise_deg) {
  double azimuth_rad = otherwise_deg * kRadPerDeg;
  if (entry.has(key))
    azimuth_rad = entry.quantity(key, [](const std::string& text) { return parse_angle(text); });
  return {std::sin(azimuth_rad), std::cos(azimuth_rad), 0};
}

double dipole_height(const AtermEntry& entry, bool is_mwa) {
  if (is_mwa && !entry.has("height")) return kMwaDipoleHeight_m;
  const double height_m =
      entry.quantity("height", [](const std::string& text) { return parse_length(text); });
  if (!(height_m > 0)) throw DataError("{}: a height above 0 is needed", entry.where("height"));
  return height_m;
}

MwaDelays read_delays(const AtermEntry& entry) {
  const std::vector<std::string> words = entry.list("delays");
  if (words.size() != kMwaDipoles)
    throw DataError("{}: {} values: one for each of the {} dipoles is needed", entry.where("delays"),
                    words.size(), kMwaDipoles);
  MwaDelays delays{};
  for (std::size_t i = 0; i < kMwaDipoles; ++i) {
    const auto value = finite_number(words[i]);
    if (!value || *value != std::floor(*value) || *value < 0 || *value > kMwaDeadDipole)
      throw DataError("{}: '{}': an integer from 0 to {} is needed", entry.where("delays"), words[i],
                      kMwaDeadDipole);
    delays[i] = static_cast<int>(*value);
  }
  return delays;
}

class DipolePart final : public AtermPart {
 public:
  DipolePart(const AtermEntry& entry, const ArrayLayout& layout, bool is_mwa)
      : interval_(read_update_interval(entry, kUpdate_s)),
        frame_(*layout.site),
        x_dipole_(dipole_along(entry, "x_azimuth", is_mwa ? 90 : 0)),
        y_dipole_(dipole_along(entry, "y_azimuth", is_mwa ? 0 : 90)),
        height_m_(dipole_height(entry, is_mwa)),
        is_mwa_(is_mwa),
        differential_(entry.flag("differential", false)),
        where_differential_(entry.where("differential")) {
    pattern_of_station_.assign(layout.antennas.size(), 0);
    patterns_.emplace_back();
    if (is_mwa) read_patterns(entry, layout);
  }

  std::int64_t slot_of(double time_mjd_s) const override { return interval_.index(time_mjd_s); }

  void multiply(double time_mjd_s, double freq_hz, const AtermGrid& grid, unsigned n_threads,
                View<std::complex<float>, 4> jones) override {
    const UtcTime time = from_mjd_seconds(interval_.middle(time_mjd_s));
    const std::vector<LocalSky> sky = local_sky(frame_, time, grid);
    const std::size_t n_pixels = sky.size();
    const LocalSky centre = local_sky(frame_, time, {grid.centre, 1, 0, 0}).front();
    Buffer<Complex, 3> beams({patterns_.size(), n_pixels, 4});
    for (std::size_t pattern = 0; pattern < patterns_.size(); ++pattern) {
      const std::array<MwaArrayFactor, 2> tile{MwaArrayFactor(patterns_[pattern][0], freq_hz),
                                               MwaArrayFactor(patterns_[pattern][1], freq_hz)};
      const Matrix first =
          differential_ ? inverse(response(tile, centre, freq_hz)) : Matrix{1.0, 0.0, 0.0, 1.0};
      parallel_for(n_threads, grid.side, [&](std::size_t y, unsigned) {
        for (std::size_t pixel = y * grid.side; pixel < (y + 1) * grid.side; ++pixel) {
          const Matrix beam = product(first, response(tile, sky[pixel], freq_hz));
          std::copy(beam.begin(), beam.end(), &beams(pattern, pixel, 0));
        }
      });
    }
    parallel_for(n_threads, jones.extent(0), [&](std::size_t station, unsigned) {
      const auto beam = beams.view()[pattern_of_station_[station]];
      for (std::size_t pixel = 0; pixel < n_pixels; ++pixel) {
        std::complex<float>* j = jones[station].data() + 4 * pixel;
        const Matrix out = product({j[0], j[1], j[2], j[3]},
                                   {beam(pixel, 0), beam(pixel, 1), beam(pixel, 2), beam(pixel, 3)});
        std::copy(out.begin(), out.end(), j);
      }
    });
  }

  std::vector<std::string> warnings(const AtermGrid&, double) const override { return {}; }

 private:
  void read_patterns(const AtermEntry& entry, const ArrayLayout& layout) {
    if (entry.has("delays") == entry.has("metafits"))
      throw DataError("{}: give either delays or metafits, which say where the tiles point",
                      entry.where("model"));
    if (entry.has("delays")) {
      const MwaDelays delays = read_delays(entry);
      patterns_ = {{delays, delays}};
      return;
    }
    const std::string path = entry.file("metafits");
    const auto tiles = read_metafits_delays(path);
    std::map<PatternPair, std::size_t> known;
    patterns_.clear();
    for (std::size_t station = 0; station < layout.antennas.size(); ++station) {
      const auto tile = tiles.find(layout.antennas[station].name);
      if (tile == tiles.end())
        throw DataError("{}: {} has no tile '{}': give the metafits of this observation, or delays",
                        entry.where("metafits"), path, layout.antennas[station].name);
      const auto [at, is_new] = known.emplace(tile->second, patterns_.size());
      if (is_new) patterns_.push_back(tile->second);
      pattern_of_station_[station] = at->second;
    }
  }

  Matrix response(const std::array<MwaArrayFactor, 2>& tile, const LocalSky& sky, double freq_hz) const {
    const double ground = ground_plane_voltage(sky.direction[2], height_m_, freq_hz);
    if (ground == 0) return {};
    const std::array<double, 4> dipoles = dipole_jones(x_dipole_, y_dipole_, sky.north, sky.east);
    Complex x = ground, y = ground;
    if (is_mwa_) {
      x *= tile[0](sky.direction);
      y *= tile[1](sky.direction);
    }
    return {x * dipoles[0], x * dipoles[1], y * dipoles[2], y * dipoles[3]};
  }

  Matrix inverse(const Matrix& a) const {
    const Complex determinant = a[0] * a[3] - a[1] * a[2];
    double norm = 0;
    for (const Complex& element : a) norm += std::norm(element);
    if (!(std::abs(determinant) > 1e-9 * norm) || norm < 1e-12)
      throw DataError(
          "{}: the beam is zero or sees one polarisation only at the centre of the image: leave "
          "differential out",
          where_differential_);
    return {a[3] / determinant, -a[1] / determinant, -a[2] / determinant, a[0] / determinant};
  }

  UpdateInterval interval_;
  SkyFrame frame_;
  Vec3 x_dipole_, y_dipole_;
  double height_m_;
  bool is_mwa_, differential_;
  std::string where_differential_;
  std::vector<PatternPair> patterns_;            // those that differ
  std::vector<std::size_t> pattern_of_station_;  // [station]
};

}  // namespace

std::unique_ptr<AtermPart> open_aterm_dipoles(const AtermEntry& entry, const ArrayLayout& layout) {
  const bool is_mwa = entry.text("model") == "mwa";
  if (is_mwa)
    entry.allow({"model", "delays", "metafits", "height", "x_azimuth", "y_azimuth", "update_interval",
                 "differential", "usechannelfreq"});
  else
    entry.allow(
        {"model", "height", "x_azimuth", "y_azimuth", "update_interval", "differential", "usechannelfreq"});
  if (!entry.flag("usechannelfreq", true))
    throw DataError("{} = false: the beam is that of each channel's frequency: leave it out",
                    entry.where("usechannelfreq"));
  if (!layout.site)
    throw DataError("{}: the beam of dipoles needs to know where the array is: give a layout with a site",
                    entry.where("model"));
  return std::make_unique<DipolePart>(entry, layout, is_mwa);
}

}  // namespace apsyn
