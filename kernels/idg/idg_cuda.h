// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA gridders and degridder behind make_gridder(), make_planes_gridder() and make_degridder().
// DeviceError in a build without CUDA.
#pragma once

#include <memory>

#include "kernels/idg/idg.h"
#include "kernels/idg/planes.h"

namespace apsyn {

std::unique_ptr<Gridder> make_cuda_gridder(const Device& device, const IdgPlan& plan, const IdgSetup& setup);
std::unique_ptr<Gridder> make_cuda_planes_gridder(const Device& device, const PlanesPlan& plan,
                                                  const IdgSetup& setup);
std::unique_ptr<Degridder> make_cuda_degridder(const Device& device, const IdgPlan& plan,
                                               const IdgSetup& setup);

}  // namespace apsyn
