// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/simulate/gain_track.h"

#include <algorithm>

namespace apsyn::simulate {

std::complex<double> GainTrack::at(double seconds) const {
  if (time_s.empty()) return 1;
  const auto next = std::upper_bound(time_s.begin(), time_s.end(), seconds);
  const auto after = static_cast<std::size_t>(next - time_s.begin());
  if (after == 0) return std::polar(amplitude.front(), phase_rad.front());
  if (after == time_s.size()) return std::polar(amplitude.back(), phase_rad.back());
  const double share = (seconds - time_s[after - 1]) / (time_s[after] - time_s[after - 1]);
  const auto between = [&](const std::vector<double>& values) {
    return values[after - 1] + share * (values[after] - values[after - 1]);
  };
  return std::polar(between(amplitude), between(phase_rad));
}

void apply_gain(const GainTrack& track, std::int64_t first, double sample_s,
                std::span<std::complex<float>> samples) {
  if (track.time_s.empty()) return;
  constexpr auto kPiece = static_cast<std::int64_t>(kGainPiece);
  const auto gain_at = [&](std::int64_t sample) { return track.at(static_cast<double>(sample) * sample_s); };
  for (std::size_t n = 0; n < samples.size();) {
    const std::int64_t sample = first + static_cast<std::int64_t>(n), begin = sample / kPiece * kPiece;
    const std::complex<double> at_begin = gain_at(begin),
                               step = (gain_at(begin + kPiece) - at_begin) / static_cast<double>(kPiece);
    const std::size_t left = std::min(samples.size() - n, static_cast<std::size_t>(begin + kPiece - sample));
    for (std::size_t i = 0; i < left; ++i, ++n) {
      const std::complex<float> g(at_begin +
                                  step * static_cast<double>(sample - begin + static_cast<std::int64_t>(i)));
      const float re = samples[n].real(), im = samples[n].imag();
      samples[n] = {re * g.real() - im * g.imag(), re * g.imag() + im * g.real()};
    }
  }
}

}  // namespace apsyn::simulate
