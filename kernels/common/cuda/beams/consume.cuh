// SPDX-License-Identifier: GPL-3.0-or-later
// What multiplies in cuda/beams/kernel.cuh where warpgroups have spectra of their own, or more antennas
// than stages or registers hold: a warpgroup goes through the tiles of its items, and detects what it has
// summed.
//
// Weights of more antennas than registers hold pass by as samples do, again for every tile.
#pragma once

#include "kernels/common/cuda/beams/warpgroup_state.cuh"

namespace apsyn::beam_products {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

template <Product kProduct, int kPols, bool kOwn, int kGroups, Flow kFlow>
__device__ __forceinline__ void consume(const Work& work, const Shared& shared) {
  constexpr bool kStreamed = kFlow == Flow::streamed;
  constexpr int kSteps = kHeldSteps<kGroups, kOwn, kStreamed>, kSpectra = kTileColumns / kPols;
  const Task& task = work.items.task;
  const int warp = uniform(threadIdx.x >> 5), lane = threadIdx.x & 31, consumer = warp >> 2;
  const int n_blocks = task.layout.n_blocks(), n_steps = task.layout.n_limb * n_blocks;
  // only few beams leave consumers without their own
  const bool own_spectra = kGroups == 1 && work.own_spectra;
  const int set = own_spectra ? 0 : consumer;
  Held<kGroups, kOwn, kStreamed> weights;
  weights.clear();
  StageRing ring(work.n_stages);
  int turn = 0;  // bits: of the weights, and of runs of spectra
  std::uint32_t order = 0;
  const auto aside = [&](int slot) { return shared.aside + 4 * threadIdx.x + slot * kAsideBytes; };
  const auto release = [&](int stage) {
    __syncwarp();
    if (lane == 0) barrier_arrive(shared.empty + 8 * stage);
  };
  static_assert(kStreamed || kGroups == 1);          // two groups take turns
  const bool whole = work.stage_blocks == n_blocks;  // stages are tiles; streamed weights take blocks
  const int n_tile_stages = whole ? 1 : n_blocks;
  const auto further = [](StageRing at, int by) {
    at.advance(by);
    return at;
  };
  const auto wait_for = [&](const StageRing& at) { barrier_wait(shared.full + 8 * at.stage, at.phase); };
  const auto columns_of = [&](int block) {
    return static_cast<std::uint32_t>(swizzled_descriptor(shared.stages + block * kBlockBytes));
  };
  const auto multiply_step = [&](Sums(&sums)[kGroups], int step, std::uint32_t columns, auto add) {
    wgmma_fence();
#pragma unroll
    for (int quarter = 0; quarter < 4; ++quarter)
#pragma unroll
      for (int g = 0; g < kGroups; ++g)
        if (quarter == 0)
          weights.template multiply<decltype(add)::value>(sums[g], g, step, quarter, columns);
        else
          weights.template multiply<true>(sums[g], g, step, quarter, columns);
    wgmma_commit();
  };
  const auto load_weights = [&](int row, int first, const auto& bring_next) {
    barrier_wait(shared.weights_full, turn & 1);
    turn ^= 1;
    const int thread = threadIdx.x;
    const std::uint32_t my_weights = shared.weights + set * kGroups * (kOwn ? 2 : 1) * kSteps * kGroupBytes +
                                     thread % 128 / 32 * 1024 + thread % 32 / 4 * 64;
    with_layout<kProduct>(task.source.layout, [&](auto layout) {
      weights.template load<decltype(layout)::value>(my_weights, n_steps - first);
    });
    if (is_last_warp(shared.taken)) bring_next();
    if (const std::uint8_t* valid = validity_of(task, row); valid != nullptr)
      weights.mask(task, valid, first, n_steps - first);
  };
  for (int index = blockIdx.x; index < work.items.count; index += gridDim.x) {
    const Item item(work.items, index, kSpectra);
    if (item.first_tile >= item.end_tile) continue;
    const auto bring_next_item = [&] {
      bring_weights_from<kGroups, kPols, kOwn, kStreamed>(work, shared, index + gridDim.x);
    };
    if constexpr (!kStreamed) {
      load_weights(item.row, 0, bring_next_item);
      put_aside(aside(kIndexAside), __int_as_float(4 * index + turn));
    }
    TargetAside target[kGroups];
    float part[kGroups][kValues<kProduct, kPols>];
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const int beam = (item.first_group + set * kGroups + g) * kGroupBeams + (warp & 3) * 8 + (lane >> 2);
      target[g].at = aside(kTargetAside + g * TargetAside::kSlots);
      target[g].put(target_of<kProduct, kPols>(task, item.row, beam), sample_unit(task));
#pragma unroll
      for (float& value : part[g]) value = 0;
    }
    for (int tile = item.first_tile; tile < item.end_tile; ++tile) {
      bool ends_run = false;
      if (own_spectra) {
        const int in_run = (tile - item.first_tile) % work.run_tiles;
        const bool mine = turn >> 1 == consumer;
        ends_run = in_run == work.run_tiles - 1;
        if (ends_run) turn ^= 2;
        if (!mine) {
          ring.advance(n_tile_stages);
          continue;
        }
        // Tiles are waited for in their order, whoever does: a stage's phase is known by its parity only.
        if (in_run == 0) {
          barrier_wait(shared.order + 8 * consumer, order ^ (consumer == 0 ? 1 : 0));
          order ^= 1;
        }
      }
      if constexpr (!kStreamed)
        for (int i = 0; i < n_tile_stages; ++i) wait_for(further(ring, i));
      if (ends_run) {
        __syncwarp();
        if (lane == 0) barrier_arrive(shared.order + 8 * (consumer ^ 1));
      }
      Sums sums[kGroups];
#pragma unroll
      for (int g = 0; g < kGroups; ++g)
#pragma unroll
        for (int& sum : sums[g]) sum = 0;
      const auto next_limb = [&] {
        wgmma_wait<0>();
#pragma unroll
        for (int g = 0; g < kGroups; ++g)
#pragma unroll
          for (int& sum : sums[g]) sum <<= task.shift;
      };
      if constexpr (kStreamed) {
        for (int first = 0; first < n_steps; first += kSteps) {
          load_weights(item.row, first, [&] {
            if (first + kSteps < n_steps || tile + 1 < item.end_tile)
              bring_weights<kGroups, kPols, kOwn, kStreamed>(work, shared, item,
                                                             first + kSteps < n_steps ? first + kSteps : 0);
            else
              bring_next_item();
          });
          int used = -1;
          const auto release_used = [&] {
            if (used >= 0) release(used);
          };
#pragma unroll
          for (int step = 0; step < kSteps; ++step) {
            if (first + step >= n_steps) break;
            if (first + step == n_blocks) next_limb();
            wait_for(ring);
            multiply_step(sums, step, columns_of(ring.stage), std::true_type{});
            wgmma_wait<1>();
            release_used();
            used = ring.stage;
            ring.advance(1);
          }
          wgmma_wait<0>();
          release_used();
        }
      } else {
#pragma unroll
        for (int step = 0; step < kSteps; ++step) {
          if (step >= n_steps) break;
          if (step == n_blocks) next_limb();
          const int block = step < n_blocks ? step : step - n_blocks;
          const StageRing at = whole ? ring : further(ring, block);
          const std::uint32_t columns =
              whole ? columns_of(at.stage * n_blocks + block) : columns_of(at.stage);
          if (step == 0)
            multiply_step(sums, step, columns, std::false_type{});
          else
            multiply_step(sums, step, columns, std::true_type{});
        }
        wgmma_wait<0>();
        for (int i = 0; i < n_tile_stages; ++i) release(further(ring, i).stage);
        ring.advance(n_tile_stages);
      }
      if constexpr (kIsDetected<kProduct>) {
#pragma unroll
        for (int g = 0; g < kGroups; ++g) sum_products<kProduct, kPols>(sums[g], part[g]);
      }
#pragma unroll
      for (int g = 0; g < kGroups; ++g)
        finish_tile<kProduct, kPols, true>(task, target[g], tile, lane, sums[g], part[g]);
    }
    if constexpr (!kStreamed) {
      const int kept = __float_as_int(load_aside(aside(kIndexAside)));
      index = kept >> 2;
      if (!own_spectra) turn = kept & 3;
    }
  }
}
#endif

}  // namespace apsyn::beam_products
