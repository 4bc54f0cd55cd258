// SPDX-License-Identifier: GPL-3.0-or-later
// Dedispersion (dedisperse.h) on a GPU: the CPU's plan and sums, integer for integer, from samples that
// travel to the device once and stay there at every time resolution while trials need them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/common/series_on_device.h"
#include "kernels/dedisperse/dedisperse.h"

namespace apsyn {

class CudaDedisperser {
 public:
  virtual ~CudaDedisperser() = default;
  /// The next input samples, [chan][time]; row `chan` starts at samples + chan * stride. All but the last
  /// call a multiple of every level's factor; a level's samples are sums of `factor` over its square root,
  /// rounded, at most 127. Work that dedisperse() enqueued must have ended.
  virtual void append(const std::int8_t* samples, std::size_t stride, std::size_t n_time) = 0;
  /// The same of samples in the device's memory, [chan][time] without gaps, which are there already.
  virtual void append_from_device(const std::int8_t* samples, std::size_t n_time) = 0;
  /// Nothing was observed: zeros.
  virtual void append_missing(std::size_t n_time) = 0;
  /// Enqueues the sums of batch `batch` from input sample `first` on, a multiple of the level's factor:
  /// out [trial][out.n_time]. The samples that they need must have been appended, and not more than the
  /// capacity after the first of them.
  virtual void dedisperse(std::size_t batch, std::int64_t first, const DeviceSeries& out) = 0;
};

/// Keeps at least `capacity` input samples, and makes at most `n_time` sums of a trial at a time (of the
/// input's resolution), in `n_lane` lanes. The plan must outlive it. DeviceError in a build without CUDA,
/// without the device, or when its memory does not suffice.
std::unique_ptr<CudaDedisperser> make_cuda_dedisperser(const DedispersionPlan& plan, std::size_t capacity,
                                                       std::size_t n_time, unsigned n_lane, int device_index);
/// Of the device.
std::uint64_t cuda_dedisperser_bytes(const DedispersionPlan& plan, std::size_t capacity, std::size_t n_time,
                                     unsigned n_lane);

/// Samples of a row of partial sums: the outputs and how far shifts reach, in whole words.
std::size_t row_samples(const DedispersionBatch& batch, std::size_t n_time);
std::size_t sums_of(const DedispersionPlan& plan, std::size_t n_time);
std::size_t ring_samples(std::size_t capacity, std::size_t factor);

}  // namespace apsyn
