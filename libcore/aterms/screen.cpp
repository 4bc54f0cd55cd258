// SPDX-License-Identifier: GPL-3.0-or-later
// The thin ionosphere of libcore/sky/ionosphere_screen.h: every station sees a direction through its own
// point of the layer. J = exp(i phase), less the phase of the mean TEC over the stations in that direction:
// V_pq has J_p conj(J_q), where what all stations share cancels, and without it the screens are much
// smoother.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "libcore/aterms/part.h"
#include "libcore/aterms/sampling.h"
#include "libcore/aterms/sky.h"
#include "libcore/base/error.h"
#include "libcore/formats/fits/ionosphere.h"
#include "libcore/sky/ionosphere_screen.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

class ScreenPart final : public AtermPart {
 public:
  ScreenPart(const AtermEntry& entry, const std::string& path, const IonosphereGrid& grid,
             const ArrayLayout& layout)
      : name_(entry.name()),
        path_(path),
        interval_(read_update_interval(entry, kSkyUpdate_s)),
        frame_(*layout.site),
        screen_(grid, path),
        first_mjd_s_(grid.time_mjd_s),
        last_mjd_s_(grid.time_mjd_s + grid.step_s * static_cast<double>(screen_.n_steps() - 1)) {
    for (const Antenna& antenna : layout.antennas) enu_m_.push_back(antenna.enu_m);
  }

  void check(double time_mjd_s) const override { screen_.step_of(time_mjd_s); }

  std::int64_t slot_of(double time_mjd_s) const override {
    return interval_.index(time_mjd_s) + static_cast<std::int64_t>(step(time_mjd_s));
  }

  void multiply(double time_mjd_s, double freq_hz, const AtermGrid& grid, unsigned n_threads,
                View<std::complex<float>, 4> jones) override {
    update(time_mjd_s, grid, n_threads);
    const double phase_per_tec = ionosphere_phase_rad(1, freq_hz);
    parallel_for(n_threads, enu_m_.size(), [&](std::size_t station, unsigned) {
      const auto tec = tec_tecu_.view()[station];
      for (std::size_t pixel = 0; pixel < tec.size(); ++pixel) {
        const double phase_rad = phase_per_tec * tec[pixel];
        const std::complex<float> phasor(static_cast<float>(std::cos(phase_rad)),
                                         static_cast<float>(std::sin(phase_rad)));
        for (std::size_t i = 0; i < 4; ++i) jones[station].data()[4 * pixel + i] *= phasor;
      }
    });
  }

  /// Between the first station and the one farthest from it, with the centre of the grid at the zenith.
  std::vector<std::string> warnings(const AtermGrid& grid, double freq_hz) const override {
    const auto distance = [&](const Vec3& a) { return dot(a - enu_m_[0], a - enu_m_[0]); };
    const Vec3 far = *std::max_element(enu_m_.begin(), enu_m_.end(), [&](const Vec3& a, const Vec3& b) {
      return distance(a) < distance(b);
    });
    const AtermGrid fine = halved(grid);
    Buffer<double, 2> phase_rad({fine.side, fine.side});
    for (std::size_t y = 0; y < fine.side; ++y)
      for (std::size_t x = 0; x < fine.side; ++x) {
        const double l = fine.l(x), m = fine.m(y);
        const Vec3 direction{l, m, std::sqrt(std::max(0.0, 1 - l * l - m * m))};
        phase_rad(y, x) = ionosphere_phase_rad(
            screen_.extended_tec(far, direction, 0) - screen_.extended_tec(enu_m_[0], direction, 0), freq_hz);
      }
    const double error_rad = half_way_error(grid, phase_rad);
    if (!(error_rad > kSampling_rad)) return {};
    return {sampling_warning(name_, path_, grid, error_rad, freq_hz)};
  }

 private:
  std::size_t step(double time_mjd_s) const {
    return screen_.step_of(std::clamp(time_mjd_s, first_mjd_s_, last_mjd_s_));
  }

  void update(double time_mjd_s, const AtermGrid& grid, unsigned n_threads) {
    const double middle_mjd_s = interval_.middle(time_mjd_s);
    const std::size_t screen_step = step(time_mjd_s);
    if (kept_mjd_s_ == middle_mjd_s && kept_step_ == screen_step && kept_grid_ == grid) return;
    const auto sky = local_sky(frame_, from_mjd_seconds(middle_mjd_s), grid);
    tec_tecu_.resize({enu_m_.size(), sky.size()});
    parallel_for(n_threads, enu_m_.size(), [&](std::size_t station, unsigned) {
      for (std::size_t pixel = 0; pixel < sky.size(); ++pixel)
        tec_tecu_(station, pixel) = screen_.extended_tec(enu_m_[station], sky[pixel].direction, screen_step);
    });
    std::vector<double> mean(sky.size(), 0.0);
    const auto n_stations = static_cast<double>(enu_m_.size());
    for (std::size_t station = 0; station < enu_m_.size(); ++station)
      for (std::size_t pixel = 0; pixel < sky.size(); ++pixel)
        mean[pixel] += tec_tecu_(station, pixel) / n_stations;
    for (std::size_t station = 0; station < enu_m_.size(); ++station)
      for (std::size_t pixel = 0; pixel < sky.size(); ++pixel) tec_tecu_(station, pixel) -= mean[pixel];
    kept_mjd_s_ = middle_mjd_s;
    kept_step_ = screen_step;
    kept_grid_ = grid;
  }

  std::string name_, path_;
  UpdateInterval interval_;
  SkyFrame frame_;
  IonosphereScreen screen_;
  double first_mjd_s_, last_mjd_s_;  // middles of the first and the last step
  std::vector<Vec3> enu_m_;
  // What neighbouring calls share.
  double kept_mjd_s_ = 0;
  std::size_t kept_step_ = 0;
  AtermGrid kept_grid_;
  Buffer<double, 2> tec_tecu_;  // [station][pixel], without the mean over the stations
};

}  // namespace

std::unique_ptr<AtermPart> open_aterm_screen(const AtermEntry& entry, const ArrayLayout& layout) {
  entry.allow({"images", "update_interval"});
  const std::vector<std::string> paths = entry.files("images");
  if (paths.size() != 1)
    throw DataError("{}: {} files: one is needed, with all its times", entry.where("images"), paths.size());
  if (!layout.site)
    throw DataError("{}: the screen needs to know where the array is: give a layout with a site",
                    entry.where("images"));
  return std::make_unique<ScreenPart>(entry, paths.front(), read_ionosphere(paths.front()), layout);
}

}  // namespace apsyn
