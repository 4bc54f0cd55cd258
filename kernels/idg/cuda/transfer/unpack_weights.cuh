// SPDX-License-Identifier: GPL-3.0-or-later
// What row_weights.h packs, unpacked on the device. For device and host code with CUDA.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace apsyn::idg {

/// packed [row][word] to weight [row][chan].
void launch_unpack_weights(const std::uint32_t* packed, std::uint32_t n_rows, std::uint32_t n_chan,
                           float* weight, cudaStream_t stream);

}  // namespace apsyn::idg
