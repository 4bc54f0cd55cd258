// SPDX-License-Identifier: GPL-3.0-or-later
// Plans of cuFFT that exist for their code to be loaded: another plan of the same kind takes a millisecond
// then. For host code with CUDA only.
#pragma once

#include <cufft.h>

#include <array>

namespace apsyn {

/// A plan of [batch][shape 0][shape 1], or of one axis where shape 1 is 0, that takes no memory of the device
/// and stays until the process ends. An error is none: whoever transforms will meet it.
inline void warm_up_fft(std::array<int, 2> shape, int batch, cufftType type) {
  cufftHandle plan = 0;
  if (cufftCreate(&plan) != CUFFT_SUCCESS) return;
  size_t bytes = 0;
  cufftSetAutoAllocation(plan, 0);
  const int rank = shape[1] == 0 ? 1 : 2;
  cufftMakePlanMany(plan, rank, shape.data(), nullptr, 1, 0, nullptr, 1, 0, type, batch, &bytes);
}

}  // namespace apsyn
