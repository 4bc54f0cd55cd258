// SPDX-License-Identifier: GPL-3.0-or-later
// Where the CUDA gridder's layers live: subgrids are handed over range by range, images come out. For host
// code with CUDA only.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "kernels/idg/cuda/grid/sums.h"
#include "kernels/idg/cuda/partition/tasks.cuh"
#include "kernels/idg/idg.h"

namespace apsyn::idg_cuda {

/// The subgrids of a range of tasks, once the stream gets there.
template <class T>
struct SubgridRange {
  const ComplexOf<T>* subgrids;  ///< [task][plane][output][v][u] transformed
  bool finished;                 ///< in rising order, times uv_phases(); else in FFT order
  const DeviceTasks& tasks;
  const RangeWork& work;
};

template <class T>
class CudaGrids {
 public:
  virtual ~CudaGrids() = default;
  /// Empty grids for these layers.
  virtual void begin_pass(const LayerRange& layers) = 0;
  /// Determines where the subgrids of a block's ranges are added.
  virtual void place(TaskLister& lister, const ListPlan& plan, std::vector<RangeWork>& ranges,
                     DeviceTasks& tasks) = 0;
  /// Ranges in the order of the tasks. Work given to the stream afterwards may change the subgrids.
  virtual void add(const SubgridRange<T>& range) = 0;
  /// Transforms the pass's layers and adds them to the images.
  virtual void end_pass() = 0;
  /// The next three are as in Gridder.
  virtual std::vector<std::byte> images_handle() { return {}; }
  virtual bool add_images(std::span<const std::byte> /*handle*/) { return false; }
  virtual Buffer<double, 3> take_images() = 0;
  /// The sums [plane][y][x] so far, not yet divided by the taper, valid for later work in the stream; null if
  /// the host holds the images.
  virtual const double* device_images() const { return nullptr; }
  /// Keeps the working memory of end_pass() from pass to pass; useful for many passes.
  virtual void keep_scratch() {}
  /// Sets the sums back to 0, in the stream.
  virtual void clear_images() { throw std::logic_error("gridder: the host has the images"); }
};

/// In setup.grid_memory, on the current device; `stream` outlives it.
template <class T>
std::unique_ptr<CudaGrids<T>> make_cuda_grids(const IdgPlan& plan, const IdgSetup& setup,
                                              std::size_t n_outputs, cudaStream_t stream);
/// GridMemory::hybrid alone.
template <class T>
std::unique_ptr<CudaGrids<T>> make_hybrid_grids(const IdgPlan& plan, const IdgSetup& setup,
                                                std::size_t n_outputs, cudaStream_t stream);

}  // namespace apsyn::idg_cuda
