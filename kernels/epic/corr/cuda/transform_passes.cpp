// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/corr/cuda/transform_passes.cuh"

#include <cmath>

#include "kernels/epic/fft/cuda/fused/plan.h"
#include "libcore/base/constants.h"

namespace apsyn::epic_cuda {

int append_passes(const epic_fft::RadixPlan& radices, std::size_t length, TransformPass* passes,
                  std::vector<float2>& turns) {
  int n = 0, part = static_cast<int>(length);
  for (const int radix : radices.radices) {
    passes[n++] = {radix, part, static_cast<int>(turns.size()),
                   divider(static_cast<std::size_t>(part / radix))};
    for (int k = 0; k < part / radix; ++k)
      for (int q = 1; q < radix; ++q) {
        const double angle = -kTwoPi * k * q / part;
        turns.push_back({static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))});
      }
    part /= radix;
  }
  return n;
}

}  // namespace apsyn::epic_cuda
