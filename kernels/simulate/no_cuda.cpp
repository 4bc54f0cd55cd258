// SPDX-License-Identifier: GPL-3.0-or-later
// The factories of cuda/ in a build without the CUDA toolkit.
#include "kernels/simulate/device_components.h"
#include "libcore/base/error.h"

namespace apsyn::simulate {

std::unique_ptr<DeviceComponents> make_device_components(const SkyModel&,
                                                         const DeviceComponentsSetup& setup) {
  throw DeviceError("cuda:{}: this build has no CUDA: use --device cpu, or build with -DAPSYN_CUDA=ON",
                    setup.device_index);
}

}  // namespace apsyn::simulate
