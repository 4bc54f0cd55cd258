// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/tracks/node_limits.h"

#include <algorithm>
#include <iterator>

#include "kernels/idg/tracks/node_counts.h"

namespace apsyn {

double node_error(const IdgPlan& plan) {
  const bool has_nodes = plan.settings.precision == Precision::single && plan.w_handling != WHandling::kernel;
  return has_nodes ? idg::kNodeShare * plan.settings.accuracy : 0;
}

idg::NodeLimits node_limits(const IdgPlan& plan, double error) {
  const NodeCounts counts(plan, error);
  idg::NodeLimits limits{};
  limits.error = error;
  limits.per_u = static_cast<double>(plan.n_u) * plan.image.cell_rad;
  limits.per_v = static_cast<double>(plan.n_v) * plan.image.cell_rad;
  std::ranges::copy(counts.phase(), limits.phase);
  std::copy_n(counts.max_turn().begin(), std::size(limits.max_turn), limits.max_turn);
  std::copy_n(counts.max_term().begin(), std::size(limits.max_term), limits.max_term);
  return limits;
}

}  // namespace apsyn
