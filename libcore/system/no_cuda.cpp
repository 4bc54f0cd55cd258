// SPDX-License-Identifier: GPL-3.0-or-later
// The answers of a build without the CUDA toolkit.
#include "libcore/system/device.h"
#include "libcore/system/device_start.h"

namespace apsyn {

bool built_with_cuda() {
  return false;
}

int cuda_device_count() {
  return 0;
}

std::string cuda_device_name(int) {
  return "none";
}

std::uint64_t cuda_device_memory_bytes(int) {
  return 0;
}

void start_cuda_device(int) {}

void end_cuda_device(int) {}

}  // namespace apsyn
