// SPDX-License-Identifier: GPL-3.0-or-later
// Checked CUDA calls. Free of fmt, whose compile-time checks nvcc cannot evaluate, so that *.cu files can
// include it.
#pragma once

#include <cuda_runtime.h>

namespace apsyn {

/// DeviceError with CUDA's own words unless `status` is success.
void cuda_check(cudaError_t status, const char* what);

}  // namespace apsyn
