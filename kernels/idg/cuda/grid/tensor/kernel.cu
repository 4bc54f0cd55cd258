// SPDX-License-Identifier: GPL-3.0-or-later
// Two or three consumer warpgroups, the others make their operands; one block per SM walks over tasks.
#include "kernels/idg/cuda/grid/tensor/task.cuh"

#include <algorithm>

#include "kernels/common/cuda/check.h"
#include "kernels/common/cuda/launch.cuh"
#include "kernels/common/cuda/sm90/mbarrier.cuh"
#include "kernels/common/cuda/sm90/warpgroups.cuh"
#include "kernels/idg/cuda/grid/tensor/consumers.cuh"

namespace apsyn::idg_cuda {
namespace {

template <class Shape>
__global__ void __launch_bounds__(Shape::kThreads, 1)
    sum_visibilities(TensorGridTask task, PlaneGroups planes) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using namespace ptx;
  extern __shared__ std::uint8_t dynamic_shared[];
  __shared__ alignas(8) std::uint64_t full_barriers[Shape::kStages], empty_barriers[Shape::kStages];
  const Stages stages{(shared_address(dynamic_shared) + 127) & ~127u, shared_address(full_barriers),
                      shared_address(empty_barriers)};
  if (threadIdx.x == 0) {
    for (int s = 0; s < Shape::kStages; ++s) {
      barrier_init(stages.full + 8 * s, Shape::kProducerThreads);
      barrier_init(stages.empty + 8 * s, Shape::kConsumerThreads);
    }
    barrier_fence_init();
  }
  __syncthreads();
  const int warpgroup = uniform(threadIdx.x >> 7);
  Walk<Shape> walk(task, planes);
  if (warpgroup >= Shape::kConsumers) {
    fewer_registers<Shape::kProducerRegisters>();
    constexpr int kEach = 64 * Shape::kProducers;
    const int thread = static_cast<int>(threadIdx.x) - Shape::kConsumerThreads;
    if (uniform(thread < kEach))
      produce_columns<Shape>(task, walk, stages, thread);
    else
      produce_rows<Shape>(task, walk, stages, thread - kEach);
    return;
  }
  more_registers<Shape::kConsumerRegisters>();
  const std::uint32_t totals = stages.first + Shape::kStages * Shape::kStageBytes;
  Consumer<Shape>(task, stages, totals, warpgroup).consume(walk);
#endif
}

__global__ void list_starts(TensorGridTask task) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  const std::size_t i = this_thread();
  if (i >= task.n_selected) return;
  const std::uint32_t index = task.selected[i], first = task.tasks[index].first_chunk;
  const Chunk& chunk = task.chunks[first];
  task.starts[i] = {index | static_cast<std::uint32_t>(128 + scale_exponent(task.largest[chunk.task])) << 16,
                    first, chunk.first_slot, chunk.n_slots};
#endif
}

template <class Shape>
void launch(const TensorGridTask& task, PlaneGroups planes, int n_sm, cudaStream_t stream) {
  const auto kernel = sum_visibilities<Shape>;
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Shape::kSharedBytes),
             "asking for shared memory");
  const int half = tensor_half(task.side), n_tiles = half / Shape::kX * (half / Shape::kY);
  const int n_blocks = std::min(n_sm, task.n_selected * planes.n_groups * n_tiles);
  kernel<<<n_blocks, Shape::kThreads, Shape::kSharedBytes, stream>>>(task, planes);
  cuda_check(cudaGetLastError(), "launching the gridder's sums");
}

/// Launches all whole groups of planes from `first` on. Returns the first plane that is left.
template <class Shape>
int launch_groups(const TensorGridTask& task, int first, int n_sm, cudaStream_t stream) {
  const int n_groups = (task.n_planes - first) / Shape::kPlanes;
  if (n_groups > 0) launch<Shape>(task, {first, n_groups}, n_sm, stream);
  return first + n_groups * Shape::kPlanes;
}

template <int kTerms>
void launch_planes(const TensorGridTask& task, int n_sm, cudaStream_t stream) {
  const int half = tensor_half(task.side);
  if (half % 24 == 0) {
    // The last group's second plane may be missing.
    launch<TensorShape<24, 24, 3, 1, false, kTerms>>(task, {0, (task.n_planes + 1) / 2}, n_sm, stream);
    return;
  }
  int first = 0;
  if (half % 32 == 0)
    first = launch_groups<TensorShape<32, 16, 2, 1, false, kTerms>>(task, first, n_sm, stream);
  first = launch_groups<TensorShape<16, 16, 2, 2, false, kTerms>>(task, first, n_sm, stream);
  first = launch_groups<TensorShape<16, 16, 2, 1, false, kTerms>>(task, first, n_sm, stream);
  launch_groups<TensorShape<16, 16, 2, 1, true, kTerms>>(task, first, n_sm, stream);
}

}  // namespace

void launch_tensor_grid(const TensorGridTask& task, TensorTerms terms, int n_sm, cudaStream_t stream) {
  if (task.n_selected == 0) return;
  list_starts<<<blocks_of(task.n_selected), apsyn::kThreads, 0, stream>>>(task);
  launched("listing where tasks begin");
  if (terms == TensorTerms::three)
    launch_planes<3>(task, n_sm, stream);
  else
    launch_planes<4>(task, n_sm, stream);
}

}  // namespace apsyn::idg_cuda
