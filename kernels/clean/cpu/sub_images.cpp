// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/clean/cpu/sub_images.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>

#include "kernels/clean/clark_loop.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

// The sidelobes of one source in another part may contribute this share of the cutoff to a pixel.
constexpr double kSidelobeShare = 0.5;
// The cutoff is at least this many times the RMS of all others' sidelobes.
constexpr double kSigmas = 4;
constexpr std::size_t kMaxPixels = 10000;  // of a sub-image, on average: see cpu/clark.cpp
// Upper limit on the average number of high pixels in each cell of the grid that joins them: with more, all
// would become one part, and one loop among all these pixels takes longer than several loops among fewer.
constexpr double kMaxPerCell = 0.25;
// Below this height a lobe is no longer the main one.
constexpr float kLobe = 0.3f;
// If fewer iterations than this remain for each part, all pixels are cleaned in one loop, which counts them
// exactly.
constexpr std::size_t kMinComponents = 100;
constexpr std::size_t kMinCell = 8;  // pixels: a finer grid costs memory and gains nothing

std::size_t distance_between(std::size_t a, std::size_t b) {
  return a > b ? a - b : b - a;
}

PartsEnd clean_part(const PlaneSet& set, const std::vector<PixelPlace>& places, const LoopLimits& limits,
                    const std::function<SetComponent(const SetPeak&)>& component_of, unsigned n_threads) {
  ActivePixels active(set, places, n_threads);
  PartsEnd end;
  end.stop = run_component_loop(active, limits, component_of,
                                [&](const SetComponent& component, const SetPeak& peak) {
                                  end.found.push_back({component, static_cast<double>(peak.height)});
                                })
                 .stop;
  return end;
}

}  // namespace

SidelobeReach::SidelobeReach(const std::vector<View<const float, 2>>& psfs, unsigned n_threads) {
  for (std::size_t plane = 0; plane < psfs.size(); ++plane)
    if (plane == 0 || psfs[plane].data() != psfs[plane - 1].data()) add(psfs[plane], n_threads);
}

void SidelobeReach::add(View<const float, 2> psf, unsigned n_threads) {
  const std::size_t ny = psf.extent(0), nx = psf.extent(1), cy = ny / 2, cx = nx / 2;
  const std::size_t n_ring = std::max(cy, cx) + 1;
  struct Ring {
    float highest = 0;
    double squares = 0;
    std::size_t n = 0;
  };
  struct Band {
    std::vector<Ring> rings;
    double lobe = 0;
  };
  const float center = psf(cy, cx);
  // Bands of rows do not depend on the number of threads, so neither do their sums.
  const std::size_t band_rows = std::max<std::size_t>(1, (ny + 31) / 32);
  std::vector<Band> bands((ny + band_rows - 1) / band_rows);
  parallel_for(n_threads, bands.size(), [&](std::size_t i, unsigned) {
    Band& band = bands[i];
    band.rings.resize(n_ring);
    for (std::size_t y = i * band_rows; y < std::min(ny, (i + 1) * band_rows); ++y)
      for (std::size_t x = 0; x < nx; ++x) {
        const float value = std::abs(psf(y, x) / center);
        Ring& ring = band.rings[std::max(distance_between(y, cy), distance_between(x, cx))];
        ring.highest = std::max(ring.highest, value);
        ring.squares += static_cast<double>(value) * static_cast<double>(value);
        ++ring.n;
        if (value > kLobe) band.lobe += static_cast<double>(value) * static_cast<double>(value);
      }
  });
  highest_from_.resize(std::max(highest_from_.size(), n_ring + 1));
  rms_from_.resize(highest_from_.size());
  Ring outside;
  for (std::size_t ring = n_ring; ring-- > 0;) {
    for (const Band& band : bands) {
      outside.highest = std::max(outside.highest, band.rings[ring].highest);
      outside.squares += band.rings[ring].squares;
      outside.n += band.rings[ring].n;
    }
    highest_from_[ring] = std::max(highest_from_[ring], static_cast<double>(outside.highest));
    rms_from_[ring] = std::max(
        rms_from_[ring], outside.n == 0 ? 0 : std::sqrt(outside.squares / static_cast<double>(outside.n)));
  }
  double lobe = 0;
  for (const Band& band : bands) lobe += band.lobe;
  lobe_pixels_ = lobe_pixels_ == 0 ? lobe : std::min(lobe_pixels_, lobe);
}

std::size_t SidelobeReach::distance(double height) const {
  const auto beyond = std::find_if(highest_from_.begin() + 1, highest_from_.end(),
                                   [&](double highest) { return highest <= height; });
  return static_cast<std::size_t>(beyond - highest_from_.begin()) - 1;
}

double SidelobeReach::rms_beyond(std::size_t distance) const {
  return distance + 1 < rms_from_.size() ? rms_from_[distance + 1] : 0;
}

SubImages::SubImages(std::size_t size, const std::vector<View<const float, 2>>& psfs, unsigned n_threads)
    : size_(size) {
  if (size > 0) reach_.emplace(psfs, n_threads);
}

std::size_t SubImages::distance(double share) const {
  return std::max(kMinCell, reach_->distance(kSidelobeShare * share));
}

std::optional<float> SubImages::lowest_cutoff(const PlaneSet& set, const Heights& heights,
                                              double level_jy) const {
  if (size_ == 0) return std::nullopt;
  const std::size_t n_sub_image = ((set.ny() + size_ - 1) / size_) * ((set.nx() + size_ - 1) / size_);
  if (n_sub_image == 1) return std::nullopt;
  std::optional<float> lowest;
  double squares = 0;
  for (std::size_t level = 0; level < kHeightLevels; ++level) {
    const double share = static_cast<double>(kHeightLevels - 1 - level) / double(kHeightLevels);
    const double cutoff = std::max(level_jy, share * static_cast<double>(heights.highest));
    const std::size_t n = heights.n_above[level] - (level == 0 ? 0 : heights.n_above[level - 1]);
    const double top = cutoff + static_cast<double>(heights.highest) / double(kHeightLevels);
    squares += static_cast<double>(n) * top * top;
    const std::size_t side = distance(share);
    const double per_cell = static_cast<double>(heights.n_above[level]) * static_cast<double>(side * side) /
                            static_cast<double>(set.ny() * set.nx());
    const double sidelobes = reach_->rms_beyond(side) * std::sqrt(squares / reach_->lobe_pixels());
    if (heights.n_above[level] > n_sub_image * kMaxPixels || per_cell > kMaxPerCell ||
        kSigmas * sidelobes > cutoff)
      break;
    lowest = static_cast<float>(cutoff);
    if (cutoff == level_jy) break;
  }
  return lowest;
}

std::vector<std::vector<PixelPlace>> SubImages::divide(const PlaneSet& set,
                                                       const std::vector<PixelPlace>& places,
                                                       double share) const {
  // Pixels further apart than a cell's width are in cells that are equal, neighbours or unconnected.
  const std::size_t side = distance(share);
  const std::size_t n_row = (set.ny() + side - 1) / side, n_column = (set.nx() + side - 1) / side;
  const std::size_t n_across = (set.nx() + size_ - 1) / size_;
  constexpr std::uint32_t unknown = 1, first_label = 2;
  Buffer<std::uint32_t, 2> label({n_row, n_column});  // 0: no high pixel
  for (const PixelPlace& at : places) label(at.y / side, at.x / side) = unknown;
  std::map<std::size_t, std::vector<PixelPlace>> of_sub_image;
  std::vector<std::size_t> home;  // [label - first_label] number of the sub-image
  std::vector<std::array<std::size_t, 2>> open;
  for (const PixelPlace& at : places) {
    if (label(at.y / side, at.x / side) == unknown) {
      const auto own = static_cast<std::uint32_t>(first_label + home.size());
      home.push_back(at.y / size_ * n_across + at.x / size_);
      open.assign(1, {at.y / side, at.x / side});
      label(at.y / side, at.x / side) = own;
      while (!open.empty()) {
        const auto [row, column] = open.back();
        open.pop_back();
        for (std::size_t j = row - std::min<std::size_t>(row, 1); j < std::min(n_row, row + 2); ++j)
          for (std::size_t i = column - std::min<std::size_t>(column, 1); i < std::min(n_column, column + 2);
               ++i)
            if (label(j, i) == unknown) {
              label(j, i) = own;
              open.push_back({j, i});
            }
      }
    }
    of_sub_image[home[label(at.y / side, at.x / side) - first_label]].push_back(at);
  }
  std::vector<std::vector<PixelPlace>> parts;
  for (auto& [number, part] : of_sub_image) parts.push_back(std::move(part));
  return parts;
}

PartsEnd clean_high_pixels(const PlaneSet& set, const LoopLimits& limits,
                           const std::function<SetComponent(const SetPeak&)>& component_of,
                           const SubImages* sub_images, double level_share, unsigned n_threads) {
  const std::vector<PixelPlace> places = pixels_above(set, static_cast<float>(limits.level_jy), n_threads);
  std::vector<std::vector<PixelPlace>> parts;
  // Only a single loop knows which component is the first negative one of all.
  if (sub_images != nullptr && !limits.stop_at_negative) parts = sub_images->divide(set, places, level_share);
  LoopLimits own = limits;
  own.max_components = parts.empty() ? 0 : limits.max_components / (2 * parts.size());
  if (parts.size() < 2 || own.max_components < kMinComponents)
    return clean_part(set, places, limits, component_of, n_threads);
  std::vector<PartsEnd> ends(parts.size());
  parallel_for(n_threads, parts.size(),
               [&](std::size_t i, unsigned) { ends[i] = clean_part(set, parts[i], own, component_of, 1); });
  PartsEnd all;
  for (PartsEnd& end : ends) {
    if (end.stop == LoopStop::divergence) all.stop = LoopStop::divergence;
    if (end.stop == LoopStop::unexplained && all.stop == LoopStop::level) all.stop = LoopStop::unexplained;
    std::move(end.found.begin(), end.found.end(), std::back_inserter(all.found));
  }
  return all;
}

}  // namespace apsyn
