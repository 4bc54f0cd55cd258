// SPDX-License-Identifier: GPL-3.0-or-later
// What multiplies in beam_products_kernel.cuh: a warpgroup goes through the tiles of its items, and detects
// what it has summed. Where it has two groups of beams, it detects one while the other is being multiplied.
//
// Weights of more antennas than registers hold pass by as samples do, again for every tile.
#pragma once

#include "kernels/common/beam_products_detect.cuh"
#include "kernels/common/beam_products_feed.cuh"

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
  /// columns: the low half of a block's descriptor.
  template <bool kAdd>
  __device__ void multiply(Sums& sums, int g, int step, int quarter, std::uint32_t columns) const {
    constexpr std::uint64_t kHigh = wgmma_descriptor(0) >> 32 << 32;
    columns += 2 * quarter;
    if constexpr (kOwn) {
      wgmma_s8_narrow<0, kAdd>(sums, fragments[g][0][step][quarter], kHigh | columns);
      wgmma_s8_narrow<16, kAdd>(sums, fragments[g][1][step][quarter],
                                kHigh | (columns + (kBlockBytes / 2 >> 4)));
    } else {
      wgmma_s8<kAdd>(sums, fragments[g][0][step][quarter], kHigh | columns);
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

/// A target whose scales are in shared memory: registers are scarcer.
struct LeanTarget {
  struct Scale {
    std::uint32_t aside;  ///< X's; Y's is one slot further
    __device__ float operator[](int pol) const { return load_aside(aside + pol * kAsideBytes); }
  };
  float* out;
  int n_segments;
  const short2* coefficients;
  Scale scale;
  __device__ void set(const Target& target, std::uint32_t aside) {
    out = target.out, n_segments = target.n_segments, coefficients = target.coefficients;
    scale.aside = aside;
    for (int pol = 0; pol < 2; ++pol) put_aside(aside + pol * kAsideBytes, target.scale[pol]);
  }
};

/// Calls with(n) where n is known when compiling: 1..kMost.
template <int kMost, class With>
__device__ __forceinline__ void with_count(int n, const With& with) {
  if constexpr (kMost > 1)
    if (n < kMost) return with_count<kMost - 1>(n, with);
  with(std::integral_constant<int, kMost>{});
}

template <Product kProduct, int kPols, bool kOwn, int kGroups, bool kStreamed>
__device__ __forceinline__ void consume(const Work& work, const Shared& shared) {
  constexpr int kSteps = kHeldSteps<kGroups, kOwn, kStreamed>, kSpectra = kTileColumns / kPols;
  const Task& task = work.items.task;
  const int warp = uniform(threadIdx.x >> 5), lane = threadIdx.x & 31, consumer = warp >> 2;
  const int n_blocks = task.layout.n_blocks(), n_steps = task.layout.n_limb * n_blocks;
  // only few beams leave consumers without their own
  const bool own_spectra = kGroups == 1 && work.own_spectra;
  const int set = own_spectra ? 0 : consumer;
  Held<kGroups, kOwn, kStreamed> weights;
  weights.clear();
  Ring ring(work.n_stages);
  int turn = 0;  // bits: of the weights, and of runs of spectra
  std::uint32_t order = 0;
  const auto aside = [&](int slot) { return shared.aside + 4 * threadIdx.x + slot * kAsideBytes; };
  const auto release = [&](int stage) {
    __syncwarp();
    if (lane == 0) barrier_arrive(shared.empty + 8 * stage);
  };
  // whether stages are whole tiles; streamed weights take blocks
  static_assert(kHeldSteps<2, false, false> <= kMostStageBlocks);
  const bool whole = (kGroups == 2 && !kStreamed) || work.stage_blocks == n_blocks;
  const int n_tile_stages = whole ? 1 : n_blocks;
  const auto further = [](Ring at, int by) {
    at.advance(by);
    return at;
  };
  const auto wait_for = [&](const Ring& at) { barrier_wait(shared.full + 8 * at.stage, at.phase); };
  const auto columns_of = [&](int block) {
    return static_cast<std::uint32_t>(wgmma_descriptor(shared.stages + block * kBlockBytes));
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
    with_form<kProduct>(task.source.form, [&](auto form) {
      weights.template load<decltype(form)::value>(my_weights, n_steps - first);
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
    LeanTarget target[kGroups];
    float part[kGroups][kValues<kProduct, kPols>];
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const int beam = (item.first_group + set * kGroups + g) * kGroupBeams + (warp & 3) * 8 + (lane >> 2);
      target[g].set(target_of<kProduct, kPols>(task, item.row, beam), aside(kScalesAside + 2 * g));
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
      } else if (kGroups == 2 && n_steps == n_blocks) {
        // Nothing branches or waits in between, for which ptxas would have it wait for products, too.
        const std::uint32_t columns = columns_of(ring.stage * n_blocks);
        with_count<kSteps>(n_blocks, [&](auto count) {
          constexpr int n = decltype(count)::value;
#pragma unroll
          for (int g = 0; g < kGroups; ++g) {
            wgmma_fence();
#pragma unroll
            for (int i = 0; i < 4 * n; ++i)
              if (i == 0)
                weights.template multiply<false>(sums[g], g, 0, 0, columns);
              else
                weights.template multiply<true>(sums[g], g, i / 4, i % 4,
                                                columns + i / 4 * (kBlockBytes >> 4));
            wgmma_commit();
          }
          wgmma_wait<kGroups - 1>();
          if constexpr (kIsDetected<kProduct>) {
            sum_products<kProduct, kPols>(sums[0], part[0]);
#pragma unroll
            for (const float value : part[0]) put_aside(aside(kPartAside), value);
          }
          wgmma_wait<0>();
        });
        release(ring.stage);
        ring.advance(1);
        if constexpr (kIsDetected<kProduct>)
          sum_products<kProduct, kPols>(sums[kGroups - 1], part[kGroups - 1]);
      } else {
#pragma unroll
        for (int step = 0; step < kSteps; ++step) {
          if (step >= n_steps) break;
          if (step == n_blocks) next_limb();
          const int block = step < n_blocks ? step : step - n_blocks;
          const Ring at = whole ? ring : further(ring, block);
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
        if (kStreamed || kGroups == 1 || n_steps > n_blocks)
#pragma unroll
          for (int g = 0; g < kGroups; ++g) sum_products<kProduct, kPols>(sums[g], part[g]);
      }
      finish_tile<kProduct, kPols>(task, target, tile, lane, sums, part);
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
