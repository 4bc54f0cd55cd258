// SPDX-License-Identifier: GPL-3.0-or-later
// Dispersion by the interstellar plasma.
#pragma once

namespace apsyn {

/// Delay in seconds at a frequency f_hz of one unit (pc cm^-3) of dispersion measure, times f_hz^2. Pulsar
/// astronomy's convention 1 / 2.41e-4 MHz^2 s (Manchester & Taylor 1972), in which DMs are published, rather
/// than the constants of physics (4.1488e3), which differ by 1.4e-4.
inline constexpr double kDispersionDelay_s_hz2 = 1e12 / 2.41e-4;

/// How much later than at infinite frequency a signal arrives.
inline double dispersion_delay_s(double dm_pc_cm3, double freq_hz) {
  return dm_pc_cm3 * kDispersionDelay_s_hz2 / (freq_hz * freq_hz);
}

}  // namespace apsyn
