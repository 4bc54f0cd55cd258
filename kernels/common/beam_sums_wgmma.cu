// SPDX-License-Identifier: GPL-3.0-or-later
// beam_sums.cuh for Hopper. A block of threads owns the weights of 4 groups of 32 beams (64 beams with both
// polarisations), which stay in shared memory while all spectra of a channel pass by: one warp copies, two
// consumer warpgroups multiply, each two accumulators of 64 rows by 128 spectra. The two consumers drift
// apart by up to the ring's length, so that one detects while the other keeps the tensor cores busy. A block
// of antennas of the next item's weights is copied as soon as the last tile has used the present one's.
//
// With more antennas than shared memory holds, the weights travel with the samples.
#include <algorithm>
#include <stdexcept>

#include "kernels/common/beam_sums_detect.cuh"
#include "kernels/common/cuda_check.h"
#include "kernels/common/int8_ptx.cuh"
#include "kernels/common/wgmma_ring.cuh"

namespace apsyn::beam_sums {
namespace {

constexpr int kConsumers = 2, kThreads = 128 * kConsumers + 32;
constexpr int kMostShared = 227 * 1024 - 2048;  // barriers and alignment apart
constexpr int kMostSlots = 8, kMostStages = 12;

/// Which tiles of spectra and groups of beams a block of threads works on at a time.
///   wide    four groups: two for each consumer
///   both    two groups, one for each consumer, of both polarisations
///   narrow  one group; the consumers take turns at tiles: one multiplies while the other detects. Memory
///           bounds it.
enum class Form { wide, both, narrow };

template <Product kProduct, Form kForm>
struct Shape {
  static constexpr bool kBoth = kProduct == Product::coherence || kProduct == Product::quadratic;
  static constexpr bool kTurns = kForm == Form::narrow;
  static constexpr int kGroups = kForm == Form::wide ? 4 : kForm == Form::both ? 2 : 1;  // of an item
  static constexpr int kWeightBytes = kGroups * kGroupBytes;  // of a block of antennas
  static constexpr int kReaders = kTurns ? 1 : kConsumers;    // of a stage
};

enum class Weights { resident, streamed };

/// What a launch works through: items of (channel, polarisation or both, kGroups groups of beams).
struct Work {
  Task task;
  int n_stages;
  int n_slots;         // (polarisation of an item, limb, block of antennas)
  int n_weight_slots;  // the same, or blocks of antennas where polarisations share weights
  int n_pol_items, n_beam_items;
  __host__ __device__ int n_items() const { return task.layout.n_chan * n_pol_items * n_beam_items; }
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
using namespace ptx;

struct Item {
  int chan, pol, first_group;
  __device__ Item(const Work& work, int index, int n_groups) {
    // neighbouring blocks of threads read the same samples
    first_group = index % work.n_beam_items * n_groups;
    pol = index / work.n_beam_items % work.n_pol_items;
    chan = index / work.n_beam_items / work.n_pol_items;
  }
};

struct Barriers {
  std::uint32_t full, empty, weights_full, weights_empty;
  std::uint32_t order;  ///< of consumers that take turns: phase n ends when the n-th tile has seen its stages
};

/// Stages are numbered through all items of a block of threads.
struct Position {
  std::uint32_t stage, phase;
  __device__ Position(std::uint32_t number, int n_stages)
      : stage(number % n_stages), phase((number / n_stages) & 1) {}
};

template <class S, Weights kWeights>
__device__ __forceinline__ void copy_operands(const Work& work, std::uint32_t weights,
                                              std::uint32_t ring_base, const Barriers& barriers) {
  constexpr bool kStreamed = kWeights == Weights::streamed;
  constexpr int kStageBytes = kTileBytes + (kStreamed ? S::kWeightBytes : 0);
  const Layout& layout = work.task.layout;
  const int n_blocks = layout.n_weight_blocks(), n_ant_blocks = layout.n_ant_blocks();
  const auto copy_weights = [&](const Item& item, int slot, std::uint32_t to, std::uint32_t barrier) {
    for (int g = 0; g < S::kGroups; ++g)
      bulk_copy(to + g * kGroupBytes,
                work.task.weights + layout.group(item.chan, item.pol + slot / n_blocks, item.first_group + g,
                                                 slot % n_blocks),
                kGroupBytes, barrier);
  };
  std::uint32_t number = 0, turn = 0;
  for (int index = blockIdx.x; index < work.n_items(); index += gridDim.x, ++turn) {
    const Item item(work, index, S::kGroups);
    for (int tile = 0; tile < layout.n_tiles(); ++tile)
      for (int slot = 0; slot < work.n_slots; ++slot, ++number) {
        if (!kStreamed && tile == 0 && slot < work.n_weight_slots) {
          barrier_wait(barriers.weights_empty + 8 * slot, (turn & 1) ^ 1);
          barrier_expect(barriers.weights_full + 8 * slot, S::kWeightBytes);
          copy_weights(item, slot, weights + slot * S::kWeightBytes, barriers.weights_full + 8 * slot);
        }
        const Position at(number, work.n_stages);
        const std::uint32_t full = barriers.full + 8 * at.stage, to = ring_base + at.stage * kStageBytes;
        barrier_wait(barriers.empty + 8 * at.stage, at.phase ^ 1);
        barrier_expect(full, kStageBytes);
        bulk_copy(
            to,
            work.task.samples + layout.tile(item.chan, item.pol + slot / n_blocks, slot % n_ant_blocks, tile),
            kTileBytes, full);
        if (kStreamed) copy_weights(item, slot, to + kTileBytes, full);
      }
  }
}

__device__ __forceinline__ void multiply(Sums& sums, std::uint64_t rows, std::uint64_t columns) {
#pragma unroll
  for (int quarter = 0; quarter < 4; ++quarter) wgmma_s8(sums, rows + 2 * quarter, columns + 2 * quarter);
}

/// Before sums of the second limb join those of the first.
__device__ __forceinline__ void shift_limb(Sums& sums, int shift) {
#pragma unroll
  for (int i = 0; i < 64; ++i) sums[i] <<= shift;
}

template <Product kProduct, Form kForm, int kSegment, Weights kWeights>
__device__ __forceinline__ void consume(const Work& work, std::uint32_t weights, std::uint32_t ring_base,
                                        const Barriers& barriers) {
  using S = Shape<kProduct, kForm>;
  constexpr bool kStreamed = kWeights == Weights::streamed;
  constexpr int kStageBytes = kTileBytes + (kStreamed ? S::kWeightBytes : 0);
  const Layout& layout = work.task.layout;
  const int warp = uniform(threadIdx.x >> 5), lane = threadIdx.x & 31, consumer = warp >> 2;
  const int n_blocks = layout.n_weight_blocks(), n_ant_blocks = layout.n_ant_blocks();
  const int n_tiles = layout.n_tiles();
  // groups of the item that the accumulators stand for
  const int first_row = S::kTurns ? 0 : kForm == Form::both ? consumer : 2 * consumer;
  const auto wait_full = [&](const Position& at) { barrier_wait(barriers.full + 8 * at.stage, at.phase); };
  std::uint32_t item_number = 0, turn = 0, tiles_before = 0;
  for (int index = blockIdx.x; index < work.n_items();
       index += gridDim.x, ++turn, item_number += n_tiles * work.n_slots, tiles_before += n_tiles) {
    const Item item(work, index, S::kGroups);
    constexpr int kStep = S::kTurns ? kConsumers : 1;
    const int first_tile = S::kTurns ? int((consumer + tiles_before) % kConsumers) : 0;
    if (!kStreamed && S::kTurns && first_tile >= n_tiles)  // no tile for this consumer
      for (int slot = 0; slot < work.n_weight_slots; ++slot) {
        barrier_wait(barriers.weights_full + 8 * slot, turn & 1);
        barrier_arrive(barriers.weights_empty + 8 * slot);
      }
    for (int tile = first_tile; tile < n_tiles; tile += kStep) {
      const bool last_tile = tile + kStep >= n_tiles;
      Sums first, second;
#pragma unroll
      for (int i = 0; i < 64; ++i) first[i] = second[i] = 0;
      // A barrier knows its last two phases apart only. So a tile begins when the one before, the other
      // consumer's, has seen all of its stages: a stage can then be behind by no more than one.
      const std::uint32_t tile_number = tiles_before + tile;
      if constexpr (S::kTurns) barrier_wait(barriers.order, (tile_number & 1) ^ 1);
      int used_stage = -1, used_slot = 0;
      const auto release = [&] {
        if (used_stage < 0) return;
        barrier_arrive(barriers.empty + 8 * used_stage);
        // a slot's last use: with shared weights that of the second polarisation
        const int weight_slot = used_slot - (work.n_slots - work.n_weight_slots);
        if (!kStreamed && last_tile && weight_slot >= 0)
          barrier_arrive(barriers.weights_empty + 8 * weight_slot);
      };
      const auto take = [&](int slot, auto multiply_slot) {
        const int weight_slot = slot < work.n_weight_slots ? slot : slot - n_blocks;
        if (!kStreamed && tile == first_tile && slot < work.n_weight_slots)
          barrier_wait(barriers.weights_full + 8 * slot, turn & 1);
        const std::uint32_t number = item_number + tile * work.n_slots + slot;
        const Position at(number, work.n_stages);
        wait_full(at);
        const std::uint32_t columns = ring_base + at.stage * kStageBytes;
        const std::uint32_t rows =
            (kStreamed ? columns + kTileBytes : weights + weight_slot * S::kWeightBytes) +
            first_row * kGroupBytes;
        wgmma_fence();
        multiply_slot(rows, wgmma_descriptor(columns));
        wgmma_commit();
        wgmma_wait<1>();
        release();
        used_stage = static_cast<int>(at.stage), used_slot = slot;
      };
      for (int slot = 0; slot < n_blocks; ++slot) {
        if (slot == n_ant_blocks) {
          wgmma_wait<0>();
          shift_limb(first, work.task.shift);
          if constexpr (kForm == Form::wide) shift_limb(second, work.task.shift);
        }
        take(slot, [&](std::uint32_t rows, std::uint64_t columns) {
          multiply(first, wgmma_descriptor(rows), columns);
          if constexpr (kForm == Form::wide) multiply(second, wgmma_descriptor(rows + kGroupBytes), columns);
        });
      }
      if constexpr (S::kBoth) {
        wgmma_wait<0>();  // two accumulators in flight over a loop's end would serialise wgmma
        for (int slot = n_blocks; slot < 2 * n_blocks; ++slot) {
          if (slot == n_blocks + n_ant_blocks) {
            wgmma_wait<0>();
            shift_limb(second, work.task.shift);
          }
          take(slot, [&](std::uint32_t rows, std::uint64_t columns) {
            multiply(second, wgmma_descriptor(rows), columns);
          });
        }
      }
      if constexpr (S::kTurns) barrier_arrive(barriers.order);
      wgmma_wait<0>();
      release();
      const int beam = (item.first_group + first_row) * kGroupBeams + (warp & 3) * 8 + (lane >> 2);
      finish_tile<kProduct, kSegment>(work.task, item.chan, item.pol, tile, beam, lane, first, second);
      if constexpr (kForm == Form::wide)
        finish_tile<kProduct, kSegment>(work.task, item.chan, item.pol, tile, beam + kGroupBeams, lane,
                                        second, second);
    }
  }
}
#endif

template <Product kProduct, Form kForm, int kSegment, Weights kWeights>
__global__ void __launch_bounds__(kThreads, 1) sum_beams(Work work) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using S = Shape<kProduct, kForm>;
  extern __shared__ std::uint8_t dynamic_shared[];
  __shared__ alignas(8) std::uint64_t full[kMostStages], empty[kMostStages], weights_full[kMostSlots],
      weights_empty[kMostSlots], order;
  const Barriers barriers{shared_address(full), shared_address(empty), shared_address(weights_full),
                          shared_address(weights_empty), shared_address(&order)};
  const std::uint32_t weights = shared_address(aligned_tiles(dynamic_shared));
  const std::uint32_t ring_base =
      weights + (kWeights == Weights::resident ? work.n_weight_slots * S::kWeightBytes : 0);
  if (threadIdx.x == 0) {
    for (int s = 0; s < work.n_stages; ++s) {
      barrier_init(barriers.full + 8 * s, 1);
      barrier_init(barriers.empty + 8 * s, 128 * S::kReaders);
    }
    for (int s = 0; s < kMostSlots; ++s) {
      barrier_init(barriers.weights_full + 8 * s, 1);
      barrier_init(barriers.weights_empty + 8 * s, 128 * kConsumers);
    }
    barrier_init(barriers.order, 128);
    barrier_fence_init();
  }
  __syncthreads();
  if (uniform(threadIdx.x >> 5) == 4 * kConsumers) {
    if ((threadIdx.x & 31) == 0) copy_operands<S, kWeights>(work, weights, ring_base, barriers);
  } else {
    consume<kProduct, kForm, kSegment, kWeights>(work, weights, ring_base, barriers);
  }
#endif
}

template <Product kProduct, Form kForm, int kSegment, Weights kWeights>
void launch(Work work, int n_sm, cudaStream_t stream) {
  using S = Shape<kProduct, kForm>;
  constexpr bool kStreamed = kWeights == Weights::streamed;
  const int stage_bytes = kTileBytes + (kStreamed ? S::kWeightBytes : 0);
  const int resident_bytes = kStreamed ? 0 : work.n_weight_slots * S::kWeightBytes;
  work.n_stages = std::min(kMostStages, (kMostShared - resident_bytes) / stage_bytes);
  const int shared_bytes = resident_bytes + work.n_stages * stage_bytes + 1024;
  const auto kernel = sum_beams<kProduct, kForm, kSegment, kWeights>;
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
             "asking for shared memory");
  kernel<<<std::min(n_sm, work.n_items()), kThreads, shared_bytes, stream>>>(work);
  cuda_check(cudaGetLastError(), "launching the sums of beams (wgmma)");
}

template <Product kProduct, Form kForm, int kSegment>
void launch(const Task& task, int n_sm, cudaStream_t stream) {
  using S = Shape<kProduct, kForm>;
  const Layout& layout = task.layout;
  Work work{};
  work.task = task;
  work.n_pol_items = S::kBoth ? 1 : layout.n_pol;
  work.n_slots = (S::kBoth ? 2 : 1) * layout.n_weight_blocks();
  work.n_weight_slots = S::kBoth ? layout.n_weight_pol * layout.n_weight_blocks() : work.n_slots;
  work.n_beam_items = (layout.n_beam + S::kGroups * kGroupBeams - 1) / (S::kGroups * kGroupBeams);
  constexpr int kFewestStages = 3;
  const bool fits = work.n_weight_slots <= kMostSlots &&
                    work.n_weight_slots * S::kWeightBytes + kFewestStages * kTileBytes <= kMostShared;
  if (fits)
    launch<kProduct, kForm, kSegment, Weights::resident>(work, n_sm, stream);
  else
    launch<kProduct, kForm, kSegment, Weights::streamed>(work, n_sm, stream);
}

template <Product kProduct, Form kForm>
void launch_segments(const Task& task, int n_sm, cudaStream_t stream) {
  if constexpr (kProduct == Product::voltage) {
    launch<kProduct, kForm, 1>(task, n_sm, stream);
  } else if constexpr (kProduct == Product::quadratic) {
    launch<kProduct, kForm, kTileSpectra>(task, n_sm, stream);
  } else {
    switch (task.segment) {
      case 1:
        return launch<kProduct, kForm, 1>(task, n_sm, stream);
      case 8:
        return launch<kProduct, kForm, 8>(task, n_sm, stream);
      case 32:
        return launch<kProduct, kForm, 32>(task, n_sm, stream);
      case 128:
        return launch<kProduct, kForm, 128>(task, n_sm, stream);
      default:
        throw std::logic_error("sums of beams: segments of 1, 8, 32 or 128 spectra");
    }
  }
}

template <Product kProduct, Form kUsual>
void launch_form(const Task& task, int n_sm, cudaStream_t stream) {
  if constexpr (kProduct != Product::quadratic)
    if (task.layout.n_beam <= kGroupBeams) return launch_segments<kProduct, Form::narrow>(task, n_sm, stream);
  launch_segments<kProduct, kUsual>(task, n_sm, stream);
}

}  // namespace

void launch_wgmma(const Task& task, Product product, int n_sm, cudaStream_t stream) {
  switch (product) {
    case Product::voltage:
      return launch_form<Product::voltage, Form::wide>(task, n_sm, stream);
    case Product::power:
      return launch_form<Product::power, Form::wide>(task, n_sm, stream);
    case Product::coherence:
      return launch_form<Product::coherence, Form::both>(task, n_sm, stream);
    case Product::quadratic:
      return launch_form<Product::quadratic, Form::both>(task, n_sm, stream);
  }
}

}  // namespace apsyn::beam_sums
