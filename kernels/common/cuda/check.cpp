// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/cuda/check.h"

#include "kernels/common/cuda/attribute.h"
#include "kernels/common/free_memory.h"
#include "libcore/base/error.h"

namespace apsyn {

void cuda_check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw DeviceError("cuda: {}: {}", what, cudaGetErrorString(status));
}

int device_attribute(cudaDeviceAttr what, int device_index) {
  int value = 0;
  cuda_check(cudaDeviceGetAttribute(&value, what, device_index), "asking for the device's properties");
  return value;
}

std::uint64_t cuda_free_memory_bytes(int device_index) {
  std::size_t free_bytes = 0, total_bytes = 0;
  cuda_check(cudaSetDevice(device_index), "choosing the device");
  cuda_check(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for the device's memory");
  return free_bytes;
}

}  // namespace apsyn
