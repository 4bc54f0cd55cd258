// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/voltage/array_delays.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/base/units.h"

namespace apsyn {

double longest_baseline_m(const ArrayLayout& layout) {
  double square_m2 = 0;
  for (const Antenna& a : layout.antennas)
    for (const Antenna& b : layout.antennas)
      square_m2 = std::max(square_m2, dot(a.enu_m - b.enu_m, a.enu_m - b.enu_m));
  return std::sqrt(square_m2);
}

double finest_fringe_rad(const ArrayLayout& layout, double freq_hz) {
  if (layout.antennas.empty()) return std::numeric_limits<double>::infinity();
  Vec3 low = layout.antennas.front().enu_m, high = low;
  for (const Antenna& antenna : layout.antennas)
    for (std::size_t axis = 0; axis < 3; ++axis) {
      low[axis] = std::min(low[axis], antenna.enu_m[axis]);
      high[axis] = std::max(high[axis], antenna.enu_m[axis]);
    }
  return kSpeedOfLight_m_s / freq_hz / std::sqrt(dot(high - low, high - low));
}

std::int64_t delay_reach(const VoltageHeader& header, const ArrayLayout& layout) {
  double cable_s = 0;
  for (const Antenna& antenna : layout.antennas) cable_s = std::max(cable_s, std::abs(antenna.cable_delay_s));
  const double delay_s = 2 * longest_baseline_m(layout) / kSpeedOfLight_m_s + cable_s;
  if (!(delay_s < 1e9 * header.sample_s))
    throw UsageError("delays of up to {} are {:.2g} samples: check the antennas' positions and cables",
                     format_duration(delay_s), delay_s / header.sample_s);
  return 2 * static_cast<std::int64_t>(delay_s / header.sample_s) + 4;
}

std::int64_t range_margin(const VoltageHeader& header, const ArrayLayout& layout, std::size_t n_fine,
                          std::size_t n_taps) {
  const std::size_t length = n_fine * (header.n_dim == 1 ? 2 : 1);
  return delay_reach(header, layout) + static_cast<std::int64_t>(length * n_taps);
}

double winding_loss(double turns) {
  const double x = kPi * turns;
  return x < 1e-4 ? x * x / 6 : 1 - std::sin(x) / x;
}

}  // namespace apsyn
