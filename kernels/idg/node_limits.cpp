// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/node_limits.h"

#include <cmath>

#include "kernels/idg/node_counts.h"

namespace apsyn {

idg::NodeLimits node_limits(const IdgPlan& plan, double error) {
  const NodeCounts counts(plan, error);
  idg::NodeLimits limits{};
  limits.error = error;
  limits.per_u = static_cast<double>(plan.n_u) * plan.image.cell_rad;
  limits.per_v = static_cast<double>(plan.n_v) * plan.image.cell_rad;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    NodeCounts::Place unit{};
    unit[axis] = 1;
    limits.phase[axis] = 2 * counts.turn(1, {}, unit);
  }
  limits.most_term[0] = 1;
  for (std::size_t n = 1; n <= idg::kMostTrackNodes; ++n) {
    // What straight() says, the other way round; n nodes never serve more than n + 1 samples a turn do.
    double low = 0, high = 4 * static_cast<double>(n + 1);
    for (int halving = 0; halving < 60; ++halving) {
      const double middle = (low + high) / 2;
      (counts.straight(middle) <= n ? low : high) = middle;
    }
    limits.most_turn[n] = low;
    limits.most_term[n] = std::pow(low / 2, static_cast<double>(n)) / std::tgamma(static_cast<double>(n + 1));
  }
  return limits;
}

}  // namespace apsyn
