// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/cuda/layers/grid_array.cuh"

#include "kernels/common/cuda/attribute.h"
#include "kernels/idg/grid_memory.h"
#include "libcore/base/error.h"

namespace apsyn {

DeviceRoom device_room(const Device& device) {
  DeviceRoom room;
  room.device = device.description;
  std::size_t free_bytes = 0, total_bytes = 0;
  cuda_check(cudaSetDevice(device.index), "choosing the device");
  cuda_check(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for the device's memory");
  room.free_bytes = free_bytes;
  room.total_bytes = total_bytes;
  room.can_oversubscribe = device_attribute(cudaDevAttrConcurrentManagedAccess, device.index) != 0;
  return room;
}

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
