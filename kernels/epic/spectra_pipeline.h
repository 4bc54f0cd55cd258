// SPDX-License-Identifier: GPL-3.0-or-later
// Voltages in, images out: an F stage and a direct imager on one device.
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
  /// Replaces the imager by one of another plan, which differs in factors and flags only. May be called
  /// between accumulations, when all images have been taken.
  virtual void replace_imager(EpicPlan plan) = 0;
  /// Takes samples of a block from `first` on and returns their number; if that is not all, spectra must be
  /// added before more can be taken.
  virtual std::size_t append(const VoltageBlock& block, std::size_t first) = 0;
  /// What waits until the blocks appended so far are no longer read; empty where they are not.
  virtual std::function<void()> taken() { return {}; }
  virtual void end_of_stream() = 0;
  /// Number of spectra from `next` on to add now, of the `left` that the image still needs; 0 = wait for more
  /// samples.
  virtual std::int64_t ready(std::int64_t next, std::int64_t left, bool at_end) const = 0;
  virtual void add(std::int64_t first, std::size_t n_spectra) = 0;
  /// Spectra before `spectrum` will not be needed again.
  virtual void release(std::int64_t spectrum) = 0;
  /// Pins memory, so that blocks of samples in it are taken faster while the result exists; null where it
  /// makes no difference.
  virtual std::shared_ptr<void> pin(void* /*memory*/, std::size_t /*bytes*/) { return nullptr; }
};

using MakeDeviceImager = std::function<std::unique_ptr<DeviceImager>(EpicPlan)>;

/// Spectra stay on the device. `make_imager` is for replace_imager(). DeviceError in a build without CUDA.
std::unique_ptr<SpectraPipeline> make_device_pipeline(std::shared_ptr<DeviceSpectrumSource> source,
                                                      std::unique_ptr<DeviceImager> imager,
                                                      MakeDeviceImager make_imager = {});

}  // namespace apsyn
