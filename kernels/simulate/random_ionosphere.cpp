// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/simulate/random_ionosphere.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "kernels/common/math/fft.h"
#include "kernels/simulate/noise.h"
#include "libcore/base/error.h"
#include "libcore/system/parallel.h"

namespace apsyn::simulate {
namespace {

using Complex = std::complex<double>;

/// sqrt(P) of every frequency [y][x] in FFT order, sum of P = rms^2.
Buffer<double, 2> amplitudes(const RandomIonosphere& setup, std::size_t n) {
  const double turns_per_bin = 1 / (static_cast<double>(n) * setup.spacing_m);
  const double outer = 1 / (setup.outer_scale_m * setup.outer_scale_m);
  const auto frequency = [&](std::size_t bin) {
    const double k = static_cast<double>(bin);
    return (2 * bin <= n ? k : k - static_cast<double>(n)) * turns_per_bin;
  };
  Buffer<double, 2> amplitude({n, n});
  double sum = 0;
  for (std::size_t y = 0; y < n; ++y) {
    for (std::size_t x = 0; x < n; ++x) {
      if (x == 0 && y == 0) continue;
      const double fx = frequency(x), fy = frequency(y);
      const double power = std::pow(fx * fx + fy * fy + outer, -11.0 / 6);
      sum += power;
      amplitude(y, x) = std::sqrt(power);
    }
  }
  const double scale = setup.rms_tecu / std::sqrt(sum);
  for (double& value : amplitude) value *= scale;
  return amplitude;
}

}  // namespace

RandomIonospherePlan plan_random_ionosphere(const RandomIonosphere& setup, unsigned n_threads) {
  const auto positive = [](const char* what, double value) {
    if (!(value > 0 && std::isfinite(value)))
      throw UsageError("ionosphere: {} {}: must be positive", what, value);
  };
  positive("RMS", setup.rms_tecu);
  positive("outer scale", setup.outer_scale_m);
  positive("height", setup.height_m);
  positive("size", setup.size_m);
  positive("spacing", setup.spacing_m);
  const double half = std::ceil(0.5 * setup.size_m / setup.spacing_m * (1 - 1e-12));
  const double lattice = std::ceil(std::max(2 * (2 * half + 1), 4 * setup.outer_scale_m / setup.spacing_m));
  if (!(lattice <= static_cast<double>(kMaxLattice)))
    throw UsageError(
        "ionosphere: {:.0f} points {:.0f} m apart span twice the size and four outer scales, {} are "
        "supported: choose a larger spacing, a smaller size or a smaller outer scale",
        lattice, setup.spacing_m, kMaxLattice);
  RandomIonospherePlan plan;
  plan.n_side = std::max<std::size_t>(5, 2 * static_cast<std::size_t>(half) + 1);
  plan.n_lattice = fast_fft_length(std::max<std::size_t>(10, static_cast<std::size_t>(lattice)));
  const std::uint64_t cells = plan.n_lattice * plan.n_lattice;
  const std::uint64_t at_once = std::min<std::uint64_t>(n_threads, setup.n_steps);
  plan.memory_bytes = cells * (sizeof(double) + at_once * (sizeof(Complex) + sizeof(std::complex<float>))) +
                      2 * setup.n_steps * plan.n_side * plan.n_side * sizeof(double);
  return plan;
}

IonosphereGrid random_ionosphere(const RandomIonosphere& setup, const RandomIonospherePlan& plan,
                                 unsigned n_threads) {
  const std::size_t n = plan.n_lattice, n_side = plan.n_side;
  IonosphereGrid grid;
  grid.height_m = setup.height_m;
  grid.step_east_m = grid.step_north_m = setup.spacing_m;
  grid.east_m = grid.north_m = -setup.spacing_m * static_cast<double>(n_side / 2);
  grid.time_mjd_s = setup.first_mjd_s;
  grid.step_s = setup.step_s;
  grid.tec_tecu.resize({setup.n_steps, n_side, n_side});

  const Buffer<double, 2> amplitude = amplitudes(setup, n);
  const ComplexFft<double> fft({n, n}, 1, FftSign::plus);
  parallel_for(n_threads, setup.n_steps, [&](std::size_t step, unsigned) {
    std::vector<std::complex<float>> noise(n * n);
    gaussian_noise(setup.seed, {NoiseKind::ionosphere, static_cast<std::uint32_t>(step), 0, 0}, 0, noise);
    Buffer<Complex, 2> lattice({n, n});
    for (std::size_t i = 0; i < noise.size(); ++i)
      lattice.data()[i] = std::sqrt(2.0) * amplitude.data()[i] * Complex(noise[i]);
    fft.execute(lattice.data());
    for (std::size_t y = 0; y < n_side; ++y)
      for (std::size_t x = 0; x < n_side; ++x) grid.tec_tecu(step, y, x) = lattice(y, x).real();
  });
  return grid;
}

}  // namespace apsyn::simulate
