// SPDX-License-Identifier: GPL-3.0-or-later
// Images of one process's GPU in another process of the machine, by CUDA's interprocess handles: over NVLink
// or PCIe, without the host's memory. For host code with CUDA only.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/common/cuda/array.h"

namespace apsyn::idg_cuda {

/// For add_shared() in another process. Empty where the driver has none, and for arrays so small that they
/// may lie in one allocation with others.
std::vector<std::byte> shared_handle(const DeviceArray<double>& values);

/// to[i] += what another process's array of the same size holds; returns when all are added. False, with
/// nothing added, where it cannot be reached: not of this machine, other namespaces, no peer access.
bool add_shared(const DeviceArray<double>& to, std::span<const std::byte> handle, cudaStream_t stream);

}  // namespace apsyn::idg_cuda
