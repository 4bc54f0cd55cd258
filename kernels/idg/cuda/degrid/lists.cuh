// SPDX-License-Identifier: GPL-3.0-or-later
// Lists of a block's sub-tables for the CUDA degridder, made on the device; and putting predictions into the
// order of rows. For device and host code with CUDA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/common/cuda/sort.cuh"
#include "kernels/idg/cuda/degrid/kernels.cuh"
#include "kernels/idg/cuda/partition/cut.cuh"
#include "kernels/idg/cuda/tracks/tracks.cuh"

namespace apsyn::idg_degrid {

/// Sums over pixels, and which units of visibilities they take.
enum class Sum { direct, tensor, tensor_first_order };
constexpr int kSums = 3;

/// How the plan, the pass and the device determine tasks.
struct DegridListPlan {
  int side, n_u, n_v;
  int first_layer;  ///< of the pass
  double first_layer_lambda, layer_step_lambda;
  /// Largest half w of tasks for these sums; below 0: none.
  double max_half_w_tensor, max_half_w_first_order;
  std::uint32_t unit[kSums];  ///< largest number of visibilities in a unit
  std::uint32_t chunk_tasks;  ///< tasks that are computed together
};

/// Consecutive tasks that are computed together, and the units of their visibilities.
struct TaskChunk {
  std::size_t first_task = 0, n_tasks = 0;
  std::size_t first_unit[kSums] = {}, n_units[kSums] = {};
};

struct DegridTasks {
  Upload<Task> tasks;
  Upload<Run> runs;  ///< of rows, or of DeviceTracks::rows
  std::uint32_t n_runs = 0;
  Upload<Unit> units[kSums];  ///< a chunk's together
  std::vector<TaskChunk> chunks;
  std::uint64_t n_tensor_visibilities = 0;  ///< visibilities of rows that are summed on tensor cores
};

class DegridLister {
 public:
  explicit DegridLister(cudaStream_t stream) : stream_(stream), sort_(stream) {}
  /// Waits for the stream. tracks: null, or those of the tables.
  void list(const DegridListPlan& plan, const idg::DeviceTables& tables, const idg_cuda::DeviceTracks* tracks,
            DegridTasks& out);

 private:
  cudaStream_t stream_;
  DeviceSort sort_;
  Upload<std::uint32_t> end_visibility_, end_unit_[kSums], bounds_;
  std::unique_ptr<std::uint32_t[], FreePinned> host_;
  std::size_t host_size_ = 0;
};

/// rows [row][chan][plane] = predicted [visibility][plane] of the runs; others are left alone.
template <class T>
struct PlaceRows {
  const Run* runs;
  std::size_t n_runs;
  int n_chan, n_planes;
  const ComplexOf<T>* predicted;
  ComplexOf<T>* rows;
};
template <class T>
void launch_place_rows(const PlaceRows<T>& task, cudaStream_t stream);

}  // namespace apsyn::idg_degrid
