// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/grid_memory.h"
#include "libcore/base/error.h"

#include "kernels/common/cuda/attribute.h"

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

}  // namespace apsyn
