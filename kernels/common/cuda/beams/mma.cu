// SPDX-License-Identifier: GPL-3.0-or-later
// cuda/beams/products.cuh by mma.sync, for Ampere and newer. A block of four warps owns 64 beams of a row, 16
// to a warp; stages of 64 columns by 64 antennas pass through shared memory, and weights come from the caches
// with each of them.
#include "kernels/common/cuda/beams/detect.cuh"
#include "kernels/common/cuda/beams/items.cuh"
#include "kernels/common/cuda/beams/samples.cuh"
#include "kernels/common/cuda/check.h"
#include "kernels/common/cuda/sm90/mma.cuh"

namespace apsyn::beam_products {
namespace {

using namespace ptx;

constexpr int kGroups = 2, kAhead = 4;  // stages in shared memory, of which one is being multiplied
constexpr int kSharedBytes = (2 + kAhead) * kBlockBytes + 128;

/// Rows stand as columns do, so that threads bring 16 bytes each.
template <int kPols>
struct RowWalk {
  static constexpr int kSpectra = kTileColumns / kPols;
  static constexpr bool kUntouched = true;
  Cursor at;
  RowLayout layout;

  __device__ RowWalk(const Items& items, int n_steps) : at(items, kSpectra, n_steps) {
    const Task& task = items.task;
    layout = {.n_row = task.n_channel * task.sections.count(),
              .n_pol = kPols,
              .n_ant = task.layout.n_ant,
              .n_spectra = task.sections.stride};
  }
  __device__ bool ended() const { return at.ended(); }
  __device__ void advance() { at.advance(); }
  __device__ void copy(std::uint32_t to) const {
    const int first = at.tile * kSpectra, block = at.part % layout.n_blocks();
#pragma unroll
    for (int pol = 0; pol < kPols; ++pol)
#pragma unroll
      for (int byte = threadIdx.x * 16; byte < kBlockBytes / kPols; byte += kProducers * 16)
        copy_16_or_zeros(to + pol * (kBlockBytes / kPols) + byte,
                         static_cast<const std::uint8_t*>(at.items.task.source.data) +
                             layout.tile(at.row, pol, block, first / kTileSpectra) +
                             first % kTileSpectra * kRowBytes + byte,
                         true);
  }
};

template <Product kProduct, int kPols, bool kOwn, Source::SampleLayout kLayout, class Copies, class Unpack>
__device__ __forceinline__ void multiply_items(const Items& items, std::uint32_t stages, Copies walk,
                                               const Unpack& unpack) {
  const Task& task = items.task;
  const WeightLayout& layout = task.layout;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int n_blocks = layout.n_blocks(), n_steps = layout.n_limb * n_blocks;
  int slot = 0;
  const auto next = [](int of) { return of + 1 == kAhead ? 0 : of + 1; };
  const auto copy = [&] {
    if (!walk.ended()) {
      walk.copy(stages + (2 + slot) * kBlockBytes);
      walk.advance();
    }
    commit_copies();
    slot = next(slot);
  };
  for (int i = 0; i < kAhead - 1; ++i) copy();
  Target target[kGroups];
  float part[kGroups][kValues<kProduct, kPols>];
  Sums sums[kGroups];
  int ready = 0, half = 0;
  for (Cursor at(items, kTileColumns / kPols, n_steps); !at.ended(); at.advance(), half ^= 1) {
    if (at.tile == at.first_tile && at.part == 0)
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        target[g] = target_of<kProduct, kPols>(task, at.row,
                                               (at.first_group + g) * kGroupBeams + warp * 8 + (lane >> 2));
#pragma unroll
        for (float& scale : target[g].scale) scale *= sample_unit(task);
#pragma unroll
        for (float& value : part[g]) value = 0;
      }
    wait_for_copies<kAhead - 2>();
    __syncwarp();
    std::uint32_t stage = stages + (2 + ready) * kBlockBytes;
    if constexpr (!Copies::kUntouched) {
      unpack(stage, stages + half * kBlockBytes);
      stage = stages + half * kBlockBytes;
    }
    ready = next(ready);
    __syncthreads();
    copy();  // to where all have multiplied
    const std::uint8_t* valid = validity_of(task, at.row);
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      if (at.part == 0) {
#pragma unroll
        for (int& sum : sums[g]) sum = 0;
      } else if (at.part == n_blocks) {
#pragma unroll
        for (int& sum : sums[g]) sum <<= task.shift;
      }
    }
    const int n_groups = min(kGroups, layout.n_groups() - at.first_group);
    Fragment weights[kGroups];
    const auto load_weights = [&](int pol) {
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        if (g >= n_groups) break;
        const std::int8_t* from = task.weights + layout.group(at.row, pol, at.first_group + g, at.part) +
                                  warp * 1024 + lane / 4 * 64;
        load_fragment<kLayout>(weights[g], lane,
                               [&](int byte) { return __ldg(reinterpret_cast<const int4*>(from + byte)); });
        if (valid == nullptr) continue;
#pragma unroll
        for (int chunk = 0; chunk < 4; ++chunk)
          Masks(task, valid, at.part % n_blocks * kBlockAntennas + 16 * chunk, lane).apply(weights[g][chunk]);
      }
    };
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      if (j == 0 || (kOwn && j == 4)) load_weights(j / 4);
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        // rows of 8 columns; four chunks
        std::uint32_t columns[4];
        const int row = 8 * j + (lane & 7), chunk = 4 * side + lane / 8;
        load_matrices(columns, stage + row * 128 + ((chunk ^ (row & 7)) << 4));
#pragma unroll
        for (int g = 0; g < kGroups; ++g) {
          if (g >= n_groups) break;
          mma_s8(&sums[g][4 * j], weights[g][2 * side], columns[0], columns[1]);
          mma_s8(&sums[g][4 * j], weights[g][2 * side + 1], columns[2], columns[3]);
        }
      }
    }
    if (at.part == n_steps - 1) {
      if constexpr (kIsDetected<kProduct>)
#pragma unroll
        for (int g = 0; g < kGroups; ++g) sum_products<kProduct, kPols>(sums[g], part[g]);
#pragma unroll
      for (int g = 0; g < kGroups; ++g)
        finish_tile<kProduct, kPols, true>(task, target[g], at.tile, lane, sums[g], part[g]);
    }
  }
}

template <Product kProduct, int kPols, bool kOwn, Source::SampleLayout kLayout>
__device__ __forceinline__ void multiply_samples(const Items& items, std::uint32_t stages) {
  using SampleUnits = Units<kLayout, kPols>;
  const SampleUnits units(threadIdx.x);
  multiply_items<kProduct, kPols, kOwn, kLayout>(
      items, stages, Walk<SampleUnits>(items, units, items.task.layout.n_limb),
      [&](std::uint32_t raw, std::uint32_t stage) { units.unpack(raw, stage); });
}

template <Product kProduct, int kPols, bool kOwn>
__global__ void __launch_bounds__(kProducers) form_beams(const __grid_constant__ Items items) {
  extern __shared__ std::uint8_t dynamic_shared[];
  const std::uint32_t stages = (shared_address(dynamic_shared) + 127) & ~127u;
  with_layout<kProduct>(items.task.source.layout, [&](auto known) {
    constexpr Source::SampleLayout kLayout = decltype(known)::value;
    if constexpr (kLayout == Source::SampleLayout::rows) {
      const RowWalk<kPols> walk(items, items.task.layout.n_limb * items.task.layout.n_blocks());
      multiply_items<kProduct, kPols, kOwn, kLayout>(items, stages, walk,
                                                     [](std::uint32_t, std::uint32_t) {});
    } else {
      multiply_samples<kProduct, kPols, kOwn, kLayout>(items, stages);
    }
  });
}

template <Product kProduct, int kPols, bool kOwn>
void launch(const Task& task, int n_sm, cudaStream_t stream) {
  const auto kernel = form_beams<kProduct, kPols, kOwn>;
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes),
             "asking for shared memory");
  int n_resident = 1;
  cuda_check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n_resident, kernel, kProducers, kSharedBytes),
             "asking for occupancy");
  const int n_busy = n_sm * std::max(1, n_resident);
  const Items items = items_of(task, kGroups, kTileColumns / kPols, n_busy);
  kernel<<<std::min(n_busy, items.count), kProducers, kSharedBytes, stream>>>(items);
  cuda_check(cudaGetLastError(), "launching the products of beams (mma.sync)");
}

template <Product kProduct>
void launch_columns(const Task& task, int n_sm, cudaStream_t stream) {
  if constexpr (kProduct == Product::quadratic) return launch<kProduct, 2, false>(task, n_sm, stream);
  if constexpr (kProduct == Product::voltage || kProduct == Product::power)
    if (task.n_pol == 1) return launch<kProduct, 1, false>(task, n_sm, stream);
  if constexpr (kProduct != Product::quadratic) {
    if (task.layout.n_pol == 1)
      launch<kProduct, 2, false>(task, n_sm, stream);
    else
      launch<kProduct, 2, true>(task, n_sm, stream);
  }
}

}  // namespace

void launch_mma(const Task& task, int n_sm, cudaStream_t stream) {
  switch (task.product) {
    case Product::voltage:
      return launch_columns<Product::voltage>(task, n_sm, stream);
    case Product::power:
      return launch_columns<Product::power>(task, n_sm, stream);
    case Product::coherence:
      return launch_columns<Product::coherence>(task, n_sm, stream);
    case Product::quadratic:
      return launch_columns<Product::quadratic>(task, n_sm, stream);
  }
}

}  // namespace apsyn::beam_products
