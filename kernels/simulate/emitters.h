// SPDX-License-Identifier: GPL-3.0-or-later
// A sky model as independent point emitters with a polarised Gaussian signal each.
//
// Coherency: the two feeds of an emitter carry E = L g with independent unit noises g = (g_x, g_y) and L L^H
// =
// [[I + Q, U + iV], [U - iV, I - Q]], so that <E_X E_Y*> = U + iV (apsyn-conventions(7)).
//
// A Gaussian component becomes a product of Gauss-Hermite nodes along its two axes. The nodes' visibility is
// sum_k w_k cos(a x_k) where the Gaussian's is exp(-a^2 / 2), a = 2 pi u sigma; each axis gets the fewest
// nodes that keep the difference below kGaussianError on every baseline of the array.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <vector>

#include "libcore/sky/sky_model.h"

namespace apsyn::simulate {

inline constexpr double kGaussianError = 1e-3;       ///< of the component's flux, each axis
inline constexpr std::size_t kMaxGaussianNodes = 9;  ///< per axis

struct Emitter {
  std::size_t component = 0;  ///< index in the sky model
  SkyDirection direction;
  double fraction = 1;  ///< of the component's flux
};

/// Lower triangular: [[xx, 0], [yx, yy]].
struct Mixing {
  double xx = 0, yy = 0;
  std::complex<double> yx = 0;
};

/// Throws DataError (naming the component) for negative or non-finite flux, for more polarised than total
/// flux, and for a Gaussian that the longest baseline resolves so far that kMaxGaussianNodes do not represent
/// it. `longest_baseline_wavelengths` is that at the highest frequency. `source` names the model in errors.
std::vector<Emitter> make_emitters(const SkyModel& sky, double longest_baseline_wavelengths, double freq_hz,
                                   const std::string& source);

/// L of the coherency above, sqrt(Jy).
Mixing mixing_from_stokes(const std::array<double, 4>& stokes_jy);

struct Quadrature {
  std::vector<double> node, weight;  ///< in standard deviations; weights sum to 1
};
/// n-node Gauss-Hermite rule for the unit normal distribution.
Quadrature gauss_hermite(std::size_t n);

}  // namespace apsyn::simulate
