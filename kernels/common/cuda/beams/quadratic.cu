// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/cuda/beams/kernel.cuh"

namespace apsyn::beam_products {

void launch_quadratic(const Task& task, int n_sm, cudaStream_t stream) {
  launch_product<Product::quadratic>(task, n_sm, stream);
}

}  // namespace apsyn::beam_products
