// SPDX-License-Identifier: GPL-3.0-or-later
// Random ionospheric screens: homogeneous Gaussian fields with the spectrum of Kolmogorov's turbulence in a
// thin layer and an outer scale (von Karman), of density in the spatial frequency f [cycles per metre]
//   P(f) = const (|f|^2 + 1 / L^2)^(-11/6),   L the outer scale,
// so that the structure function rises as r^(5/3) up to about L / 2 pi. A screen is the real part of
//   sqrt(2) sum_f sqrt(P(f)) g_f exp(2 pi i f . x)
// over the frequencies of a lattice of period >= 2 sizes and >= 4 L, cut out of it; g_f are independent with
// <|g|^2> = 1, the zero frequency is left out, and the constant gives the wanted variance exactly on average
// over screens. Every step of time has a screen of its own, independent of the others.
// Threads own whole steps; a screen is a function of (seed, number of the step).
#pragma once

#include <cstddef>
#include <cstdint>

#include "libcore/sky/ionosphere_screen.h"

namespace apsyn::simulate {

struct RandomIonosphere {
  double rms_tecu = 0, outer_scale_m = 0;
  double height_m = 0;
  double size_m = 0, spacing_m = 0;  ///< the width from edge to edge (rounded up to spacings); of the points
  double first_mjd_s = 0, step_s = 0;  ///< middle of the first step; length of a step
  std::size_t n_steps = 1;
  std::uint64_t seed = 0;
};

/// Points on a side of the screen (odd: one is above the origin), and of the lattice it is cut from.
struct RandomIonospherePlan {
  std::size_t n_side = 0, n_lattice = 0;
  std::uint64_t memory_bytes = 0;
};

/// UsageError when a value is not positive, or the lattice has more than kMaxLattice points on a side.
RandomIonospherePlan plan_random_ionosphere(const RandomIonosphere& setup, unsigned n_threads);
inline constexpr std::size_t kMaxLattice = 8192;

IonosphereGrid random_ionosphere(const RandomIonosphere& setup, const RandomIonospherePlan& plan,
                                 unsigned n_threads);

}  // namespace apsyn::simulate
