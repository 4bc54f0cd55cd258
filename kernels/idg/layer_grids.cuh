// SPDX-License-Identifier: GPL-3.0-or-later
// The uv grids of a model's w layers in device memory. For host code with CUDA only.
#pragma once

#include <cstddef>

#include "kernels/common/device_transfer.h"
#include "kernels/idg/degrid_kernels.cuh"
#include "kernels/idg/partition.h"

namespace apsyn {

template <class T>
class CudaLayerGrids {
 public:
  using Cell = idg_degrid::ComplexOf<T>;

  /// images [plane][y][x]; NaN and pixels beyond the horizon count as 0.
  void set_model(const IdgPlan& plan, unsigned n_threads, View<const double, 3> images);
  /// In float64, whatever the grids' precision: the division by the taper would magnify rounding. Returns
  /// the device's seconds.
  double transform(const IdgPlan& plan, const idg_degrid::Geometry& geometry, const LayerRange& layers);
  const Cell* data() const { return grids_.data(); }  ///< [layer][plane][v][u], cell k at index k mod n

 private:
  std::size_t n_planes_ = 0;
  Upload<double> model_;
  DeviceArray<Cell> grids_;
};

}  // namespace apsyn
