// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/reference/delayed_signal.h"

#include <cmath>
#include <numbers>

namespace apsyn::reference {

using std::numbers::pi;

std::vector<std::complex<double>> delayed_signal(std::span<const std::complex<float>> signal, double rate_hz,
                                                 double centre_hz,
                                                 const std::function<double(std::size_t)>& delay_s,
                                                 std::size_t half_length) {
  std::vector<std::complex<double>> received(signal.size());
  const long half = static_cast<long>(half_length), n_samples = static_cast<long>(signal.size());
  for (long n = 0; n < n_samples; ++n) {
    const double tau_s = delay_s(static_cast<std::size_t>(n));
    const double position = static_cast<double>(n) + tau_s * rate_hz;
    const long nearest = std::lround(position);
    std::complex<double> sum = 0;
    for (long m = std::max(0l, nearest - half); m < std::min(n_samples, nearest + half); ++m) {
      const double x = position - static_cast<double>(m);
      const double taper = std::pow(std::cos(0.5 * pi * x / static_cast<double>(half + 1)), 2);
      const double sinc = std::abs(x) < 1e-12 ? 1.0 : std::sin(pi * x) / (pi * x);
      sum += std::complex<double>(signal[static_cast<std::size_t>(m)]) * sinc * taper;
    }
    received[static_cast<std::size_t>(n)] = sum * std::polar(1.0, 2 * pi * std::fmod(centre_hz * tau_s, 1.0));
  }
  return received;
}

std::vector<std::complex<double>> cross_spectrum(std::span<const std::complex<double>> a,
                                                 std::span<const std::complex<double>> b,
                                                 std::size_t n_chan) {
  std::vector<std::complex<double>> spectrum(n_chan), turn(n_chan);
  for (std::size_t k = 0; k < n_chan; ++k)
    turn[k] = std::polar(1.0, -2 * pi * static_cast<double>(k) / n_chan);
  for (std::size_t first = 0; first + n_chan <= a.size(); first += n_chan / 2) {
    for (std::size_t k = 0; k < n_chan; ++k) {
      std::complex<double> sum_a = 0, sum_b = 0;
      for (std::size_t n = 0; n < n_chan; ++n) {
        const double window = 0.5 - 0.5 * std::cos(2 * pi * (n + 0.5) / n_chan);
        const std::complex<double> factor = window * turn[(n * ((k + n_chan / 2) % n_chan)) % n_chan];
        sum_a += a[first + n] * factor;
        sum_b += b[first + n] * factor;
      }
      spectrum[k] += sum_a * std::conj(sum_b);
    }
  }
  return spectrum;
}

}  // namespace apsyn::reference
