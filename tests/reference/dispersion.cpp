// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/reference/dispersion.h"

#include <algorithm>
#include <cmath>

namespace apsyn::reference {

double Band::delay_samples(double dm, double mhz) const {
  const double f = mhz, top = highest_mhz();
  return dm / 2.41e-4 * (1 / (f * f) - 1 / (top * top)) / sample_s;
}

void add_pulse(const Band& band, const Pulse& pulse, View<double, 2> samples) {
  constexpr int kFrequencies = 16;
  const double width = pulse.width_s / band.sample_s, middle = pulse.time_s / band.sample_s;
  for (std::size_t chan = 0; chan < band.n_chan; ++chan)
    for (int i = 0; i < kFrequencies; ++i) {
      const double at = static_cast<double>(chan) + (i + 0.5) / kFrequencies - 0.5;
      const double begin = middle - width / 2 + band.delay_samples(pulse.dm, band.mhz(at)),
                   end = begin + width;
      for (auto t = static_cast<long>(std::floor(begin)); t < end; ++t) {
        if (t < 0 || t >= static_cast<long>(samples.extent(1))) continue;
        const double left = static_cast<double>(t);
        samples(chan, t) += pulse.height / kFrequencies * (std::min(end, left + 1) - std::max(begin, left));
      }
    }
}

std::vector<double> dedisperse(const Band& band, double dm, View<const double, 2> samples) {
  const std::size_t n_time = samples.extent(1);
  std::vector<double> series(n_time, 0.0);
  for (std::size_t chan = 0; chan < band.n_chan; ++chan) {
    const auto delay =
        static_cast<std::size_t>(std::llround(band.delay_samples(dm, band.mhz(static_cast<double>(chan)))));
    for (std::size_t t = 0; t + delay < n_time; ++t) series[t] += samples(chan, t + delay);
  }
  return series;
}

BoxcarPeak best_boxcar(const std::vector<double>& series, std::size_t longest) {
  BoxcarPeak best{-1e300, 0, 1};
  for (std::size_t width = 1; width <= std::min(longest, series.size()); ++width) {
    double sum = 0;
    for (std::size_t t = 0; t < series.size(); ++t) {
      sum += series[t];
      if (t >= width) sum -= series[t - width];
      if (t + 1 < width) continue;
      const double sn = sum / std::sqrt(static_cast<double>(width));
      if (sn > best.sn) best = {sn, t + 1 - width, width};
    }
  }
  return best;
}

}  // namespace apsyn::reference
