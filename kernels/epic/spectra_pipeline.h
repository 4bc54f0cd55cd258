// SPDX-License-Identifier: GPL-3.0-or-later
// Voltages in, spectra to a direct imager: an F stage and an imager of one device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "kernels/epic/epic_cuda.h"
#include "libcore/voltage/voltage.h"

namespace apsyn {

class SpectraPipeline {
 public:
  virtual ~SpectraPipeline() = default;
  virtual DirectImager& imager() = 0;
  /// An imager of another plan in place of the one that there is: the same but for factors and flags. Between
  /// accumulations, when all images are there.
  virtual void replace_imager(EpicPlan plan) = 0;
  /// Takes samples of a block from `first` on and tells how many; then spectra must be added before more.
  virtual std::size_t append(const VoltageBlock& block, std::size_t first) = 0;
  /// The block is no longer read when it returns.
  virtual void settle() {}
  virtual void end_of_stream() = 0;
  /// How many spectra from `next` on to add now, of `left` that the image lacks; 0 = wait for more samples.
  virtual std::int64_t ready(std::int64_t next, std::int64_t left, bool at_end) const = 0;
  virtual void add(std::int64_t first, std::size_t n_spectra) = 0;
  /// Spectra before `spectrum` are not asked for again.
  virtual void release(std::int64_t spectrum) = 0;
  /// Blocks of samples in this memory are taken fastest for as long as the result lives; null where it makes
  /// no difference.
  virtual std::shared_ptr<void> pin(void* /*memory*/, std::size_t /*bytes*/) { return nullptr; }
};

using MakeDeviceImager = std::function<std::unique_ptr<DeviceImager>(EpicPlan)>;

/// Spectra stay on the device. `make_imager` is for replace_imager(). DeviceError in a build without CUDA.
std::unique_ptr<SpectraPipeline> make_device_pipeline(std::shared_ptr<DeviceSpectrumSource> source,
                                                      std::unique_ptr<DeviceImager> imager,
                                                      MakeDeviceImager make_imager = {});

}  // namespace apsyn
