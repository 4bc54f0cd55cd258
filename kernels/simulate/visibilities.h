// SPDX-License-Identifier: GPL-3.0-or-later
// Visibilities of a sky straight from the measurement equation, in float64, at the centre of each channel and
// integration (no smearing over either):
//   V_ij(nu) = sum_s C_s(nu) G_s exp(2 pi i nu / c (r_i - r_j) . (s - s_0)) exp(i (phi_is - phi_js)),
// s_0 the phase centre, C the coherency of the source (XX = I + Q, YY = I - Q, XY = U + iV, YX = U - iV; RR =
// I + V, LL = I - V, RL = Q + iU, LR = Q - iU) and G = exp(-(pi^2 / (4 ln 2)) ((major u')^2 + (minor v')^2))
// for a Gaussian with FWHM major and minor, u' and v' (wavelengths) along its axes in the plane across the
// source's direction. phi_is is what the ionosphere adds to the phase of s at antenna i, of a Gaussian at its
// centre. Seen through A-terms the coherency is that of J_i B J_j^H, B = [I + Q, U + iV; U - iV, I - Q], J of
// the centre of the source. Noise: independent in every product, the radiometer equation sigma(Re) =
// sigma(Im) = SEFD / sqrt(2 dnu dt). Threads own whole baselines.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/base/view.h"
#include "libcore/sky/sky_model.h"
#include "libcore/visibility/visibility.h"

namespace apsyn::simulate {

struct VisibilitySetup {
  std::vector<double> channel_hz;
  double channel_width_hz = 0, integration_s = 0;
  std::vector<Vec3> antenna_enu_m;
  std::vector<Baseline> baselines;
  std::vector<Product> products;  ///< linear or circular, no Stokes
  SkyModel sky;
  double sefd_jy = 0;
  std::uint64_t seed = 0;
};

/// The sky at mid-integration. Rows u, v, w as SkyFrame::uvw_rotation gives them; row w is the unit vector.
struct SkyRotations {
  std::vector<Mat3> component;  ///< towards each component
  Mat3 phase_centre{};
  Buffer<double, 2> tec_tecu;  ///< [component][ant] along the rays; of no size without an ionosphere
  /// A-terms [chan][ant][component][XX XY YX YY]; of no size without. Lent.
  View<const std::complex<float>, 4> jones{};
};

/// Integration `index` (it numbers the noise): data [baseline][chan][product] and uvw_m [baseline][3].
/// Components below the horizon are silent. std::invalid_argument when the shapes disagree or a product is no
/// feed product.
void simulate_visibilities(const VisibilitySetup& setup, std::int64_t index, const SkyRotations& rotations,
                           unsigned n_threads, View<std::complex<float>, 3> data, View<double, 2> uvw_m);

/// What both of these and device_visibilities.h begin with.
void check_visibilities(const VisibilitySetup& setup, const SkyRotations& rotations,
                        View<const std::complex<float>, 3> data, View<const double, 2> uvw_m);
/// Noise of one baseline in Jy, [chan][product], zeros without any; `index` as above.
std::vector<std::complex<double>> visibility_noise(const VisibilitySetup& setup, std::int64_t index,
                                                   std::size_t baseline);

}  // namespace apsyn::simulate
