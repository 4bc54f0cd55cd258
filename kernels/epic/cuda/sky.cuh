// SPDX-License-Identifier: GPL-3.0-or-later
// Pixels, antennas and channels on the device, and the sums over them on their way to images.
#pragma once

#include "kernels/common/cuda/transfer.h"
#include "kernels/epic/cuda/apertures.cuh"
#include "kernels/epic/cuda/tile_product.cuh"
#include "kernels/epic/sky_pixels.h"

namespace apsyn::epic_cuda {

/// What weights may fill, and columns or products.
inline constexpr std::size_t kChunkBytes = std::size_t{1} << 29;

class DeviceSky {
 public:
  /// `plan` must outlive it.
  explicit DeviceSky(const EpicPlan& plan);

  /// Whether the geometry is another than before. Waits for the device, which may still image the last one.
  bool move_to(const EpicGeometry& geometry) { return move_to(geometry, nullptr); }
  /// The same, but what only `stream` uses need not wait: a small field moves in the stream's order.
  bool move_to(const EpicGeometry& geometry, cudaStream_t stream);
  const SkyPixels& pixels() {
    refresh();
    return pixels_;
  }
  /// Another number whenever there are other pixels, SkyPixels::index, than before.
  std::size_t version() const { return version_; }
  const EpicGeometry& geometry() const { return geometry_; }
  int n_pixel() const { return static_cast<int>(pixels_.size()); }
  /// Filled up to whole tiles.
  std::size_t n_stride() const { return (pixels_.size() + kTilePixels - 1) / kTilePixels * kTilePixels; }
  /// The weights of all pixels, for n_channel channels from a channel of the plan on.
  WeightTask weights(int first_channel, int n_channel);

  /// [channel][n_stride()][XX, YY, Re XY, Im XY]; after clear().
  double* sums() const { return sums_.data(); }
  double* sums(int first_channel) const { return sums_.data() + first_channel * n_stride() * 4; }
  void clear(cudaStream_t stream);
  /// Adds up averaged channels: [image channel][n_stride()][value].
  const double* averaged(cudaStream_t stream);
  /// [pixel] SkyPixels::index
  const std::uint32_t* index() const { return index_.data(); }
  DeviceApertures& apertures() { return apertures_; }

 private:
  /// Directions of pixels as they are in this geometry, which the grid of `corr` does without.
  void refresh();
  /// Directions to the device, which images on a grid do without.
  void upload();
  std::size_t n_sums() const { return plan_.n_channel() * n_stride() * 4; }

  const EpicPlan& plan_;
  EpicGeometry geometry_;
  bool placed_ = false;
  bool whole_ = false;     // the image is all above the horizon
  bool stale_ = false;     // directions of pixels are those of another geometry
  bool uploaded_ = false;  // they are on the device
  std::size_t version_ = 0;
  SkyPixels pixels_;
  Upload<double> unit_, seconds_, hz_, sums_;
  Upload<std::uint32_t> index_;
  DeviceApertures apertures_;
};

/// Waits for copies on the default stream, which other streams do not wait for.
inline void settle_copies() {
  cuda_check(cudaStreamSynchronize(nullptr), "copying antennas and pixels");
}

/// sums [image channel][n] = those of n_average channels each, in place.
void launch_average(double* sums, std::size_t n, int n_image_channel, int n_average, cudaStream_t stream);

/// g [channel][input] over `unit` [channel], or over 1; empty where all are 1.
std::vector<float2> factors_over(const EpicPlan& plan, const std::vector<double>& unit);

}  // namespace apsyn::epic_cuda
