// SPDX-License-Identifier: GPL-3.0-or-later
// The factories of cuda/ in a build without the CUDA toolkit.
#include "kernels/clean/cleaner_cuda.h"
#include "libcore/base/error.h"

namespace apsyn {

std::unique_ptr<CudaCleaner> make_cuda_cleaner(const PlaneSet&, const CudaCleanSetup& setup,
                                               const ScaleMasks&) {
  throw DeviceError("cuda:{}: this build has no CUDA: use --device cpu, or build with -DAPSYN_CUDA=ON",
                    setup.device_index);
}

}  // namespace apsyn
