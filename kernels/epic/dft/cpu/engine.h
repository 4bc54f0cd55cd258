// SPDX-License-Identifier: GPL-3.0-or-later
// The arithmetic of `dft` on the CPU: floats (dft/cpu/tile.h), or integers (dft/cpu/codes.h) for samples that
// are codes.
#pragma once

#include <algorithm>
#include <memory>

#include "kernels/epic/antenna_positions.h"
#include "kernels/epic/aperture.h"
#include "kernels/epic/epic.h"
#include "kernels/epic/sky_pixels.h"

namespace apsyn {

/// Pixels that a thread images at a time: the weights of as many stay in the second-level cache.
inline std::size_t dft_item_pixels(const EpicPlan& plan) {
  constexpr std::size_t kMax = 48, kTile = 6, kWeightBytes = std::size_t{1} << 18;
  return std::clamp(kWeightBytes / (plan.n_ant * plan.n_pol * sizeof(double)) / kTile * kTile, kTile, kMax);
}

/// Spectra of a tile.
inline std::size_t dft_tile_spectra(const EpicPlan& plan) {
  return (3 - plan.n_pol) * kDftLanes;
}

struct DftItem {
  std::size_t slot = 0, channel = 0;
  std::size_t first_pixel = 0, n_pixel = 0;
  unsigned thread = 0;
  double* sums = nullptr;  ///< [pixel][XX, YY, Re XY, Im XY] +=
};

class DftEngine {
 public:
  virtual ~DftEngine() = default;
  virtual std::size_t tile_bytes() const = 0;
  /// For the channels that are imaged together.
  virtual void reserve(std::size_t n_slot, std::size_t n_tile) = 0;
  /// Puts a row of the block into a slot, in tiles filled up with zeros.
  virtual void turn(const SpectraBlock& block, std::size_t row, std::size_t slot) = 0;
  virtual void image(const DftItem& item, const SkyPixels& pixels, const AntennaPositions& positions) = 0;
};

/// `plan` and `apertures` must outlive the engine. Planes, factors g in the samples; float64 where the plan
/// says so.
std::unique_ptr<DftEngine> make_dft_float_engine(const EpicPlan& plan, const ApertureWeights& apertures);
/// Codes, factors g in the weights; takes autocorrelations off unless the plan keeps them.
std::unique_ptr<DftEngine> make_dft_code_engine(const EpicPlan& plan);
/// Whether this processor has the instructions, and antennas are many (64, of even factors g) for their
/// weights' 16 bits; not with apertures, nor for float64.
bool dft_takes_codes(const EpicPlan& plan);

/// One tile's spectra of this many bytes stay in the second-level cache beside weights.
inline constexpr std::size_t kDftCacheBytes = std::size_t{1} << 19;

/// Calls image(product) for as many tiles of a slot at a time as stay in the cache. turned [tile][...].
template <class T, class Product>
void for_tiles_in_cache(const View<T, 2>& turned, std::size_t tile_bytes, Product& product,
                        void (*image)(const Product&)) {
  const std::size_t together = std::max<std::size_t>(1, kDftCacheBytes / tile_bytes);
  for (std::size_t tile = 0; tile < turned.extent(0); tile += together) {
    product.spectra = &turned(tile, 0);
    product.n_tile = std::min(together, turned.extent(0) - tile);
    image(product);
  }
}

}  // namespace apsyn
