// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/idg/idg.h"

namespace apsyn::bench {

/// The sums over pixels alone, operands in device memory; CUDA only.
void degrid_kernels(const Device& device);
/// Whole passes: layers, sorting, transfers, kernels.
void degrid_passes(const Device& device, GridMemory grids, unsigned n_threads);

}  // namespace apsyn::bench
