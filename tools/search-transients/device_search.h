// SPDX-License-Identifier: GPL-3.0-or-later
// Dedispersion and filters on a GPU: cleaned samples go there once, hits come back.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/dedisperse/dedisperse_cuda.h"
#include "kernels/dedisperse/weights.h"
#include "kernels/search/cluster.h"
#include "kernels/search/series_cuda.h"
#include "tools/search-transients/plan.h"

namespace apsyn {

class DeviceSearch {
 public:
  DeviceSearch(const SearchPlan& plan, int device_index);
  /// Appends samples [channel][time], rows `stride` apart, as SampleHistory does.
  void append(const std::int8_t* samples, std::size_t stride, std::size_t n_time) {
    dedisperser_->append(samples, stride, n_time);
  }
  void append_missing(std::size_t n_time) { dedisperser_->append_missing(n_time); }
  /// All trials of n_time input samples from `first` on. The series end with them, or go on.
  std::vector<Hit> search(std::int64_t first, std::size_t n_time, bool ends,
                          const DedispersedWeights& weights);

 private:
  void start(std::size_t batch, std::int64_t first, std::size_t n_time, bool ends,
             const DedispersedWeights& weights, unsigned lane);
  void finish(std::size_t batch, unsigned lane, std::vector<Hit>& hits);

  const SearchPlan& plan_;
  std::unique_ptr<CudaDedisperser> dedisperser_;
  std::unique_ptr<CudaSeriesSearch> series_;
};

/// Of the device.
std::uint64_t device_search_bytes(const SearchPlan& plan);

}  // namespace apsyn
