// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/calibrate/connections.h"

#include <algorithm>

namespace apsyn {

void prune_antennas(const std::vector<std::uint8_t>& linked, std::size_t n_antennas, std::size_t needed,
                    std::size_t least, FlagReason* reason) {
  const auto n_links = [&](std::size_t p) {
    std::size_t links = 0;
    for (std::size_t q = 0; q < n_antennas; ++q)
      links += q != p && linked[p * n_antennas + q] && reason[q] == FlagReason::none;
    return links;
  };
  for (std::size_t p = 0; p < n_antennas; ++p) {
    const std::uint8_t* own = linked.data() + p * n_antennas;
    if (reason[p] == FlagReason::none &&
        std::find_if(own, own + n_antennas, [](auto l) { return l != 0; }) == own + n_antennas)
      reason[p] = FlagReason::no_data;
  }
  for (bool changed = true; changed;) {
    changed = false;
    const auto n_left = static_cast<std::size_t>(std::count(reason, reason + n_antennas, FlagReason::none));
    const std::size_t wanted = std::max(least, std::min(needed, n_left > 0 ? n_left - 1 : 0));
    std::vector<std::size_t> few;
    for (std::size_t p = 0; p < n_antennas; ++p)
      if (reason[p] == FlagReason::none && n_links(p) < wanted) few.push_back(p);
    for (const std::size_t p : few) reason[p] = FlagReason::few_baselines;
    changed = !few.empty();
    if (changed) continue;

    // Groups of antennas that no baseline joins have no phase in common: the largest one stays.
    std::vector<std::size_t> group(n_antennas, n_antennas);
    std::size_t largest = n_antennas, largest_size = 0;
    for (std::size_t first = 0; first < n_antennas; ++first) {
      if (reason[first] != FlagReason::none || group[first] < n_antennas) continue;
      std::vector<std::size_t> found{first};
      group[first] = first;
      for (std::size_t i = 0; i < found.size(); ++i)
        for (std::size_t q = 0; q < n_antennas; ++q)
          if (q != found[i] && linked[found[i] * n_antennas + q] && reason[q] == FlagReason::none &&
              group[q] == n_antennas) {
            group[q] = first;
            found.push_back(q);
          }
      if (found.size() > largest_size) {
        largest = first;
        largest_size = found.size();
      }
    }
    for (std::size_t p = 0; p < n_antennas; ++p)
      if (reason[p] == FlagReason::none && group[p] != largest) {
        reason[p] = FlagReason::few_baselines;
        changed = true;
      }
  }
}

}  // namespace apsyn
