// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/corr/pair_lattice.h"

#include <algorithm>
#include <cmath>

#include "libcore/base/constants.h"

namespace apsyn {

PairSlope fit_slope(const std::vector<std::array<double, 3>>& uvw_s) {
  std::array<double, 3> mean{};
  for (const auto& at : uvw_s)
    for (std::size_t axis = 0; axis < 3; ++axis) mean[axis] += at[axis] / static_cast<double>(uvw_s.size());
  double uu = 0, uv = 0, vv = 0, uw = 0, vw = 0;
  for (const auto& at : uvw_s) {
    const double u = at[0] - mean[0], v = at[1] - mean[1], w = at[2] - mean[2];
    uu += u * u;
    uv += u * v;
    vv += v * v;
    uw += u * w;
    vw += v * w;
  }
  // Along the principal axes of u and v the two slopes are independent.
  const double angle = 0.5 * std::atan2(2 * uv, uu - vv), c = std::cos(angle), s = std::sin(angle);
  const double along = c * c * uu + 2 * c * s * uv + s * s * vv;
  const double across = s * s * uu - 2 * c * s * uv + c * c * vv;
  constexpr double kThin = 1e-6;  // an array this much narrower than long is a line
  const double slope = along > 0 ? (c * uw + s * vw) / along : 0;
  const double side = across > kThin * along ? (c * vw - s * uw) / across : 0;
  return {c * slope - s * side, s * slope + c * side};
}

std::vector<std::array<double, 3>> heights_s(std::vector<std::array<double, 3>> uvw_s,
                                             const PairSlope& slope) {
  for (auto& at : uvw_s) at[2] -= slope.u * at[0] + slope.v * at[1];
  return uvw_s;
}

std::array<double, 2> site_of(const EpicPlan& plan, const PairLattice& lattice, std::uint32_t pixel_index,
                              double n) {
  const std::size_t x = pixel_index % plan.nx, y = pixel_index / plan.nx;
  const double dn = n - lattice.depth.n_middle;
  const double l = (static_cast<double>(plan.nx / 2) - static_cast<double>(x)) * plan.cell;
  const double m = (static_cast<double>(y) - static_cast<double>(plan.ny / 2)) * plan.cell;
  return {static_cast<double>(lattice.n_x / 2) - (l + lattice.slope.u * dn) / lattice.pitch,
          static_cast<double>(lattice.n_y / 2) + (m + lattice.slope.v * dn) / lattice.pitch};
}

std::optional<PairLattice> pair_lattice(const EpicPlan& plan, const EpicGeometry& geometry,
                                        const SkyPixels& pixels, const SpreadKernel& kernel,
                                        const LatticeSlack& slack) {
  const auto uvw = image_frame_s(geometry);
  PairLattice lattice;
  lattice.slope = fit_slope(uvw);
  if ((lattice.slope.u == 0 && lattice.slope.v == 0) || pixels.size() == 0) return {};
  lattice.depth = depth_of(geometry, pixels);
  std::array<double, 3> low, high;
  low.fill(INFINITY);
  high.fill(-INFINITY);
  for (const auto& at : heights_s(uvw, lattice.slope))
    for (std::size_t axis = 0; axis < 3; ++axis) {
      low[axis] = std::min(low[axis], at[axis]);
      high[axis] = std::max(high[axis], at[axis]);
    }
  lattice.depth.w_s = high[2] - low[2];
  const double finest = slack.baselines * plan.highest_hz() * std::max(high[0] - low[0], high[1] - low[1]);
  lattice.pitch = std::min(plan.cell, 1 / (2 * kernel.oversampling() * finest));
  double reach_x = 0, reach_y = 0;
  for (std::size_t pixel = 0; pixel < pixels.size(); ++pixel) {
    const auto [x, y] = site_of(plan, lattice, pixels.index[pixel], n_of(geometry, pixels, pixel));
    reach_x = std::max(reach_x, std::abs(x));
    reach_y = std::max(reach_y, std::abs(y));
  }
  const auto sites = [&](double reach) {
    const double margin = std::ceil(static_cast<double>(kernel.width()) / 2) + 1;
    return 2 * (std::ceil(reach) + margin + static_cast<double>(slack.sites));
  };
  if (!(std::max(sites(reach_x), sites(reach_y)) <= static_cast<double>(kMaxSites))) return {};
  lattice.n_x = static_cast<std::size_t>(sites(reach_x));
  lattice.n_y = static_cast<std::size_t>(sites(reach_y));
  return lattice;
}

double loss_at_sites(const EpicPlan& plan, const EpicGeometry& geometry, const SkyPixels& pixels,
                     const PairLattice& lattice, const SpreadKernel& kernel) {
  // l^2 + m^2 + n^2 = 1 with l = l' - a dn, m = m' - b dn, so that d(dn) / dl' = -l / (n - a l - b m)
  double steepest = 0;
  for (std::size_t pixel = 0; pixel < pixels.size(); ++pixel) {
    const std::size_t x = pixels.index[pixel] % plan.nx, y = pixels.index[pixel] / plan.nx;
    const double l = (static_cast<double>(plan.nx / 2) - static_cast<double>(x)) * plan.cell;
    const double m = (static_cast<double>(y) - static_cast<double>(plan.ny / 2)) * plan.cell;
    const double across = n_of(geometry, pixels, pixel) - lattice.slope.u * l - lattice.slope.v * m;
    if (!(across > 0)) return INFINITY;
    steepest = std::max(steepest, std::hypot(l, m) / across);
  }
  const InverseTransform inverse(kernel);
  // |d ln Psi / d frequency|, frequencies in turns per site
  const auto bend = [&](double frequency) {
    constexpr double kStep = 1e-4;
    return std::abs(std::log(inverse(frequency + kStep) / inverse(frequency - kStep))) / (2 * kStep);
  };
  const auto uvh = heights_s(image_frame_s(geometry), lattice.slope);
  const double per_s = plan.highest_hz() * lattice.pitch;
  double squares = 0, n_pair = 0;
  for (std::size_t a = 0; a < uvh.size(); ++a)
    for (std::size_t b = a + 1; b < uvh.size(); ++b, ++n_pair) {
      const double along =
          std::hypot(bend(per_s * (uvh[a][0] - uvh[b][0])), bend(per_s * (uvh[a][1] - uvh[b][1])));
      const double height_s = uvh[a][2] - uvh[b][2];
      const double z = kTwoPi * plan.highest_hz() * height_s * lattice.depth.n_half;
      const double lost = std::min(std::abs(z), 1.0) * per_s * height_s * steepest * along;
      squares += lost * lost;
    }
  return n_pair > 0 ? std::sqrt(squares / n_pair) : 0;
}

InverseTransform::InverseTransform(const SpreadKernel& kernel)
    : scale_(4 * kernel.oversampling() * kernel.oversampling()) {
  // Chebyshev interpolation in y = 2 square - 1, and its powers of square.
  std::array<double, kTerms> values, previous{}, current{}, next{};
  const auto angle_of = [](std::size_t i) {
    return kPi * (static_cast<double>(i) + 0.5) / static_cast<double>(kTerms);
  };
  for (std::size_t i = 0; i < kTerms; ++i)
    values[i] = 1 / kernel.transform(std::sqrt((1 + std::cos(angle_of(i))) / 2 / scale_));
  current[0] = 1;
  for (std::size_t k = 0; k < kTerms; ++k) {
    double sum = 0;
    for (std::size_t i = 0; i < kTerms; ++i)
      sum += values[i] * std::cos(static_cast<double>(k) * angle_of(i));
    sum *= (k == 0 ? 1.0 : 2.0) / static_cast<double>(kTerms);
    for (std::size_t power = 0; power < kTerms; ++power) coefficients_[power] += sum * current[power];
    // T_(k + 1) = 2 y T_k - T_(k - 1), and T_1 = y
    const double twice = k == 0 ? 1 : 2;
    for (std::size_t power = 0; power < kTerms; ++power)
      next[power] = twice * ((power > 0 ? 2 * current[power - 1] : 0) - current[power]) - previous[power];
    previous = current;
    current = next;
  }
}

}  // namespace apsyn
