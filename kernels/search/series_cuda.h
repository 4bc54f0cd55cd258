// SPDX-License-Identifier: GPL-3.0-or-later
// The search of series.h on a GPU, for series that are there already: statistics, detrending, windows of all
// widths and the best of those that overlap. What comes back are hits. Sums of windows are differences of
// running sums in float64; a signal-to-noise ratio differs from the CPU's by float32 rounding, so that of
// windows that are equal to 1e-6 another one may be the best.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/common/series_on_device.h"
#include "kernels/search/series.h"

namespace apsyn {

/// From sample `at` of the buffer on, the weight is more by `step`.
struct WeightChange {
  std::uint32_t at = 0;
  float step = 0;
};
/// Weights of one series: of all that is kept from the last call and what is new. They are `first` plus the
/// changes before; none: all the same. Sums of steps must be exact in float32.
struct SeriesWeights {
  float first = 1;
  std::span<const WeightChange> changes;  ///< by `at`, above 0
};

struct BatchHit {
  std::size_t series = 0;
  SeriesHit hit;
};

/// Groups of series, which go on from call to call, in several lanes that may overlap.
class CudaSeriesSearch {
 public:
  virtual ~CudaSeriesSearch() = default;
  /// Samples that `group` keeps; weights() begins with theirs.
  virtual std::size_t n_kept(std::size_t group) const = 0;
  virtual std::int64_t begin(std::size_t group) const = 0;  ///< sample of the first kept one
  /// Where the next n_time samples of a group go. The lane must be free, and the group's last search
  /// finished.
  virtual DeviceSeries next(std::size_t group, std::size_t n_time, unsigned lane) = 0;
  /// Enqueues the search of what next() gave room for, as search_series(): `weights` of each series.
  virtual void search(std::span<const SeriesWeights> weights, bool ends, unsigned lane) = 0;
  /// Waits for the lane's search, and frees it. Series by series, each in the order of search_series().
  virtual std::vector<BatchHit> finish(unsigned lane) = 0;
};

struct CudaSeriesGroup {
  std::size_t n_series = 0;
  const SeriesPlan* plan = nullptr;
  std::size_t n_time = 0;  ///< the most samples of one call
};

/// The plans must outlive it. DeviceError in a build without CUDA, without the device, or when its memory
/// does not suffice.
std::unique_ptr<CudaSeriesSearch> make_cuda_series_search(const std::vector<CudaSeriesGroup>& groups,
                                                          unsigned n_lane, int device_index);
/// Of the device.
std::uint64_t cuda_series_search_bytes(const std::vector<CudaSeriesGroup>& groups, unsigned n_lane);

/// Samples of a buffer: what is kept, less than one and a half segments, and what is new.
std::size_t buffer_samples(const CudaSeriesGroup& group);
std::size_t max_tiles(const CudaSeriesGroup& group);

}  // namespace apsyn
