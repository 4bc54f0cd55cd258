// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/fft/off_grid.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "kernels/epic/fft/grid.h"
#include "libcore/base/median.h"

namespace apsyn {
namespace {

/// An antenna is tried as an outlier if it is this many times as far out as the next one.
constexpr double kGap = 1.25;
constexpr double kGain = 0.75;  ///< seconds over those of a single grid that are worth the change
// Measured on one Zen 4 core with AVX-512.
constexpr double kPair_s = 0.35e-9;    ///< a product of two inputs
constexpr double kWeight_s = 2.5e-9;   ///< an antenna's weight for a pixel
constexpr double kImaged_s = 3.8e-11;  ///< a pair's product for a pixel
constexpr double kSkyShare = 0.7854;   ///< of the pixels that look at the sky

/// From the middle of the used antennas, farthest first.
std::vector<std::pair<double, std::size_t>> distances(const EpicPlan& plan, const EpicGeometry& geometry) {
  std::array<std::vector<double>, 3> along;
  for (std::size_t ant = 0; ant < plan.n_ant; ++ant)
    for (std::size_t axis = 0; axis < 3 && plan.used(ant); ++axis)
      along[axis].push_back(geometry.enu_m[ant][axis]);
  std::vector<std::pair<double, std::size_t>> out;
  if (along[0].empty()) return out;
  const Vec3 middle{median_of(along[0]), median_of(along[1]), median_of(along[2])};
  for (std::size_t ant = 0; ant < plan.n_ant; ++ant) {
    if (!plan.used(ant)) continue;
    const Vec3 off = geometry.enu_m[ant] - middle;
    out.emplace_back(std::sqrt(dot(off, off)), ant);
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  return out;
}

}  // namespace

void choose_off_grid(EpicPlan& plan, const EpicGeometry& geometry, const std::function<double()>& seconds) {
  const auto far = distances(plan, geometry);
  const auto planned_s = [&] { return fits_fft_grid(plan, geometry) ? seconds() : INFINITY; };
  plan.off_grid.clear();
  std::vector<std::uint8_t> best, marks(plan.n_ant, 0);
  double least_s = -1;  // of a single grid, before any other is tried
  for (std::size_t n = 1; n <= std::min(kMaxOffGrid, far.size() / 8); ++n) {
    marks[far[n - 1].second] = 1;
    if (!(far[n - 1].first > kGap * far[n].first)) continue;
    if (least_s < 0) least_s = kGain * planned_s();
    plan.off_grid = marks;
    const double tried_s = planned_s();
    if (!(tried_s < least_s)) continue;
    least_s = tried_s;
    best = marks;
  }
  plan.off_grid = best;
}

OffGridOrder off_grid_order(const EpicPlan& plan) {
  OffGridOrder order;
  for (std::size_t ant = 0; ant < plan.n_ant; ++ant)
    if (plan.used(ant) && !plan.gridded(ant)) order.antennas.push_back(ant);
  order.n_off = order.antennas.size();
  for (std::size_t ant = 0; ant < plan.n_ant; ++ant)
    if (plan.gridded(ant)) order.antennas.push_back(ant);
  return order;
}

double off_grid_spectrum_s(const EpicPlan& plan) {
  const auto n_off = static_cast<double>(off_grid_order(plan).n_off);
  const auto n_pol = static_cast<double>(plan.n_pol);
  return static_cast<double>(plan.n_channel() * plan.n_ant) * n_off * n_pol * n_pol * kPair_s;
}

double off_grid_image_s(const EpicPlan& plan) {
  const auto n_off = static_cast<double>(off_grid_order(plan).n_off);
  if (n_off == 0) return 0;
  const double weights =
      static_cast<double>(plan.n_channel() * plan.n_ant) * kSkyShare * static_cast<double>(plan.nx * plan.ny);
  return weights * (kWeight_s + n_off * static_cast<double>(plan.n_plane()) * kImaged_s);
}

}  // namespace apsyn
