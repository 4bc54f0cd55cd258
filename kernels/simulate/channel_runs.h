// SPDX-License-Identifier: GPL-3.0-or-later
// Channels in steady steps, so few together that a phase may be carried from one to the next by
// multiplication.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace apsyn::simulate {

struct ChannelRun {
  std::size_t first = 0, n = 0;
  double first_per_m = 0, step_per_m = 0;  ///< 1 / wavelength
};

/// `per_m` [chan]. Deviations from steady steps of up to `steady`, relative to the frequency, are rounding.
inline std::vector<ChannelRun> channel_runs(const std::vector<double>& per_m, std::size_t longest,
                                            double steady) {
  std::vector<ChannelRun> runs;
  for (std::size_t first = 0; first < per_m.size(); first += runs.back().n) {
    ChannelRun run{first, 1, per_m[first], first + 1 < per_m.size() ? per_m[first + 1] - per_m[first] : 0};
    while (run.n < longest && first + run.n < per_m.size() &&
           std::abs(run.first_per_m + static_cast<double>(run.n) * run.step_per_m - per_m[first + run.n]) <=
               steady * run.first_per_m)
      ++run.n;
    runs.push_back(run);
  }
  return runs;
}

}  // namespace apsyn::simulate
