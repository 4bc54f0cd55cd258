// SPDX-License-Identifier: GPL-3.0-or-later
// cuda/beams/products.cuh for Hopper. Weights stay in registers, as the first operand of wgmma, while all
// spectra of a row pass by as the second. A block of threads is one warpgroup that brings samples, and two
// that multiply. Each has its own beams, or with few beams its own spectra.
#pragma once

#include <algorithm>

#include "kernels/common/cuda/beams/consume.cuh"
#include "kernels/common/cuda/beams/turns.cuh"
#include "kernels/common/cuda/check.h"

namespace apsyn::beam_products {

template <Product kProduct, int kPols, bool kOwn, int kGroups, Flow kFlow>
__global__ void __launch_bounds__(kThreads, 1) form_beams(const __grid_constant__ Work work) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  constexpr bool kStreamed = kFlow == Flow::streamed;
  extern __shared__ std::uint8_t dynamic_shared[];
  __shared__ alignas(8) std::uint64_t full[kMaxStages], empty[kMaxStages], weights_full, order[kConsumers];
  __shared__ unsigned taken;
  __shared__ float aside[kAsideSlots * 128 * kConsumers];
  Shared shared;
  shared.full = shared_address(full), shared.empty = shared_address(empty);
  shared.weights_full = shared_address(&weights_full), shared.taken = &taken;
  shared.order = shared_address(order), shared.aside = shared_address(aside);
  shared.stages = shared_address(aligned_tiles(dynamic_shared));
  shared.weights = shared.stages + work.n_stages * work.stage_bytes();
  shared.raw = shared.weights + work.weight_bytes;
  if (threadIdx.x == 0) {
    for (int s = 0; s < work.n_stages; ++s) {
      barrier_init(shared.full + 8 * s,
                   are_copied(work.items.task.source.layout, kPols) ? 1 : kProducers / 32);
      barrier_init(shared.empty + 8 * s, work.own_spectra ? 4 : 4 * kConsumers);
    }
    barrier_init(shared.weights_full, 1);
    for (int c = 0; c < kConsumers; ++c) barrier_init(shared.order + 8 * c, 4);
    taken = 0;
    barrier_fence_init();
  }
  __syncthreads();
  let_next_launch_begin();
  wait_for_launch_before();
  if (threadIdx.x < 32) bring_weights_from<kGroups, kPols, kOwn, kStreamed>(work, shared, blockIdx.x);
  if (uniform(threadIdx.x >> 7) == kConsumers) {
    fewer_registers<kFreeRegisters>();
    produce<kProduct, kPols, kFlow>(work, shared);
  } else {
    more_registers<kWorkRegisters>();
    if constexpr (takes_turns(kFlow))
      TurnTaker<kProduct, kPols, kOwn, kGroups, kFlow>{work, shared}.run();
    else
      consume<kProduct, kPols, kOwn, kGroups, kFlow>(work, shared);
  }
#endif
}

template <Product kProduct, int kPols, bool kOwn, int kGroups, Flow kFlow>
void launch(const Task& task, int n_sm, cudaStream_t stream) {
  constexpr bool kStreamed = kFlow == Flow::streamed;
  constexpr int kSteps = kHeldSteps<kGroups, kOwn, kStreamed>, kSpectra = kTileColumns / kPols;
  Work work{};
  work.own_spectra = task.layout.n_groups() == 1;
  work.items = items_of(task, (work.own_spectra ? 1 : kConsumers) * kGroups, kSpectra, n_sm);
  work.run_tiles = kRun / kSpectra;
  work.weight_bytes = work.items.groups * (kOwn ? 2 : 1) * kSteps * kGroupBytes;
  using enum Source::SampleLayout;
  const int raw_bytes = are_copied(task.source.layout, kPols) ? 0
                        : task.source.layout == int8          ? kAhead<kFlow> * Units<int8, kPols>::kRawBytes
                                                              : kAhead<kFlow> * Units<int4, kPols>::kRawBytes;
  if (task.source.layout == int8 && kPols == 1) work.samples = map_of_samples(task);
  const int n_blocks = task.layout.n_blocks();
  work.stage_blocks = kStreamed || n_blocks > kMaxStageBlocks ? 1 : n_blocks;
  work.stage_tiles = kStageTiles<kFlow>;
  const int stage_bytes = work.stage_bytes();
  work.n_stages = std::min(kMaxStages, (kMaxShared - work.weight_bytes - raw_bytes) / stage_bytes);
  const int shared_bytes = work.weight_bytes + raw_bytes + work.n_stages * stage_bytes + 1024;
  const auto kernel = form_beams<kProduct, kPols, kOwn, kGroups, kFlow>;
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
             "asking for shared memory");
  // launches overlap by what comes before their first sample: a tenth of the time of few beams
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = static_cast<unsigned>(std::min(n_sm, work.items.count));
  config.blockDim = kThreads;
  config.dynamicSmemBytes = static_cast<std::size_t>(shared_bytes);
  config.stream = stream;
  config.attrs = &overlap;
  config.numAttrs = 1;
  cuda_check(cudaLaunchKernelEx(&config, kernel, work), "launching the products of beams");
}

template <Product kProduct, int kPols, bool kOwn, int kGroups>
void launch_turns(const Task& task, int n_sm, cudaStream_t stream) {
  if constexpr (kIsDetected<kProduct>)
    if (task.segment < kTileColumns / kPols)
      return launch<kProduct, kPols, kOwn, kGroups, Flow::brief>(task, n_sm, stream);
  launch<kProduct, kPols, kOwn, kGroups, Flow::turns>(task, n_sm, stream);
}

/// Two groups for each consumer where registers hold their weights and there are as many.
template <Product kProduct, int kPols, bool kOwn>
void launch_groups(const Task& task, int n_sm, cudaStream_t stream) {
  using enum Flow;
  const int n_slots = task.layout.n_slots(), n_groups = task.layout.n_groups();
  if (n_slots > kMaxSlots)
    launch<kProduct, kPols, kOwn, 2, streamed>(task, n_sm, stream);
  else if (n_groups == 1 || task.layout.n_blocks() > kMaxStageBlocks)
    launch<kProduct, kPols, kOwn, 1, blocks>(task, n_sm, stream);
  else if (n_slots * 2 <= kMaxSlots && n_groups > 2)
    launch_turns<kProduct, kPols, kOwn, 2>(task, n_sm, stream);
  else
    launch_turns<kProduct, kPols, kOwn, 1>(task, n_sm, stream);
}

template <Product kProduct>
void launch_product(const Task& task, int n_sm, cudaStream_t stream) {
  if constexpr (kProduct == Product::quadratic) return launch_groups<kProduct, 2, false>(task, n_sm, stream);
  if constexpr (kProduct == Product::voltage)
    if (task.n_pol == 1) return launch_groups<kProduct, 1, false>(task, n_sm, stream);
  if constexpr (kProduct != Product::quadratic) {
    if (task.layout.n_pol == 1)
      launch_groups<kProduct, 2, false>(task, n_sm, stream);
    else
      launch_groups<kProduct, 2, true>(task, n_sm, stream);
  }
}

void launch_voltage(const Task& task, int n_sm, cudaStream_t stream);
/// Powers of one polarisation, and of both by the same weights or by their own: files of their own, which
/// compile at once.
void launch_power_single(const Task& task, int n_sm, cudaStream_t stream);
void launch_power_shared(const Task& task, int n_sm, cudaStream_t stream);
void launch_power_own(const Task& task, int n_sm, cudaStream_t stream);
void launch_coherence(const Task& task, int n_sm, cudaStream_t stream);
void launch_quadratic(const Task& task, int n_sm, cudaStream_t stream);

}  // namespace apsyn::beam_products
