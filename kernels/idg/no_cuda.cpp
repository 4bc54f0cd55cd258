// SPDX-License-Identifier: GPL-3.0-or-later
// The factories of cuda/ in a build without the CUDA toolkit.
#include "kernels/idg/degrid_cuda.h"
#include "kernels/idg/grid_memory.h"
#include "kernels/idg/idg_cuda.h"
#include "kernels/idg/kept_visibilities.h"
#include "kernels/idg/planes.h"
#include "kernels/idg/residual_imager.h"
#include "libcore/base/error.h"

namespace apsyn {

DeviceRoom device_room(const Device& device) {
  throw DeviceError("{}: this build has no CUDA: build with -DAPSYN_CUDA=ON", device.description);
}

std::unique_ptr<CudaDegridder> make_cuda_degridder(const Device& device, const IdgPlan&, const IdgSetup&,
                                                   DegridSum, DegridRows) {
  throw DeviceError("{}: this build has no CUDA: build with -DAPSYN_CUDA=ON", device.description);
}

std::unique_ptr<Degridder> make_cuda_degridder(const Device& device, const IdgPlan& plan,
                                               const IdgSetup& setup) {
  return make_cuda_degridder(device, plan, setup, DegridSum::automatic);
}

std::unique_ptr<ResidualImager> make_residual_imager(const Device& device, const IdgPlan&, std::size_t,
                                                     unsigned) {
  throw DeviceError("{}: this build has no CUDA: build with -DAPSYN_CUDA=ON", device.description);
}

std::unique_ptr<KeptVisibilities> keep_visibilities(const Device& device, std::size_t, std::uint64_t,
                                                    unsigned) {
  throw DeviceError("{}: this build has no CUDA: build with -DAPSYN_CUDA=ON", device.description);
}

std::unique_ptr<Gridder> make_cuda_gridder(const Device& device, const IdgPlan&, const IdgSetup&) {
  throw DeviceError("{}: this build has no CUDA: build with -DAPSYN_CUDA=ON", device.description);
}

std::unique_ptr<Gridder> make_cuda_planes_gridder(const Device& device, const PlanesPlan&, const IdgSetup&) {
  throw DeviceError("{}: this build has no CUDA: build with -DAPSYN_CUDA=ON", device.description);
}

std::uint64_t planes_device_bytes(const PlanesPlan&, const IdgSetup&) {
  throw DeviceError("this build has no CUDA: build with -DAPSYN_CUDA=ON");
}

}  // namespace apsyn
