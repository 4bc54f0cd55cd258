// SPDX-License-Identifier: GPL-3.0-or-later
#ifdef APSYN_CUDA
#include "kernels/common/cuda_check.h"

#include "libcore/core/error.h"

namespace apsyn {

void cuda_check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw DeviceError("cuda: {}: {}", what, cudaGetErrorString(status));
}

}  // namespace apsyn
#endif
