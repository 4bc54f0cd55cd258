// SPDX-License-Identifier: GPL-3.0-or-later
// A way in which the field is imaged on a device. For host code with CUDA only.
#pragma once

#include <memory>

#include "kernels/common/cuda/transfer.h"
#include "kernels/epic/sky_pixels.h"

namespace apsyn::epic_cuda {

class DeviceFieldEngine {
 public:
  virtual ~DeviceFieldEngine() = default;
  /// When the geometry is another; nothing is being imaged. Returns what samples are to be multiplied by,
  /// [channel][ant * n_pol + pol].
  virtual Buffer<std::complex<float>, 2> aim(const EpicGeometry& geometry, const SkyPixels& pixels) = 0;
  /// Queues fields [channel][pol][pixel] of one spectrum of channels first_channel ..; samples
  /// [channel][ant][pol], times those factors. Polarisations are those that the plan asks for.
  virtual void image(const float2* samples, int first_channel, int n_channel, float2* fields,
                     cudaStream_t stream) = 0;
};

/// `plan` must outlive the engine.
std::unique_ptr<DeviceFieldEngine> make_field_dft_engine(const EpicPlan& plan);
/// UsageError and std::logic_error as make_field_fft_imager().
std::unique_ptr<DeviceFieldEngine> make_field_fft_engine(const EpicPlan& plan);

}  // namespace apsyn::epic_cuda
