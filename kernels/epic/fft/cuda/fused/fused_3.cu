// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/fft/cuda/fused/launch.cuh"

namespace apsyn::epic_fft {

void launch_last_3(const FusedTask& task, int n_value, cudaStream_t stream) {
  launch_values<3>(task, n_value, stream);
}

}  // namespace apsyn::epic_fft
