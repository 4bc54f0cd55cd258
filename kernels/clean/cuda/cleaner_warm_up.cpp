// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/clean/cleaner_warm_up.h"

#include <algorithm>

#include "kernels/clean/cpu/image_convolver.h"
#include "kernels/common/cuda/check.h"
#include "kernels/common/cuda/warm_fft.h"

namespace apsyn {

void warm_up_cleaner(const Device& device, CleanAlgorithm algorithm, std::size_t ny, std::size_t nx) {
  if (device.kind != Device::Kind::cuda || algorithm == CleanAlgorithm::hogbom ||
      cudaSetDevice(device.index) != cudaSuccess)
    return;
  const auto padded = [](std::size_t n) {
    return static_cast<int>(ImageConvolver::padded(n, std::min(n / 2, n - 1)));
  };
  for (const cufftType type : {CUFFT_R2C, CUFFT_C2R}) warm_up_fft({padded(ny), padded(nx)}, 1, type);
}

}  // namespace apsyn
