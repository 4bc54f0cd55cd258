// SPDX-License-Identifier: GPL-3.0-or-later
// The factories of cuda/ and images/cuda/ in a build without the CUDA toolkit.
#include "kernels/search/images/curve_store.h"
#include "kernels/search/series_cuda.h"
#include "libcore/base/error.h"

namespace apsyn {
namespace {

DeviceError no_cuda(int device_index) {
  return DeviceError("cuda:{}: this build has no CUDA: use --device cpu, or build with -DAPSYN_CUDA=ON",
                     device_index);
}

}  // namespace

std::unique_ptr<CudaSeriesSearch> make_cuda_series_search(const std::vector<CudaSeriesGroup>&, unsigned,
                                                          int device_index) {
  throw no_cuda(device_index);
}

std::unique_ptr<CurveStore> make_cuda_curve_store(const LightCurvePlan& plan) {
  throw no_cuda(plan.device.index);
}

}  // namespace apsyn
