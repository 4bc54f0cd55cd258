// SPDX-License-Identifier: GPL-3.0-or-later
// Images that `fft` makes of a recording, and how far they are from the sums of their definition in float64.
#pragma once

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "kernels/epic/fft/fft_cuda.h"
#include "tests/support/epic/recording.h"

namespace apsyn::test {

/// RMS over pixels and planes, and the worst.
struct FftError {
  double rms = 0, worst = 0;  ///< over the RMS power
};

inline FftError error_of(const EpicRecording& recording, const EpicPlan& plan, const EpicImages& images,
                         std::size_t stride) {
  double squares = 0, power = 0, worst = 0, n = 0;
  for (std::size_t i = 0; i < plan.nx * plan.ny; ++i) {
    const std::size_t x = i % plan.nx, y = i / plan.nx;
    const Vec3 unit = epic_direction(plan, recording.geometry, x, y);
    for (std::size_t plane = 0; plane < plan.n_plane(); ++plane)
      BOOST_TEST_REQUIRE(std::isnan(images.planes(0, plane, y, x)) == std::isnan(unit[0]));
    if (std::isnan(unit[0]) || i % stride != 0) continue;
    const auto truth = recording.truth(unit, 0, plan.n_average, plan.autos);
    const auto whole = recording.truth(unit, 0, plan.n_average, true);
    const double wanted[4] = {truth.mean[0][0].real(), truth.mean[1][1].real(), truth.mean[0][1].real(),
                              truth.mean[0][1].imag()};
    for (std::size_t plane = 0; plane < plan.n_plane(); ++plane) {
      const double off = static_cast<double>(images.planes(0, plane, y, x)) - wanted[plane];
      squares += off * off;
      worst = std::max(worst, std::abs(off));
      if (plane >= 2) continue;
      power += std::norm(whole.mean[plane][plane]);
      ++n;
    }
  }
  const double rms_power = std::sqrt(power / n);
  return {std::sqrt(squares / (2 * n)) / rms_power, worst / rms_power};
}

struct Fft {
  std::size_t size = 64;
  double cell = kRadPerDeg * 2;
  std::size_t cells = 7;
  double padding = 1;
  EpicW w = EpicW::kernel;
  EpicKernel kernel = EpicKernel::kaiser_bessel;
  bool autos = false;

  EpicPlan plan(const EpicRecording& recording) const {
    EpicPlan plan = recording.plan();
    plan.nx = plan.ny = size;
    plan.cell = cell;
    plan.kernel_cells = cells;
    plan.padding = padding;
    plan.w = w;
    plan.kernel = kernel;
    plan.autos = autos;
    plan.n_average = plan.n_chan;
    plan.n_threads = 2;
    return plan;
  }
};

/// In a plane, with gains and delays.
inline EpicCase flat_array() {
  EpicCase c;
  c.enu_m = random_array(30, 45, 0, 0, 5);
  c.n_spectra = 70;
  c.gains = c.delays = true;
  return c;
}

}  // namespace apsyn::test
