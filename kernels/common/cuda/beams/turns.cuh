// SPDX-License-Identifier: GPL-3.0-or-later
// What multiplies in cuda/beams/kernel.cuh where both warpgroups have beams of their own: they take turns.
// One multiplies a group of beams, while the other detects what it has multiplied before, or takes the
// weights of the next item.
#pragma once

#include "kernels/common/cuda/beams/warpgroup_state.cuh"

namespace apsyn::beam_products {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

/// Both warpgroups take as many turns, the first one first.
struct Turns {
  int me = uniform(threadIdx.x >> 7);
  __device__ void begin() const {
    if (me == 1) hand_over();
  }
  __device__ void wait() const { asm volatile("bar.sync %0, 256;" ::"r"(1 + me) : "memory"); }
  __device__ void hand_over() const { asm volatile("bar.arrive %0, 256;" ::"r"(2 - me) : "memory"); }
  __device__ void end() const {
    if (me == 0) wait();
  }
};

/// The items of a block of threads that have spectra.
template <int kSpectra>
struct ItemWalk {
  const Items& items;
  int index;
  Item item{};
  __device__ ItemWalk(const Items& all, int first) : items(all), index(first) { enter(); }
  __device__ bool ended() const { return index >= items.count; }
  __device__ void enter() {
    for (; !ended(); index += gridDim.x) {
      item = Item(items, index, kSpectra);
      if (item.first_tile < item.end_tile) return;
    }
  }
  __device__ void advance() {
    index += gridDim.x;
    enter();
  }
};

template <Product kProduct, int kPols, bool kOwn, int kGroups, Flow kFlow>
struct TurnTaker {
  static constexpr int kSteps = kHeldSteps<kGroups, kOwn, false>, kSpectra = kTileColumns / kPols;
  static constexpr int kWide = kStageTiles<kFlow>;
  using Part = float[kValues<kProduct, kPols>];  ///< what an open segment holds
  const Work& work;
  const Shared& shared;
  const Task& task = work.items.task;
  const int lane = threadIdx.x & 31, set = uniform(threadIdx.x >> 7);
  const Turns turns{};
  Held<kGroups, kOwn, false> weights;
  TargetAside target[kGroups];
  ItemWalk<kSpectra> walk{work.items, static_cast<int>(blockIdx.x)};
  int first_tile = 0, end_tile = 0;
  std::uint32_t weights_phase = 0;
  StageRing ring{work.n_stages};

  /// The weights of a group of the item that `walk` is at, and where its results go.
  template <int kGroup>
  __device__ __forceinline__ void take_group(Part& part) {
    const Item& item = walk.item;
    const int warp = threadIdx.x / 32 % 4;
    const int beam = (item.first_group + set * kGroups + kGroup) * kGroupBeams + warp * 8 + lane / 4;
    const Target next = target_of<kProduct, kPols>(task, item.row, beam);  // comes while weights are taken
    if constexpr (kGroup == 0) {
      barrier_wait(shared.weights_full, weights_phase);
      weights_phase ^= 1;
    }
    const int n_steps = task.layout.n_limb * task.layout.n_blocks();
    const std::uint32_t mine =
        shared.weights + set * kGroups * (kOwn ? 2 : 1) * kSteps * kGroupBytes + warp * 1024 + lane / 4 * 64;
    with_layout<kProduct>(task.source.layout, [&](auto layout) {
      weights.template load<decltype(layout)::value, kGroup, kGroup + 1>(mine, n_steps);
    });
    if constexpr (kGroup == kGroups - 1)
      if (is_last_warp(shared.taken))
        bring_weights_from<kGroups, kPols, kOwn, false>(work, shared, walk.index + gridDim.x);
    if (const std::uint8_t* valid = validity_of(task, item.row); valid != nullptr)
      weights.template mask<kGroup, kGroup + 1>(task, valid, 0, n_steps);
    target[kGroup].put(next, sample_unit(task));
#pragma unroll
    for (float& value : part) value = 0;
  }

  /// A group's products of the tiles of a stage.
  template <int kGroup>
  __device__ __forceinline__ void multiply(Sums (&sums)[kWide]) {
    multiply_limb<kGroup, 0>(sums);
    if constexpr (kSteps > 1)
      if (task.layout.n_limb == 2) {
#pragma unroll
        for (Sums& tile_sums : sums)
#pragma unroll
          for (int& sum : tile_sums) sum <<= task.shift;
        multiply_limb<kGroup, 1>(sums);
      }
  }
  template <int kGroup, int kLimb>
  __device__ __forceinline__ void multiply_limb(Sums (&sums)[kWide]) {
    constexpr int kFit = kSteps / (kLimb + 1), kMax = kFit < kMaxStageBlocks ? kFit : kMaxStageBlocks;
    const int n_blocks = task.layout.n_blocks();
    const std::uint32_t columns = uniform_bits(static_cast<std::uint32_t>(
        swizzled_descriptor(shared.stages + ring.stage * n_blocks * (kWide * kBlockBytes))));
    turns.wait();
    with_count<kMax>(n_blocks, [&](auto count) {
      constexpr int kBlocks = decltype(count)::value;
      wgmma_fence();
#pragma unroll
      for (int i = 0; i < 4 * kBlocks; ++i) {
        const std::uint32_t block = columns + i / 4 * (kWide * kBlockBytes >> 4);
        if (kLimb == 0 && i == 0)
          weights.template multiply<false>(sums, kGroup, 0, 0, block);
        else
          weights.template multiply<true>(sums, kGroup, kLimb * kBlocks + i / 4, i % 4, block);
      }
      wgmma_commit();
    });
    turns.hand_over();
    wgmma_wait<0>();
  }

  template <int kGroup>
  __device__ __forceinline__ void finish(int tile, const Sums (&sums)[kWide], Part& part) {
#pragma unroll
    for (int w = 0; w < kWide; ++w) {
      if constexpr (kIsDetected<kProduct>) sum_products<kProduct, kPols>(sums[w], part);
      finish_tile<kProduct, kPols, kFlow == Flow::brief>(task, target[kGroup], tile + w, lane, sums[w], part);
    }
  }

  __device__ __forceinline__ void take_turns() {
    Sums sums[kWide] = {};
    Part part[kGroups];  // no member: lanes choose among its values, which then brings all to local memory
    take_group<0>(part[0]);
    if constexpr (kGroups == 2) take_group<1>(part[1]);
    turns.begin();
    while (!walk.ended()) {
      first_tile = walk.item.first_tile, end_tile = walk.item.end_tile;
      walk.advance();
      for (int tile = first_tile; tile < end_tile; tile += kWide) {
        const bool last = tile + kWide >= end_tile;
        barrier_wait(shared.full + 8 * ring.stage, ring.phase);
        multiply<0>(sums);
        if constexpr (kGroups == 1) release();
        finish<0>(tile, sums, part[0]);
        if (last && !walk.ended()) [[unlikely]]
          take_group<0>(part[0]);
        if constexpr (kGroups == 2) {
          multiply<1>(sums);
          release();
          finish<1>(tile, sums, part[1]);
          if (last && !walk.ended()) [[unlikely]]
            take_group<1>(part[1]);
        }
        ring.advance(1);
      }
    }
    turns.end();
  }
  __device__ __forceinline__ void release() const {
    __syncwarp();
    if (lane == 0) barrier_arrive(shared.empty + 8 * ring.stage);
  }

  __device__ __forceinline__ void run() {
    if (walk.ended()) return;
    weights.clear();
#pragma unroll
    for (int g = 0; g < kGroups; ++g)
      target[g].at = shared.aside + 4 * threadIdx.x + (kTargetAside + g * TargetAside::kSlots) * kAsideBytes;
    take_turns();
  }
};

#endif

}  // namespace apsyn::beam_products
