// SPDX-License-Identifier: GPL-3.0-or-later
#include <cuda_runtime.h>

#include "libcore/system/device.h"
#include "libcore/system/device_start.h"

namespace apsyn {

bool built_with_cuda() {
  return true;
}

int cuda_device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();  // no driver or no device: not an error for whoever only asks
    return 0;
  }
  return count;
}

std::string cuda_device_name(int index) {
  cudaDeviceProp properties{};
  return cudaGetDeviceProperties(&properties, index) == cudaSuccess ? properties.name : "unknown";
}

std::uint64_t cuda_device_memory_bytes(int index) {
  cudaDeviceProp properties{};
  return cudaGetDeviceProperties(&properties, index) == cudaSuccess ? properties.totalGlobalMem : 0;
}

void start_cuda_device(int index) {
  if (cudaSetDevice(index) != cudaSuccess || cudaFree(nullptr) != cudaSuccess) cudaGetLastError();
}

void end_cuda_device(int index) {
  if (cudaSetDevice(index) != cudaSuccess || cudaDeviceReset() != cudaSuccess) cudaGetLastError();
}

}  // namespace apsyn
