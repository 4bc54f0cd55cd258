// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA gridder and degridder behind make_gridder() and make_degridder(). DeviceError in a build without
// CUDA.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/idg/idg.h"

namespace apsyn {

/// As layers_on_device().
std::size_t cuda_gridder_layers(const Device& device, const IdgPlan& plan, std::size_t n_planes,
                                std::size_t n_gridders);
/// The same for a device with so much memory free.
struct DeviceMemory {
  std::uint64_t free_bytes = 0, total_bytes = 0;
};
std::size_t gridder_layers_within(const DeviceMemory& memory, const Device& device, const IdgPlan& plan,
                                  std::size_t n_planes, std::size_t n_gridders);
/// Scratch of a CUDA gridder for the sums and subgrids of one range of tasks.
inline constexpr std::uint64_t kCudaRangeBytes = 1'500'000'000;
std::unique_ptr<Gridder> make_cuda_gridder(const Device& device, const IdgPlan& plan, const IdgSetup& setup);
std::unique_ptr<Degridder> make_cuda_degridder(const Device& device, const IdgPlan& plan,
                                               const IdgSetup& setup);

}  // namespace apsyn
