// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/beamform/pattern.h"

#include <cmath>
#include <limits>

#include "libcore/base/constants.h"
#include "libcore/system/parallel.h"

namespace apsyn {

void array_pattern(const PatternPlan& plan, View<double, 2> power) {
  const std::size_t ny = power.extent(0), nx = power.extent(1), n_ant = plan.enu_m.size();
  const double per_m = plan.freq_hz / kSpeedOfLight_m_s;
  const auto weight = [&](std::size_t ant) {
    return plan.weights.empty() ? std::complex<double>(1) : plan.weights[ant];
  };
  double total = 0;
  for (std::size_t ant = 0; ant < n_ant; ++ant) total += std::abs(weight(ant));
  parallel_for(plan.n_threads, ny, [&](std::size_t y, unsigned) {
    const double m = (static_cast<double>(y) - static_cast<double>(ny / 2)) * plan.cell;
    for (std::size_t x = 0; x < nx; ++x) {
      const double l = (static_cast<double>(nx / 2) - static_cast<double>(x)) * plan.cell;
      const double rest = 1 - l * l - m * m;
      power(y, x) = std::numeric_limits<double>::quiet_NaN();
      if (!(rest > 0)) continue;
      const double n = std::sqrt(rest);
      Vec3 s;
      for (std::size_t axis = 0; axis < 3; ++axis)
        s[axis] = l * plan.axes[0][axis] + m * plan.axes[1][axis] + n * plan.axes[2][axis];
      if (!(s[2] > 0)) continue;
      std::complex<double> sum = 0;
      for (std::size_t ant = 0; ant < n_ant; ++ant)
        sum += weight(ant) * std::polar(1.0, kTwoPi * per_m * dot(plan.enu_m[ant], s - plan.steered));
      const double element = plan.element ? plan.element(s) : 1;
      power(y, x) = element * element * std::norm(sum) / (total * total);
    }
  });
}

}  // namespace apsyn
