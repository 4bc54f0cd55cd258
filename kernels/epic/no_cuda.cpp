// SPDX-License-Identifier: GPL-3.0-or-later
// The factories of cuda/ in a build without the CUDA toolkit.
#include "kernels/epic/corr/corr_cuda.h"
#include "kernels/epic/epic_cuda.h"
#include "kernels/epic/fft/fft_cuda.h"
#include "kernels/epic/spectra_pipeline.h"
#include "libcore/base/error.h"

namespace apsyn {

std::unique_ptr<DeviceImager> make_field_imager_cuda(EpicMethod, EpicPlan, int device_index) {
  throw DeviceError("cuda:{}: this build has no CUDA: build with -DAPSYN_CUDA=ON", device_index);
}

std::unique_ptr<DeviceImager> make_dft_imager_cuda(EpicPlan, EpicPrecision, int device_index) {
  throw DeviceError("cuda:{}: this build has no CUDA: build with -DAPSYN_CUDA=ON", device_index);
}
std::unique_ptr<DeviceImager> make_dft_imager_cuda(EpicPlan plan, EpicPrecision precision, int device_index,
                                                   MakePairSums, double) {
  return make_dft_imager_cuda(std::move(plan), precision, device_index);
}

std::unique_ptr<DeviceImager> make_corr_imager_cuda(EpicPlan, MakePairSums, int device_index, CorrMethod,
                                                    std::size_t, EpicPrecision) {
  throw DeviceError("cuda:{}: this build has no CUDA: build with -DAPSYN_CUDA=ON", device_index);
}

std::unique_ptr<DeviceImager> make_corr_imager_cuda(EpicPlan plan, MakePairSums make_sums, int device_index) {
  return make_corr_imager_cuda(std::move(plan), std::move(make_sums), device_index, CorrMethod::cheapest);
}

std::unique_ptr<SpectraPipeline> make_device_pipeline(std::shared_ptr<DeviceSpectrumSource>,
                                                      std::unique_ptr<DeviceImager>, MakeDeviceImager) {
  throw DeviceError("this build has no CUDA: build with -DAPSYN_CUDA=ON");
}

std::uint64_t fft_device_bytes(const EpicPlan&, const EpicGeometry&, std::size_t, EpicPrecision, int) {
  return 0;
}

std::unique_ptr<DeviceImager> make_fft_imager_cuda(EpicPlan, int device_index, EpicPrecision, FftVariant) {
  throw DeviceError("cuda:{}: this build has no CUDA: build with -DAPSYN_CUDA=ON", device_index);
}

}  // namespace apsyn
