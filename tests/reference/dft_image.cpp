// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/reference/dft_image.h"

#include <cmath>
#include <numbers>
#include <thread>

namespace apsyn::reference {
namespace {

using std::numbers::pi;

/// The phase in turns, reduced before it is multiplied by 2 pi.
std::complex<double> unit(double turns) {
  const double angle = 2 * pi * (turns - std::round(turns));
  return {std::cos(angle), std::sin(angle)};
}

}  // namespace

std::vector<double> dft_image(const std::vector<DftVisibility>& visibilities,
                              const std::vector<DftPixel>& pixels) {
  std::vector<double> image(pixels.size());
  const unsigned n_threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < n_threads; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t p = t; p < pixels.size(); p += n_threads) {
        const double l = pixels[p].l, m = pixels[p].m;
        const double n_1 = -(l * l + m * m) / (1 + std::sqrt(1 - l * l - m * m));
        double sum = 0;
        for (const DftVisibility& vis : visibilities)
          sum += std::real(vis.value * unit(-(vis.u * l + vis.v * m + vis.w * n_1)));
        image[p] = sum;
      }
    });
  for (std::thread& thread : threads) thread.join();
  return image;
}

std::complex<double> dft_visibility(const std::vector<DftSource>& sources, double u, double v, double w) {
  std::complex<double> sum = 0;
  for (const DftSource& source : sources) {
    const double l = source.l, m = source.m;
    const double n_1 = -(l * l + m * m) / (1 + std::sqrt(1 - l * l - m * m));
    sum += source.flux * unit(u * l + v * m + w * n_1);
  }
  return sum;
}

}  // namespace apsyn::reference
