// SPDX-License-Identifier: GPL-3.0-or-later
// The host's part of the CUDA degridder: a partition as arrays for the device, and the way back of what was
// predicted. For host code with CUDA only.
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

#include "kernels/idg/degrid_kernels.cuh"
#include "kernels/idg/partition.h"
#include "kernels/idg/w_separation.h"

namespace apsyn::idg_degrid {

/// Sums over pixels, and which units of visibilities they take.
enum class Sum { direct, tensor, tensor_first_order };
constexpr int kSums = 3;

struct TaskLists {
  std::vector<Task> tasks;
  std::vector<std::size_t> first_visibility;  ///< of each task, and the end
  std::vector<Run> runs;
};
TaskLists list_tasks(const IdgPlan& plan, const Partition& parts, const LayerRange& layers,
                     unsigned n_threads);

/// Tasks that the device takes at once, and their units.
struct Chunk {
  std::size_t first_task = 0, n_tasks = 0, first_visibility = 0, n_visibilities = 0;
  std::size_t first_unit[kSums] = {}, n_units[kSums] = {};
};
struct ChunkLists {
  std::vector<Chunk> chunks;
  std::vector<Unit> units[kSums];
};
struct ChunkLimits {
  std::size_t tasks, visibilities;
  bool tensor;  ///< whether the device and the setup allow it
};
ChunkLists list_chunks(const IdgPlan& plan, const Partition& parts, const TaskLists& lists,
                       const ChunkLimits& limits, const WSeparation& separation);

/// data [row][chan][plane] += predicted [visibility of the chunk][plane].
template <class T, class Out>
void add_chunk(const Partition& parts, const TaskLists& lists, const Chunk& chunk,
               const std::complex<T>* predicted, unsigned n_threads, View<std::complex<Out>, 3> data);

}  // namespace apsyn::idg_degrid
