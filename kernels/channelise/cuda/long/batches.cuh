// SPDX-License-Identifier: GPL-3.0-or-later
// Long spectra in batches: samples are put into series (cuda/long/arrange.cu), of which one kernel makes
// spectra (cuda/long/long.cuh). Batches go through two lanes, so that one's last blocks leave no part of the
// device idle, and are small enough for series to stay in its cache. For host code with CUDA only.
#pragma once

#include "kernels/channelise/cuda/kernels.cuh"
#include "kernels/channelise/cuda_sizes.h"
#include "kernels/common/cuda/transfer.h"

namespace apsyn::f_stage {

/// What is made together, such that its series take about `most_bytes`: spectra of all streams, in multiples
/// of 64, and channels; some of the streams only where 64 spectra of all are too many.
struct LongBatches {
  LongBatches(const Task& task, std::size_t most_bytes);
  int chans, streams, spectra;
};

class LongSpectra {
 public:
  /// Series of a lane take about most_bytes; 0: series_bytes().
  explicit LongSpectra(std::size_t most_bytes = 0) : most_bytes_(most_bytes) {}
  /// Queues a task's spectra. `placements` are the task's, on the host; `factors` are those of long_factors,
  /// on the device.
  void run(const Task& task, const Placement* placements, const IntegerOutput& out,
           const std::uint8_t* factors, cudaStream_t stream);

 private:
  struct Lane {
    CopyStream stream;
    Upload<uint2> series;
    Event done;
  };
  std::size_t most_bytes_;
  Lane lanes_[2];
  Event ready_;
};

}  // namespace apsyn::f_stage
