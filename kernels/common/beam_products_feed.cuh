// SPDX-License-Identifier: GPL-3.0-or-later
// What brings samples and weights to shared memory in beam_products_kernel.cuh: one warpgroup, that waits for
// room in a ring of stages, and asks whether the weights before are in registers.
#pragma once

#include "kernels/common/beam_products_items.cuh"
#include "kernels/common/beam_products_samples.cuh"
#include "kernels/common/int8_ptx.cuh"
#include "kernels/common/wgmma_ring.cuh"

namespace apsyn::beam_products {

constexpr int kConsumers = 2, kThreads = 128 * (kConsumers + 1);
constexpr int kMostShared = 227 * 1024 - 2048;  // barriers and alignment apart
constexpr int kMostStages = 24, kAhead = 8;     // stages in shared memory; stages of samples on their way
constexpr int kFreeRegisters = 56, kWorkRegisters = 224;

/// Steps (limb, block of antennas) that weights are held for at a time.
template <int kGroups, bool kOwn, bool kStreamed>
constexpr int kHeldSteps = kMostSlots / (kStreamed ? 2 : 1) / kGroups / (kOwn ? 2 : 1);

struct Work {
  Items items;
  int n_chunks;  ///< of steps (limb, block of antennas) that registers hold at a time
  int n_stages, weight_bytes;
  bool own_spectra;  ///< of a consumer; otherwise own beams
  int run_tiles;     ///< with own spectra, how many tiles a turn takes
  /// Whether a stage may wait for weights that have not been brought: where they come with the samples, or a
  /// consumer can pass by an item.
  bool poll_rooms;
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
using namespace ptx;

struct Shared {
  std::uint32_t full, empty, weights_full, weights_empty, order;  // barriers
  std::uint32_t weights, stages, raw;
};

struct Ring {
  int n, stage = 0;
  std::uint32_t phase = 0;
  __device__ explicit Ring(int n_stages) : n(n_stages) {}
  __device__ void advance(int by) {
    stage += by;
    if (stage >= n) {
      stage -= n;
      phase ^= 1;
    }
  }
};

/// Brings the next weights as soon as those before are in registers.
template <int kGroups, int kPols, bool kOwn, bool kStreamed>
struct WeightFeed {
  const Work& work;
  const Shared& shared;
  int index = blockIdx.x, left = 0;  ///< of an item, how often its weights are still to be brought
  std::uint32_t turn = 0;

  __device__ WeightFeed(const Work& w, const Shared& s) : work(w), shared(s) { enter(); }
  __device__ bool ended() const { return index >= work.items.count; }
  __device__ void enter() {
    for (; !ended(); index += gridDim.x) {
      const Item item(work.items, index, kTileColumns / kPols);
      if (item.first_tile >= item.end_tile) continue;
      left = kStreamed ? (item.end_tile - item.first_tile) * work.n_chunks : 1;
      return;
    }
  }
  __device__ void bring() {
    const WeightLayout& layout = work.items.task.layout;
    constexpr int kSteps = kHeldSteps<kGroups, kOwn, kStreamed>;
    const Item item(work.items, index, kTileColumns / kPols);
    const int n_steps = layout.n_limb * layout.n_blocks();
    const int first = kStreamed ? (work.n_chunks - 1 - (left - 1) % work.n_chunks) * kSteps : 0;
    const int bytes = min(kSteps, n_steps - first) * kGroupBytes;
    barrier_expect(shared.weights_full, bytes * work.items.groups * (kOwn ? 2 : 1));
    std::uint32_t to = shared.weights;
    for (int g = 0; g < work.items.groups; ++g)
      for (int pol = 0; pol < (kOwn ? 2 : 1); ++pol, to += kSteps * kGroupBytes)
        bulk_copy(to, work.items.task.weights + layout.group(item.row, pol, item.first_group + g, first),
                  bytes, shared.weights_full);
    ++turn;
    if (--left > 0) return;
    index += gridDim.x;
    enter();
  }
  __device__ void poll() {
    if (!ended() && barrier_passed(shared.weights_empty, (turn & 1) ^ 1)) bring();
  }
  /// Until a stage is free. Whoever is to free it may need further weights first.
  __device__ void poll_until(std::uint32_t empty, std::uint32_t parity) {
    do {
      poll();
    } while (!barrier_passed(empty, parity));
  }
  __device__ void finish() {
    while (!ended()) {
      barrier_wait(shared.weights_empty, (turn & 1) ^ 1);
      bring();
    }
  }
};

template <int kGroups, int kPols, bool kOwn, bool kStreamed>
__device__ __forceinline__ void copy_rows(const Work& work, const Shared& shared) {
  constexpr int kSpectra = kTileColumns / kPols, kPolBytes = kStageBytes / kPols;
  const Task& task = work.items.task;
  const RowLayout from{.n_row = task.n_channel * work.items.n_section,
                       .n_pol = kPols,
                       .n_ant = task.layout.n_ant,
                       .n_spectra = task.sections.stride};
  const int n_blocks = from.n_blocks(), repeats = kStreamed ? task.layout.n_limb : 1;
  const std::size_t pol_bytes = from.tile(0, 1, 0, 0), block_bytes = from.tile(0, 0, 1, 0);
  WeightFeed<kGroups, kPols, kOwn, kStreamed> weights(work, shared);
  Ring ring(work.n_stages);
  for (int index = blockIdx.x; index < work.items.count; index += gridDim.x) {
    const Item item(work.items, index, kSpectra);
    const auto* tile_from = static_cast<const std::int8_t*>(task.source.data) + from.tile(item.row, 0, 0, 0) +
                            std::size_t(item.first_tile) * kPolBytes;
    for (int tile = item.first_tile; tile < item.end_tile; ++tile, tile_from += kPolBytes)
      for (int repeat = 0; repeat < repeats; ++repeat) {
        const std::int8_t* block_from = tile_from;
        for (int block = 0; block < n_blocks; ++block, block_from += block_bytes) {
          weights.poll_until(shared.empty + 8 * ring.stage, ring.phase ^ 1);
          const std::uint32_t full = shared.full + 8 * ring.stage;
          barrier_expect(full, kStageBytes);
#pragma unroll
          for (int pol = 0; pol < kPols; ++pol)
            bulk_copy(shared.stages + ring.stage * kStageBytes + pol * kPolBytes,
                      block_from + pol * pol_bytes, kPolBytes, full);
          ring.advance(1);
        }
      }
  }
  weights.finish();
}

/// What a warp has stored can be multiplied: n stages.
__device__ __forceinline__ void publish(const Shared& shared, Ring& ring, int n) {
  async_proxy_fence();
  __syncwarp();
  for (int i = 0; i < n; ++i) {
    if (threadIdx.x % 32 == 0) barrier_arrive(shared.full + 8 * ring.stage);
    ring.advance(1);
  }
}

/// Two stages at a time, for what waits and fences take.
template <int kGroups, Source::Form kForm, int kPols, bool kOwn, bool kStreamed>
__device__ __forceinline__ void bring_samples(const Work& work, const Shared& shared) {
  using Form = Units<kForm, kPols>;
  constexpr int kAheadPairs = kAhead / 2;
  const int thread = threadIdx.x % kProducers;
  const Form units(thread);
  WeightFeed<kGroups, kPols, kOwn, kStreamed> weights(work, shared);
  Walk<Form> walk(work.items, units, kStreamed ? work.items.task.layout.n_limb : 1);
  Ring ring(work.n_stages), filled = ring;
  const auto poll = [&] {
    if (thread == 0) weights.poll();
    __syncwarp();
  };
  // Elsewhere all multiply stages of every item, and once for a pair is enough.
  const bool poll_rooms = (kStreamed || kGroups == 1) && work.poll_rooms;
  const auto wait_for_room = [&] {
    const std::uint32_t empty = shared.empty + 8 * ring.stage, parity = ring.phase ^ 1;
    if (poll_rooms) {
      if (thread == 0 && !barrier_passed(empty, parity)) weights.poll_until(empty, parity);
      __syncwarp();
    }
    barrier_wait(empty, parity);
  };
  if constexpr (Form::kUntouched) {
    int n_open = 0, n_last = 0;
    while (!walk.ended()) {
      poll();
      n_last = 0;
#pragma unroll
      for (int i = 0; i < 2; ++i)
        if (!walk.ended()) {
          wait_for_room();
          walk.copy(shared.stages + ring.stage * kStageBytes);
          walk.advance();
          ring.advance(1);
          ++n_last;
        }
      commit_copies();
      if (n_open < kAheadPairs) {
        ++n_open;
      } else {
        wait_copies<kAheadPairs>();
        publish(shared, filled, 2);
      }
    }
    wait_copies<0>();
    if (n_open > 0) publish(shared, filled, 2 * (n_open - 1) + n_last);
  } else {
    int pair = 0, n_left = 0;
    const auto copy = [&] {
#pragma unroll
      for (int i = 0; i < 2; ++i)
        if (!walk.ended()) {
          walk.copy(shared.raw + (2 * pair + i) * Form::kRawBytes);
          walk.advance();
          ++n_left;
        }
      commit_copies();
    };
    for (; pair < kAheadPairs; ++pair) copy();
    for (pair = 0; n_left > 0; pair = pair + 1 == kAheadPairs ? 0 : pair + 1) {
      poll();
      wait_copies<kAheadPairs - 1>();
      __syncwarp();
      const int n = min(n_left, 2);
      for (int i = 0; i < n; ++i) {
        wait_for_room();
        units.unpack(shared.raw + (2 * pair + i) * Form::kRawBytes, shared.stages + ring.stage * kStageBytes);
        ring.advance(1);
      }
      publish(shared, filled, n);
      n_left -= n;
      copy();
    }
  }
  if (thread == 0) weights.finish();
}

template <Product kProduct, int kGroups, int kPols, bool kOwn, bool kStreamed>
__device__ __forceinline__ void produce(const Work& work, const Shared& shared) {
  with_form<kProduct>(work.items.task.source.form, [&](auto form) {
    if constexpr (decltype(form)::value != Source::Form::rows)
      bring_samples<kGroups, decltype(form)::value, kPols, kOwn, kStreamed>(work, shared);
    else if (threadIdx.x % kProducers == 0)
      copy_rows<kGroups, kPols, kOwn, kStreamed>(work, shared);
  });
}

#endif

}  // namespace apsyn::beam_products
