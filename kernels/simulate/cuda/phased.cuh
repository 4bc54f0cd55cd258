// SPDX-License-Identifier: GPL-3.0-or-later
// The kernel behind StationMatrices::phased.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/simulate/phased_terms.h"

namespace apsyn::simulate {

/// Matrices [chan][station][component] of channels whose parts lie `stride` bytes apart, the first's at
/// `first`.
struct PhasedTask {
  PhasedTable table{};
  PhasedTerms first{};
  std::size_t stride = 0;
  std::uint32_t n_chan = 0;
  TermMatrix* to = nullptr;
};
void launch_phased(const PhasedTask& task, cudaStream_t stream);

}  // namespace apsyn::simulate
