// SPDX-License-Identifier: GPL-3.0-or-later
// The types tec, dldm and diagonal. Where WSClean has a convention it is kept:
//   tec       J = exp(i phase), phase = -8.44797245e9 TEC / nu
//   dldm      a source at (l, m) appears at (l - dl, m - dm): with the station at (u, v, w) metres
//             J = exp(-2 pi i nu/c (u dl + v dm + w dn)), dn = n(l + dl, m + dm) - n(l, m)
//   diagonal  J = diag(XX, YY), the gains of the receptors; of R and L it is turned to X and Y: with g_R, g_L
//             J = S^H diag(g_R, g_L) S, S = [1 i; 1 -i] / sqrt(2), as RR = I + V and RL = Q + iU are S B S^H
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "libcore/aterms/images.h"
#include "libcore/aterms/part.h"
#include "libcore/aterms/sampling.h"
#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/measures/coordinates.h"
#include "libcore/sky/ionosphere_screen.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

using Complex = std::complex<float>;
using Jones = View<Complex, 4>;

constexpr std::size_t kWarningAntennas = 8;  // whose phases to the first are looked at

Complex unit_phasor(double phase_rad) {
  return {static_cast<float>(std::cos(phase_rad)), static_cast<float>(std::sin(phase_rad))};
}

void scale(Complex* jones, Complex first_column, Complex second_column) {
  jones[0] *= first_column;
  jones[1] *= second_column;
  jones[2] *= first_column;
  jones[3] *= second_column;
}

/// jones := jones S^H diag(right, left) S.
void multiply_circular(Complex* jones, Complex right, Complex left) {
  const Complex mean = 0.5f * (right + left), turned = Complex(0, 0.5f) * (right - left);
  for (Complex* row : {jones, jones + 2}) {
    const Complex x = row[0], y = row[1];
    row[0] = x * mean - y * turned;
    row[1] = x * turned + y * mean;
  }
}

class ImagePart : public AtermPart {
 public:
  ImagePart(const AtermEntry& entry, AtermImages::Layout layout, std::size_t n_stations, double interval_s)
      : name_(entry.name()),
        images_(entry, std::move(layout), n_stations),
        interval_(read_update_interval(entry, interval_s)) {}

  std::int64_t slot_of(double time_mjd_s) const override {
    if (interval_.length_s > 0) return interval_.index(time_mjd_s);
    return static_cast<std::int64_t>(images_.step_of(time_mjd_s));
  }

  void check(double time_mjd_s) const override {
    if (warned_ || !images_.lies_outside(time_mjd_s)) return;
    warned_ = true;
    log_warning(
        "{}: {}: data of TIME {:.0f} lie outside of its steps, {:.0f} to {:.0f} s, and take the nearest",
        name_, images_.first_path(), time_mjd_s, images_.first_mjd_s(), images_.last_mjd_s());
  }

  std::vector<std::string> warnings(const AtermGrid& grid, double freq_hz) const override {
    std::vector<std::string> lines;
    if (!images_.covers(grid))
      lines.push_back(fmt::format(
          "{}: {} does not cover the padded field: its outermost pixels are continued to the edges", name_,
          images_.first_path()));
    if (const double lost_rad = lost_phase_rad(images_.lost_rms(grid), freq_hz); lost_rad > kSampling_rad)
      lines.push_back(
          fmt::format("{}: {} is finer than the subgrid's pixels of {}: smoothing takes away {:.2g} rad RMS: "
                      "choose larger subgrids",
                      name_, images_.first_path(), format_angle(std::abs(grid.step_l_rad)), lost_rad));
    return lines;
  }

 protected:
  /// Of the RMS that smoothing takes from each element of the matrix.
  virtual double lost_phase_rad(const std::vector<double>& lost, double freq_hz) const = 0;
  std::size_t step(double time_mjd_s) const { return images_.step_of(interval_.middle(time_mjd_s)); }

  std::string name_;
  AtermImages images_;
  UpdateInterval interval_;

 private:
  mutable bool warned_ = false;  // of data beside the steps
};

class TecPart final : public ImagePart {
 public:
  TecPart(const AtermEntry& entry, const ArrayLayout& layout)
      : ImagePart(entry, {1, true, {0.0}}, layout.antennas.size(), 0) {}

  std::vector<std::string> warnings(const AtermGrid& grid, double freq_hz) const override {
    if (images_.n_antennas() == 1)
      return {
          fmt::format("{}: {} has one screen for all antennas: a phase that all share changes no visibility",
                      name_, images_.first_path())};
    std::vector<std::string> lines = ImagePart::warnings(grid, freq_hz);
    const Buffer<double, 3> tec = images_.half_way(grid, 0, kWarningAntennas);
    double error_rad = 0;
    Buffer<double, 2> phase_rad({tec.extent(1), tec.extent(2)});
    for (std::size_t antenna = 1; antenna < tec.extent(0); ++antenna) {
      for (std::size_t i = 0; i < phase_rad.size(); ++i)
        phase_rad.data()[i] =
            ionosphere_phase_rad(tec.view()[antenna].data()[i] - tec.view()[0].data()[i], freq_hz);
      error_rad = std::max(error_rad, half_way_error(grid, phase_rad));
    }
    if (error_rad > kSampling_rad)
      lines.push_back(sampling_warning(name_, images_.first_path(), grid, error_rad, freq_hz));
    return lines;
  }

  void multiply(double time_mjd_s, double freq_hz, const AtermGrid& grid, unsigned n_threads,
                Jones jones) override {
    const auto tec = images_.on_grid(step(time_mjd_s), freq_hz, grid, n_threads);
    const std::size_t n_pixels = grid.side * grid.side;
    const double phase_per_tec = ionosphere_phase_rad(1, freq_hz);
    Buffer<Complex, 2> phasors({tec.extent(0), n_pixels});
    parallel_for(n_threads, tec.extent(0), [&](std::size_t antenna, unsigned) {
      for (std::size_t pixel = 0; pixel < n_pixels; ++pixel)
        phasors(antenna, pixel) = unit_phasor(phase_per_tec * tec[antenna].data()[pixel]);
    });
    parallel_for(n_threads, jones.extent(0), [&](std::size_t station, unsigned) {
      const auto phasor = phasors.view()[phasors.extent(0) == 1 ? 0 : station];
      for (std::size_t pixel = 0; pixel < n_pixels; ++pixel)
        scale(jones[station].data() + 4 * pixel, phasor[pixel], phasor[pixel]);
    });
  }

 private:
  double lost_phase_rad(const std::vector<double>& lost, double freq_hz) const override {
    return std::abs(ionosphere_phase_rad(lost[0], freq_hz));
  }
};

class DiagonalPart final : public ImagePart {
 public:
  DiagonalPart(const AtermEntry& entry, const ArrayLayout& layout, bool circular)
      : ImagePart(entry, {4, true, {1.0, 0.0, 1.0, 0.0}}, layout.antennas.size(), 0), circular_(circular) {}

  void multiply(double time_mjd_s, double freq_hz, const AtermGrid& grid, unsigned n_threads,
                Jones jones) override {
    const auto gains = images_.on_grid(step(time_mjd_s), freq_hz, grid, n_threads);
    parallel_for(n_threads, jones.extent(0), [&](std::size_t station, unsigned) {
      const auto gain = gains[gains.extent(0) == 1 ? 0 : station];
      for (std::size_t pixel = 0; pixel < grid.side * grid.side; ++pixel) {
        const auto value = [&](std::size_t i) { return static_cast<float>(gain[i].data()[pixel]); };
        const Complex first{value(0), value(1)}, second{value(2), value(3)};
        Complex* matrix = jones[station].data() + 4 * pixel;
        if (circular_)
          multiply_circular(matrix, first, second);
        else
          scale(matrix, first, second);
      }
    });
  }

 private:
  double lost_phase_rad(const std::vector<double>& lost, double) const override {
    return *std::max_element(lost.begin(), lost.end());
  }

  bool circular_;
};

class DldmPart final : public ImagePart {
 public:
  DldmPart(const AtermEntry& entry, const ArrayLayout& layout)
      : ImagePart(entry, {2, false, {0.0, 0.0}}, layout.antennas.size(), 60),
        frame_(*layout.site),
        name_(entry.where("type")) {
    for (const Antenna& antenna : layout.antennas) enu_m_.push_back(antenna.enu_m);
  }

  std::int64_t slot_of(double time_mjd_s) const override {
    return interval_.index(time_mjd_s) + static_cast<std::int64_t>(images_.step_of(time_mjd_s));
  }

  void multiply_at(double, double, const SkyDirection&, std::span<const SkyDirection>, unsigned,
                   View<std::complex<float>, 3>) override {
    throw DataError("{}: dldm moves images, not single sources: predict an image (--model)", name_);
  }

  void multiply(double time_mjd_s, double freq_hz, const AtermGrid& grid, unsigned n_threads,
                Jones jones) override {
    const auto images = images_.on_grid(images_.step_of(time_mjd_s), freq_hz, grid, n_threads);
    const std::size_t n_pixels = grid.side * grid.side;
    std::vector<Vec3> shifts(n_pixels);  // dl, dm, dn
    for (std::size_t y = 0; y < grid.side; ++y)
      for (std::size_t x = 0; x < grid.side; ++x) {
        const double dl = images(0, 0, y, x), dm = images(0, 1, y, x);
        const auto n = [](double l, double m) { return std::sqrt(std::max(0.0, 1 - l * l - m * m)); };
        const double l = grid.l(x), m = grid.m(y);
        shifts[y * grid.side + x] = {dl, dm, n(l + dl, m + dm) - n(l, m)};
      }
    const Mat3 rotation = frame_.uvw_rotation(from_mjd_seconds(interval_.middle(time_mjd_s)), grid.centre);
    const double phase_per_m = -kTwoPi * freq_hz / kSpeedOfLight_m_s;
    parallel_for(n_threads, jones.extent(0), [&](std::size_t station, unsigned) {
      const Vec3 uvw_m = apsyn::multiply(rotation, enu_m_[station]);
      for (std::size_t pixel = 0; pixel < n_pixels; ++pixel) {
        const Complex phasor = unit_phasor(phase_per_m * dot(uvw_m, shifts[pixel]));
        scale(jones[station].data() + 4 * pixel, phasor, phasor);
      }
    });
  }

 private:
  double lost_phase_rad(const std::vector<double>& lost, double freq_hz) const override {
    double reach_m = 0;
    for (const Vec3& enu_m : enu_m_) reach_m = std::max(reach_m, std::sqrt(dot(enu_m, enu_m)));
    return kTwoPi * reach_m * freq_hz / kSpeedOfLight_m_s * std::hypot(lost[0], lost[1]);
  }

  SkyFrame frame_;
  std::string name_;
  std::vector<Vec3> enu_m_;
};

}  // namespace

UpdateInterval read_update_interval(const AtermEntry& entry, double otherwise_s) {
  const double length_s = entry.number("update_interval", otherwise_s);
  if (entry.has("update_interval") && !(length_s >= 1e-3))
    throw DataError("{} = {}: at least 0.001 (seconds) is needed", entry.where("update_interval"), length_s);
  return {length_s};
}

std::unique_ptr<AtermPart> open_aterm_images(const AtermEntry& entry, const ArrayLayout& layout,
                                             bool circular) {
  entry.allow({"images", "window", "update_interval"});
  if (entry.type() == "tec") return std::make_unique<TecPart>(entry, layout);
  if (entry.type() == "diagonal") return std::make_unique<DiagonalPart>(entry, layout, circular);
  if (!layout.site)
    throw DataError("{}: dldm needs to know where the array is: give a layout with a site",
                    entry.where("type"));
  return std::make_unique<DldmPart>(entry, layout);
}

}  // namespace apsyn
