// SPDX-License-Identifier: GPL-3.0-or-later
// What the samples were like: a warning when something is wrong, all of it with -v, and lines for HISTORY.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/voltage_summary/sample_counts.h"
#include "libcore/voltage/voltage.h"

namespace apsyn {

/// Counts inputs (of antennas that are not flagged) above `limit`; `worst` is set when there are any.
template <class Share>
std::size_t inputs_above(std::size_t n, double limit, const Share& share, std::size_t& worst) {
  std::size_t above = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!(share(i) > limit)) continue;
    if (above++ == 0 || share(i) > share(worst)) worst = i;
  }
  return above;
}

/// What requantising clipped at worst; warns when it is more than noise alone has.
void report_clipped(double share, unsigned n_bit, bool on_gpu);

/// Warns once, lists every antenna with -v, and returns that list.
std::vector<std::string> report_samples(const SampleCounts& counts, const VoltageHeader& header);

}  // namespace apsyn
