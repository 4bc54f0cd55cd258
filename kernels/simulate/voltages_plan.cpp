// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <optional>

#include "kernels/simulate/delay_sum.h"
#include "kernels/simulate/quantise.h"
#include "kernels/simulate/voltages.h"
#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/base/units.h"

namespace apsyn::simulate {
namespace {

double farthest_antenna_m(const VoltageSetup& setup) {
  double farthest = 0;
  for (const Vec3& enu : setup.antenna_enu_m) farthest = std::max(farthest, std::sqrt(dot(enu, enu)));
  return farthest;
}

/// The order whose first neglected term stays below kTaylorError, when there is one.
std::optional<unsigned> taylor_order(double max_phase_rad) {
  double term = 1;
  for (unsigned order = 0; order <= kMaxTaylorOrder; ++order) {
    term *= max_phase_rad / (order + 1);
    if (term <= kTaylorError) return order;
  }
  return std::nullopt;
}

}  // namespace

double VoltagePlan::channel_freq_hz(const VoltageSetup& setup, std::size_t chan) const {
  return setup.freq_hz - 0.5 * setup.bandwidth_hz + (static_cast<double>(chan) + 0.5) * sample_rate_hz;
}

VoltagePlan plan_voltages(const VoltageSetup& setup, unsigned n_threads) {
  VoltagePlan plan;
  plan.sample_rate_hz = setup.bandwidth_hz / static_cast<double>(setup.n_chan);
  const double farthest_m = farthest_antenna_m(setup);
  double longest_cable_s = 0;
  for (double delay_s : setup.cable_delay_s) longest_cable_s = std::max(longest_cable_s, std::abs(delay_s));
  const double dispersed_s =
      setup.pulsar ? dispersion_reach_s(*setup.pulsar, plan.channel_freq_hz(setup, 0), plan.sample_rate_hz)
                   : 0;
  const double max_delay_s = farthest_m / kSpeedOfLight_m_s + longest_cable_s + dispersed_s;
  const double max_phase_rate_rad_s = kTwoPi * (setup.freq_hz + 0.5 * setup.bandwidth_hz) * farthest_m /
                                          kSpeedOfLight_m_s * kEarthRotation_rad_s +
                                      setup.ionosphere_rate_rad_s;

  // Long blocks confine the edge effects; the fringe rate of large arrays and narrow channels asks for short
  // ones.
  bool found = false;
  for (std::size_t n_fft = 32768; n_fft >= 2048 && !found; n_fft /= 2) {
    const std::size_t guard =
        n_fft / 16 + 2 * static_cast<std::size_t>(std::ceil(max_delay_s * plan.sample_rate_hz / 2));
    if (4 * guard > n_fft) continue;
    const std::size_t hop = n_fft - 2 * guard;
    const auto order =
        taylor_order(max_phase_rate_rad_s * 0.5 * static_cast<double>(hop) / plan.sample_rate_hz);
    if (!order) continue;
    plan.n_fft = n_fft, plan.guard = guard, plan.hop = hop, plan.order = *order;
    found = true;
  }
  if (!found && dispersed_s > farthest_m / kSpeedOfLight_m_s)
    throw UsageError(
        "--pulsar: dispersion spreads a channel of {} over {}: take more --channels, or a smaller DM",
        format_frequency(plan.sample_rate_hz), format_duration(2 * dispersed_s));
  if (!found)
    throw UsageError(
        "antennas up to {:.0f} m from the site, channels of {}: no block length follows the delays to "
        "{} rad: use a smaller array or another number of channels",
        farthest_m, format_frequency(plan.sample_rate_hz), kTaylorError);

  double power_jy = setup.sefd_jy;
  for (std::size_t s = 0; s < setup.emitters.size(); ++s)
    power_jy += (setup.received.empty() ? 1 : setup.received[s]) * setup.emitters[s].fraction *
                flux_at(setup.sky.components[setup.emitters[s].component], setup.freq_hz)[0];
  if (!(power_jy > 0)) throw UsageError("neither sky nor receiver noise: give --sky, --noise or both");
  plan.step = setup.n_bit == 32 ? 1.0 : std::sqrt(0.5 * power_jy) / optimum_rms_steps(setup.n_bit);
  plan.scale = plan.step / correlation_gain(setup.n_bit);

  const std::size_t n_inputs = setup.n_chan * setup.antenna_enu_m.size() * 2;
  plan.time_bytes = n_inputs * bytes_per_sample(setup.n_bit);
  const std::size_t per_thread = (2 * (plan.order + 1) * 2 + 3) * plan.n_fft * 8;
  std::uint64_t blocks = std::uint64_t{setup.blocks_in_flight} * plan.hop;
  if (setup.n_samples >= 0) blocks = std::min(blocks, static_cast<std::uint64_t>(setup.n_samples));
  plan.memory_bytes = (plan.hop + blocks) * plan.time_bytes + setup.emitters.size() * 4 * plan.n_fft * 4ull +
                      n_threads * static_cast<std::uint64_t>(per_thread);
  return plan;
}

}  // namespace apsyn::simulate
