// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/beam_products.cuh"

#include "kernels/common/beam_products_kernel.cuh"
#include "kernels/common/device_attribute.h"

namespace apsyn::beam_products {

namespace {

int generation(int device_index) {
  return device_attribute(cudaDevAttrComputeCapabilityMajor, device_index);
}

}  // namespace

bool supported(int device_index) {
  return generation(device_index) >= 8;
}

void launch(const Task& task, int n_sm, cudaStream_t stream) {
  int device = 0;
  cuda_check(cudaGetDevice(&device), "asking for the device");
  if (generation(device) != 9) return launch_mma(task, n_sm, stream);
  switch (task.product) {
    case Product::voltage:
      return launch_voltage(task, n_sm, stream);
    case Product::power:
      return launch_power(task, n_sm, stream);
    case Product::coherence:
      return launch_coherence(task, n_sm, stream);
    case Product::quadratic:
      return launch_quadratic(task, n_sm, stream);
  }
}

}  // namespace apsyn::beam_products
