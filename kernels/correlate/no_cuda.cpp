// SPDX-License-Identifier: GPL-3.0-or-later
// The factories of cuda/ in a build without the CUDA toolkit.
#include "kernels/correlate/fx_engine.h"
#include "kernels/correlate/pair_sums_cuda.h"
#include "libcore/base/error.h"

namespace apsyn {

std::unique_ptr<FxEngine> make_cuda_fx_engine(std::shared_ptr<DeviceSpectrumSource>, const CorrelatorPlan&,
                                              const IntegrationPlan&, const MeanPlan&, int device_index,
                                              std::optional<FloatAlgorithm>) {
  throw DeviceError("cuda:{}: this build has no CUDA: build with -DAPSYN_CUDA=ON", device_index);
}

std::shared_ptr<DevicePairSums> make_device_pair_sums(std::size_t, std::size_t, int device_index) {
  throw DeviceError("cuda:{}: this build has no CUDA: build with -DAPSYN_CUDA=ON", device_index);
}

}  // namespace apsyn
