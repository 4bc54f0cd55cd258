// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/idg_cuda.h"
#include "libcore/core/error.h"

namespace apsyn {

std::unique_ptr<Degridder> make_cuda_degridder(const Device& device, const IdgPlan&, const IdgSetup&) {
  throw DeviceError("{}: visibilities are predicted on --device cpu as yet", device.description);
}

}  // namespace apsyn
