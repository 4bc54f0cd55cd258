// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/cuda/layers/grid_array.cuh"

#include "kernels/idg/grid_memory.h"
#include "libcore/base/error.h"

namespace apsyn {

void* allocate_grids(GridMemory where, std::size_t bytes) {
  void* memory = nullptr;
  if (where == GridMemory::gpu) {
    cuda_check(cudaMalloc(&memory, bytes), "allocating the layers");
    return memory;
  }
  Device device{Device::Kind::cuda, 0, ""};
  cuda_check(cudaGetDevice(&device.index), "asking for the device");
  device.description = "cuda:" + std::to_string(device.index);
  const DeviceRoom room = device_room(device);
  if (where == GridMemory::unified && bytes > room.free_bytes)
    throw DeviceError("{}: {} bytes are free and the layers of a pass need {} of managed memory: {}",
                      room.device, room.free_bytes, bytes, kTooLittleForUnified);
  if (where == GridMemory::oversubscribed) check_oversubscription(room);
  cuda_check(cudaMallocManaged(&memory, bytes), "allocating the layers");
  return memory;
}

}  // namespace apsyn
