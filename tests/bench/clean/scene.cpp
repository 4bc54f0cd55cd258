// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/clean/scene.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <random>
#include <vector>

#include "kernels/common/math/fft.h"

namespace apsyn::bench {
namespace {

using Grid = Buffer<std::complex<float>, 2>;

/// Weights of 1 where a baseline passes, in both halves; FFT order.
std::vector<std::uint8_t> sample_uv(std::size_t n_grid, double stretch) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<std::array<double, 2>> antennas;
  while (antennas.size() < 64) {
    const double x = uniform(random), y = uniform(random), r = std::hypot(x, y);
    // Denser in the middle, as arrays are.
    if (r < 1) antennas.push_back({x * std::pow(r, 0.7), y * std::pow(r, 0.7)});
  }
  // The longest baselines have 0.25 cycles per pixel.
  const double scale = 0.125 * static_cast<double>(n_grid) * stretch;
  std::vector<std::uint8_t> sampled(n_grid * n_grid);
  const auto n = static_cast<long>(n_grid);
  for (std::size_t i = 0; i < antennas.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const double east = antennas[i][0] - antennas[j][0], north = antennas[i][1] - antennas[j][1];
      for (int step = 0; step < 720; ++step) {
        const double angle = 3.14159265 * (step - 360) / 720, c = std::cos(angle), s = std::sin(angle);
        const long u = std::lround(scale * (c * east - 0.5 * s * north)),
                   v = std::lround(scale * (s * east + 0.7 * c * north));
        for (const int sign : {1, -1})
          sampled[static_cast<std::size_t>((sign * v + n) % n * n + (sign * u + n) % n)] = 1;
      }
    }
  return sampled;
}

void crop(const Grid& from, float scale, View<float, 2> to) {
  const std::size_t n = from.extent(0), skip_y = n / 2 - to.extent(0) / 2, skip_x = n / 2 - to.extent(1) / 2;
  for (std::size_t y = 0; y < to.extent(0); ++y)
    for (std::size_t x = 0; x < to.extent(1); ++x)
      to(y, x) = scale * from((skip_y + y + n / 2) % n, (skip_x + x + n / 2) % n).real();
}

/// The sky with its middle at (0, 0), modulo the grid.
Grid make_sky(const SceneSize& size, std::size_t n_grid) {
  Grid sky({n_grid, n_grid});
  std::mt19937_64 random(9);
  std::uniform_int_distribution<long> place(-static_cast<long>(size.n) * 9 / 20,
                                            static_cast<long>(size.n) * 9 / 20);
  const auto n = static_cast<long>(n_grid);
  for (std::size_t i = 0; i < size.n_source; ++i) {
    double flux = std::pow(1 + static_cast<double>(i), -0.7);
    const long y = place(random), x = place(random);
    double sigma = i % 10 == 5 ? 2 + static_cast<double>(i % 7) * 2 : 0;
    if (size.wide) {
      sigma = i % 2 == 0 ? 4 << (i / 2 % 3) : 0;
      flux *= 1 + sigma * sigma / 3;  // a beam of 4 pixels has a sigma of 1.7
    }
    const long reach = static_cast<long>(4 * sigma);
    double sum = 0;
    for (int pass = 0; pass < 2; ++pass)
      for (long dy = -reach; dy <= reach; ++dy)
        for (long dx = -reach; dx <= reach; ++dx) {
          const double value =
              sigma == 0 ? 1 : std::exp(-0.5 * static_cast<double>(dx * dx + dy * dy) / (sigma * sigma));
          if (pass == 0)
            sum += value;
          else
            sky((y + dy + n) % n, (x + dx + n) % n) += static_cast<float>(flux * value / sum);
        }
  }
  return sky;
}

}  // namespace

CleanScene make_clean_scene(const SceneSize& size) {
  const std::size_t n_grid = std::max(2 * size.n, size.psf_n);
  const ComplexFft<float> forward(std::array{n_grid, n_grid}, 1, FftSign::minus),
      backward(std::array{n_grid, n_grid}, 1, FftSign::plus);
  CleanScene scene{Buffer<float, 4>({size.n_group, 1, size.n, size.n}),
                   Buffer<float, 4>({size.n_group, 1, size.psf_n, size.psf_n})};
  Grid sky = make_sky(size, n_grid);
  for (const auto& pixel : sky) scene.flux_jy += static_cast<double>(pixel.real());
  forward.execute(sky.data());
  std::mt19937_64 random(3);
  for (std::size_t g = 0; g < size.n_group; ++g) {
    const auto sampled =
        sample_uv(n_grid, 1 + 0.1 * static_cast<double>(g) / static_cast<double>(size.n_group));
    const auto n_sampled = static_cast<float>(std::count(sampled.begin(), sampled.end(), 1));
    Grid work({n_grid, n_grid});
    for (std::size_t i = 0; i < work.size(); ++i) work.data()[i] = sampled[i];
    backward.execute(work.data());
    crop(work, 1 / n_sampled, scene.psf.view()[g][0]);
    std::normal_distribution<float> noise(0, static_cast<float>(size.noise_jy) * std::sqrt(n_sampled));
    for (std::size_t i = 0; i < work.size(); ++i)
      work.data()[i] = sampled[i] == 0 ? std::complex<float>{}
                                       : sky.data()[i] + std::complex<float>(noise(random), noise(random));
    backward.execute(work.data());
    crop(work, 1 / n_sampled, scene.dirty.view()[g][0]);
  }
  return scene;
}

}  // namespace apsyn::bench
