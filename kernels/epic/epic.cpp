// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/epic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "libcore/base/error.h"

namespace apsyn {

void check_epic_plan(const EpicPlan& plan) {
  const auto require = [](bool good, const char* what) {
    if (!good) throw std::logic_error(std::string("EpicPlan: ") + what);
  };
  require(plan.n_ant > 0 && (plan.n_pol == 1 || plan.n_pol == 2), "antennas and one or two polarisations");
  require(plan.n_chan > 0 && plan.channel_hz.size() == plan.n_channel(), "one frequency per channel");
  require(plan.n_average > 0 && plan.n_channel() % plan.n_average == 0, "whole averaged channels");
  require(plan.first || plan.second || plan.cross, "no product");
  require(plan.n_pol == 2 || (!plan.second && !plan.cross), "products of a polarisation that is not there");
  require(plan.n_direction > 0 || (plan.nx > 0 && plan.ny > 0 && plan.cell > 0), "pixels or directions");
  require(plan.flagged.empty() || plan.flagged.size() == plan.n_ant, "one flag per antenna");
  require(plan.factor.size() == 0 ||
              (plan.factor.extent(0) == plan.n_ant && plan.factor.extent(1) == plan.n_pol &&
               (plan.factor.extent(2) == plan.n_chan || plan.factor.extent(2) == plan.n_channel())),
          "factors of another shape");
  require(plan.left_out.empty() || plan.left_out.size() == plan.n_channel(), "one mark per channel left out");
  require(!plan.field || (!plan.cross && plan.n_average == 1 && plan.apertures.empty()),
          "a field of averaged channels, of products or with apertures");
  require(!plan.total || (plan.n_pol == 2 && plan.first && !plan.second && !plan.cross && !plan.field &&
                          plan.apertures.empty()),
          "the total of one polarisation, beside other planes or with apertures");
  require(plan.n_threads > 0, "no threads");
  require(!plan.weighting || (!plan.autos && !plan.field && plan.apertures.empty() && plan.n_direction == 0),
          "weights of pairs with autocorrelations, apertures or directions, or of a field");
  require(plan.off_grid.empty() || plan.off_grid.size() == plan.n_ant, "one mark per antenna off the grid");
  require(plan.off_grid.empty() || !plan.field, "a field of antennas off the grid");
  require(plan.apertures.empty() ||
              (plan.aperture.size() == plan.n_ant &&
               *std::max_element(plan.aperture.begin(), plan.aperture.end()) < plan.apertures.size()),
          "one aperture for each antenna");
}

Vec3 epic_direction(const EpicPlan& plan, const EpicGeometry& geometry, std::size_t x, std::size_t y) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (plan.n_direction > 0) {
    const Vec3& direction = geometry.directions[x];
    return direction[2] > 0 ? direction : Vec3{nan, nan, nan};
  }
  const double l = (static_cast<double>(plan.nx / 2) - static_cast<double>(x)) * plan.cell;
  const double m = (static_cast<double>(y) - static_cast<double>(plan.ny / 2)) * plan.cell;
  const double rest = 1 - l * l - m * m;
  if (!(rest > 0)) return {nan, nan, nan};
  const Mat3& axes = geometry.axes;
  Vec3 direction;
  for (std::size_t i = 0; i < 3; ++i)
    direction[i] = l * axes[0][i] + m * axes[1][i] + std::sqrt(rest) * axes[2][i];
  if (!(direction[2] > 0)) return {nan, nan, nan};
  return direction;
}

const char* epic_method_name(EpicMethod method) {
  switch (method) {
    case EpicMethod::fft:
      return "fft";
    case EpicMethod::dft:
      return "dft";
    case EpicMethod::corr:
      break;
  }
  return "corr";
}

EpicMethod parse_epic_method(std::string_view name) {
  for (EpicMethod method : {EpicMethod::fft, EpicMethod::dft, EpicMethod::corr})
    if (name == epic_method_name(method)) return method;
  throw UsageError("--method {}: auto, fft, dft or corr", name);
}

}  // namespace apsyn
