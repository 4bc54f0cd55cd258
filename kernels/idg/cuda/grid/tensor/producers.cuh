// SPDX-License-Identifier: GPL-3.0-or-later
// The producer warps of cuda/grid/tensor/kernel.cu: half of them make B for 64 slots, half the phasors of A
// and V as hi and lo. For sm_90a only.
#pragma once

#include "kernels/common/cuda/sm90/mbarrier.cuh"
#include "kernels/idg/cuda/grid/tensor/operands.cuh"
#include "kernels/idg/cuda/grid/tensor/walk.cuh"

namespace apsyn::idg_cuda {

/// What producers and consumers of a block share.
struct Stages {
  std::uint32_t first;        ///< address in shared memory
  std::uint32_t full, empty;  ///< barriers, one a stage
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

/// `thread`: of those that make B. A thread makes one slot's columns of some of the parts of eight pixels.
template <class Shape>
__device__ __forceinline__ void produce_columns(const TensorGridTask& task, Walk<Shape>& walk,
                                                const Stages& stages, int thread) {
  using namespace ptx;
  constexpr int kParts = Shape::kX / 8 / Shape::kProducers;
  static_assert(kParts * 8 * Shape::kProducers == Shape::kX);
  const int place = thread & 63, first_part = (thread >> 6) * kParts;
  const int slot = (place & ~15) | (place & 6) << 1 | (place & 8) >> 2 | (place & 1);
  Ring<Shape::kStages> ring;
  float step = 0, t = 0;
  auto load = [&] {
    const bool exists = walk.valid() && slot < walk.n_slots();
    step = exists ? task.in.du[walk.slot + slot] : 0.0f;
    t = exists ? task.in.t[walk.slot + slot] : 0.0f;
  };
  load();
  while (walk.valid()) {
    const bool exists = (place & ~15) < walk.n_slots();
    const int first_x = walk.first_x();
    const float step_now = step, t_now = t;
    walk.next_stage();
    load();
    barrier_wait(stages.empty + 8 * ring.stage, ring.phase ^ 1);
    if (exists)
#pragma unroll 1
      for (int part = first_part; part < first_part + kParts; ++part)
        write_columns<Shape>(stages.first + ring.stage * Shape::kStageBytes + part * kGroupBytes + place * 16,
                             first_x + 8 * part, step_now, t_now);
    async_proxy_fence();
    barrier_arrive(stages.full + 8 * ring.stage);
    ring.advance();
  }
}

/// `thread`: of those that make A's phasors and values. A thread makes four slots' phasors of a quarter of
/// the pixels in y, by pairs, and their values of one plane: both components, or one where there are twice as
/// many threads.
template <class Shape>
__device__ __forceinline__ void produce_rows(const TensorGridTask& task, Walk<Shape>& walk,
                                             const Stages& stages, int thread) {
  using namespace ptx;
  constexpr int kParts = Shape::kY / 8 / Shape::kProducers, kComponents = 2 / Shape::kProducers;
  static_assert(kParts * 8 * Shape::kProducers == Shape::kY);
  // A warp's phases of eight lanes write four quads of two subsets: no bank conflicts.
  const int lane = thread & 31, warp = thread >> 5;
  const int subset = (lane & 1) | (lane >> 2 & 2);
  const int quad = (lane >> 1 & 3) | (lane >> 2 & 4) | (warp & 1) << 3;
  const int first_part = (warp >> 1) * kParts, first_component = warp >> 1;
  Ring<Shape::kStages> ring;
  float step[4] = {}, value[kComponents][4] = {}, scale = 1;
  bool has_plane = false;
  auto load = [&] {
    if (!walk.valid() || quad * 4 >= walk.n_slots()) return;
    const std::uint32_t slot = walk.slot + quad * 4;
    const float4 steps = *reinterpret_cast<const float4*>(task.in.dv + slot);
    step[0] = steps.x, step[1] = steps.y, step[2] = steps.z, step[3] = steps.w;
    const int plane = walk.first_plane + subset;
    has_plane = subset < Shape::kPlanes && plane < task.n_planes;
    if (!has_plane) return;
    scale = power_of_two(exponent_of(walk.own_task()));
    const float2* values = task.in.value + std::size_t(slot) * task.n_planes + plane;
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int k = 0; k < kComponents; ++k)
        value[k][i] = reinterpret_cast<const float*>(values + i * task.n_planes)[first_component + k];
  };
  load();
  while (walk.valid()) {
    const bool exists = quad * 4 < walk.n_slots();
    const int first_y = walk.first_y() + Shape::kY / 4 * subset;
    const float step_now[4] = {step[0], step[1], step[2], step[3]};
    barrier_wait(stages.empty + 8 * ring.stage, ring.phase ^ 1);
    const std::uint32_t stage = stages.first + ring.stage * Shape::kStageBytes;
    if (exists && has_plane)
#pragma unroll
      for (int k = 0; k < kComponents; ++k)
        write_values(stage + Shape::kValuesAt + quad * Shape::kValueQuadBytes +
                         (subset * 2 + first_component + k) * 16,
                     value[k], scale);
    walk.next_stage();
    load();
    if (exists)
#pragma unroll 1
      for (int part = first_part; part < first_part + kParts; ++part)
        write_rows<Shape>(
            stage + Shape::kPhasorsAt + quad * Shape::kPhasorQuadBytes + part * 128 + subset * 16,
            first_y + 2 * part, step_now);
    async_proxy_fence();
    barrier_arrive(stages.full + 8 * ring.stage);
    ring.advance();
  }
}

#endif

}  // namespace apsyn::idg_cuda
