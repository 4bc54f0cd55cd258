// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "kernels/idg/cpu/degrid/subgrid_predictor.h"
#include "kernels/idg/cpu/layers/layer_transform.h"
#include "kernels/idg/cpu/spread_tables.h"
#include "kernels/idg/idg.h"

namespace apsyn {
namespace {

/// Bytes of a real number of the plan's precision.
std::uint64_t real_bytes(const IdgPlan& plan) {
  return plan.settings.precision == Precision::single ? 4 : 8;
}

std::uint64_t image_bytes(const IdgPlan& plan, std::size_t n_planes) {
  return sizeof(double) * plan.image.n_x * plan.image.n_y * n_planes;
}

std::uint64_t layer_bytes(const IdgPlan& plan, std::size_t n_planes) {
  return 2 * real_bytes(plan) * plan.n_u_stored() * plan.n_v_stored() * n_planes;
}

/// Each thread's working memory for a layer's columns: the columns, their pixels, and the phases of one
/// column.
std::uint64_t columns_bytes(const IdgPlan& plan) {
  constexpr std::uint64_t at_once = 8;
  return std::max(at_once * plan.n_v, plan.n_u) * sizeof(std::complex<double>) +
         (at_once + 2) * plan.image.n_y * sizeof(double);
}

}  // namespace

IdgMemory gridder_memory(const IdgPlan& plan, const IdgSetup& setup) {
  const std::size_t n_planes = setup.n_planes();
  const std::uint64_t transform = sizeof(std::complex<double>) * (plan.n_u + kRowGap) * plan.n_v_stored();
  return {transform + image_bytes(plan, n_planes) + setup.n_threads * columns_bytes(plan) +
              subgrid_bytes(plan, setup),
          layer_bytes(plan, n_planes)};
}

IdgMemory degridder_memory(const IdgPlan& plan, const IdgSetup& setup) {
  const std::uint64_t n_planes = setup.n_image_planes();
  const std::uint64_t transform =
      sizeof(std::complex<double>) * plan.n_v_stored() * (plan.image.n_x + kRowGap);
  return {transform + image_bytes(plan, n_planes) +
              setup.n_threads * (columns_bytes(plan) + predictor_bytes(plan, setup)),
          layer_bytes(plan, padded_planes(n_planes))};
}

}  // namespace apsyn
