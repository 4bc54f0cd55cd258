// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace apsyn::x_stage {

/// sums [n] += values [n][re, im].
void launch_add_sums(double2* sums, const double* values, std::size_t n, cudaStream_t stream);

}  // namespace apsyn::x_stage
