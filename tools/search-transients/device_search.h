// SPDX-License-Identifier: GPL-3.0-or-later
// Cleaning, dedispersion and filters on a GPU: raw samples go there once, hits come back.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/dedisperse/dedisperse_cuda.h"
#include "kernels/dedisperse/weights.h"
#include "kernels/excise/excise_cuda.h"
#include "kernels/search/cluster.h"
#include "kernels/search/series_cuda.h"
#include "tools/search-transients/plan.h"

namespace apsyn {

class DeviceSearch {
 public:
  DeviceSearch(const SearchPlan& plan, const FilterbankInput& input, int device_index);
  /// Takes the next block of raw samples to the device and measures it (excise_cuda.h).
  BlockStatistics measure(std::span<const std::uint8_t> raw) { return exciser_->measure(raw); }
  /// Cleans the oldest block that is not cleaned, and appends it to what is searched.
  void clean(const BlockStatistics* before, const BlockStatistics& now, const BlockStatistics* after,
             std::span<std::uint8_t> good_time, ExciseReport& report) {
    exciser_->clean(before, now, after, good_time, report);
    dedisperser_->append_from_device(exciser_->samples(), now.n_time);
  }
  /// Copies the samples of the block that was cleaned last, [channel][time].
  void copy_clean(std::int8_t* to) const { exciser_->copy(to); }
  void append_missing(std::size_t n_time) { dedisperser_->append_missing(n_time); }
  /// All trials of n_time input samples from `first` on. The series end with them, or go on.
  std::vector<Hit> search(std::int64_t first, std::size_t n_time, bool ends,
                          const DedispersedWeights& weights);

 private:
  void start(std::size_t batch, std::int64_t first, std::size_t n_time, bool ends,
             const DedispersedWeights& weights, unsigned lane);
  void finish(std::size_t batch, unsigned lane, std::vector<Hit>& hits);

  const SearchPlan& plan_;
  std::unique_ptr<CudaExciser> exciser_;
  std::unique_ptr<CudaDedisperser> dedisperser_;
  std::unique_ptr<CudaSeriesSearch> series_;
};

/// Of the device.
std::uint64_t device_search_bytes(const SearchPlan& plan, const FilterbankInput& input);

}  // namespace apsyn
