// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/beamform/delay_lines.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/beamform/beam_weights.h"
#include "libcore/system/parallel.h"

namespace apsyn {

double fit_delay_lines(const BeamformPlan& plan, BeamDelaySource& delays, std::int64_t first,
                       std::int64_t span, double* delay_s, double* slope_s) {
  const std::size_t n_ant = plan.n_ant;
  const auto middle_s = [&](std::int64_t interval) { return steering_middle_s(plan, interval); };
  delays.prepare(middle_s(first), middle_s(first + span));
  std::vector<double> off(plan.n_beam, 0);
  parallel_for(plan.n_threads, plan.n_beam, [&](std::size_t beam, unsigned) {
    double *begin = delay_s + beam * n_ant, *slope = slope_s + beam * n_ant;
    delays.delays_s(beam, middle_s(first), {begin, n_ant});
    delays.delays_s(beam, middle_s(first + span), {slope, n_ant});
    for (std::size_t ant = 0; ant < n_ant; ++ant)
      slope[ant] = (slope[ant] - begin[ant]) / static_cast<double>(span);
    std::vector<double> between(n_ant);
    for (const std::int64_t step : {span / 4, span / 4 * 3}) {
      delays.delays_s(beam, middle_s(first + step), between);
      for (std::size_t ant = 0; ant < n_ant; ++ant)
        off[beam] =
            std::max(off[beam],
                     4.0 / 3 * std::abs(between[ant] - begin[ant] - static_cast<double>(step) * slope[ant]));
    }
  });
  return *std::max_element(off.begin(), off.end());
}

}  // namespace apsyn
