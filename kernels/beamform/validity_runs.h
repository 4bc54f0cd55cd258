// SPDX-License-Identifier: GPL-3.0-or-later
// Runs of spectra during which the same antennas are valid: what the sum of weights depends on.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/common/spectra/spectra.h"

namespace apsyn {

struct ValidityRun {
  std::size_t begin = 0, end = 0;  ///< spectra of the block
};

/// Runs of one row of the block's validity, consecutive and covering the block; antennas with used[ant] = 0
/// are not looked at.
std::vector<ValidityRun> validity_runs(const SpectraBlock& block, std::size_t row,
                                       const std::vector<std::uint8_t>& used);

}  // namespace apsyn
