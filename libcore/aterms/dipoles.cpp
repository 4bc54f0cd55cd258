// SPDX-License-Identifier: GPL-3.0-or-later
// Beams of dipoles that stand on the ground while the sky turns above them: the Jones matrix is the
// projection of the sky's axes on the dipoles, times the ground plane's and the tile's pattern.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "libcore/aterms/beam/mwa_tiles.h"
#include "libcore/aterms/part.h"
#include "libcore/aterms/sky.h"
#include "libcore/base/constants.h"
#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/base/units.h"
#include "libcore/sky/beams.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

using Matrix = std::array<std::complex<double>, 4>;
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

class DipolePart final : public AtermPart {
 public:
  DipolePart(const AtermEntry& entry, const ArrayLayout& layout, const ArrayTables& tables, bool is_mwa)
      : interval_(read_update_interval(entry, kSkyUpdate_s)),
        frame_(*layout.site),
        x_dipole_(dipole_along(entry, "x_azimuth", is_mwa ? 90 : 0)),
        y_dipole_(dipole_along(entry, "y_azimuth", is_mwa ? 0 : 90)),
        height_m_(dipole_height(entry, is_mwa)),
        is_mwa_(is_mwa),
        differential_(entry.flag("differential", false)),
        where_differential_(entry.where("differential")) {
    tiles_.of_station.assign(layout.antennas.size(), 0);
    tiles_.patterns.emplace_back();
    if (!is_mwa) return;
    tables_ = tables;
    tiles_ = read_mwa_tiles(entry, layout, tables);
  }

  std::int64_t slot_of(double time_mjd_s) const override { return interval_.index(time_mjd_s); }

  void multiply(double time_mjd_s, double freq_hz, const AtermGrid& grid, unsigned n_threads,
                View<std::complex<float>, 4> jones) override {
    const UtcTime time = time_of(time_mjd_s);
    multiply_in(local_sky(frame_, time, grid), local_sky(frame_, time, {centre_of(grid), 1, 0, 0}).front(),
                freq_hz, n_threads, {jones.data(), {jones.extent(0), grid.side * grid.side, 4}});
  }

  void multiply_at(double time_mjd_s, double freq_hz, const SkyDirection& centre,
                   std::span<const SkyDirection> directions, unsigned n_threads,
                   View<std::complex<float>, 3> jones) override {
    const UtcTime time = time_of(time_mjd_s);
    const double middle_mjd_s = interval_.middle(time_mjd_s);
    const auto& there = centre_.at(middle_mjd_s, {&centre, 1},
                                   [&] { return local_sky(frame_, time, std::span(&centre, 1)); });
    const auto& sky = seen_.at(middle_mjd_s, directions, [&] { return local_sky(frame_, time, directions); });
    multiply_in(sky, there.front(), freq_hz, n_threads, jones);
  }

  std::vector<std::string> warnings(const AtermGrid&, double) const override { return {}; }

 private:
  UtcTime time_of(double time_mjd_s) {
    const UtcTime time = from_mjd_seconds(interval_.middle(time_mjd_s));
    if (!std::exchange(is_checked_, true)) warn_of_no_delays(tiles_, tables_, frame_, time);
    return time;
  }

  /// jones [station][direction][4] := jones J.
  void multiply_in(const std::vector<LocalSky>& sky, const LocalSky& centre, double freq_hz,
                   unsigned n_threads, View<std::complex<float>, 3> jones) const {
    constexpr std::size_t kAtOnce = 64;
    const std::size_t n_pixels = sky.size();
    Buffer<std::complex<double>, 3> beams({tiles_.patterns.size(), n_pixels, 4});
    for (std::size_t pattern = 0; pattern < tiles_.patterns.size(); ++pattern) {
      const std::array<MwaArrayFactor, 2> tile{MwaArrayFactor(tiles_.patterns[pattern][0], freq_hz),
                                               MwaArrayFactor(tiles_.patterns[pattern][1], freq_hz)};
      const Matrix first =
          differential_ ? inverse(response(tile, centre, freq_hz)) : Matrix{1.0, 0.0, 0.0, 1.0};
      parallel_for(n_threads, (n_pixels + kAtOnce - 1) / kAtOnce, [&](std::size_t item, unsigned) {
        for (std::size_t pixel = item * kAtOnce; pixel < std::min(n_pixels, (item + 1) * kAtOnce); ++pixel) {
          const Matrix beam = product(first, response(tile, sky[pixel], freq_hz));
          std::copy(beam.begin(), beam.end(), &beams(pattern, pixel, 0));
        }
      });
    }
    parallel_for(n_threads, jones.extent(0), [&](std::size_t station, unsigned) {
      const auto beam = beams.view()[tiles_.of_station[station]];
      for (std::size_t pixel = 0; pixel < n_pixels; ++pixel) {
        std::complex<float>* j = jones[station].data() + 4 * pixel;
        const Matrix out = product({j[0], j[1], j[2], j[3]},
                                   {beam(pixel, 0), beam(pixel, 1), beam(pixel, 2), beam(pixel, 3)});
        std::copy(out.begin(), out.end(), j);
      }
    });
  }

  Matrix response(const std::array<MwaArrayFactor, 2>& tile, const LocalSky& sky, double freq_hz) const {
    const double ground = ground_plane_voltage(sky.direction[2], height_m_, freq_hz);
    if (ground == 0) return {};
    const std::array<double, 4> dipoles = dipole_jones(x_dipole_, y_dipole_, sky.north, sky.east);
    std::complex<double> x = ground, y = ground;
    if (is_mwa_) {
      x *= tile[0](sky.direction);
      y *= tile[1](sky.direction);
    }
    return {x * dipoles[0], x * dipoles[1], y * dipoles[2], y * dipoles[3]};
  }

  Matrix inverse(const Matrix& a) const {
    const std::complex<double> determinant = a[0] * a[3] - a[1] * a[2];
    double norm = 0;
    for (const std::complex<double>& element : a) norm += std::norm(element);
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
  ArrayTables tables_;
  bool is_checked_ = false;
  KeptDirections<LocalSky> seen_, centre_;
  MwaTiles tiles_;  // of `dipole`: one pattern that does not count
};

}  // namespace

std::unique_ptr<AtermPart> open_aterm_dipoles(const AtermEntry& entry, const ArrayLayout& layout,
                                              const ArrayTables& tables) {
  const std::string model = lower(entry.text("model", "auto"));
  const bool is_mwa = model != "dipole";
  if (model == "auto")  // for the MWA, with the parameters of its other beam
    entry.allow({"model", "delays", "metafits", "data", "update_interval", "differential", "usechannelfreq",
                 "element_response_model", "beam_mode", "beam_normalisation_mode",
                 "frequency_interpolation"});
  else if (is_mwa)
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
  return std::make_unique<DipolePart>(entry, layout, tables, is_mwa);
}

}  // namespace apsyn
