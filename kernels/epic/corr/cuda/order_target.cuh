// SPDX-License-Identifier: GPL-3.0-or-later
// Sums of orders to where they go, for kernels.
#pragma once

#include "kernels/epic/corr/cuda/grid.cuh"

namespace apsyn::epic_cuda {

/// Where the pixels of a product of an image go.
class ProductTarget {
 public:
  __device__ __forceinline__ ProductTarget(const OrderTarget& to, std::size_t image, int product)
      : index_(to.planes.index) {
    if (to.sums != nullptr) {
      sums_ = to.sums + image * to.n_stride * 4 + product;
      return;
    }
    const PlaneTask& planes = to.planes;
    const std::size_t at = to.first_image + image;
    for (int i = 0; i < planes.n_plane; ++i)
      if (planes.value_of[i] == product)
        plane_ = planes.planes + (at * planes.n_plane + i) * planes.plane_size;
    scale_ = planes.scales[at];
    if (planes.autos == nullptr) return;
    const double* autos = planes.autos + at * 4;
    autos_ = planes.sign * (planes.total ? (autos[0] + autos[1]) / 2 : autos[product]);
  }
  /// A pixel's sum; a product of which there is no plane is dropped.
  __device__ __forceinline__ void put(std::size_t pixel, float value) const {
    put_at(sums_ != nullptr ? pixel : index_[pixel], value);
  }
  /// The same of a pixel for sums, of its place in the image for planes.
  __device__ __forceinline__ void put_at(std::size_t place, float value) const {
    if (sums_ != nullptr)
      sums_[place * 4] += static_cast<double>(value);
    else if (plane_ != nullptr)
      plane_[place] = static_cast<float>((static_cast<double>(value) + autos_) * scale_);
  }

  /// Of planes: a sum counts scale() sum + offset().
  __device__ __forceinline__ float* plane() const { return plane_; }
  __device__ __forceinline__ float scale() const { return static_cast<float>(scale_); }
  __device__ __forceinline__ float offset() const { return static_cast<float>(autos_ * scale_); }

 private:
  double* sums_ = nullptr;
  float* plane_ = nullptr;
  const std::uint32_t* index_;
  double autos_ = 0, scale_ = 1;
};

}  // namespace apsyn::epic_cuda
