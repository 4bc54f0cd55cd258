// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/channelise/pfb.h"

#include <cmath>

#include "libcore/base/constants.h"

namespace apsyn {

namespace {

double window_at(Window window, double x) {
  switch (window) {
    case Window::hann:
      return 0.5 + 0.5 * std::cos(kTwoPi * x);
    case Window::hamming:
      return 0.54 + 0.46 * std::cos(kTwoPi * x);
    case Window::rect:
      break;
  }
  return 1;
}

}  // namespace

std::vector<double> pfb_coefficients(std::size_t n_sample, const Filterbank& filterbank) {
  const std::size_t span = n_sample * filterbank.n_taps;
  const double middle = (static_cast<double>(span) - 1) / 2;
  std::vector<double> h(span);
  double power = 0;
  for (std::size_t m = 0; m < span; ++m) {
    const double t = (static_cast<double>(m) - middle) / static_cast<double>(n_sample);
    const double sinc = t == 0 ? 1 : std::sin(kPi * t) / (kPi * t);
    h[m] = sinc * window_at(filterbank.window, t / static_cast<double>(filterbank.n_taps));
    power += h[m] * h[m];
  }
  for (double& value : h) value /= std::sqrt(power);
  return h;
}

std::vector<float> pfb_weights(std::size_t n_sample, const Filterbank& filterbank,
                               std::size_t values_per_sample) {
  std::vector<float> weights;
  for (const double value : pfb_coefficients(n_sample, filterbank))
    weights.insert(weights.end(), values_per_sample, static_cast<float>(value));
  return weights;
}

}  // namespace apsyn
