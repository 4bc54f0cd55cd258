// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/free_memory.h"

#include "kernels/common/cuda/check.h"

namespace apsyn {

std::uint64_t cuda_free_memory_bytes(int device_index) {
  std::size_t free_bytes = 0, total_bytes = 0;
  cuda_check(cudaSetDevice(device_index), "choosing the device");
  cuda_check(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for the device's memory");
  return free_bytes;
}

}  // namespace apsyn
