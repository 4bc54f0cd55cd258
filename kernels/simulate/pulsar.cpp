// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/simulate/pulsar.h"

#include <cmath>

#include "libcore/base/constants.h"

namespace apsyn::simulate {

double dispersion_reach_s(const PulsarSignal& pulsar, double lowest_channel_hz, double channel_width_hz) {
  const double low_hz = lowest_channel_hz - 0.5 * channel_width_hz;
  return kDispersion_s_hz2 * std::abs(pulsar.dm_pc_cm3) *
         (1 / (low_hz * low_hz) - 1 / (lowest_channel_hz * lowest_channel_hz));
}

void pulse_envelope(const PulsarSignal& pulsar, double channel_hz, double sample_s, std::int64_t first,
                    std::span<float> envelope) {
  const double four_ln2 = 4 * std::log(2.0);
  const double height = 1 / (pulsar.duty * std::sqrt(kPi / four_ln2));
  const double delay_s = kDispersion_s_hz2 * pulsar.dm_pc_cm3 / (channel_hz * channel_hz);
  // pulses beyond are below 1e-12 of the peak
  const int reach = static_cast<int>(std::ceil(3.2 * pulsar.duty));
  for (std::size_t i = 0; i < envelope.size(); ++i) {
    const double t_s = static_cast<double>(first + static_cast<std::int64_t>(i)) * sample_s - delay_s;
    const double turns = t_s / pulsar.period_s, x = turns - std::round(turns);
    double g = 0;
    for (int m = -reach; m <= reach; ++m) {
      const double y = (x - m) / pulsar.duty;
      if (std::abs(y) < 3.2) g += std::exp(-four_ln2 * y * y);
    }
    envelope[i] = static_cast<float>(std::sqrt(g * height));
  }
}

std::complex<double> dispersion_factor(const PulsarSignal& pulsar, double channel_hz, double f_hz) {
  const double turns =
      kDispersion_s_hz2 * pulsar.dm_pc_cm3 * f_hz * f_hz / (channel_hz * channel_hz * (channel_hz + f_hz));
  return std::polar(1.0, kTwoPi * (turns - std::round(turns)));
}

}  // namespace apsyn::simulate
