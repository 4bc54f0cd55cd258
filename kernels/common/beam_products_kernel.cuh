// SPDX-License-Identifier: GPL-3.0-or-later
// beam_products.cuh for Hopper. Weights stay in registers, as the first operand of wgmma, while all spectra
// of a row pass by as the second. A block of threads is one warpgroup that brings samples and weights, and
// two that multiply: they take turns at a tile of spectra, so that one detects while the other keeps the
// tensor cores busy. Each has its own beams, or with few beams its own spectra.
//
// Weights of more antennas than registers hold pass by too, again for every tile, and nobody waits for turns.
#pragma once

#include <algorithm>

#include "kernels/common/beam_products_detect.cuh"
#include "kernels/common/beam_products_feed.cuh"
#include "kernels/common/cuda_check.h"

namespace apsyn::beam_products {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

template <int kGroups, bool kOwn, bool kStreamed>
struct Held {
  static constexpr int kPols = kOwn ? 2 : 1, kSteps = kHeldSteps<kGroups, kOwn, kStreamed>;
  Fragment fragments[kGroups][kPols][kSteps];

  /// Of a set of groups, from step `first` of n_steps on.
  template <Source::Form kForm>
  __device__ void load(std::uint32_t from, int n_left) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if (step >= n_left) break;
#pragma unroll
      for (int g = 0; g < kGroups; ++g)
#pragma unroll
        for (int pol = 0; pol < kPols; ++pol)
          load_fragment<kForm>(fragments[g][pol][step], threadIdx.x & 31, [&](int byte) {
            return load_shared(from + ((g * kPols + pol) * kSteps + step) * kGroupBytes + byte);
          });
    }
  }
  __device__ void mask(const Task& task, const std::uint8_t* valid, int first, int n_left) {
    const int n_blocks = task.layout.n_blocks();
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if (step >= n_left) break;
      const int first_ant = (first + step) % n_blocks * kBlockAntennas;
#pragma unroll
      for (int chunk = 0; chunk < 4; ++chunk) {
        const Masks masks(task, valid, first_ant + 16 * chunk, threadIdx.x & 31);
#pragma unroll
        for (int g = 0; g < kGroups; ++g)
#pragma unroll
          for (int pol = 0; pol < kPols; ++pol) masks.apply(fragments[g][pol][step][chunk]);
      }
    }
  }
  __device__ void clear() {
#pragma unroll
    for (int g = 0; g < kGroups; ++g)
#pragma unroll
      for (int i = 0; i < kPols * kSteps * 16; ++i)
        fragments[g][i / (kSteps * 16)][i / 16 % kSteps][i / 4 % 4][i % 4] = 0;
  }
};

template <Product kProduct, int kPols, bool kOwn, int kGroups, bool kStreamed>
__device__ __forceinline__ void consume(const Work& work, const Shared& shared) {
  constexpr int kSteps = kHeldSteps<kGroups, kOwn, kStreamed>, kSpectra = kTileColumns / kPols;
  const Task& task = work.items.task;
  const int warp = uniform(threadIdx.x >> 5), lane = threadIdx.x & 31, consumer = warp >> 2;
  const int n_blocks = task.layout.n_blocks(), n_steps = task.layout.n_limb * n_blocks;
  const int set = work.own_spectra ? 0 : consumer;
  const std::uint32_t my_order = shared.order + 8 * consumer, other_order = shared.order + 8 * (consumer ^ 1);
  const std::uint32_t my_weights = shared.weights + set * kGroups * (kOwn ? 2 : 1) * kSteps * kGroupBytes +
                                   (warp & 3) * 1024 + lane / 4 * 64;
  Held<kGroups, kOwn, kStreamed> weights;
  weights.clear();
  Ring ring(work.n_stages);
  std::uint32_t turn = 0, weight_turn = 0, runs = 0;
  const auto arrive = [&](std::uint32_t barrier) {  // of a warp
    __syncwarp();
    if (lane == 0) barrier_arrive(barrier);
  };
  const auto load_weights = [&](int row, int first) {
    barrier_wait(shared.weights_full, weight_turn++ & 1);
    with_form<kProduct>(task.source.form, [&](auto form) {
      weights.template load<decltype(form)::value>(my_weights, n_steps - first);
    });
    arrive(shared.weights_empty);
    if (const std::uint8_t* valid = validity_of(task, row); valid != nullptr)
      weights.mask(task, valid, first, n_steps - first);
  };
  for (int index = blockIdx.x; index < work.items.count; index += gridDim.x) {
    const Item item(work.items, index, kSpectra);
    if (item.first_tile >= item.end_tile) continue;
    if constexpr (!kStreamed) load_weights(item.row, 0);
    Target target[kGroups];
    float part[kGroups][kValues<kProduct, kPols>];
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const int beam = (item.first_group + set * kGroups + g) * kGroupBeams + (warp & 3) * 8 + (lane >> 2);
      target[g] = target_of<kProduct, kPols>(task, item.row, beam);
#pragma unroll
      for (float& value : part[g]) value = 0;
    }
    for (int tile = item.first_tile; tile < item.end_tile; ++tile) {
      bool first_of_turn = !kStreamed, last_of_turn = !kStreamed;
      if (work.own_spectra) {
        const int in_run = (tile - item.first_tile) % work.run_tiles;
        first_of_turn = in_run == 0;
        last_of_turn = in_run == work.run_tiles - 1 || tile + 1 == item.end_tile;
        const bool mine = (runs & 1) == static_cast<std::uint32_t>(consumer);
        if (last_of_turn) ++runs;
        if (!mine) {
          ring.advance(n_blocks);
          continue;
        }
      }
      Sums sums[kGroups];
#pragma unroll
      for (int g = 0; g < kGroups; ++g)
#pragma unroll
        for (int& sum : sums[g]) sum = 0;
      if (first_of_turn) barrier_wait(my_order, (turn & 1) ^ (consumer == 0 ? 1 : 0));
      int used_stage = -1;
      const auto release = [&] {
        if (used_stage >= 0) arrive(shared.empty + 8 * used_stage);
      };
      const auto next_limb = [&] {
        wgmma_wait<0>();
#pragma unroll
        for (int g = 0; g < kGroups; ++g)
#pragma unroll
          for (int& sum : sums[g]) sum <<= task.shift;
      };
      const auto multiply = [&](int step, const Ring& at) {
        barrier_wait(shared.full + 8 * at.stage, at.phase);
        const std::uint64_t columns = wgmma_descriptor(shared.stages + at.stage * kStageBytes);
        wgmma_fence();
#pragma unroll
        for (int quarter = 0; quarter < 4; ++quarter)
#pragma unroll
          for (int g = 0; g < kGroups; ++g) {
            if constexpr (kOwn) {
              wgmma_s8_narrow<0>(sums[g], weights.fragments[g][0][step][quarter], columns + 2 * quarter);
              wgmma_s8_narrow<16>(sums[g], weights.fragments[g][1][step][quarter],
                                  columns + 2 * quarter + (kStageBytes / 2 >> 4));
            } else {
              wgmma_s8(sums[g], weights.fragments[g][0][step][quarter], columns + 2 * quarter);
            }
          }
        wgmma_commit();
        wgmma_wait<1>();
        release();
      };
      if constexpr (kStreamed) {
        for (int first = 0; first < n_steps; first += kSteps) {
          load_weights(item.row, first);
          used_stage = -1;
#pragma unroll
          for (int step = 0; step < kSteps; ++step) {
            if (first + step >= n_steps) break;
            if (first + step == n_blocks) {
              next_limb();
              release();
              used_stage = -1;
            }
            multiply(step, ring);
            used_stage = ring.stage;
            ring.advance(1);
          }
          wgmma_wait<0>();
          release();
        }
      } else {
#pragma unroll
        for (int step = 0; step < kSteps; ++step) {
          if (step >= n_steps) break;
          if (step == n_blocks) next_limb();
          // the other's first products queue behind the last of these
          if (last_of_turn && step == n_steps - 1) arrive(other_order);
          Ring at = ring;
          at.advance(step < n_blocks ? step : step - n_blocks);
          multiply(step, at);
          used_stage = n_steps - step <= n_blocks ? at.stage : -1;
        }
        if (last_of_turn) ++turn;
        wgmma_wait<0>();
        release();
        ring.advance(n_blocks);
      }
#pragma unroll
      for (int g = 0; g < kGroups; ++g)
        finish_tile<kProduct, kPols>(task, target[g], tile, lane, sums[g], part[g]);
    }
  }
}
#endif

template <Product kProduct, int kPols, bool kOwn, int kGroups, bool kStreamed>
__global__ void __launch_bounds__(kThreads, 1) form_beams(const __grid_constant__ Work work) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ std::uint8_t dynamic_shared[];
  __shared__ alignas(8) std::uint64_t full[kMostStages], empty[kMostStages], others[4];
  Shared shared;
  shared.full = shared_address(full), shared.empty = shared_address(empty);
  shared.weights_full = shared_address(others), shared.weights_empty = shared.weights_full + 8;
  shared.order = shared.weights_full + 16;
  shared.stages = shared_address(aligned_tiles(dynamic_shared));
  shared.weights = shared.stages + work.n_stages * kStageBytes;
  shared.raw = shared.weights + work.weight_bytes;
  if (threadIdx.x == 0) {
    for (int s = 0; s < work.n_stages; ++s) {
      barrier_init(shared.full + 8 * s,
                   work.items.task.source.form == Source::Form::rows ? 1 : kProducers / 32);
      barrier_init(shared.empty + 8 * s, work.own_spectra ? 4 : 4 * kConsumers);
    }
    barrier_init(shared.weights_full, 1);
    barrier_init(shared.weights_empty, 4 * kConsumers);
    for (int c = 0; c < kConsumers; ++c) barrier_init(shared.order + 8 * c, 4);
    barrier_fence_init();
  }
  __syncthreads();
  let_next_launch_begin();
  wait_for_launch_before();
  if (uniform(threadIdx.x >> 7) == kConsumers) {
    fewer_registers<kFreeRegisters>();
    produce<kProduct, kGroups, kPols, kOwn, kStreamed>(work, shared);
  } else {
    more_registers<kWorkRegisters>();
    consume<kProduct, kPols, kOwn, kGroups, kStreamed>(work, shared);
  }
#endif
}

template <Product kProduct, int kPols, bool kOwn, int kGroups, bool kStreamed>
void launch(const Task& task, int n_sm, cudaStream_t stream) {
  constexpr int kSteps = kHeldSteps<kGroups, kOwn, kStreamed>, kSpectra = kTileColumns / kPols;
  Work work{};
  work.own_spectra = task.layout.n_groups() == 1;
  work.items = items_of(task, (work.own_spectra ? 1 : kConsumers) * kGroups, kSpectra, n_sm);
  work.run_tiles = kRun / kSpectra;
  work.poll_rooms = kStreamed || (work.own_spectra && have_lone_runs(work.items, kSpectra));
  work.n_chunks = (task.layout.n_limb * task.layout.n_blocks() + kSteps - 1) / kSteps;
  work.weight_bytes = work.items.groups * (kOwn ? 2 : 1) * kSteps * kGroupBytes;
  using enum Source::Form;
  const int raw_bytes = task.source.form == int8   ? kAhead * Units<int8, kPols>::kRawBytes
                        : task.source.form == int4 ? kAhead * Units<int4, kPols>::kRawBytes
                                                   : 0;
  work.n_stages = std::min(kMostStages, (kMostShared - work.weight_bytes - raw_bytes) / kStageBytes);
  const int shared_bytes = work.weight_bytes + raw_bytes + work.n_stages * kStageBytes + 1024;
  const auto kernel = form_beams<kProduct, kPols, kOwn, kGroups, kStreamed>;
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

/// Two groups for each consumer where registers hold their weights and there are as many.
template <Product kProduct, int kPols, bool kOwn>
void launch_groups(const Task& task, int n_sm, cudaStream_t stream) {
  const int n_slots = task.layout.n_slots();
  if (n_slots > kMostSlots)
    launch<kProduct, kPols, kOwn, 2, true>(task, n_sm, stream);
  else if (n_slots * 2 <= kMostSlots && task.layout.n_groups() > 2)
    launch<kProduct, kPols, kOwn, 2, false>(task, n_sm, stream);
  else
    launch<kProduct, kPols, kOwn, 1, false>(task, n_sm, stream);
}

template <Product kProduct>
void launch_product(const Task& task, int n_sm, cudaStream_t stream) {
  if constexpr (kProduct == Product::quadratic) return launch_groups<kProduct, 2, false>(task, n_sm, stream);
  if constexpr (kProduct == Product::voltage || kProduct == Product::power)
    if (task.n_pol == 1) return launch_groups<kProduct, 1, false>(task, n_sm, stream);
  if constexpr (kProduct != Product::quadratic) {
    if (task.layout.n_pol == 1)
      launch_groups<kProduct, 2, false>(task, n_sm, stream);
    else
      launch_groups<kProduct, 2, true>(task, n_sm, stream);
  }
}

void launch_voltage(const Task& task, int n_sm, cudaStream_t stream);
void launch_power(const Task& task, int n_sm, cudaStream_t stream);
void launch_coherence(const Task& task, int n_sm, cudaStream_t stream);
void launch_quadratic(const Task& task, int n_sm, cudaStream_t stream);

}  // namespace apsyn::beam_products
