// SPDX-License-Identifier: GPL-3.0-or-later
// Which antennas have enough baselines with others for a solution.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/calibrate/calibrate.h"

namespace apsyn {

/// Sets the reason of antennas that are `none` and have fewer than `needed` baselines (linked[p * n + q] !=
/// 0) with others that remain `none`, or are not connected through such with the largest group: no_data
/// without any baseline from the beginning, otherwise few_baselines. With fewer antennas each needs as many
/// baselines as there are others, at least `least`.
void prune_antennas(const std::vector<std::uint8_t>& linked, std::size_t n_antennas, std::size_t needed,
                    std::size_t least, FlagReason* reason);

}  // namespace apsyn
