// SPDX-License-Identifier: GPL-3.0-or-later
// Chosen rows of an array in pinned memory, read by the device across its bus: no thread of the host copies
// them. For device and host code with CUDA.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace apsyn::idg {

/// Rows that the bus carries about as well as whole arrays: from this many bytes, and of whole words.
constexpr std::size_t kMinFetchedBytes = 128, kFetchedWordBytes = 16;

/// to[i] = from[rows[i]] for i < n_rows, rows of n_words words of 16 bytes. `from` is the device's address of
/// pinned memory; all are aligned to words.
void launch_fetch_rows(const void* from, std::uint32_t n_words, const std::uint32_t* rows,
                       std::uint32_t n_rows, void* to, cudaStream_t stream);

/// Weights that row_weights.h packs, packed [row][word] to weight [row][chan].
void launch_unpack_weights(const std::uint32_t* packed, std::uint32_t n_rows, std::uint32_t n_chan,
                           float* weight, cudaStream_t stream);

}  // namespace apsyn::idg
