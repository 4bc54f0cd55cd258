// SPDX-License-Identifier: GPL-3.0-or-later
// The factories of cuda/ in a build without the CUDA toolkit.
#include "kernels/excise/excise_cuda.h"
#include "libcore/base/error.h"

namespace apsyn {

std::unique_ptr<CudaExciser> make_cuda_exciser(const ExciseSettings&, const RawSampleFormat&, std::size_t,
                                               int device_index) {
  throw DeviceError("cuda:{}: this build has no CUDA: use --device cpu, or build with -DAPSYN_CUDA=ON",
                    device_index);
}

}  // namespace apsyn
