// SPDX-License-Identifier: GPL-3.0-or-later
// Lists of a block's sub-tables for the CUDA gridder, made on the device: tasks with room for their slots,
// and the subgrids that every tile of the grid pulls. For device and host code with CUDA.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/common/cuda/sort.cuh"
#include "kernels/idg/cuda/grid/image.cuh"
#include "kernels/idg/cuda/grid/kernels.cuh"
#include "kernels/idg/cuda/partition/cut.cuh"
#include "kernels/idg/cuda/tracks/tracks.cuh"

namespace apsyn::idg_cuda {

constexpr int kMaxExpansions = 5;

/// What a plan and a pass mean for tasks.
struct ListPlan {
  bool tensor, w_kernel;
  int n_ways;
  double w_unit_lambda[kMaxExpansions];  ///< WExpansion::w_unit_lambda
  double first_layer_lambda, layer_step_lambda;
  int side, n_u, n_v, n_outputs;
  int first_layer, n_layers;  ///< of the pass
};

/// Consecutive tasks that are computed together, and where their lists stand.
struct RangeWork {
  std::size_t first = 0, n = 0;                               ///< tasks
  std::size_t first_slot = 0, n_slots = 0;                    ///< for sums without tensor cores
  std::size_t expansion = 0;                                  ///< of all of them, likewise
  std::array<std::size_t, 2> first_selected{}, n_selected{};  ///< [expansion] for the tensor cores
  std::size_t first_tile = 0, n_tiles = 0;
};

/// Where a task's subgrids are added: first layer, first cell, already wrapped.
struct TaskPlace {
  std::uint32_t layer, start_v, start_u;
};

struct DeviceTasks {
  Upload<SlotTask> tasks;        ///< by expansion (but for tensor cores), then in the order of the sub-tables
  Upload<AtermKey> keys;         ///< [task]
  Upload<double> screen_lambda;  ///< [task] of its w from its layer's
  Upload<Placement> placements;  ///< [task]
  Upload<std::uint32_t> layer;   ///< [task] the first in the pass, counted from the plan's first
  Upload<std::uint32_t> selected;  ///< a range's tasks, counted in the range, by expansion, the longest first
  Upload<std::uint32_t> entries;   ///< (task in the range) * n_outputs + output
  Upload<GridTile> tiles;
  std::vector<bool> layer_used;   ///< [layer in the pass] whether a tile lies there
  std::vector<TaskPlace> places;  ///< [task] for grids of the host; else empty
  std::uint32_t n_tasks = 0, n_slots = 0, n_chunks = 0;
};

/// Limits of a range.
struct RangeLimits {
  std::size_t tasks;
  std::array<std::size_t, kMaxExpansions> slots;  ///< [expansion]
};

class TaskLister {
 public:
  explicit TaskLister(cudaStream_t stream) : stream_(stream), sort_(stream) {}
  /// Fills everything in `out` except tiles, for the tables' tracks or, without tracks, their visibilities.
  /// Waits for the stream.
  std::vector<RangeWork> list(const ListPlan& plan, const idg::DeviceTables& tables,
                              const RangeLimits& limits, DeviceTasks& out,
                              const DeviceTracks* tracks = nullptr);
  /// Lists, for all ranges, the subgrids that overlap each tile of each layer, in the order of their tasks.
  /// Waits for the stream.
  void place(const ListPlan& plan, std::vector<RangeWork>& ranges, DeviceTasks& out);

  /// Where tasks stand, for the host.
  std::vector<TaskPlace> places(const DeviceTasks& tasks);

 private:
  /// Pinned memory for n numbers; earlier contents may be lost.
  std::uint32_t* host(std::size_t n);
  /// Numbers of the device; waits.
  std::uint32_t* read(const std::uint32_t* values, std::size_t n);
  std::vector<RangeWork> make_ranges(const ListPlan& plan, const RangeLimits& limits, std::uint32_t n);

  cudaStream_t stream_;
  DeviceSort sort_;
  Upload<std::uint32_t> way_, end_slot_, end_chunk_, range_first_, bounds_, ends_, flags_, values_;
  std::unique_ptr<std::uint32_t[], FreePinned> host_;
  std::size_t host_size_ = 0;
};

}  // namespace apsyn::idg_cuda
