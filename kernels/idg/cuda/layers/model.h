// SPDX-License-Identifier: GPL-3.0-or-later
// Where the CUDA degridder's layers live: a model's images go in, tasks' cells come out. For host code with
// CUDA only.
#pragma once

#include <memory>

#include "kernels/idg/cuda/degrid/kernels.cuh"
#include "kernels/idg/idg.h"
#include "kernels/idg/partition/partition.h"

namespace apsyn::idg_degrid {

template <class T>
class CudaModel {
 public:
  virtual ~CudaModel() = default;
  /// images [plane][y][x]; NaN and pixels beyond the horizon count as 0.
  virtual void set(View<const double, 3> images) = 0;
  /// Memory for images [plane][y][x] of the device that take the place of set()'s: divided by the taper, 0
  /// where there is no sky. Null where the host keeps the model.
  virtual double* on_device(std::size_t /*n_planes*/) { return nullptr; }
  /// Transforms these layers, in float64 unless the plan is_fast_on_gpu(): the division by the taper would
  /// magnify rounding. A device does so in the null stream, and need not have finished.
  virtual void begin_pass(const Geometry& geometry, const LayerRange& layers) = 0;
  /// Device time of all passes so far, in seconds. Blocks until they have finished.
  virtual double seconds() = 0;
  /// What launch_cut() does, in the null stream; cut.grids is not looked at.
  virtual void cut(CutTask<T> cut) = 0;
};

/// In setup.grid_memory, on the current device.
template <class T>
std::unique_ptr<CudaModel<T>> make_cuda_model(const IdgPlan& plan, const IdgSetup& setup);
/// GridMemory::hybrid alone.
template <class T>
std::unique_ptr<CudaModel<T>> make_hybrid_model(const IdgPlan& plan, const IdgSetup& setup);

}  // namespace apsyn::idg_degrid
