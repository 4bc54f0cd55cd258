// SPDX-License-Identifier: GPL-3.0-or-later
// Two consumer warpgroups; one block per SM walks over tasks. Of the producers half make B for 64 slots, half
// the phasors of A and V as hi and lo. A consumer's thread owns one phasor row of its planes: rows lane / 4
// of a warp's 16 are the real parts, rows + 8 the imaginary ones, so that the complex sums meet in one
// thread. Its slots are 4 (lane % 4) .. + 3 of every 16, whose places along k are those of a fragment: 2
// (lane % 4) + {0, 1, 8, 9}.
#include <cuda_fp16.h>

#include <algorithm>

#include "kernels/common/cuda_check.h"
#include "kernels/common/device_launch.cuh"
#include "kernels/common/sm90_ptx.cuh"
#include "kernels/idg/grid_tensor.cuh"
#include "kernels/idg/grid_tensor_operands.cuh"
#include "kernels/idg/grid_tensor_walk.cuh"
#include "kernels/idg/wgmma_half.cuh"

namespace apsyn::idg_cuda {
namespace {

constexpr int kConsumers = 256;

template <int kTiles, int kTerms>
constexpr int kSharedBytes = kStages* kStageBytes<kTerms> + kTiles * 8 * kConsumers * 8 + 128;

/// Producer warpgroups: two, unless the consumers' accumulators, kTiles (kTerms + 1) 16 registers, leave room
/// for one alone, whose threads then do both parts of the work.
template <int kTiles, int kTerms>
constexpr int kProducerGroups = kTiles == 2 && kTerms == 4 ? 1 : 2;
template <int kTiles, int kTerms>
constexpr int kThreads = kConsumers + 128 * kProducerGroups<kTiles, kTerms>;
template <int kTiles, int kTerms>
constexpr int kConsumerRegisters = kProducerGroups<kTiles, kTerms> == 1 ? 216 : 184;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
using namespace ptx;

constexpr int kProducerRegisters = 72;

__device__ __forceinline__ int uniform(int value) {
  return __shfl_sync(~0u, value, 0);
}

__device__ __forceinline__ uint4 load_shared(const std::uint8_t* address) {
  return *reinterpret_cast<const uint4*>(address);
}

/// What one thread's part of A is made of: four slots as hi and lo.
struct Operands {
  uint4 row, re, im;
};

/// One plane's products of 16 slots.
template <int kTerms>
__device__ __forceinline__ void multiply_add(float (&sum)[kTerms + 1][16], const Operands& in,
                                             std::uint32_t columns, int add) {
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
  const std::uint64_t all = half_descriptor(columns, kGroupBytes);
  constexpr std::uint64_t block = kBlockBytes >> 4;
  wgmma_fence();
  if constexpr (kTerms == 4) {
    wgmma_half(sum[0], sum[1], hi, all, add);
    wgmma_half(sum[2], sum[3], sum[4], hi, all + kHi1 * block, add);
    wgmma_half(sum[0], lo, all + kHi0 * block, 1);
    wgmma_half(sum[2], lo, all + kHi1 * block, 1);
    wgmma_half(sum[2], hi, all + kLo1 * block, 1);
  } else {
    wgmma_half(sum[0], sum[1], sum[2], sum[3], hi, all, add);
    wgmma_half(sum[0], lo, all + kHi0 * block, 1);
  }
  wgmma_commit();
}
#endif

/// kTiles planes for each consumer; kShare: both consumers sum the same plane, over every other 16 slots.
template <int kTiles, bool kShare, int kTerms>
__global__ void __launch_bounds__(kThreads<kTiles, kTerms>, 1)
    sum_visibilities(TensorGridTask task, int first_plane) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ std::uint8_t dynamic_shared[];
  std::uint8_t* stages = reinterpret_cast<std::uint8_t*>(
      (reinterpret_cast<std::uintptr_t>(dynamic_shared) + 127) & ~std::uintptr_t(127));
  auto* totals = reinterpret_cast<float2*>(stages + kStages * kStageBytes<kTerms>);
  __shared__ alignas(8) std::uint64_t full_barriers[kStages], empty_barriers[kStages];
  const std::uint32_t full = shared_address(full_barriers), empty = shared_address(empty_barriers);
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      barrier_init(full + 8 * s, kThreads<kTiles, kTerms> - kConsumers);
      barrier_init(empty + 8 * s, kConsumers);
    }
    barrier_fence_init();
  }
  __syncthreads();
  constexpr int kPlanes = kShare ? 1 : 2 * kTiles;
  constexpr int kPhasorsAt = kBlocks<kTerms> * kBlockBytes, kValuesAt = kPhasorsAt + kPhasorBytes;
  const int warpgroup = uniform(threadIdx.x >> 7), warp = uniform((threadIdx.x >> 5) & 3);
  const int lane = threadIdx.x & 31;
  Ring ring;
  Walk walk(task);

  if (warpgroup >= 2) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kProducerRegisters));
    constexpr int kParts = 3 - kProducerGroups<kTiles, kTerms>;  // of a stage's work, for each thread
    if (kParts == 2 ? warp < 2 : warpgroup == 2) {
      const int place = threadIdx.x & 63, first_part = kParts == 2 ? 0 : warp >> 1;
      const int slot = (place & ~15) | (place & 6) << 1 | (place & 8) >> 2 | (place & 1);
      float step = 0, t = 0;
      auto load = [&] {
        const bool exists = walk.valid() && slot < walk.n_slots();
        step = exists ? task.in.du[walk.slot + slot] : 0.0f;
        t = exists ? task.in.t[walk.slot + slot] : 0.0f;
      };
      load();
      while (walk.valid()) {
        const bool exists = (place & ~15) < walk.n_slots();
        const int first_x = walk.first_x();
        const float step_now = step, t_now = t;
        walk.next_stage();
        load();
        barrier_wait(empty + 8 * ring.stage, ring.phase ^ 1);
        if (exists)
#pragma unroll 1
          for (int part = first_part; part < first_part + kParts; ++part)
            write_columns<kTerms>(stages + ring.stage * kStageBytes<kTerms> + part * kGroupBytes + place * 16,
                                  first_x + 8 * part, step_now, t_now);
        async_proxy_fence();
        barrier_arrive(full + 8 * ring.stage);
        ring.advance();
      }
    } else {
      // A warp's phases of eight lanes write four quads of two subsets: no bank conflicts.
      const int subset = (lane & 1) | (lane >> 2 & 2);
      const int quad = (lane >> 1 & 3) | (lane >> 2 & 4) | (warp & 1) << 3;
      const int first_part = kParts == 2 ? 0 : warp >> 1;
      const bool has_plane = subset < kPlanes;
      float step[4] = {}, value[kParts][4] = {}, scale = 1;
      auto load = [&] {
        if (!walk.valid() || quad * 4 >= walk.n_slots()) return;
        const std::uint32_t slot = walk.slot + quad * 4;
        const float4 steps = *reinterpret_cast<const float4*>(task.in.dv + slot);
        step[0] = steps.x, step[1] = steps.y, step[2] = steps.z, step[3] = steps.w;
        if (!has_plane) return;
        scale = power_of_two(exponent_of(walk.own_task()));
        const float2* values = task.in.value + std::size_t(slot) * task.n_planes + first_plane + subset;
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
          for (int part = 0; part < kParts; ++part)
            value[part][i] = reinterpret_cast<const float*>(values + i * task.n_planes)[first_part + part];
      };
      load();
      while (walk.valid()) {
        const bool exists = quad * 4 < walk.n_slots();
        const int first_y = walk.first_y() + 4 * subset;
        const float step_now[4] = {step[0], step[1], step[2], step[3]};
        barrier_wait(empty + 8 * ring.stage, ring.phase ^ 1);
        std::uint8_t* stage = stages + ring.stage * kStageBytes<kTerms>;
        if (exists && has_plane)
#pragma unroll
          for (int part = 0; part < kParts; ++part)
            write_values(stage + kValuesAt + quad * kValueQuadBytes + (subset * 2 + first_part + part) * 16,
                         value[part], scale);
        walk.next_stage();
        load();
        if (exists)
#pragma unroll 1
          for (int part = first_part; part < first_part + kParts; ++part)
            write_rows(stage + kPhasorsAt + quad * kPhasorQuadBytes + part * 128 + subset * 16,
                       first_y + 2 * part, step_now);
        async_proxy_fence();
        barrier_arrive(full + 8 * ring.stage);
        ring.advance();
      }
    }
    return;
  }

  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kConsumerRegisters<kTiles, kTerms>));
  const int own_row = warp * 8 + (lane >> 2), quad = lane & 3;
  const int own_y = 4 * (own_row & 3) + (own_row >> 2 & 3), own_sin = own_row >> 4;
  const int half = tensor_half(task.side);
  float2* own_total = totals + threadIdx.x;
  while (walk.valid()) {
    const int first_x = walk.first_x(), first_y = walk.first_y();
    bool first_chunk = true, more = true;
    while (more) {
      float sum[kTiles][kTerms + 1][16];
      int add = 0, previous = -1;
      for (int offset = 0; offset < walk.left; offset += kStageSlots) {
        barrier_wait(full + 8 * ring.stage, ring.phase);
        const int n_groups = min(walk.left - offset, kStageSlots) / kSlotGroup;
        const std::uint8_t* stage = stages + ring.stage * kStageBytes<kTerms>;
        const std::uint32_t columns = shared_address(stage);
        constexpr int kGroupStep = kShare ? 2 : 1;
        const int first_group = kShare ? warpgroup : 0;
        const std::uint8_t* rows = stage + kPhasorsAt + quad * kPhasorQuadBytes + own_row * 16;
        const std::uint8_t* values =
            stage + kValuesAt + quad * kValueQuadBytes + (kShare ? 0 : warpgroup * kTiles * 32);
        Operands next;
        auto load = [&](int group, int tile) {
          const std::uint8_t* value = values + group * 4 * kValueQuadBytes + tile * 32;
          if (tile == 0) next.row = load_shared(rows + group * 4 * kPhasorQuadBytes);
          next.re = load_shared(value);
          next.im = load_shared(value + 16);
        };
        // Where registers suffice the next operands arrive while products are under way.
        constexpr bool kAhead = kTiles * (kTerms + 1) <= 8;
        if (kAhead && first_group < n_groups) load(first_group, 0);
        for (int group = first_group; group < n_groups; group += kGroupStep) {
#pragma unroll
          for (int tile = 0; tile < kTiles; ++tile) {
            if constexpr (!kAhead) load(group, tile);
            multiply_add<kTerms>(sum[tile], next, columns + group * kSlotGroup * 16, add);
            if constexpr (kAhead) {
              if (tile + 1 < kTiles)
                load(group, tile + 1);
              else if (group + kGroupStep < n_groups)
                load(group + kGroupStep, 0);
            }
            wgmma_wait<kTiles == 1 ? 0 : 1>();
          }
          add = 1;
          if (previous >= 0) {
            barrier_arrive(empty + 8 * previous);
            previous = -1;
          }
        }
        if (kShare && n_groups <= warpgroup) {
          // Nothing was read of this stage; products of the one before may be under way still.
          wgmma_wait<0>();
          if (previous >= 0) barrier_arrive(empty + 8 * previous);
        }
        previous = ring.stage;
        ring.advance();
      }
      wgmma_wait<0>();
      barrier_arrive(empty + 8 * previous);

      const float w_offset = walk.w_offset();
      const float4* coefficient = task.coefficient + (first_y + own_y) * half + first_x;
#pragma unroll
      for (int jj = 0; jj < 2; ++jj)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const float4 c = coefficient[8 * jj + 2 * quad + i];
          const float z = task.phase_per_n * c.w, q = z * z / 4, j0 = 1 - q + q * q / 4;
          float sine, cosine;
          sincospif(2 * w_offset * c.w, &sine, &cosine);
#pragma unroll
          for (int tile = 0; tile < kTiles; ++tile)
#pragma unroll
            for (int jh = 0; jh < 2; ++jh) {
              const int at = 4 * (jj + 2 * jh) + i;  // imaginary parts stand at at + 2
              const auto& s = sum[tile];
              float re = 0, im = 0;
              if (add != 0) {
                re = j0 * (s[0][at] + s[1][at]) + c.x * s[2][at + 2] - c.y * s[3][at];
                im = j0 * (s[0][at + 2] + s[1][at + 2]) - c.x * s[2][at] - c.y * s[3][at + 2];
                if constexpr (kTerms == 4) {
                  re -= c.z * s[4][at + 2];
                  im += c.z * s[4][at];
                }
              }
              float2& total = own_total[(tile * 8 + (jj + 2 * jh) * 2 + i) * kConsumers];
              const float2 before = first_chunk ? make_float2(0, 0) : total;
              total = make_float2(before.x + re * cosine + im * sine, before.y + im * cosine - re * sine);
            }
        }
      first_chunk = false;
      more = walk.next_chunk();
    }

    if constexpr (kShare) asm volatile("bar.sync 1, 256;" ::: "memory");
    const std::uint32_t own_task = walk.own_task(), task_index = own_task & 0xffff;
    const float unscale = power_of_two(-exponent_of(own_task));
    if (!kShare || warpgroup == 0)
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        const std::size_t plane =
            std::size_t(task_index) * task.n_planes + first_plane + (kShare ? 0 : warpgroup * kTiles + tile);
        float* out = task.sums + plane * 2 * 2 * half * 2 * half + first_x + 2 * quad;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          float2 left = own_total[(tile * 8 + 2 * j) * kConsumers];
          float2 right = own_total[(tile * 8 + 2 * j + 1) * kConsumers];
          if constexpr (kShare) {
            const float2 left2 = own_total[(2 * j) * kConsumers + 128],
                         right2 = own_total[(2 * j + 1) * kConsumers + 128];
            left = make_float2(left.x + left2.x, left.y + left2.y);
            right = make_float2(right.x + right2.x, right.y + right2.y);
          }
          const int row = own_sin * half + first_y + own_y, column = (j >> 1) * half + 8 * (j & 1);
          *reinterpret_cast<float2*>(out + std::size_t(row) * 2 * half + column) =
              make_float2(left.x * unscale, right.x * unscale);
          *reinterpret_cast<float2*>(out + (std::size_t(2 * half) + row) * 2 * half + column) =
              make_float2(left.y * unscale, right.y * unscale);
        }
      }
    if constexpr (kShare) asm volatile("bar.sync 1, 256;" ::: "memory");
    walk.next_item();
  }
#endif
}

__global__ void list_starts(TensorGridTask task) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  const std::size_t i = this_thread();
  if (i >= task.n_selected) return;
  const std::uint32_t index = task.selected[i], first = task.tasks[index].first_chunk;
  const Chunk& chunk = task.chunks[first];
  task.starts[i] = {index | static_cast<std::uint32_t>(128 + scale_exponent(task.largest[chunk.task])) << 16,
                    first, chunk.first_slot, chunk.n_slots};
#endif
}

template <int kTiles, bool kShare, int kTerms>
void launch(const TensorGridTask& task, int first_plane, int n_sm, cudaStream_t stream) {
  const auto kernel = sum_visibilities<kTiles, kShare, kTerms>;
  constexpr int shared_bytes = kSharedBytes<kTiles, kTerms>;
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
             "asking for shared memory");
  const int per_side = tensor_half(task.side) / kTensorTile;
  const int n_blocks = std::min(n_sm, task.n_selected * per_side * per_side);
  kernel<<<n_blocks, kThreads<kTiles, kTerms>, shared_bytes, stream>>>(task, first_plane);
  cuda_check(cudaGetLastError(), "launching the gridder's sums");
}

template <int kTerms>
void launch_planes(const TensorGridTask& task, int n_sm, cudaStream_t stream) {
  for (int first = 0; first < task.n_planes;) {
    const int left = task.n_planes - first;
    if (left >= 4) {
      launch<2, false, kTerms>(task, first, n_sm, stream);
      first += 4;
    } else if (left >= 2) {
      launch<1, false, kTerms>(task, first, n_sm, stream);
      first += 2;
    } else {
      launch<1, true, kTerms>(task, first, n_sm, stream);
      first += 1;
    }
  }
}

}  // namespace

void launch_tensor_grid(const TensorGridTask& task, TensorTerms terms, int n_sm, cudaStream_t stream) {
  if (task.n_selected == 0) return;
  list_starts<<<blocks_of(task.n_selected), apsyn::kThreads, 0, stream>>>(task);
  launched("listing where tasks begin");
  if (terms == TensorTerms::three)
    launch_planes<3>(task, n_sm, stream);
  else
    launch_planes<4>(task, n_sm, stream);
}

}  // namespace apsyn::idg_cuda
