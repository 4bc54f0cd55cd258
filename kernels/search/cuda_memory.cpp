// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/search/cuda_memory.h"

#include <algorithm>

namespace apsyn {

std::size_t buffer_samples(const CudaSeriesGroup& group) {
  return group.n_time + 2 * group.plan->segment;
}

std::size_t max_tiles(const CudaSeriesGroup& group) {
  return buffer_samples(group) / kSearchTile + buffer_samples(group) / group.plan->segment + 2;
}

std::uint64_t cuda_series_search_bytes(const std::vector<CudaSeriesGroup>& groups, unsigned n_lane) {
  std::uint64_t kept = 0, work = 0;
  for (const CudaSeriesGroup& group : groups) {
    kept += group.n_series * group.plan->segment * sizeof(float);
    // values and weights, and the sums of both
    const std::uint64_t own = group.n_series * buffer_samples(group) * 2 * (sizeof(float) + sizeof(double)) +
                              group.n_series * max_tiles(group) * kMaxTileHits * 24;
    work = std::max(work, own);
  }
  return kept + n_lane * work;
}

}  // namespace apsyn
