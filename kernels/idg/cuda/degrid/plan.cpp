// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/cuda/degrid/plan.h"

#include <algorithm>

namespace apsyn::idg_degrid {
namespace {

/// Relative error of a product of two half-precision factors over many terms, measured.
constexpr double kHalfProductError = 2.6e-4;

/// The largest half w, up to `limit`, whose error (which rises with it) is at most `most`; below 0 when no
/// half w is.
template <class Error>
double largest_half_w(const Error& error, double most, double limit) {
  if (!(error(0.0) <= most)) return -1;
  if (error(limit) <= most) return limit;
  double low = 0, high = limit;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (error(middle) <= most ? low : high) = middle;
  }
  return low;
}

}  // namespace

DegridListPlan make_list_plan(const IdgPlan& plan, const WSeparation& separation, bool tensor) {
  DegridListPlan list{};
  list.side = static_cast<int>(plan.settings.subgrid);
  list.n_u = static_cast<int>(plan.n_u);
  list.n_v = static_cast<int>(plan.n_v);
  list.first_layer_lambda = plan.first_layer_lambda;
  list.layer_step_lambda = plan.layer_step_lambda;
  list.max_half_w_tensor = list.max_half_w_first_order = -1;
  if (tensor) {
    // What is left out of the phases may take a quarter of the error that was asked for.
    const double most = plan.settings.accuracy / 4,
                 limit = std::max(2 * plan.max_task_half_w_lambda, plan.half_w_lambda);
    list.max_half_w_tensor =
        largest_half_w([&](double half_w) { return separation.error_without(half_w); }, most, limit);
    list.max_half_w_first_order = largest_half_w(
        [&](double half_w) { return separation.error_to_first_order(half_w, kHalfProductError); }, most,
        limit);
  }
  list.unit[int(Sum::direct)] = kDirectUnit;
  list.unit[int(Sum::tensor)] = list.unit[int(Sum::tensor_first_order)] =
      static_cast<std::uint32_t>(tensor_unit(list.side));
  return list;
}

}  // namespace apsyn::idg_degrid
