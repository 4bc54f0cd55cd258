// SPDX-License-Identifier: GPL-3.0-or-later
// What batches and buffers of the CUDA F stage are planned by.
#pragma once

#include "kernels/channelise/channelise_cuda.h"

namespace apsyn::f_stage {

constexpr std::uint64_t kStepBytes = 256u << 20;  ///< of the stepwise path's intermediate values

/// Of the series of either lane of long spectra: few enough for the device's cache where that gives launches
/// enough to do, which longer spectra need more for.
constexpr std::uint64_t series_bytes(int length) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(length) << 16;
  return bytes < (32u << 20) ? 32u << 20 : bytes > kStepBytes / 2 ? kStepBytes / 2 : bytes;
}

/// Spectra worth a launch: whole rows of the X stage's layout, fewer of very long ones.
std::size_t good_spectra(const ChannelisePlan& plan);
/// Samples that may be needed again when the next gulp comes: less than a launch, the windows of scales that
/// are not settled, and what taps and delays, of at most max_shift samples, reach for.
std::size_t rest_samples(const CudaChannelisePlan& plan, std::int64_t max_shift);
/// Bytes per spectrum of placements, and of masks for every channel that only floats need.
std::size_t placement_bytes(const CudaChannelisePlan& plan);

}  // namespace apsyn::f_stage
