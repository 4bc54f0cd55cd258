// SPDX-License-Identifier: GPL-3.0-or-later
// The factories of cuda/ in a build without the CUDA toolkit.
#include "kernels/channelise/channelise_cuda.h"
#include "libcore/base/error.h"

namespace apsyn {

std::shared_ptr<DeviceSpectrumSource> make_cuda_channeliser(const CudaChannelisePlan&, DelaySource*,
                                                            int device_index) {
  throw DeviceError("cuda:{}: this build has no CUDA: build with -DAPSYN_CUDA=ON", device_index);
}

}  // namespace apsyn
