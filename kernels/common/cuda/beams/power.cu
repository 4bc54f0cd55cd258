// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/cuda/beams/kernel.cuh"

namespace apsyn::beam_products {

void launch_power(const Task& task, int n_sm, cudaStream_t stream) {
  if (task.n_pol == 1) return launch_groups<Product::power, 1, false>(task, n_sm, stream);
  if (task.layout.n_pol == 1) return launch_power_shared(task, n_sm, stream);
  launch_power_own(task, n_sm, stream);
}

}  // namespace apsyn::beam_products
