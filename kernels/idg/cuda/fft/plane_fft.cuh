// SPDX-License-Identifier: GPL-3.0-or-later
// Transforms of many small planes, each read and written once: a block holds one in shared memory. cuFFT's
// rows and columns cross device memory twice as often. For host code with CUDA only.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace apsyn {

/// Planes of side x side: 16 to 160, lengths that subgrids are planned with, as far as the current device has
/// shared memory for them.
bool has_plane_fft(std::size_t side);
/// planes [plane][side][side] in place, unnormalised, exponent -1, or +1 if `inverse`.
void launch_plane_fft(float2* planes, std::size_t n_planes, std::size_t side, bool inverse,
                      cudaStream_t stream);

}  // namespace apsyn
