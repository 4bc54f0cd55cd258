// SPDX-License-Identifier: GPL-3.0-or-later
// Residual images for a sequence of models, as the major cycles of CLEAN need them, on a GPU that keeps
// visibilities, weights, the division into subgrids, grids and images. In each cycle only a model is copied
// there and a residual back.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "kernels/idg/grid_memory.h"
#include "kernels/idg/idg.h"

namespace apsyn {

class ResidualImager {
 public:
  virtual ~ResidualImager() = default;
  /// Takes rows with data and the weights of the image, without A-terms. DeviceError when the device has no
  /// room for them.
  virtual void add(const GridBlock& block) = 0;
  /// Call it after the last block: allocates the memory that make() works in. DeviceError when there is not
  /// enough.
  virtual void reserve() = 0;
  /// residual [plane][y][x] = the dirty image of the visibilities less those of `model` [plane][y][x], each
  /// plane over its weight sum; NaN where l^2 + m^2 >= 1. Pixels of the model there, or NaN, count as 0.
  /// Every residual starts from the visibilities as they were added. An empty model gives the dirty image.
  virtual void make(View<const float, 3> model, std::span<const double> weight_sum,
                    View<float, 3> residual) = 0;
  /// psf [y][x]: the image of V = 1 with the weights of plane 0, over its pixel (n_y/2, n_x/2); 0 where
  /// l^2 + m^2 >= 1.
  virtual void make_psf(View<float, 2> psf) = 0;
};

/// The data that an imager keeps, and the largest block of it, which decides its working memory.
struct ResidualLoad {
  double n_rows = 0, n_visibilities = 0;              ///< these of all planes
  double n_block_rows = 0, n_block_visibilities = 0;  ///< of the largest block
};

/// Estimate of the device memory that an imager takes, with grids for all of the plan's layers, on a device
/// with device_bytes in total.
std::uint64_t residual_imager_bytes(const IdgPlan& plan, std::size_t n_planes, const ResidualLoad& load,
                                    std::uint64_t device_bytes);
/// Host memory that it needs.
std::uint64_t residual_host_bytes();

/// For a GPU; planes are the data's. DeviceError in a build without CUDA, or when the device has no room.
std::unique_ptr<ResidualImager> make_residual_imager(const Device& device, const IdgPlan& plan,
                                                     std::size_t n_planes, unsigned n_threads);

}  // namespace apsyn
