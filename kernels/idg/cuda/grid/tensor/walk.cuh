// SPDX-License-Identifier: GPL-3.0-or-later
// In which order the blocks of cuda/grid/tensor/kernel.cu take their work; producers and consumers walk
// alike.
#pragma once

#include "kernels/common/cuda/sm90/async_copy.cuh"
#include "kernels/common/cuda/sm90/warpgroups.cuh"
#include "kernels/idg/cuda/grid/tensor/shape.cuh"

namespace apsyn::idg_cuda {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

/// A block's walk over (task, planes, tile of pixels), chunks, and stages of up to 64 slots. What comes next
/// is fetched ahead: tasks may have less than a stage.
template <class Shape>
struct Walk {
  const TensorGridTask& task;
  const PlaneGroups planes;
  int item;  ///< -1: past the last
  int first_plane;
  std::uint32_t first_pixel, chunk, slot;
  int left;  ///< slots of the chunk from `slot` on

  __device__ Walk(const TensorGridTask& t, PlaneGroups p) : task(t), planes(p) { start(blockIdx.x); }
  __device__ __forceinline__ bool valid() const { return item >= 0; }
  __device__ __forceinline__ int first_x() const { return first_pixel & 0xffff; }
  __device__ __forceinline__ int first_y() const { return first_pixel >> 16; }
  __device__ __forceinline__ int n_slots() const { return min(left, kStageSlots); }
  __device__ __forceinline__ float w_offset() const { return task.chunks[chunk].w_offset_lambda; }
  __device__ __forceinline__ int n_across() const { return tensor_half(task.side) / Shape::kX; }
  __device__ __forceinline__ int n_tiles() const { return n_across() * (tensor_half(task.side) / Shape::kY); }
  __device__ __forceinline__ int items_each() const { return n_tiles() * planes.n_groups; }
  /// TaskStart::task
  __device__ __forceinline__ std::uint32_t own_task() const { return task.starts[item / items_each()].task; }

  __device__ void start(int new_item) {
    const int each = items_each();
    item = new_item < task.n_selected * each ? new_item : -1;
    if (!valid()) return;
    const int part = item % each, tile = part % n_tiles();
    first_plane = planes.first + part / n_tiles() * Shape::kPlanes;
    first_pixel = (tile / n_across() * Shape::kY) << 16 | tile % n_across() * Shape::kX;
    const uint4 own = *reinterpret_cast<const uint4*>(task.starts + item / each);
    ptx::fetch_ahead(task.starts + (item + gridDim.x) / each);
    chunk = own.y;
    slot = own.z;
    left = static_cast<int>(own.w);
    ptx::fetch_ahead(task.chunks + chunk + 1);
  }
  __device__ void next_item() { start(item + gridDim.x); }
  /// Returns false after the task's last chunk.
  __device__ bool next_chunk() {
    ++chunk;
    slot = task.chunks[chunk].first_slot;
    left = task.chunks[chunk].n_slots;
    return left > 0;
  }
  /// The next stage, whatever chunk or task it is of.
  __device__ void next_stage() {
    slot += kStageSlots;
    left -= kStageSlots;
    if (left <= 0 && !next_chunk()) next_item();
  }
};

/// A power of two that brings the task's largest value to [2^13, 2^14): products with phasors stay within
/// float16. Infinite values stay so, and the subgrid becomes NaN.
__device__ __forceinline__ int scale_exponent(std::uint32_t largest_bits) {
  const int exponent = static_cast<int>(largest_bits >> 23);
  return exponent == 255 ? 0 : max(-100, min(126, 13 + 127 - exponent));
}
__device__ __forceinline__ int exponent_of(std::uint32_t own_task) {
  return static_cast<int>(own_task >> 16) - 128;
}
__device__ __forceinline__ float power_of_two(int exponent) {
  return __int_as_float((exponent + 127) << 23);
}

#endif

}  // namespace apsyn::idg_cuda
