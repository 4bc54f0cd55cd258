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

/// Number of pixels that a thread images at a time, so that their weights stay in the second-level cache.
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
  /// Allocates memory for the channels that are imaged together.
  virtual void reserve(std::size_t n_slot, std::size_t n_tile) = 0;
  /// Puts a row of the block into a slot, in tiles filled up with zeros.
  virtual void turn(const SpectraBlock& block, std::size_t row, std::size_t slot) = 0;
  virtual void image(const DftItem& item, const SkyPixels& pixels, const AntennaPositions& positions) = 0;
};

/// `plan` and `apertures` must outlive the engine. The float engine takes planes and applies factors g to the
/// samples; float64 if the plan says so.
std::unique_ptr<DftEngine> make_dft_float_engine(const EpicPlan& plan, const ApertureWeights& apertures);
/// The integer engine takes codes and applies factors g to the weights; it subtracts autocorrelations unless
/// the plan keeps them.
std::unique_ptr<DftEngine> make_dft_code_engine(const EpicPlan& plan);
/// Whether the integer engine can be used: this processor has the instructions, and there are enough antennas
/// (64, with similar factors g) for weights of 16 bits. Not with apertures, nor for float64.
bool dft_takes_codes(const EpicPlan& plan);

/// Bytes of spectra that stay in the second-level cache together with the weights.
inline constexpr std::size_t kDftCacheBytes = std::size_t{1} << 19;

/// Calls image(product) for all tiles of a slot, as many at a time as fit into the cache. turned [tile][...].
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
