// SPDX-License-Identifier: GPL-3.0-or-later
// What brings samples and weights to shared memory in cuda/beams/kernel.cuh. Samples: one warpgroup, which
// waits for room in a ring of stages; one lane of it where they need no work. Weights: whoever is the last to
// have taken those before into registers.
#pragma once

#include <cuda.h>

#include "kernels/common/cuda/beams/items.cuh"
#include "kernels/common/cuda/beams/samples.cuh"
#include "kernels/common/cuda/sm90/bulk_copy.cuh"
#include "kernels/common/cuda/sm90/warpgroups.cuh"

namespace apsyn::beam_products {

constexpr int kConsumers = 2, kThreads = 128 * (kConsumers + 1);
constexpr int kMaxShared = 227 * 1024 - 17408;  // barriers and alignment apart
constexpr int kMaxStages = 24;                  // in shared memory
constexpr int kMaxStageBlocks = 4;              // where stages hold all blocks of antennas
constexpr int kFreeRegisters = 40, kWorkRegisters = 232;
// What threads that multiply put aside, a float or int each: the index of an item, and targets of two groups.
constexpr int kIndexAside = 0, kTargetAside = 1, kAsideSlots = 15;
constexpr int kAsideBytes = 4 * 128 * kConsumers;  // of a slot

/// Steps (limb, block of antennas) that weights are held for at a time.
template <int kGroups, bool kOwn, bool kStreamed>
constexpr int kHeldSteps = kMaxSlots / (kStreamed ? 2 : 1) / kGroups / (kOwn ? 2 : 1);

/// How products go on.
enum class Flow {
  blocks,    ///< block of antennas after block
  turns,     ///< one warpgroup multiplies two tiles while the other detects
  brief,     ///< turns with a tile, which may hold several segments
  streamed,  ///< weights come with every tile
};

APSYN_HOST_DEVICE constexpr bool takes_turns(Flow flow) {
  return flow == Flow::turns || flow == Flow::brief;
}

struct Work {
  Items items;
  int stage_blocks;  ///< of antennas: all of a tile, or 1
  int stage_tiles;
  int n_stages, weight_bytes;
  bool own_spectra;  ///< of a consumer; otherwise own beams
  int run_tiles;     ///< with own spectra, how many tiles a turn takes
  APSYN_HOST_DEVICE int stage_places() const { return stage_blocks * stage_tiles; }
  APSYN_HOST_DEVICE int stage_bytes() const { return stage_places() * kBlockBytes; }
  CUtensorMap samples;  ///< (byte, channel, spectrum) of samples that need no work
};

/// A block's columns of so many tiles follow each other in a stage.
template <Flow kFlow>
constexpr int kStageTiles = kFlow == Flow::turns ? 2 : 1;

/// Blocks of samples on their way that are to be unpacked.
template <Flow kFlow>
constexpr int kAhead = kFlow == Flow::turns ? 4 : 8;  // or only one stage is left of two

/// Where the block of antennas that is the `place`th of its stage to come is put in it.
template <Flow kFlow>
APSYN_HOST_DEVICE int column_block(const Work& work, int place) {
  if constexpr (kStageTiles<kFlow> == 1) return place;
  static_assert(kStageTiles<kFlow> <= 2);
  return place < work.stage_blocks ? 2 * place : 2 * (place - work.stage_blocks) + 1;
}

/// Whether stages are filled without work.
APSYN_HOST_DEVICE constexpr bool are_copied(Source::SampleLayout layout, int n_pol) {
  return layout == Source::SampleLayout::rows || (layout == Source::SampleLayout::int8 && n_pol == 1);
}

/// Boxes are a block's columns, swizzled as wgmma reads them.
CUtensorMap map_of_samples(const Task& task);

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
using namespace ptx;

struct Shared {
  std::uint32_t full, empty, weights_full, order;  // barriers
  unsigned* taken;                                 ///< warps that have taken the weights
  std::uint32_t weights, stages, raw;
  std::uint32_t aside;  ///< [slot][thread that multiplies]
};

/// apsyn::Ring of as many stages as the launch has room for.
struct StageRing {
  int n, stage = 0;
  std::uint32_t phase = 0;
  __device__ explicit StageRing(int n_stages) : n(n_stages) {}
  __device__ void advance(int by) {
    stage += by;
    if (stage >= n) {
      stage -= n;
      phase ^= 1;
    }
  }
};

/// Whether a warp is the last of all that multiply to come here.
__device__ __forceinline__ bool is_last_warp(unsigned* came) {
  unsigned before = 0;
  __syncwarp();
  if (threadIdx.x % 32 == 0) {
    __threadfence_block();
    before = atomicInc(came, 4 * kConsumers - 1);
    __threadfence_block();
  }
  return uniform(before) == 4 * kConsumers - 1;
}

/// The weights of an item from step `first` on. Of one warp.
template <int kGroups, int kPols, bool kOwn, bool kStreamed>
__device__ __forceinline__ void bring_weights(const Work& work, const Shared& shared, const Item& item,
                                              int first) {
  const WeightLayout& layout = work.items.task.layout;
  constexpr int kSteps = kHeldSteps<kGroups, kOwn, kStreamed>, kWeightPols = kOwn ? 2 : 1;
  const int bytes = min(kSteps, layout.n_limb * layout.n_blocks() - first) * kGroupBytes;
  const bool one = threadIdx.x % 32 == 0;
  if (one) barrier_expect(shared.weights_full, bytes * work.items.groups * kWeightPols);
  std::uint32_t to = shared.weights;
  for (int g = 0; g < work.items.groups; ++g)
    for (int pol = 0; pol < kWeightPols; ++pol, to += kSteps * kGroupBytes)
      if (one)
        bulk_copy(to, work.items.task.weights + layout.group(item.row, pol, item.first_group + g, first),
                  bytes, shared.weights_full);
}
/// Brings the weights of the first item from `index` on that has spectra.
template <int kGroups, int kPols, bool kOwn, bool kStreamed>
__device__ __forceinline__ void bring_weights_from(const Work& work, const Shared& shared, int index) {
  for (; index < work.items.count; index += gridDim.x) {
    const Item item(work.items, index, kTileColumns / kPols);
    if (item.first_tile < item.end_tile)
      return bring_weights<kGroups, kPols, kOwn, kStreamed>(work, shared, item, 0);
  }
}

/// Samples that need no work, as rows or as they come. Of one thread.
template <Source::SampleLayout kLayout, int kPols, Flow kFlow>
__device__ __forceinline__ void copy_samples(const Work& work, const Shared& shared) {
  constexpr int kSpectra = kTileColumns / kPols, kPolBytes = kBlockBytes / kPols;
  const Task& task = work.items.task;
  const RowLayout from{.n_row = task.n_channel * work.items.n_section,
                       .n_pol = kPols,
                       .n_ant = task.layout.n_ant,
                       .n_spectra = task.sections.stride};
  const int n_blocks = from.n_blocks(), repeats = kFlow == Flow::streamed ? task.layout.n_limb : 1;
  const std::size_t pol_bytes = from.tile(0, 1, 0, 0), block_bytes = from.tile(0, 0, 1, 0);
  StageRing ring(work.n_stages);
  int place = 0;
  for (int index = blockIdx.x; index < work.items.count; index += gridDim.x) {
    const Item item(work.items, index, kSpectra);
    const auto* tile_from = static_cast<const std::int8_t*>(task.source.data) + from.tile(item.row, 0, 0, 0) +
                            std::size_t(item.first_tile) * kPolBytes;
    const int channel = task.source.first_channel + item.row / work.items.n_section;
    int spectrum = task.sections.begin(item.row % work.items.n_section) + item.first_tile * kSpectra;
    for (int tile = item.first_tile; tile < item.end_tile;
         ++tile, tile_from += kPolBytes, spectrum += kSpectra)
      for (int repeat = 0; repeat < repeats; ++repeat)
        for (int block = 0; block < n_blocks; ++block) {
          const std::uint32_t full = shared.full + 8 * ring.stage;
          const std::uint32_t to =
              shared.stages +
              (ring.stage * work.stage_places() + column_block<kFlow>(work, place)) * kBlockBytes;
          if (place == 0) {
            barrier_wait(shared.empty + 8 * ring.stage, ring.phase ^ 1);
            barrier_expect(full, work.stage_bytes());
          }
          if constexpr (kLayout == Source::SampleLayout::rows) {
#pragma unroll
            for (int pol = 0; pol < kPols; ++pol)
              bulk_copy(to + pol * kPolBytes, tile_from + block * block_bytes + pol * pol_bytes, kPolBytes,
                        full);
          } else {
            tensor_copy(to, &work.samples, block * kRowBytes, channel, spectrum, full);
          }
          if (++place == work.stage_places()) {
            place = 0;
            ring.advance(1);
          }
        }
  }
}

/// Threads bring what they unpack: one lane that has blocks brought for all is slower.
template <Source::SampleLayout kLayout, int kPols, Flow kFlow>
__device__ __forceinline__ void unpack_samples(const Work& work, const Shared& shared) {
  using SampleUnits = Units<kLayout, kPols>;
  const SampleUnits units(threadIdx.x % kProducers);
  Walk<SampleUnits> walk(work.items, units, kFlow == Flow::streamed ? work.items.task.layout.n_limb : 1);
  StageRing ring(work.n_stages);
  int slot = 0, n_left = 0, place = 0;
  const auto copy = [&] {
    if (!walk.ended()) {
      walk.copy(shared.raw + slot * SampleUnits::kRawBytes);
      walk.advance();
      ++n_left;
    }
    commit_copies();
    slot = slot + 1 == kAhead<kFlow> ? 0 : slot + 1;
  };
  for (int i = 0; i < kAhead<kFlow>; ++i) copy();
  for (; n_left > 0; --n_left, copy()) {
    wait_for_copies<kAhead<kFlow> - 1>();
    __syncwarp();
    if (place == 0) barrier_wait(shared.empty + 8 * ring.stage, ring.phase ^ 1);
    units.unpack(
        shared.raw + slot * SampleUnits::kRawBytes,
        shared.stages + (ring.stage * work.stage_places() + column_block<kFlow>(work, place)) * kBlockBytes);
    const bool filled = ++place == work.stage_places();
    if (filled) async_proxy_fence();
    __syncwarp();
    if (!filled) continue;
    place = 0;
    if (threadIdx.x % 32 == 0) barrier_arrive(shared.full + 8 * ring.stage);
    ring.advance(1);
  }
}

template <Product kProduct, int kPols, Flow kFlow>
__device__ __forceinline__ void produce(const Work& work, const Shared& shared) {
  with_layout<kProduct>(work.items.task.source.layout, [&](auto layout) {
    constexpr Source::SampleLayout kLayout = decltype(layout)::value;
    if constexpr (!are_copied(kLayout, kPols))
      unpack_samples<kLayout, kPols, kFlow>(work, shared);
    else if (threadIdx.x % kProducers == 0)
      copy_samples<kLayout, kPols, kFlow>(work, shared);
  });
}

#endif

}  // namespace apsyn::beam_products
