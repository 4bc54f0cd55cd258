// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/reference/pfb.h"

#include <cmath>

namespace apsyn::reference {

std::complex<double> pfb_spectrum(const std::vector<std::complex<double>>& x, const PfbFilter& filter,
                                  double bin, double phase_turn) {
  const double pi = std::acos(-1.0);
  const double length = static_cast<double>(filter.length), taps = static_cast<double>(filter.n_taps);
  std::complex<double> sum = 0;
  double power = 0;
  for (std::size_t m = 0; m < filter.length * filter.n_taps; ++m) {
    // from -taps / 2 to taps / 2, in the middle of each sample
    const double t = (static_cast<double>(m) + 0.5) / length - taps / 2;
    const double h = (std::abs(t) < 1e-12 ? 1 : std::sin(pi * t) / (pi * t)) *
                     (filter.raised + (1 - filter.raised) * std::cos(2 * pi * t / taps));
    power += h * h;
    sum += h * x[m] * std::polar(1.0, -2 * pi * std::fmod(static_cast<double>(m) * bin / length, 1.0));
  }
  return sum * std::polar(1 / std::sqrt(power), -2 * pi * std::fmod(phase_turn, 1.0));
}

}  // namespace apsyn::reference
