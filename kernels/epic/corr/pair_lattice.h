// SPDX-License-Identifier: GPL-3.0-or-later
// Arrays near a plane that an image sees aslant, for `corr` on a grid. About a centre far from the zenith w
// is as large as u and v, and its phase would take a hundred nodes or orders. With the plane
// w = a u + b v that fits the antennas best and heights h above it, w = a u + b v + h, a pixel at l, m and
// n = n_middle + dn has the phase
//   u l + v m + w n = w n_middle + u (l + a dn) + v (m + b dn) + h dn,
// so that only heights are left to expand. Pixels are then no lattice any more: images are made at the sites
// of one in l' = l + a dn and m' = m + b dn, and interpolated there by a kernel psi of few sites,
//   exp(-2 pi i (u l' + v m')) = 1 / (Psi(u p) Psi(v p)) sum_ij psi(x' - i) psi(y' - j) exp(-2 pi i (..)_ij),
// with p the pitch of the sites and Psi the transform of psi, by which pairs are divided before they are
// gridded. What this leaves out is what the kernel leaves out when pairs are spread: the same kernels serve,
// if the finest fringe is sampled by 2 oversampling sites or more.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "kernels/common/math/spread_kernel.h"
#include "kernels/epic/corr/pair_depth.h"
#include "kernels/epic/sky_pixels.h"

namespace apsyn {

/// w = u * slope.u + v * slope.v + height.
struct PairSlope {
  double u = 0, v = 0;
};

/// The plane through which heights of antennas are least squares. Along an axis in which the array has no
/// extent the slope is 0.
PairSlope fit_slope(const std::vector<std::array<double, 3>>& uvw_s);

/// u, v and the height above the plane, over c, of antennas at u, v, w.
std::vector<std::array<double, 3>> heights_s(std::vector<std::array<double, 3>> uvw_s,
                                             const PairSlope& slope);

struct PairLattice {
  PairSlope slope;
  double pitch = 0;              ///< from site to site, a direction cosine
  std::size_t n_x = 0, n_y = 0;  ///< sites; l' = 0 and m' = 0 at n_x / 2 and n_y / 2; l' falls with x
  PairDepth depth;               ///< of heights
};

/// For other geometries that a lattice is to serve: baselines may be so many times longer, and pixels move by
/// so many sites.
struct LatticeSlack {
  double baselines = 1;
  std::size_t sites = 0;
};
/// The lattice on which the pixels' kernels have all of their sites; none for arrays that lie level to the
/// image, and where it would take more than kMaxSites along an axis.
std::optional<PairLattice> pair_lattice(const EpicPlan& plan, const EpicGeometry& geometry,
                                        const SkyPixels& pixels, const SpreadKernel& kernel,
                                        const LatticeSlack& slack = {});
inline constexpr std::size_t kMaxSites = 16384;

/// What is lost where orders are added up at the sites, with dn of a site, before pixels are interpolated:
/// the even ones to cos(z t), and the odd ones to sin(z t) / t, which counts t times at a pixel (z = 2 pi h
/// n_half, t = dn / n_half). Their fringe is then not the u whose Psi a pair has been divided by, but u + z h
/// d(dn) / dl' at most, and likewise along m'. Upper bound over pixels of the RMS over pairs, relative to a
/// pair.
double loss_at_sites(const EpicPlan& plan, const EpicGeometry& geometry, const SkyPixels& pixels,
                     const PairLattice& lattice, const SpreadKernel& kernel);

/// Where a pixel stands among the sites: x, y.
std::array<double, 2> site_of(const EpicPlan& plan, const PairLattice& lattice, std::uint32_t pixel_index,
                              double n);

/// 1 / Psi as a polynomial in the square of the frequency, which is 1 / (2 oversampling) at most.
class InverseTransform {
 public:
  static constexpr std::size_t kTerms = 12;
  explicit InverseTransform(const SpreadKernel& kernel);
  double operator()(double frequency) const {
    const double square = frequency * frequency * scale_;
    double value = coefficients_[kTerms - 1];
    for (std::size_t power = kTerms - 1; power-- > 0;) value = value * square + coefficients_[power];
    return value;
  }
  /// [power] of (2 oversampling frequency)^2, and that scale.
  const std::array<double, kTerms>& coefficients() const { return coefficients_; }
  double scale() const { return scale_; }

 private:
  double scale_;
  std::array<double, kTerms> coefficients_{};
};

}  // namespace apsyn
