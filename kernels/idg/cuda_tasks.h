// SPDX-License-Identifier: GPL-3.0-or-later
// A partition as the CUDA gridder wants it: tasks with room for their slots, and which subgrids every tile of
// the grid pulls. For host code with CUDA only.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/idg/grid_tensor.cuh"
#include "kernels/idg/idg_kernels.cuh"
#include "kernels/idg/image_cuda.cuh"
#include "kernels/idg/partition.h"

namespace apsyn::idg_cuda {

/// How w is expanded within tasks: a way's tasks reach at most `w_unit_lambda` from the middle of a bin.
struct Way {
  double w_unit_lambda = 0;
  std::size_t n_terms = 1;
};
struct Ways {
  bool tensor = false;    ///< ways[0] is TensorTerms::three, ways[1] is ::four
  bool w_kernel = false;  ///< one way
  std::vector<Way> ways;  ///< else by falling reach; no bins
};
/// Tensor cores where the plan's accuracy allows.
Ways make_ways(const IdgPlan& plan, bool has_tensor_cores);

struct TaskList {
  std::vector<SlotTask> tasks;                ///< by way (but tensor), then in the partition's order
  std::vector<std::uint8_t> way;              ///< [task]
  std::vector<std::size_t> layer;             ///< [task] the first
  std::vector<AtermKey> keys;                 ///< [task]
  std::vector<double> screen_lambda;          ///< [task] of its w from its layer's
  std::vector<Placement> placements;          ///< [task]
  std::vector<std::uint32_t> n_visibilities;  ///< [task]
  std::uint32_t n_slots = 0, n_chunks = 0;
};
TaskList list_tasks(const IdgPlan& plan, const Ways& ways, const Partition& parts);

/// Consecutive tasks that are computed together.
struct TaskRange {
  std::size_t first = 0, n = 0;
};
/// Which subgrids of a range overlap which tile of which layer, each tile's in the order of the tasks.
struct Overlaps {
  std::vector<std::uint32_t> entries;  ///< (task in the range) * n_outputs + output
  std::vector<GridTile> tiles;
};
class TilePlacer {
 public:
  TilePlacer(const IdgPlan& plan, std::size_t n_outputs, const LayerRange& layers);
  /// Appends to `overlaps`; marks layers as used.
  void place(const TaskList& list, const TaskRange& range, Overlaps& overlaps, std::vector<bool>& layer_used);

 private:
  std::size_t side_, n_u_, n_v_, n_outputs_, tiles_u_, tiles_v_;
  LayerRange layers_;
  std::vector<std::uint32_t> count_;  ///< [layer][tile]
};

}  // namespace apsyn::idg_cuda
