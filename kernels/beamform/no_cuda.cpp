// SPDX-License-Identifier: GPL-3.0-or-later
// The factories of cuda/ in a build without the CUDA toolkit.
#include "kernels/beamform/beam_engine.h"
#include "libcore/base/error.h"

namespace apsyn {

std::uint64_t cuda_beam_device_bytes(const BeamformPlan&, const CudaBeamPlan&) {
  return 0;
}
bool cuda_beams_of_int8(int) {
  return false;
}
std::unique_ptr<BeamEngine> make_cuda_beam_engine(std::shared_ptr<DeviceSpectrumSource>, BeamformPlan,
                                                  BeamDelaySource&, int device_index, const CudaBeamPlan&) {
  throw DeviceError("cuda:{}: this build has no CUDA: build with -DAPSYN_CUDA=ON", device_index);
}

}  // namespace apsyn
