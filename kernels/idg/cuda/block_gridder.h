// SPDX-License-Identifier: GPL-3.0-or-later
// What a CUDA gridder does with rows that are on the device: they are divided into tasks
// (cuda/partition/cut.cuh), whose subgrids are made range by range and handed to the grids
// (cuda/layers/grids.h). For host code with CUDA only.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/common/cuda/array.h"
#include "kernels/idg/cuda/block.h"
#include "kernels/idg/cuda/fft/subgrid_fft.cuh"
#include "kernels/idg/cuda/grid/sums.h"
#include "kernels/idg/cuda/layers/grids.h"
#include "kernels/idg/cuda/tasks.h"
#include "kernels/idg/idg.h"
#include "kernels/idg/tracks/node_counts.h"

namespace apsyn::idg_cuda {

template <class T>
class BlockGridder {
 public:
  /// Makes `device` the current one and allocates there.
  BlockGridder(int device, const IdgPlan& plan, const IdgSetup& setup);
  ~BlockGridder() { cudaStreamSynchronize(stream_.get()); }

  /// The plan by which the device divides blocks.
  const IdgPlan& plan() const { return plan_; }
  /// Dividing happens in `cuts`, the rest in `stream`.
  cudaStream_t stream() const { return stream_.get(); }
  cudaStream_t cuts() const { return cuts_.get(); }
  CudaGrids<T>& grids() { return *grids_; }

  void begin_pass(const LayerRange& layers);
  const LayerRange& layers() const { return layers_; }
  /// Divides rows, whose geometry and weights the stream cuts() sees, for the pass's layers. False when a
  /// coordinate is refused; partition() then says which.
  bool divide(const RowView& rows, BlockWork& work);
  /// Memory for sums over rows that have been divided, so that grid() allocates none for them.
  void reserve(const BlockWork& work) { sums_.reserve_slots(work.tasks, work.tracks); }
  /// Estimate of the device memory for these sums.
  std::size_t sums_bytes(const BlockWork& work) const {
    return sums_.prepared_bytes(work.tasks, work.tracks);
  }
  /// Adds rows that have been divided, with `data` [row][chan][plane] for their visibilities, which the
  /// stream sees. turned: multiply by the phases of the rows' paths, if the block has any.
  void grid(const RowView& rows, const BlockWork& work, const float2* data, bool turned = true);
  void end_pass();

 private:
  void grid_range(const RowView& rows, const DeviceTasks& tasks, const RangeWork& range);

  IdgPlan plan_;
  IdgSetup setup_;
  bool folds_apart_;
  TaskSums<T> sums_;
  SubgridFft<T> fft_;
  int side_ = 0;
  std::size_t n_planes_ = 0, n_outputs_ = 1;
  idg::NodeLimits node_limits_{};
  LayerRange layers_;
  CopyStream stream_;
  CopyStream cuts_ = CopyStream::urgent();
  idg::DeviceCutter cutter_{cuts_.get()};
  TrackFinder finder_{cuts_.get()};
  TaskLister lister_{cuts_.get()};
  RangeLimits range_limits_{};
  DeviceArray<double> n_from_middle_;
  DeviceArray<ComplexOf<T>> subgrids_, uv_phase_;
  std::unique_ptr<CudaGrids<T>> grids_;
};

}  // namespace apsyn::idg_cuda
