// SPDX-License-Identifier: GPL-3.0-or-later
// The cleaning of excise.h on a GPU: raw samples travel there as they are in the file, cleaned ones stay
// there. Statistics, samples and the report are those of a CPU with fused products and sums, bit for bit.
// Sums over samples and what is done to every sample are the device's part; medians, thresholds and what is
// taken out the host's.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "kernels/excise/excise.h"

namespace apsyn {

/// Samples as they are in a file, [time][IF][channel].
struct RawSampleFormat {
  std::size_t n_chan = 1, n_if = 1;
  unsigned n_bit = 8;      ///< 1, 2, 4, 8 or 16 of integers, 32 of floats; low bits come first
  bool is_signed = false;  ///< two's complement
  bool sum = false;        ///< of the first two IFs; else the first
  std::size_t bytes_per_sample() const { return n_chan * n_if * n_bit / 8; }
};

/// Blocks come one after the other. One thread may measure while another cleans blocks that are measured; up
/// to six may be on the device.
class CudaExciser {
 public:
  virtual ~CudaExciser() = default;
  /// Takes the next block to the device and measures it. `raw` may be written again afterwards.
  virtual BlockStatistics measure(std::span<const std::uint8_t> raw) = 0;
  /// Cleans the oldest block that is not cleaned, as clean_block().
  virtual void clean(const BlockStatistics* before, const BlockStatistics& now, const BlockStatistics* after,
                     std::span<std::uint8_t> good_time, ExciseReport& report) = 0;
  /// Samples of the block that was cleaned last, [chan][time] without gaps, in the device's memory; until the
  /// next is cleaned.
  virtual const std::int8_t* samples() const = 0;
  /// Copies them to the host.
  virtual void copy(std::int8_t* to) const = 0;
};

/// Of blocks of at most `n_time` samples. DeviceError in a build without CUDA, without the device, or when
/// its memory does not suffice.
std::unique_ptr<CudaExciser> make_cuda_exciser(const ExciseSettings& settings, const RawSampleFormat& format,
                                               std::size_t n_time, int device_index);
/// Of the device.
std::uint64_t cuda_exciser_bytes(const RawSampleFormat& format, std::size_t n_time);

}  // namespace apsyn
