// SPDX-License-Identifier: GPL-3.0-or-later
// Where the sky model stands over the array during the simulation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/simulate/emitters.h"
#include "kernels/simulate/visibilities.h"
#include "kernels/simulate/voltages.h"
#include "libcore/array/array_layout.h"
#include "libcore/base/time.h"
#include "libcore/base/units.h"
#include "libcore/base/view.h"
#include "libcore/measures/coordinates.h"
#include "libcore/sky/ionosphere_screen.h"
#include "libcore/sky/sky_model.h"
#include "tools/simulate/options.h"

namespace apsyn {

std::vector<Vec3> emitter_directions(const SkyFrame& frame, const UtcTime& time,
                                     const std::vector<simulate::Emitter>& emitters);

/// TECU along the ray from each antenna to each direction, [direction][ant]; directions below the horizon
/// have what is at the horizon. Throws as IonosphereScreen does.
Buffer<double, 2> tec_along_rays(const IonosphereScreen& screen, std::size_t step,
                                 const std::vector<Antenna>& antennas, const std::vector<Vec3>& directions);

/// When the one screen holds that a block of `hop` samples of a recording of `n_samples` sees: at its middle,
/// or at the recording's end when that is before.
UtcTime middle_of_block(const UtcTime& start, double sample_s, std::int64_t block, std::int64_t hop,
                        std::int64_t n_samples);

/// Twice the fastest change of an ionospheric phase that is met at some instants of the observation, for the
/// plan of voltages. Throws as IonosphereScreen does.
double ionosphere_rate_rad_s(const SkyFrame& frame, const Scene& scene,
                             const std::vector<simulate::Emitter>& emitters, double duration_s,
                             double lowest_hz);

simulate::SkyRotations sky_rotations(const SkyFrame& frame, const UtcTime& time, const Scene& scene,
                                     const SkyDirection& phase_centre);

/// One line per component: flux, position and elevation at `time`.
std::vector<std::string> describe_sky(const SkyFrame& frame, const UtcTime& time, const SkyModel& sky,
                                      double freq_hz);

/// Warns of components that stand below the horizon at mid-observation; UsageError when nothing is left to
/// simulate.
void check_horizon(const SkyFrame& frame, const UtcTime& middle, const Scene& scene, double sefd_jy);

}  // namespace apsyn
