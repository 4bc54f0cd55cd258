// SPDX-License-Identifier: GPL-3.0-or-later
// Blocks of the host, or of an F stage on the device, as Samples.
#pragma once

#include "kernels/common/cuda/spectra.cuh"
#include "kernels/common/cuda/transfer.h"
#include "kernels/epic/cuda/samples.cuh"
#include "kernels/epic/epic.h"

namespace apsyn::epic_cuda {

class EpicInput {
 public:
  /// `plan` must outlive it.
  explicit EpicInput(const EpicPlan& plan) : plan_(plan) {}

  /// Both: good until the next call, on the same stream.
  Samples from(const SpectraBlock& block, cudaStream_t stream);
  /// `validity` is filled in; done(source, stream) must follow when the samples have been used.
  Samples from(DeviceSpectrumSource& source, std::int64_t first, SpectraBlock& validity, cudaStream_t stream);
  void done(DeviceSpectrumSource& source, cudaStream_t stream) {
    if (source.untouched()) source.used(stream);
  }

 private:
  Samples shape(std::size_t first_chan, std::size_t n_chan, std::size_t n_spectra) const;
  const std::uint8_t* upload_mask(const SpectraBlock& validity, cudaStream_t stream);

  const EpicPlan& plan_;
  Upload<std::uint8_t> panels_;
  Upload<char2> integers_;
  Upload<float2> floats_;
  std::unique_ptr<std::uint8_t[], FreePinned> mask_;
  std::size_t mask_bytes_ = 0;
  Upload<std::uint8_t> device_mask_;
  Event mask_sent_;
  bool mask_in_flight_ = false;
};

}  // namespace apsyn::epic_cuda
