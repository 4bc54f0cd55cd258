// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/simulate/sky_over_site.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/simulate/emitters.h"
#include "libcore/array/array_layout.h"
#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/base/time.h"
#include "libcore/base/units.h"
#include "libcore/base/view.h"
#include "libcore/sky/ionosphere_screen.h"
#include "libcore/sky/sky_model.h"

namespace apsyn {

std::vector<Vec3> emitter_directions(const SkyFrame& frame, const UtcTime& time,
                                     const std::vector<simulate::Emitter>& emitters) {
  std::vector<Vec3> directions;
  for (const simulate::Emitter& emitter : emitters)
    directions.push_back(frame.enu_from_direction(time, emitter.direction));
  return directions;
}

Buffer<double, 2> tec_along_rays(const IonosphereScreen& screen, std::size_t step,
                                 const std::vector<Antenna>& antennas, const std::vector<Vec3>& directions) {
  Buffer<double, 2> tec_tecu({directions.size(), antennas.size()});
  for (std::size_t s = 0; s < directions.size(); ++s)
    for (std::size_t ant = 0; ant < antennas.size(); ++ant)
      tec_tecu(s, ant) = directions[s][2] > 0 ? screen.tec(antennas[ant].enu_m, directions[s], step)
                                              : screen.extended_tec(antennas[ant].enu_m, directions[s], step);
  return tec_tecu;
}

UtcTime middle_of_block(const UtcTime& start, double sample_s, std::int64_t block, std::int64_t hop,
                        std::int64_t n_samples) {
  const std::int64_t half_samples = std::min((2 * block + 1) * hop, 2 * n_samples);
  return sample_time(start, half_samples, 0.5 * sample_s);
}

double ionosphere_rate_rad_s(const SkyFrame& frame, const Scene& scene,
                             const std::vector<simulate::Emitter>& emitters, double duration_s,
                             double lowest_hz) {
  constexpr int kInstants = 16;
  double fastest_tecu = 0;
  for (int k = 0; k <= kInstants; ++k) {
    const UtcTime time = sample_time(scene.start, k, duration_s / kInstants);
    const std::size_t step = scene.ionosphere->step_of(time.mjd_seconds());
    const auto tec_at = [&](const UtcTime& at) {
      return tec_along_rays(*scene.ionosphere, step, scene.layout.antennas,
                            emitter_directions(frame, at, emitters));
    };
    const auto now = tec_at(time), later = tec_at(sample_time(time, 1, 1));
    for (std::size_t i = 0; i < now.size(); ++i)
      fastest_tecu = std::max(fastest_tecu, std::abs(later.data()[i] - now.data()[i]));
  }
  return 2 * std::abs(ionosphere_phase_rad(fastest_tecu, lowest_hz));
}

simulate::SkyRotations sky_rotations(const SkyFrame& frame, const UtcTime& time, const Scene& scene,
                                     const SkyDirection& phase_centre) {
  simulate::SkyRotations rotations;
  rotations.phase_centre = frame.uvw_rotation(time, phase_centre);
  std::vector<Vec3> directions;
  for (const SkyComponent& component : scene.sky.components) {
    rotations.component.push_back(frame.uvw_rotation(time, component.direction));
    directions.push_back(rotations.component.back()[2]);
  }
  if (scene.ionosphere)
    rotations.tec_tecu = tec_along_rays(*scene.ionosphere, scene.ionosphere->step_of(time.mjd_seconds()),
                                        scene.layout.antennas, directions);
  return rotations;
}

std::vector<std::string> describe_sky(const SkyFrame& frame, const UtcTime& time, const SkyModel& sky,
                                      double freq_hz) {
  std::vector<std::string> lines;
  for (const SkyComponent& component : sky.components) {
    const Vec3 enu = frame.enu_from_direction(time, component.direction);
    lines.push_back(
        fmt::format("{}: {:.6g} Jy at {} {}, elevation {:.2f} deg", component.name,
                    flux_at(component, freq_hz)[0], format_right_ascension(component.direction.ra_rad, 2),
                    format_declination(component.direction.dec_rad, 1), std::asin(enu[2]) / kRadPerDeg));
  }
  return lines;
}

void check_horizon(const SkyFrame& frame, const UtcTime& middle, const Scene& scene, double sefd_jy) {
  std::size_t n_below = 0;
  for (const SkyComponent& component : scene.sky.components)
    n_below += frame.enu_from_direction(middle, component.direction)[2] <= 0;
  if (n_below == scene.sky.components.size() && !(sefd_jy > 0))
    throw UsageError(
        "nothing to simulate: no source is above the horizon at {} and there is no receiver noise: give "
        "--sky, --start or --noise",
        format_fits_utc(middle));
  if (n_below > 0)
    log_warning("{} of {} components are below the horizon at mid-observation ({}) and silent", n_below,
                scene.sky.components.size(), format_fits_utc(middle));
}

}  // namespace apsyn
