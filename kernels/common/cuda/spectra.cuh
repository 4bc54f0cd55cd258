// SPDX-License-Identifier: GPL-3.0-or-later
// Spectra that are made on a device and stay there: what an F stage offers to an X stage. For host code with
// CUDA only; the counterpart of SpectrumSource.
#pragma once

#include <cuda_runtime.h>
#include <algorithm>

#include <cstdint>
#include <functional>

#include "kernels/common/cuda/x_layout.cuh"
#include "kernels/common/spectra/spectra.h"
#include "libcore/voltage/voltage.h"

namespace apsyn {

/// Samples that need no F stage, [time][chan][input] on the device.
struct DeviceSamples {
  const std::uint8_t* data = nullptr;
  bool four_bit = false;  ///< a byte each, re in the high nibble; otherwise int8 re, im
};

class DeviceSpectrumSource {
 public:
  virtual ~DeviceSpectrumSource() = default;

  /// Takes samples of the block from `first` on, as many as there is room for, and tells how many. Blocks
  /// follow each other; the next may come when all of one is taken. Spectra must be taken in between, or no
  /// room appears.
  virtual std::size_t append(const VoltageBlock& block, std::size_t first) = 0;
  /// What waits until the blocks appended so far are no longer read; empty where they are not.
  virtual std::function<void()> taken() = 0;
  virtual void end_of_stream() = 0;
  /// Spectra up to which those that are on the device, or on their way, reach.
  virtual std::int64_t available() const = 0;
  /// Spectra before `spectrum` are not asked for again.
  virtual void release(std::int64_t spectrum) = 0;

  /// The most spectra that may be asked for at once.
  virtual std::size_t max_spectra() const = 0;
  /// Fewer than this many are not worth a launch of their own while more are to come.
  virtual std::size_t good_spectra() const = 0;

  /// Whether spectra are the stream's integers themselves: samples() instead of spectra().
  virtual bool untouched() const = 0;
  /// Both: of `validity`, n_spectra tells how many, the rest is filled in. Spectra of one integration only.
  virtual DeviceSamples samples(std::int64_t first, SpectraBlock& validity, cudaStream_t stream) = 0;
  /// The work that reads samples() has been queued.
  virtual void used(cudaStream_t stream) = 0;
  /// Queues integers of all channels in `layout` at `out`; without weight they are 0.
  virtual void spectra(std::int64_t first, SpectraBlock& validity, const x_layout::Layout& layout,
                       std::int8_t* out, cudaStream_t stream) = 0;
  /// Queues float32 complex [chan * n_fine + fine][spectrum][input], channels channel_stride values apart.
  virtual void spectra(std::int64_t first, SpectraBlock& validity, std::size_t channel_stride, float2* out,
                       cudaStream_t stream) = 0;
  /// [chan][input] s of an integration: the integers are s times the spectra. Empty when untouched.
  virtual View<const float, 2> scales(std::int64_t integration) const = 0;
  /// [chan][input] components that were clipped so far, of the work that is over.
  virtual std::vector<std::uint64_t> clipped() const = 0;
};

/// Of the input and input channel that lost most, the share of components of `n_spectra` spectra of n_fine
/// channels that were clipped.
inline double highest_share(const std::vector<std::uint64_t>& clipped, std::size_t n_fine,
                            std::int64_t n_spectra) {
  if (clipped.empty() || n_spectra == 0) return 0;
  return static_cast<double>(*std::max_element(clipped.begin(), clipped.end())) /
         (2 * static_cast<double>(n_fine) * static_cast<double>(n_spectra));
}

}  // namespace apsyn
