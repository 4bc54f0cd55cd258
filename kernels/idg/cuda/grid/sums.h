// SPDX-License-Identifier: GPL-3.0-or-later
// The sums over the visibilities of tasks, on tensor cores where the plan and the device allow it. For host
// code with CUDA only.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "kernels/idg/cuda/grid/image.cuh"
#include "kernels/idg/cuda/grid/tensor/task.cuh"
#include "kernels/idg/cuda/tasks.h"

namespace apsyn::idg_cuda {

template <class T, class From>
void to_device(DeviceArray<T>& array, const std::vector<From>& host) {
  static_assert(sizeof(T) == sizeof(From));
  array = DeviceArray<T>(host.size());
  cuda_check(cudaMemcpy(array.data(), host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice),
             "copying to the device");
  finish_default_stream();
}

template <class T>
class TaskSums {
 public:
  /// n_planes: the data's and the PSF's. On the current device.
  TaskSums(const IdgPlan& plan, int n_planes, int device);

  const WExpansions& expansions() const { return expansions_; }
  /// Upper limit on the values of type T in a task's sums.
  std::size_t task_values() const { return task_values_; }
  void reserve(std::size_t n_tasks) { sums_ = DeviceArray<T>(n_tasks * task_values_); }
  const T* sums() const { return sums_.data(); }
  /// With the taper; [1 or term][y][x] of half the side.
  const double* coefficient(std::size_t expansion) const {
    return coefficient_[expansions_.tensor ? 0 : expansion].data();
  }
  /// Number of slots in a range of one expansion whose phasors and terms fit into `bytes`.
  std::size_t max_slots(std::size_t expansion, std::size_t bytes) const;

  /// Allocates memory for a block's slots, which prepare() otherwise does.
  void reserve_slots(const DeviceTasks& tasks, const DeviceTracks& tracks);
  /// Puts all of a block's visibilities, or the nodes of its tracks, into slots.
  void prepare(const DeviceTasks& tasks, const VisibilityRun* runs, const DeviceTracks& tracks,
               const BlockArrays& block, cudaStream_t stream);
  /// Estimate of the device memory that prepare() takes.
  std::size_t prepared_bytes(const DeviceTasks& tasks, const DeviceTracks& tracks) const;
  /// Sums a range's visibilities into sums().
  TaskSumsShape sum(const DeviceTasks& tasks, const RangeWork& work, cudaStream_t stream);

 private:
  TaskSumsShape sum_on_tensor_cores(const DeviceTasks& tasks, const RangeWork& work, cudaStream_t stream);

  IdgPlan plan_;
  WExpansions expansions_;
  int n_sm_ = 0, side_ = 0, n_planes_ = 0;
  std::size_t task_values_ = 0;
  std::array<DeviceArray<double>, kMaxExpansions> coefficient_;  ///< [expansion]
  std::array<DeviceArray<float4>, 2> tensor_coefficient_;
  Upload<std::uint32_t> cell_, largest_;
  Upload<Chunk> chunks_;
  std::array<Upload<TaskStart>, 2> starts_;  ///< [expansion]
  Upload<T> du_, dv_, t_, phasors_u_, phasors_v_;
  Upload<ComplexOf<T>> value_, terms_, node_value_;
  Slots<T> slots_{};
  CopyStream second_stream_;  ///< the shorter of two sums for tensor cores fills what the other leaves idle
  Event ready_, summed_;
  DeviceArray<T> sums_;
};

}  // namespace apsyn::idg_cuda
