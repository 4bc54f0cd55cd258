// SPDX-License-Identifier: GPL-3.0-or-later
// The consumer warpgroups of cuda/grid/tensor/kernel.cu. A thread owns one phasor row of its planes: rows
// lane / 4 of a warp's 16 are the real parts, rows + 8 the imaginary ones, so that the complex sums meet in
// one thread. Its slots are 4 (lane % 4) .. + 3 of every 16, whose places along k are those of a fragment: 2
// (lane % 4) + {0, 1, 8, 9}. For sm_90a only.
#pragma once

#include "kernels/common/cuda/sm90/wgmma.cuh"
#include "kernels/idg/cuda/grid/tensor/producers.cuh"

namespace apsyn::idg_cuda {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

/// Accumulators of an operand A: four column blocks, kX registers each. An instruction takes 128 of a
/// thread's registers at most, whatever setmaxnreg allows.
template <class Shape>
struct TileSum {
  static constexpr int kParts = Shape::kX > 24 ? 2 : 1, kBlocksEach = 4 / kParts;
  float part[kParts][kBlocksEach * Shape::kX];
  __device__ __forceinline__ float at(int block, int k) const {
    return part[block / kBlocksEach][block % kBlocksEach * Shape::kX + k];
  }
};

/// What one thread's part of A is made of: four slots as hi and lo.
struct Operands {
  uint4 row, re, im;
};

/// One operand's products of 16 slots.
template <class Shape>
__device__ __forceinline__ void multiply_add(TileSum<Shape>& sum, const Operands& in, std::uint32_t columns,
                                             int add) {
  using namespace ptx;
  using Blocks = typename Shape::Blocks;
  const uint4 &row = in.row, &re = in.re, &im = in.im;
  std::uint32_t hi[4], lo[4];
  auto make = [&](int i, std::uint32_t v_hi, std::uint32_t v_lo, std::uint32_t r_hi, std::uint32_t r_lo) {
    const Split s = multiply(as_half2(v_hi), as_half2(v_lo), as_half2(r_hi), as_half2(r_lo));
    hi[i] = bits(s.hi);
    lo[i] = bits(s.lo);
  };
  make(0, re.x, re.z, row.x, row.z);
  make(1, im.x, im.z, row.x, row.z);
  make(2, re.y, re.w, row.y, row.w);
  make(3, im.y, im.w, row.y, row.w);
  // The compiler must not move the making of operands in between products.
#pragma unroll
  for (int i = 0; i < 4; ++i) asm volatile("" : "+r"(hi[i]), "+r"(lo[i])::"memory");
  const std::uint64_t first = plain_descriptor(columns, 128, kGroupBytes);
  constexpr std::uint64_t block = Shape::kBlockBytes >> 4;
  constexpr int kBlock = 2 * Shape::kX;
  wgmma_fence();
  // ptxas wants every product's accumulators to begin where an array of them does.
#pragma unroll
  for (int i = 0; i < TileSum<Shape>::kParts; ++i)
    wgmma_f16<TileSum<Shape>::kBlocksEach * kBlock, Fastest::column>(
        sum.part[i], hi, first + i * TileSum<Shape>::kBlocksEach * block, add);
  if constexpr (Shape::kTerms == 4) {
    wgmma_f16<2 * kBlock, Fastest::column>(sum.part[0], lo, first + Blocks::kHi0 * block, 1);
    wgmma_f16<2 * kBlock, Fastest::column>(sum.part[0], hi, first + Blocks::kLo0 * block, 1);
  } else {
    wgmma_f16<kBlock, Fastest::column>(sum.part[0], lo, first + Blocks::kHi0 * block, 1);
  }
  wgmma_commit();
}

template <class Shape>
class Consumer {
 public:
  __device__ Consumer(const TensorGridTask& task, const Stages& stages, std::uint32_t totals, int warpgroup)
      : task_(task), stages_(stages), totals_(totals), warpgroup_(warpgroup) {}

  __device__ __forceinline__ void consume(Walk<Shape>& walk) {
    while (walk.valid()) {
      for (int i = 0; i < Shape::kTotals; ++i) ptx::store_shared_8(own_total(i), make_float2(0, 0));
      do {
        for (int first = 0; first < walk.left; first += Shape::kSlotsAtOnce) {
          TileSum<Shape> sum[Shape::kTiles];
          const bool any = multiply(min(walk.left - first, Shape::kSlotsAtOnce), sum);
          if (!any) continue;
          const float w_offset = walk.w_offset();
          if (w_offset == 0)
            add_to_totals<false>(walk, w_offset, sum);
          else
            add_to_totals<true>(walk, w_offset, sum);
        }
      } while (walk.next_chunk());
      if constexpr (Shape::kShare) asm volatile("bar.sync 1, 256;" ::: "memory");
      if (!Shape::kShare || warpgroup_ == 0) store(walk);
      if constexpr (Shape::kShare) asm volatile("bar.sync 1, 256;" ::: "memory");
      walk.next_item();
    }
  }

 private:
  /// Returns false if this warpgroup had none of the slots.
  __device__ __forceinline__ bool multiply(int n_slots, TileSum<Shape> (&sum)[Shape::kTiles]) {
    using namespace ptx;
    constexpr int kStep = Shape::kShare ? 2 : 1, kUnits = Shape::kInFlight, kGroups = kUnits / Shape::kTiles;
    const int first_group = Shape::kShare ? warpgroup_ : 0;
    int add = 0, previous = -1;
    for (int offset = 0; offset < n_slots; offset += kStageSlots) {
      barrier_wait(stages_.full + 8 * ring_.stage, ring_.phase);
      const int n_groups = min(n_slots - offset, kStageSlots) / kSlotGroup;
      const std::uint32_t stage = stages_.first + ring_.stage * Shape::kStageBytes;
      const std::uint32_t rows = stage + Shape::kPhasorsAt + quad() * Shape::kPhasorQuadBytes + row() * 16;
      const std::uint32_t values =
          stage + Shape::kValuesAt + quad() * Shape::kValueQuadBytes + first_plane() * 32;
      Operands next;
      auto load = [&](int group, int tile) {
        const std::uint32_t value = values + group * 4 * Shape::kValueQuadBytes + tile * 32;
        if (tile == 0) next.row = load_shared_16(rows + group * 4 * Shape::kPhasorQuadBytes);
        next.re = load_shared_16(value);
        next.im = load_shared_16(value + 16);
      };
      // Operands arrive while products are under way.
      if (first_group < n_groups) load(first_group, 0);
      for (int first = first_group; first < n_groups; first += kStep * kGroups) {
#pragma unroll
        for (int unit = 0; unit < kUnits; ++unit) {
          const int tile = unit % Shape::kTiles, group = first + unit / Shape::kTiles * kStep;
          if (unit >= Shape::kTiles && group >= n_groups) {
            wgmma_wait<0>();  // the next operands take the registers of those under way
            break;
          }
          multiply_add<Shape>(sum[tile], next, stage + group * kSlotGroup * 16, add);
          if (tile + 1 == Shape::kTiles) add = 1;
          if (tile + 1 < Shape::kTiles)
            load(group, tile + 1);
          else if (group + kStep < n_groups)
            load(group + kStep, 0);
          wgmma_wait<kUnits - 1>();
          if (previous >= 0) {
            barrier_arrive(stages_.empty + 8 * previous);
            previous = -1;
          }
        }
      }
      if (previous >= 0) {
        // Nothing was read of this stage; products of the one before may be under way still.
        wgmma_wait<0>();
        barrier_arrive(stages_.empty + 8 * previous);
      }
      previous = ring_.stage;
      ring_.advance();
    }
    wgmma_wait<0>();
    barrier_arrive(stages_.empty + 8 * previous);
    return add != 0;
  }

  /// The terms combined, turned by the bin's distance from the task's w.
  template <bool kTurn>
  __device__ __forceinline__ void add_to_totals(const Walk<Shape>& walk, float w_offset,
                                                const TileSum<Shape> (&sum)[Shape::kTiles]) {
    constexpr int kAcross = Shape::kX / 8;
    const int half = tensor_half(task_.side);
    const float4* coefficient =
        task_.coefficient + (walk.first_y() + y()) * half + walk.first_x() + 2 * quad();
#pragma unroll
    for (int j = 0; j < kAcross; ++j)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const float4 c = __ldg(coefficient + 8 * j + i);
        const float z = task_.phase_per_n * c.w, q = z * z / 4, j0 = 1 - q + q * q / 4;
        const float2 turn_by = kTurn ? phasor(-w_offset, c.w) : make_float2(1, 0);
#pragma unroll
        for (int tile = 0; tile < Shape::kTiles; ++tile)
#pragma unroll
          for (int sine = 0; sine < 2; ++sine) {
            const int at = 4 * (j + kAcross * sine) + i;  // imaginary parts stand at at + 2
            auto s = [&](int block, int k) { return sum[tile].at(block, k); };
            float2 now;
            if constexpr (Shape::kTerms == 4) {
              now.x = j0 * s(0, at) + c.x * s(1, at + 2) - c.y * s(2, at) - c.z * s(3, at + 2);
              now.y = j0 * s(0, at + 2) - c.x * s(1, at) - c.y * s(2, at + 2) + c.z * s(3, at);
            } else {
              now.x = j0 * (s(0, at) + s(1, at)) + c.x * s(2, at + 2) - c.y * s(3, at);
              now.y = j0 * (s(0, at + 2) + s(1, at + 2)) - c.x * s(2, at) - c.y * s(3, at + 2);
            }
            if constexpr (kTurn) now = turn(now, turn_by);
            const std::uint32_t total = own_total(((tile * 2 + sine) * kAcross + j) * 2 + i);
            const float2 before = ptx::load_shared_8(total);
            ptx::store_shared_8(total, make_float2(before.x + now.x, before.y + now.y));
          }
      }
  }

  __device__ __forceinline__ void store(const Walk<Shape>& walk) const {
    constexpr int kAcross = Shape::kX / 8;
    const int half = tensor_half(task_.side);
    const std::uint32_t own_task = walk.own_task(), task_index = own_task & 0xffff;
    const float unscale = power_of_two(-exponent_of(own_task));
    const int out_row = row() / Shape::kY * half + walk.first_y() + y();
#pragma unroll
    for (int tile = 0; tile < Shape::kTiles; ++tile) {
      const int own_plane = walk.first_plane + first_plane() + tile;
      if (own_plane >= task_.n_planes) return;
      const std::size_t plane = std::size_t(task_index) * task_.n_planes + own_plane;
      float* out = task_.sums + plane * 2 * 2 * half * 2 * half + walk.first_x() + 2 * quad();
#pragma unroll
      for (int j = 0; j < 2 * kAcross; ++j) {
        const std::uint32_t from = own_total((tile * 2 * kAcross + j) * 2),
                            next = own_total((tile * 2 * kAcross + j) * 2 + 1);
        float2 left = ptx::load_shared_8(from), right = ptx::load_shared_8(next);
        if constexpr (Shape::kShare) {
          const float2 left2 = ptx::load_shared_8(from + 128 * 8),
                       right2 = ptx::load_shared_8(next + 128 * 8);
          left = make_float2(left.x + left2.x, left.y + left2.y);
          right = make_float2(right.x + right2.x, right.y + right2.y);
        }
        const int column = j / kAcross * half + 8 * (j % kAcross);
        *reinterpret_cast<float2*>(out + std::size_t(out_row) * 2 * half + column) =
            make_float2(left.x * unscale, right.x * unscale);
        *reinterpret_cast<float2*>(out + (std::size_t(2 * half) + out_row) * 2 * half + column) =
            make_float2(left.y * unscale, right.y * unscale);
      }
    }
  }

  // The thread's position is recomputed from its index each time, to save registers.
  __device__ __forceinline__ int quad() const {
    return threadIdx.x & 3;
  }
  __device__ __forceinline__ int flat_row() const {
    const int row = threadIdx.x >> 2 & 31, first = static_cast<int>(threadIdx.x >> 7) * 32 * Shape::kTiles;
    return Shape::kShare ? row : first + row;
  }
  __device__ __forceinline__ int row() const {
    return flat_row() % Shape::kPhasorRows;
  }
  __device__ __forceinline__ int first_plane() const {
    return flat_row() / Shape::kPhasorRows;
  }
  __device__ __forceinline__ int y() const {
    const int r = row() % Shape::kY;
    return Shape::kY / 4 * (r & 3) + 2 * (r >> 3) + (r >> 2 & 1);
  }
  /// Address of a complex sum.
  __device__ __forceinline__ std::uint32_t own_total(int i) const {
    return totals_ + (i * Shape::kConsumerThreads + threadIdx.x) * 8;
  }

  const TensorGridTask& task_;
  Stages stages_;
  std::uint32_t totals_;
  int warpgroup_;
  Ring<Shape::kStages> ring_;
};

#endif

}  // namespace apsyn::idg_cuda
