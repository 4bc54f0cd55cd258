// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/clean/active_pixels.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "libcore/core/parallel.h"

namespace apsyn {
namespace {

/// Calls use(y, search values of the row) for every row; a thread takes a band of rows.
template <class Use>
void for_each_row(const PlaneSet& set, unsigned n_threads, Use&& use) {
  constexpr std::size_t kBand = 16;
  parallel_for(n_threads, (set.ny() + kBand - 1) / kBand, [&](std::size_t band, unsigned) {
    std::vector<float> values(set.nx());
    for (std::size_t y = band * kBand; y < std::min(set.ny(), (band + 1) * kBand); ++y) {
      search_row(set, y, values);
      use(y, values);
    }
  });
}

float height_of(const PlaneSet& set, float value) {
  return set.sign == PeakSign::any ? std::abs(value) : value;
}

}  // namespace

Heights measure_heights(const PlaneSet& set, std::size_t n_levels, unsigned n_threads) {
  std::vector<float> row_highest(set.ny());
  for_each_row(set, n_threads, [&](std::size_t y, const std::vector<float>& values) {
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
  for_each_row(set, n_threads, [&](std::size_t y, const std::vector<float>& values) {
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
  for_each_row(set, n_threads, [&](std::size_t y, const std::vector<float>& values) {
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
      values_(set.n_plane()),
      search_(places.size()) {
  std::uint32_t low_x = std::numeric_limits<std::uint32_t>::max(), high_x = 0;
  for (const PixelPlace& at : places) {
    x_.push_back(at.x);
    y_.push_back(at.y);
    search_weight_.push_back(set.search_weight(at.y, at.x));
    low_x = std::min(low_x, at.x);
    high_x = std::max(high_x, at.x);
    for (std::size_t plane = 0; plane < set.n_plane(); ++plane)
      values_[plane].push_back(set.residual[plane](at.y, at.x));
  }
  auto reaches = [](std::size_t distance, std::size_t n_psf) {
    return distance <= n_psf / 2 && distance + n_psf / 2 < n_psf;
  };
  // Offsets into the PSF have 32 bits, as SIMD gathers them; beyond that pixels are subtracted one by one.
  const bool has_offsets = set.ny() * psf_nx_ <= std::size_t{std::numeric_limits<std::int32_t>::max()};
  covered_ = has_offsets && (places.empty() ||
                             (reaches(high_x - low_x, psf_nx_) && reaches(y_.back() - y_.front(), psf_ny_)));
  for (std::size_t i = 0; covered_ && i < places.size(); ++i)
    offset_.push_back(static_cast<std::int32_t>(places[i].y * psf_nx_ + places[i].x));
  chunks_.resize((size() + kChunk - 1) / kChunk);
  for (std::size_t chunk = 0; chunk < chunks_.size(); ++chunk) measure(chunk);
}

void ActivePixels::measure(std::size_t chunk) {
  const std::size_t first = chunk * kChunk, n = std::min(kChunk, size() - first);
  std::vector<const float*> planes;
  for (const auto& plane : values_) planes.push_back(&plane[first]);
  search_values({&search_[first], n}, planes, set_.weight, set_.n_pol);
  chunks_[chunk].highest = highest_value({&search_[first], n}, &search_weight_[first], set_.sign);
}

std::optional<SetPeak> ActivePixels::find_peak() {
  const auto best = std::max_element(chunks_.begin(), chunks_.end(),
                                     [](const Chunk& a, const Chunk& b) { return a.highest < b.highest; });
  if (best == chunks_.end() || best->highest == 0) return std::nullopt;
  const std::size_t first = static_cast<std::size_t>(best - chunks_.begin()) * kChunk;
  const std::size_t i = first + first_at({&search_[first], std::min(kChunk, size() - first)},
                                         &search_weight_[first], set_.sign, best->highest);
  SetPeak peak{x_[i], y_[i], best->highest, search_[i], {}};
  for (const auto& plane : values_) peak.residual.push_back(plane[i]);
  return peak;
}

void ActivePixels::subtract_from(std::size_t first, std::size_t last, std::size_t plane,
                                 const SetComponent& component) {
  const auto start = (static_cast<std::ptrdiff_t>(psf_ny_ / 2) - static_cast<std::ptrdiff_t>(component.y)) *
                         static_cast<std::ptrdiff_t>(psf_nx_) +
                     static_cast<std::ptrdiff_t>(psf_nx_ / 2) - static_cast<std::ptrdiff_t>(component.x);
  const std::span<float> values(values_[plane]);
  const float flux = component.flux_jy[plane];
  if (covered_)
    return subtract_gathered(values.subspan(first, last - first), set_.psf[plane].data() + start,
                             offset_.data() + first, flux);
  for (std::size_t i = first; i < last; ++i) {
    const std::size_t y = y_[i] + psf_ny_ / 2 - component.y, x = x_[i] + psf_nx_ / 2 - component.x;
    if (y < psf_ny_ && x < psf_nx_) values[i] -= flux * set_.psf[plane](y, x);  // below 0 wraps to huge
  }
}

void ActivePixels::subtract(const SetComponent& component) {
  // Waking threads takes as long as some tens of thousands of pixels.
  const unsigned n_threads = size() * set_.n_plane() < 60000 ? 1 : n_threads_;
  parallel_for(n_threads, chunks_.size(), [&](std::size_t chunk, unsigned) {
    const std::size_t first = chunk * kChunk, last = std::min(size(), first + kChunk);
    for (std::size_t plane = 0; plane < set_.n_plane(); ++plane) subtract_from(first, last, plane, component);
    measure(chunk);
  });
}

}  // namespace apsyn
