// SPDX-License-Identifier: GPL-3.0-or-later
// The factories of cuda/ in a build without the CUDA toolkit.
#include "kernels/dedisperse/dedisperse_cuda.h"
#include "libcore/base/error.h"

namespace apsyn {

std::unique_ptr<CudaDedisperser> make_cuda_dedisperser(const DedispersionPlan&, std::size_t, std::size_t,
                                                       unsigned, int device_index) {
  throw DeviceError("cuda:{}: this build has no CUDA: use --device cpu, or build with -DAPSYN_CUDA=ON",
                    device_index);
}

}  // namespace apsyn
