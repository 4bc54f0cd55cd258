// SPDX-License-Identifier: GPL-3.0-or-later
// Clark's sub-minor loop (Clark 1980, A&A 89, 377): only pixels above a cutoff take part, until none of them
// is above it any more. They are updated with the PSF as it is, not with its core alone, so their values stay
// exact; what differs from Hogbom's order of components is that pixels left out cannot be picked before the
// next selection.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/clean/component_loop.h"

namespace apsyn {

struct PixelPlace {
  std::uint32_t x = 0, y = 0;
};

/// The pixels of `set` whose weighted search value is above `cutoff`, in row-major order.
std::vector<PixelPlace> pixels_above(const PlaneSet& set, float cutoff, unsigned n_threads);

class ActivePixels final : public PeakSource {
 public:
  /// `places` in row-major order; `set.psf` must outlive this.
  ActivePixels(const PlaneSet& set, std::span<const PixelPlace> places, unsigned n_threads);
  std::optional<SetPeak> find_peak() override;
  void subtract(const SetComponent& component) override;
  std::size_t size() const { return x_.size(); }
  PixelPlace place(std::size_t i) const {
    return {static_cast<std::uint32_t>(x_[i]), static_cast<std::uint32_t>(y_[i])};
  }
  float value(std::size_t plane, std::size_t i) const { return values_[plane][i]; }

 private:
  static constexpr std::size_t kChunk = 2048;
  void measure(std::size_t chunk);
  void subtract_from(std::size_t chunk, const SetComponent& component);
  PlacedPsf placed(std::size_t plane, const SetComponent& component) const;
  std::span<float> values_of(std::size_t plane, std::size_t chunk) {
    const std::size_t first = chunk * kChunk;
    return {&values_[plane][first], std::min(kChunk, size() - first)};
  }
  /// The search values of the chunk; with a single plane, its values themselves.
  std::span<float> search_of(std::size_t chunk) {
    return single_ ? values_of(0, chunk)
                   : std::span<float>(search_).subspan(chunk * kChunk, values_of(0, chunk).size());
  }

  PlaneSet set_;
  unsigned n_threads_;
  std::size_t psf_ny_, psf_nx_;
  bool single_;   ///< one plane of weight 1
  bool indexed_;  ///< indices into the PSF have 32 bits, as SIMD gathers them; otherwise one by one
  bool covered_;  ///< no two pixels are further apart than the PSF reaches
  std::vector<std::int32_t> x_, y_, offset_;  ///< [pixel] in row-major order; y psf_nx + x when indexed_
  std::vector<float> search_weight_;          ///< [pixel]
  std::vector<std::vector<float>> values_;    ///< [plane][pixel]
  std::vector<float> search_;                 ///< [pixel] unless single_
  std::vector<float> highest_;                ///< [chunk]
};

/// How many pixels of `set` are above each of n_levels levels, the highest down to zero in equal steps, and
/// the highest pixel.
struct Heights {
  float highest = 0;
  std::vector<std::size_t> n_above;  ///< [level]: above highest * (n_levels - 1 - level) / n_levels
};
Heights measure_heights(const PlaneSet& set, std::size_t n_levels, unsigned n_threads);

}  // namespace apsyn
