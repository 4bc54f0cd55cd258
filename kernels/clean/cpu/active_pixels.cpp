// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/clean/cpu/active_pixels.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

float height_of(const PlaneSet& set, float value) {
  return set.sign == PeakSign::any ? std::abs(value) : value;
}

}  // namespace

Heights measure_heights(const PlaneSet& set, std::size_t n_levels, unsigned n_threads) {
  std::vector<float> row_highest(set.ny());
  for_each_row(set, n_threads, [&](std::size_t y, std::span<const float> values) {
    row_highest[y] = highest_value(values, &set.search_weight(y, 0), set.sign);
  });
  Heights heights;
  heights.highest = *std::max_element(row_highest.begin(), row_highest.end());
  heights.n_above.assign(n_levels, 0);
  if (heights.highest == 0) return heights;
  std::vector<std::vector<std::uint32_t>> counts(set.ny());
  // Infinite below 1e-36, which leaves all at the top; so does a product that is no number.
  const float to_level = static_cast<float>(n_levels) / heights.highest;
  const float top = static_cast<float>(n_levels - 1);
  for_each_row(set, n_threads, [&](std::size_t y, std::span<const float> values) {
    counts[y].assign(n_levels, 0);
    for (std::size_t x = 0; x < values.size(); ++x) {
      const float height = height_of(set, values[x] * set.search_weight(y, x));
      if (height > 0) ++counts[y][n_levels - 1 - static_cast<std::size_t>(std::min(top, height * to_level))];
    }
  });
  for (const auto& row : counts)
    for (std::size_t level = 0; level < n_levels; ++level) heights.n_above[level] += row[level];
  for (std::size_t level = 1; level < n_levels; ++level) heights.n_above[level] += heights.n_above[level - 1];
  return heights;
}

std::vector<PixelPlace> pixels_above(const PlaneSet& set, float cutoff, unsigned n_threads) {
  std::vector<std::vector<PixelPlace>> rows(set.ny());
  for_each_row(set, n_threads, [&](std::size_t y, std::span<const float> values) {
    if (!(highest_value(values, &set.search_weight(y, 0), set.sign) > cutoff)) return;
    for (std::size_t x = 0; x < values.size(); ++x)
      if (height_of(set, values[x] * set.search_weight(y, x)) > cutoff)
        rows[y].push_back({static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y)});
  });
  std::vector<PixelPlace> places;
  for (const auto& row : rows) places.insert(places.end(), row.begin(), row.end());
  return places;
}

ActivePixels::ActivePixels(const PlaneSet& set, std::span<const PixelPlace> places, unsigned n_threads)
    : set_(set),
      n_threads_(n_threads),
      psf_ny_(set.psf[0].extent(0)),
      psf_nx_(set.psf[0].extent(1)),
      single_(set.single()),
      indexed_(std::max(set.ny(), psf_ny_) * psf_nx_ <=
               std::size_t{std::numeric_limits<std::int32_t>::max()}),
      values_(set.n_plane()),
      search_(single_ ? 0 : places.size()),
      highest_((places.size() + kChunk - 1) / kChunk) {
  std::int32_t low_x = std::numeric_limits<std::int32_t>::max(), high_x = 0;
  for (const PixelPlace& at : places) {
    x_.push_back(static_cast<std::int32_t>(at.x));
    y_.push_back(static_cast<std::int32_t>(at.y));
    if (indexed_) offset_.push_back(static_cast<std::int32_t>(at.y * psf_nx_ + at.x));
    search_weight_.push_back(set.search_weight(at.y, at.x));
    low_x = std::min(low_x, x_.back());
    high_x = std::max(high_x, x_.back());
    for (std::size_t plane = 0; plane < set.n_plane(); ++plane)
      values_[plane].push_back(set.residual[plane](at.y, at.x));
  }
  auto reaches = [](std::int32_t distance, std::size_t n_psf) {
    const auto far = static_cast<std::size_t>(distance);
    return far <= n_psf / 2 && far + n_psf / 2 < n_psf;
  };
  covered_ = places.empty() || (reaches(high_x - low_x, psf_nx_) && reaches(y_.back() - y_.front(), psf_ny_));
  for (std::size_t chunk = 0; chunk < highest_.size(); ++chunk) measure(chunk);
}

void ActivePixels::measure(std::size_t chunk) {
  const std::span<float> search = search_of(chunk);
  if (!single_) {
    std::vector<const float*> planes;
    for (const auto& plane : values_) planes.push_back(&plane[chunk * kChunk]);
    search_values(search, planes, set_.weight, set_.n_pol);
  }
  highest_[chunk] = highest_value(search, &search_weight_[chunk * kChunk], set_.sign);
}

std::optional<SetPeak> ActivePixels::find_peak() {
  const auto best = std::max_element(highest_.begin(), highest_.end());
  if (best == highest_.end() || *best == 0) return std::nullopt;
  const auto chunk = static_cast<std::size_t>(best - highest_.begin());
  const std::size_t first = chunk * kChunk;
  const std::span<const float> search = search_of(chunk);
  const std::size_t within = first_at(search, &search_weight_[first], set_.sign, *best);
  const PixelPlace at = place(first + within);
  SetPeak peak{at.x, at.y, *best, search[within], {}};
  for (const auto& plane : values_) peak.residual.push_back(plane[first + within]);
  return peak;
}

PlacedPsf ActivePixels::placed(std::size_t plane, const SetComponent& component) const {
  return {set_.psf[plane].data(),
          static_cast<std::int32_t>(psf_ny_),
          static_cast<std::int32_t>(psf_nx_),
          static_cast<std::int32_t>(component.x) - static_cast<std::int32_t>(psf_nx_ / 2),
          static_cast<std::int32_t>(component.y) - static_cast<std::int32_t>(psf_ny_ / 2),
          covered_};
}

void ActivePixels::subtract_from(std::size_t chunk, const SetComponent& component) {
  const std::size_t first = chunk * kChunk, n = values_of(0, chunk).size();
  const PlacedPsf of_first = placed(0, component);
  if (y_[first + n - 1] < of_first.y || y_[first] >= of_first.y + of_first.ny) return;  // beyond the PSF
  for (std::size_t plane = 0; plane < set_.n_plane(); ++plane) {
    const std::span<float> values = values_of(plane, chunk);
    const float flux = component.flux_jy[plane];
    if (indexed_) {
      const PixelList pixels{&offset_[first], &x_[first], &y_[first]};
      const PlacedPsf psf = placed(plane, component);
      if (single_)
        highest_[chunk] = subtract_and_measure(values, psf, pixels, flux, &search_weight_[first], set_.sign);
      else
        subtract_gathered(values, psf, pixels, flux);
      continue;
    }
    for (std::size_t i = 0; i < n; ++i) {
      const auto y = static_cast<std::size_t>(y_[first + i] - of_first.y),
                 x = static_cast<std::size_t>(x_[first + i] - of_first.x);
      if (y < psf_ny_ && x < psf_nx_) values[i] -= flux * set_.psf[plane](y, x);  // below 0 wraps to huge
    }
  }
  if (!single_ || !indexed_) measure(chunk);
}

void ActivePixels::subtract(const SetComponent& component) {
  // Waking threads takes as long as some tens of thousands of pixels.
  const unsigned n_threads = size() * set_.n_plane() < 60000 ? 1 : n_threads_;
  parallel_for(n_threads, highest_.size(),
               [&](std::size_t chunk, unsigned) { subtract_from(chunk, component); });
}

}  // namespace apsyn
