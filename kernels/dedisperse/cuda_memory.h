// SPDX-License-Identifier: GPL-3.0-or-later
// Memory of the CUDA dedisperser, planned in builds without CUDA too.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/dedisperse/dedisperse_cuda.h"

namespace apsyn {

/// Samples of a row of partial sums: the outputs and how far shifts reach, in whole words.
std::size_t row_samples(const DedispersionBatch& batch, std::size_t n_time);
std::size_t sums_of(const DedispersionPlan& plan, std::size_t n_time);
std::size_t ring_samples(std::size_t capacity, std::size_t factor);

}  // namespace apsyn
