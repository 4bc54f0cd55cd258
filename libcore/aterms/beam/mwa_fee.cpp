// SPDX-License-Identifier: GPL-3.0-or-later
// The MWA's tiles by their embedded elements.
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "libcore/aterms/beam/mwa_tiles.h"
#include "libcore/aterms/beam/telescope.h"
#include "libcore/aterms/sky.h"
#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/beams/mwa_fee.h"
#include "libcore/formats/beam_files/beam_files.h"
#include "libcore/formats/ms/station_tables.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

constexpr const char* kFile = "mwa_full_embedded_element_pattern.h5";

class MwaFeePart final : public AtermPart {
 public:
  MwaFeePart(const AtermEntry& entry, const ArrayLayout& layout, const ArrayTables& tables,
             std::shared_ptr<const MwaFeeSource> source)
      : interval_(read_update_interval(entry, kSkyUpdate_s)),
        site_(*layout.site),
        frame_(site_),
        tables_(tables),
        tiles_(read_mwa_tiles(entry, layout, tables)),
        source_(std::move(source)),
        is_differential_(entry.flag("differential", false)) {}

  std::int64_t slot_of(double time_mjd_s) const override { return interval_.index(time_mjd_s); }

  void multiply(double time_mjd_s, double freq_hz, const AtermGrid& grid, unsigned n_threads,
                View<std::complex<float>, 4> jones) override {
    choose_frequency(freq_hz);
    const StationSky sky = sky_at(time_mjd_s);
    const Buffer<SkyVector, 2> pixels = sky.on_grid(grid);
    multiply_in({pixels.data(), pixels.size()}, sky.at(centre_of(grid)), n_threads,
                {jones.data(), {jones.extent(0), pixels.size(), 4}});
  }

  void multiply_at(double time_mjd_s, double freq_hz, const SkyDirection& centre,
                   std::span<const SkyDirection> directions, unsigned n_threads,
                   View<std::complex<float>, 3> jones) override {
    choose_frequency(freq_hz);
    const double middle_mjd_s = interval_.middle(time_mjd_s);
    const auto see = [&](std::span<const SkyDirection> from) {
      const StationSky sky = sky_at(time_mjd_s);
      std::vector<SkyVector> seen;
      for (const SkyDirection& direction : from) seen.push_back(sky.at(direction));
      return seen;
    };
    const std::span<const SkyDirection> middle(&centre, 1);
    const auto& there = centre_.at(middle_mjd_s, middle, [&] { return see(middle); });
    const auto& pixels = seen_.at(middle_mjd_s, directions, [&] { return see(directions); });
    multiply_in(pixels, there.front(), n_threads, jones);
  }

  std::vector<std::string> warnings(const AtermGrid&, double) const override { return {}; }

 private:
  StationSky sky_at(double time_mjd_s) {
    const UtcTime time = from_mjd_seconds(interval_.middle(time_mjd_s));
    if (!std::exchange(is_checked_, true)) warn_of_no_delays(tiles_, tables_, frame_, time);
    return StationSky(frame_, site_, time);
  }

  /// jones [station][direction][4] := jones J.
  void multiply_in(std::span<const SkyVector> pixels, const SkyVector& centre, unsigned n_threads,
                   View<std::complex<float>, 3> jones) const {
    constexpr std::size_t kAtOnce = 64;
    const Mat3 enu = enu_rotation(site_);
    const auto local = [&](const SkyVector& there) {
      return SkyVector{apsyn::multiply(enu, there.direction), apsyn::multiply(enu, there.north)};
    };
    const std::size_t n_pixels = pixels.size();
    Buffer<std::complex<double>, 3> all({beams_.size(), n_pixels, 4});
    for (std::size_t pattern = 0; pattern < beams_.size(); ++pattern) {
      const Jones left =
          is_differential_ ? inverse_or_zero(response(beams_[pattern], local(centre))) : kUnitJones;
      parallel_for(n_threads, (n_pixels + kAtOnce - 1) / kAtOnce, [&](std::size_t item, unsigned) {
        for (std::size_t i = item * kAtOnce; i < std::min(n_pixels, (item + 1) * kAtOnce); ++i) {
          const Jones j = product(left, response(beams_[pattern], local(pixels[i])));
          std::copy(j.begin(), j.end(), &all(pattern, i, 0));
        }
      });
    }
    parallel_for(n_threads, jones.extent(0), [&](std::size_t station, unsigned) {
      const auto beam = all.view()[tiles_.of_station[station]];
      std::complex<float>* to = jones[station].data();
      for (std::size_t i = 0; i < n_pixels; ++i, to += 4) {
        const Jones out =
            product({to[0], to[1], to[2], to[3]}, {beam(i, 0), beam(i, 1), beam(i, 2), beam(i, 3)});
        std::copy(out.begin(), out.end(), to);
      }
    });
  }

  /// Files have a pattern every 1.28 MHz.
  void choose_frequency(double freq_hz) {
    if (freq_hz == wanted_hz_) return;
    const MwaFeeCoefficients coefficients = source_->nearest(freq_hz);
    wanted_hz_ = freq_hz;
    if (coefficients.freq_hz == file_hz_) return;
    file_hz_ = coefficients.freq_hz;
    beams_.clear();
    for (const auto& delays : tiles_.patterns) {
      MwaTile tile;
      tile.delays = delays;
      beams_.emplace_back(coefficients, tile);
    }
  }

  /// East, north, up.
  static Jones response(const MwaFeeBeam& beam, const SkyVector& there) {
    const Vec3& s = there.direction;
    if (s[2] <= 0) return {};
    const double across = std::hypot(s[0], s[1]);
    const double azimuth_rad = across > 0 ? std::atan2(s[0], s[1]) : 0;
    const double sine = std::sin(azimuth_rad), cosine = std::cos(azimuth_rad);
    // e_theta points down; the file's phi component is that along the azimuth, e_a, though phi = pi/2 - az.
    // R = [e_theta . north, e_theta . east; e_a . north, e_a . east], east = north x s.
    const Vec3 e_theta{s[2] * sine, s[2] * cosine, -across}, e_azimuth{cosine, -sine, 0};
    const double a = dot(e_theta, there.north), b = dot(e_azimuth, there.north);
    return product(beam.response(azimuth_rad, std::atan2(across, s[2])), {a, -b, b, a});
  }

  UpdateInterval interval_;
  Site site_;
  SkyFrame frame_;
  ArrayTables tables_;
  KeptDirections<SkyVector> seen_, centre_;
  MwaTiles tiles_;
  bool is_checked_ = false;
  std::shared_ptr<const MwaFeeSource> source_;
  bool is_differential_;
  double wanted_hz_ = 0, file_hz_ = 0;
  std::vector<MwaFeeBeam> beams_;
};

}  // namespace

std::unique_ptr<AtermPart> open_aterm_mwa_fee(const AtermEntry& entry, const ArrayLayout& layout,
                                              const ArrayTables& tables) {
  entry.allow({"model", "delays", "metafits", "data", "update_interval", "differential", "usechannelfreq",
               "element_response_model", "beam_mode", "beam_normalisation_mode", "frequency_interpolation"});
  const auto folders = beam_data_folders(entry.text("data", ""));
  if (!layout.site)
    throw DataError("{}: the beam of tiles needs to know where the array is: give a layout with a site",
                    entry.where("model"));
  std::shared_ptr<const MwaFeeSource> source;
  try {
    source = open_mwa_fee(find_beam_file(kFile, folders));
  } catch (const FailureError& error) {
    if (entry.has("model")) throw;
    log_warning("{}; the analytic beam of ideal dipoles is taken instead (model mwa)", error.what());
    return open_aterm_dipoles(entry, layout, tables);
  }
  return std::make_unique<MwaFeePart>(entry, layout, tables, std::move(source));
}

}  // namespace apsyn
