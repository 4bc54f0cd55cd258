// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/corr/cuda/half.cuh"

#include <algorithm>

#include "kernels/common/cuda/attribute.h"
#include "kernels/common/cuda/check.h"
#include "kernels/common/cuda/sm90/bulk_copy.cuh"
#include "kernels/common/cuda/sm90/warpgroups.cuh"
#include "kernels/common/cuda/sm90/wgmma.cuh"
#include "kernels/epic/corr/cuda/half_sums.cuh"

namespace apsyn::epic_cuda {
namespace {

constexpr int kConsumers = 2, kFormThreads = 128 * (kConsumers + 1);
constexpr int kStages = 13;
constexpr int kSharedBytes = kStages * kPairTileBytes + 1024;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
using namespace ptx;

constexpr int kStepsOfBlock = kHalfBlock / 16;

struct Barriers {
  std::uint32_t full, empty, stages;
};

/// Brings the matrices of one item after the other, and the next item's weights as far as the second cache.
__device__ __forceinline__ void bring_matrices(const HalfFormTask& task, const Barriers& at) {
  const HalfLayout& layout = task.layout;
  const int n_of_item = static_cast<int>(layout.channel_bytes() / kPairTileBytes);
  Ring<kStages> ring;
  for (int index = blockIdx.x; index < n_items(layout); index += gridDim.x) {
    const FormItem item(layout, index);
    const char* from = static_cast<const char*>(task.matrices) + item.channel * layout.channel_bytes();
    for (int i = 0; i < n_of_item; ++i, from += kPairTileBytes) {
      barrier_wait(at.empty + 8 * ring.stage, ring.phase ^ 1);
      barrier_expect(at.full + 8 * ring.stage, kPairTileBytes);
      bulk_copy(at.stages + ring.stage * kPairTileBytes, from, kPairTileBytes, at.full + 8 * ring.stage);
      ring.advance();
    }
    if (index + static_cast<int>(gridDim.x) < n_items(layout)) {
      const FormItem next(layout, index + gridDim.x);
      bulk_prefetch(weights_of(task, next.channel, next.tile),
                    static_cast<std::uint32_t>(2 * layout.tile_bytes()));
    }
  }
}

template <int kBlocks, bool kExact>
struct FormMaker {
  static constexpr int kSteps = kBlocks * kStepsOfBlock;
  using Weights = std::uint32_t[kSteps][4];
  using EightBits = std::uint32_t[kSteps / 2][4];
  const HalfFormTask& task;
  const Barriers& at;
  Ring<kStages> ring;

  __device__ FormMaker(const HalfFormTask& t, const Barriers& b) : task(t), at(b) {}

  __device__ __forceinline__ static void load_weights(const int4* from, Weights& c, Weights& s) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      const int4 re = from[2 * step * 128], im = from[(2 * step + 1) * 128];
      c[step][0] = re.x, c[step][1] = re.y, c[step][2] = re.z, c[step][3] = re.w;
      s[step][0] = im.x, s[step][1] = im.y, s[step][2] = im.z, s[step][3] = im.w;
    }
  }
  __device__ __forceinline__ static void round(const Weights& halves, EightBits& bytes) {
#pragma unroll
    for (int i = 0; i < kSteps / 2; ++i)
#pragma unroll
      for (int r = 0; r < 4; ++r)
        bytes[i][r] = eight_bits_of(halves[2 * i + r / 2][r % 2], halves[2 * i + r / 2][r % 2 + 2]);
  }

  __device__ __forceinline__ void release(int stage) {
    if (threadIdx.x % 32 == 0) barrier_arrive(at.empty + 8 * stage);
  }

  /// z_a = sum_b M_ab conj(w_b) of 64 antennas a, by product(d, sign, step, descriptor).
  template <int kTiles, class Product>
  __device__ __forceinline__ void multiply(const Product& product) {
    int last = 0;
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      barrier_wait(at.full + 8 * ring.stage, ring.phase);
      const std::uint64_t re = swizzled_descriptor(at.stages + ring.stage * kPairTileBytes);
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < 4; ++k) product(tile * 4 + k, re + 2 * k, re + (kPairTileBytes / 2 >> 4) + 2 * k);
      wgmma_commit();
      if (tile > 0) {
        wgmma_wait<1>();
        release(last);
      }
      last = ring.stage;
      ring.advance();
    }
    wgmma_wait<0>();
    release(last);
  }

  /// The form of one matrix in half precision.
  __device__ __forceinline__ FormSums form(const Weights& c, const Weights& s, const int4* corrections) {
    FormSums sums;
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      float zr[32], zi[32];
      multiply<kBlocks>([&](int step, std::uint64_t re, std::uint64_t im) {
        wgmma_f16<64, Fastest::k>(zr, c[step], re, step > 0);
        wgmma_f16<64, Fastest::k>(zi, c[step], im, step > 0);
        wgmma_f16<64, Fastest::k>(zr, s[step], im, 1);
        wgmma_f16<64, Fastest::k, -1>(zi, s[step], re, 1);
      });
#pragma unroll
      for (int k = 0; k < kStepsOfBlock; ++k) {
        const int step = block * kStepsOfBlock + k;
        [[maybe_unused]] int4 dc, ds;
        if constexpr (kExact) dc = corrections[2 * step * 128], ds = corrections[(2 * step + 1) * 128];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float2 wc = floats(c[step][i]), ws = floats(s[step][i]);
          if constexpr (kExact) {
            const int by_c[4] = {dc.x, dc.y, dc.z, dc.w}, by_s[4] = {ds.x, ds.y, ds.z, ds.w};
            const float2 more_c = floats(by_c[i]), more_s = floats(by_s[i]);
            wc.x += more_c.x, wc.y += more_c.y, ws.x += more_s.x, ws.y += more_s.y;
          }
          const int from = 4 * (2 * k + i / 2) + 2 * (i % 2);
          sums.add(i % 2, wc, ws, zr + from, zi + from);
        }
      }
    }
    return sums;
  }

  /// The form of one matrix of 8-bit floats, with `weights` in the sum over a.
  __device__ __forceinline__ FormSums rough_form(const EightBits& c, const EightBits& s,
                                                 const int4* weights) {
    FormSums sums;
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      int4 w[2 * kStepsOfBlock];
#pragma unroll
      for (int i = 0; i < 2 * kStepsOfBlock; ++i) w[i] = weights[(2 * kStepsOfBlock * block + i) * 128];
      float zr[32], zi[32];
      multiply<kBlocks / 2>([&](int step, std::uint64_t re, std::uint64_t im) {
        wgmma_f8<1>(zr, c[step], re, step > 0);
        wgmma_f8<1>(zi, c[step], im, step > 0);
        wgmma_f8<1>(zr, s[step], im, 1);
        wgmma_f8<-1>(zi, s[step], re, 1);
      });
#pragma unroll
      for (int k = 0; k < kStepsOfBlock; ++k) {
        const int by_c[4] = {w[2 * k].x, w[2 * k].y, w[2 * k].z, w[2 * k].w};
        const int by_s[4] = {w[2 * k + 1].x, w[2 * k + 1].y, w[2 * k + 1].z, w[2 * k + 1].w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int from = 4 * (2 * k + i / 2) + 2 * (i % 2);
          sums.add(i % 2, floats(by_c[i]), floats(by_s[i]), zr + from, zi + from);
        }
      }
    }
    return sums;
  }

  __device__ __forceinline__ void run(int consumer) {
    const HalfLayout& layout = task.layout;
    const int thread = threadIdx.x % 128;
    for (int index = blockIdx.x; index < n_items(layout); index += gridDim.x) {
      const FormItem item(layout, index);
      const int tile = item.tile + consumer;
      const auto* weights = reinterpret_cast<const int4*>(weights_of(task, item.channel, tile)) + thread;
      const int4* corrections = weights + layout.limb_bytes() / sizeof(int4);
      Weights c, s;
      load_weights(weights, c, s);
#pragma unroll 1
      for (int matrix = 0; matrix < 2; ++matrix)
        store_form(task, item, tile, matrix, 1, 1, form(c, s, corrections));
      if constexpr (kExact) {
        EightBits rough_c, rough_s;
        round(c, rough_c);
        round(s, rough_s);
        constexpr double kOfWhole = 1 / kEightBitsOfWhole, kOfRest = 1 / kEightBitsOfRest;
#pragma unroll 1
        for (int matrix = 0; matrix < 4; ++matrix) {
          const bool adjoint = matrix < 2;
          const FormSums sums = rough_form(rough_c, rough_s, adjoint ? corrections : weights);
          store_form(task, item, tile, matrix % 2, adjoint ? kOfWhole : kOfRest,
                     adjoint ? -kOfWhole : kOfRest, sums);
        }
      }
    }
  }
};
#endif

template <int kBlocks, bool kExact>
__global__ void __launch_bounds__(kFormThreads, 1) make_forms(const __grid_constant__ HalfFormTask task) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ std::uint8_t dynamic_shared[];
  __shared__ alignas(8) std::uint64_t full[kStages], empty[kStages];
  const Barriers at{shared_address(full), shared_address(empty),
                    shared_address(aligned_tiles(dynamic_shared))};
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      barrier_init(at.full + 8 * stage, 1);
      barrier_init(at.empty + 8 * stage, 4 * kConsumers);
    }
    barrier_fence_init();
  }
  __syncthreads();
  const int group = uniform(threadIdx.x >> 7);
  if (group == kConsumers) {
    fewer_registers<24>();
    if (threadIdx.x % 128 == 0) bring_matrices(task, at);
  } else {
    more_registers<240>();
    FormMaker<kBlocks, kExact>(task, at).run(group);
  }
#endif
}

template <int kBlocks, bool kExact>
void launch(const HalfFormTask& task, int n_sm, cudaStream_t stream) {
  const auto kernel = make_forms<kBlocks, kExact>;
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes),
             "asking for shared memory");
  const int grid = std::min(n_sm, task.layout.n_channel * task.layout.n_tiles() / 2);
  kernel<<<grid, kFormThreads, kSharedBytes, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching forms of pairs");
}

}  // namespace

bool has_half_forms(int device_index) {
  return device_attribute(cudaDevAttrComputeCapabilityMajor, device_index) == 9;
}

void launch_half_forms(const HalfFormTask& task, int n_sm, cudaStream_t stream) {
  if (task.layout.n_blocks() == 2)
    task.layout.exact ? launch<2, true>(task, n_sm, stream) : launch<2, false>(task, n_sm, stream);
  else
    task.layout.exact ? launch<4, true>(task, n_sm, stream) : launch<4, false>(task, n_sm, stream);
}

}  // namespace apsyn::epic_cuda
