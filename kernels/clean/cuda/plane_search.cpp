// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/clean/cuda/plane_search.cuh"

#include <algorithm>

#include "kernels/clean/cuda/stream_copies.cuh"

namespace apsyn::clean_cuda {

PlaneSearch::PlaneSearch(const PlaneSet& set, cudaStream_t stream)
    : set_(set), n_pixel_(set.ny() * set.nx()), stream_(stream), group_weight_(set.weight.size()), one_(1) {
  upload(group_weight_.data(), set.weight.data(), set.weight.size(), stream_);
  const float one = 1;
  upload(one_.data(), &one, 1, stream_);
}

SearchPlanes PlaneSearch::planes_of(float* values, const float* weight) const {
  return {values,
          n_pixel_,
          static_cast<std::uint32_t>(n_pixel_),
          static_cast<int>(set_.n_group),
          static_cast<int>(set_.n_pol),
          group_weight_.data(),
          weight,
          set_.sign == PeakSign::positive};
}

SearchPlanes PlaneSearch::single(float* values, const float* weight) const {
  SearchPlanes planes = planes_of(values, weight);
  planes.n_group = planes.n_pol = 1, planes.group_weight = one_.data();
  return planes;
}

float PlaneSearch::highest(const SearchPlanes& planes) {
  PeakKey key = 0;
  clear(peak_.reserve(1), 1, stream_);
  launch_peak(planes, peak_.data(), stream_);
  download(&key, peak_.data(), 1, stream_);
  return height_of(key);
}

Heights PlaneSearch::heights(const SearchPlanes& planes) {
  Heights heights{highest(planes), std::vector<std::size_t>(kHeightLevels)};
  if (heights.highest == 0) return heights;
  std::vector<std::uint32_t> counts(kHeightLevels);
  clear(counts_.reserve(kHeightLevels), kHeightLevels, stream_);
  launch_levels(planes, heights.highest, kHeightLevels, counts_.data(), stream_);
  download(counts.data(), counts_.data(), counts.size(), stream_);
  std::size_t sum = 0;
  for (std::size_t level = 0; level < kHeightLevels; ++level) heights.n_above[level] = sum += counts[level];
  return heights;
}

DeviceComponentLoop::Pixels PlaneSearch::select(const SearchPlanes& planes, float cutoff,
                                                const DevicePsfs& psfs) {
  Selection to;
  to.cutoff = cutoff;
  to.count = counts_.reserve(kHeightLevels);
  clear(to.count, 1, stream_);
  launch_select(planes, to, stream_);
  download(&to.capacity, to.count, 1, stream_);
  const std::size_t n = std::max(to.capacity, 1u);
  to.index = index_.reserve(n);
  to.values = values_.reserve(n * set_.n_plane());
  to.search_weight = weight_.reserve(n);
  clear(to.count, 1, stream_);
  launch_select(planes, to, stream_);
  SearchPlanes active = planes;
  active.values = to.values, active.stride = to.capacity, active.n_pixel = to.capacity;
  active.search_weight = to.search_weight;
  return {active, to.index, psfs};
}

}  // namespace apsyn::clean_cuda
