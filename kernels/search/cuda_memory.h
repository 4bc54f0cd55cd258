// SPDX-License-Identifier: GPL-3.0-or-later
// Memory of the CUDA search, planned in builds without CUDA too.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/search/series_cuda.h"

namespace apsyn {

/// Samples of a buffer: what is kept, less than one and a half segments, and what is new.
std::size_t buffer_samples(const CudaSeriesGroup& group);
std::size_t max_tiles(const CudaSeriesGroup& group);

}  // namespace apsyn
