// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/reference/synthetic_array.h"

#include <cmath>
#include <complex>
#include <random>

namespace apsyn::reference {
namespace {
constexpr double kTurn = 6.283185307179586476925286766559;
}

std::vector<UvSample> make_coverage(std::size_t n_baselines, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform;
  std::vector<UvSample> samples;
  for (std::size_t i = 0; i < n_baselines; ++i) {
    const double length = 0.15 * std::pow(uniform(random), 0.75), start = kTurn * uniform(random);
    for (int step = 0; step < 12; ++step) {
      const double angle = start + kTurn * step / 24;
      samples.push_back({length * std::cos(angle), 0.8 * length * std::sin(angle)});
    }
  }
  return samples;
}

std::vector<double> dirty_image(const std::vector<UvSample>& coverage,
                                const std::vector<PointSource>& sources, std::size_t nx, std::size_t ny) {
  std::vector<double> image(nx * ny, 0.0);
  std::vector<std::complex<double>> along_x(nx), along_y(ny);
  for (const UvSample& uv : coverage) {
    std::complex<double> visibility = 0;
    for (const PointSource& source : sources)
      visibility += source.flux * std::polar(1.0, -kTurn * (uv.u * source.x + uv.v * source.y));
    visibility /= static_cast<double>(coverage.size());
    for (std::size_t x = 0; x < nx; ++x) along_x[x] = std::polar(1.0, kTurn * uv.u * static_cast<double>(x));
    for (std::size_t y = 0; y < ny; ++y)
      along_y[y] = visibility * std::polar(1.0, kTurn * uv.v * static_cast<double>(y));
    for (std::size_t y = 0; y < ny; ++y)
      for (std::size_t x = 0; x < nx; ++x)
        image[y * nx + x] += along_y[y].real() * along_x[x].real() - along_y[y].imag() * along_x[x].imag();
  }
  return image;
}

}  // namespace apsyn::reference
