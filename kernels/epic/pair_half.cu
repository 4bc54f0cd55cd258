// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/pair_half.cuh"

#include <algorithm>

#include "kernels/common/cuda_check.h"
#include "kernels/common/half_wgmma.cuh"
#include "kernels/common/int8_ptx.cuh"
#include "kernels/common/wgmma_ring.cuh"

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

/// (channel, two tiles of pixels) of a block of threads, one after the other.
struct FormItem {
  int channel, tile;
  __device__ FormItem(const HalfLayout& layout, int index)
      : channel(index / (layout.n_tiles() / 2)), tile(index % (layout.n_tiles() / 2) * 2) {}
};
__device__ __forceinline__ int n_items(const HalfLayout& layout) {
  return layout.n_channel * layout.n_tiles() / 2;
}
__device__ __forceinline__ const char* weights_of(const HalfFormTask& task, int channel, int tile) {
  return static_cast<const char*>(task.weights) +
         (std::size_t(channel) * task.layout.n_tiles() + tile) * task.layout.tile_bytes();
}

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

__device__ __forceinline__ float2 floats(std::uint32_t halves) {
  return __half22float2(*reinterpret_cast<const __half2*>(&halves));
}

/// A lane's sums over antennas of rows r and r + 8, real and imaginary.
struct FormSums {
  float re[2] = {}, im[2] = {};

  /// += w z of two neighbouring antennas of a row
  template <bool kComplex>
  __device__ __forceinline__ void add(int row, float2 c, float2 s, const float* zr, const float* zi) {
    re[row] = fmaf(c.x, zr[0], fmaf(-s.x, zi[0], re[row]));
    re[row] = fmaf(c.y, zr[1], fmaf(-s.y, zi[1], re[row]));
    if constexpr (kComplex) {
      im[row] = fmaf(c.x, zi[0], fmaf(s.x, zr[0], im[row]));
      im[row] = fmaf(c.y, zi[1], fmaf(s.y, zr[1], im[row]));
    }
  }
};

/// Adds a matrix's sums to values first and, where complex, first + 1.
__device__ __forceinline__ void store_form(const HalfFormTask& task, const FormItem& item, int tile,
                                           int first, bool is_complex, const FormSums& sums) {
  const int lane = threadIdx.x % 32, quarter = lane % 4, warp = threadIdx.x / 32 % 4;
  float of[4] = {sums.re[0], sums.im[0], sums.re[1], sums.im[1]};
#pragma unroll
  for (float& value : of) {
    value += __shfl_xor_sync(~0u, value, 1);
    value += __shfl_xor_sync(~0u, value, 2);
  }
  const float mine = quarter < 2 ? (quarter == 0 ? of[0] : of[1]) : (quarter == 2 ? of[2] : of[3]);
  const int pixel = tile * kFormPixels + warp * 16 + lane / 4 + quarter / 2 * 8;
  if (pixel < task.layout.n_pixel && (is_complex || quarter % 2 == 0))
    task.sums[(item.channel * task.n_stride + pixel) * 4 + first + quarter % 2] +=
        static_cast<double>(mine) * task.unit[item.channel];
  __syncwarp();  // another lane adds to the same value next
}

template <int kBlocks, bool kExact>
struct FormMaker {
  static constexpr int kSteps = kBlocks * kStepsOfBlock;
  const HalfFormTask& task;
  const Barriers& at;
  Ring<kStages> ring;
  std::uint32_t c[kSteps][4], s[kSteps][4];

  __device__ FormMaker(const HalfFormTask& t, const Barriers& b) : task(t), at(b) {}

  __device__ __forceinline__ void load_weights(const int4* from) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      const int4 re = from[2 * step * 128], im = from[(2 * step + 1) * 128];
      c[step][0] = re.x, c[step][1] = re.y, c[step][2] = re.z, c[step][3] = re.w;
      s[step][0] = im.x, s[step][1] = im.y, s[step][2] = im.z, s[step][3] = im.w;
    }
  }

  __device__ __forceinline__ void release(int stage) {
    if (threadIdx.x % 32 == 0) barrier_arrive(at.empty + 8 * stage);
  }

  /// z_a = sum_b M_ab conj(w_b) of 64 antennas a.
  __device__ __forceinline__ void multiply(float (&zr)[32], float (&zi)[32]) {
    int last = 0;
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      barrier_wait(at.full + 8 * ring.stage, ring.phase);
      const std::uint64_t re = wgmma_descriptor(at.stages + ring.stage * kPairTileBytes);
      const std::uint64_t im = re + (kPairTileBytes / 2 >> 4);
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < kStepsOfBlock; ++k) {
        const int step = block * kStepsOfBlock + k;
        if (step == 0) {
          wgmma_f16<0, 1>(zr, c[step], re + 2 * k);
          wgmma_f16<0, 1>(zi, c[step], im + 2 * k);
        } else {
          wgmma_f16<1, 1>(zr, c[step], re + 2 * k);
          wgmma_f16<1, 1>(zi, c[step], im + 2 * k);
        }
        wgmma_f16<1, 1>(zr, s[step], im + 2 * k);
        wgmma_f16<1, -1>(zi, s[step], re + 2 * k);
      }
      wgmma_commit();
      if (block > 0) {
        wgmma_wait<1>();
        release(last);
      }
      last = ring.stage;
      ring.advance();
    }
    wgmma_wait<0>();
    release(last);
  }

  /// sums += w_a z_a of the 64 antennas of a block.
  template <bool kComplex>
  __device__ __forceinline__ void detect(int block, const float (&zr)[32], const float (&zi)[32],
                                         const int4* corrections, FormSums& sums) {
#pragma unroll
    for (int k = 0; k < kStepsOfBlock; ++k) {
      const int step = block * kStepsOfBlock + k;
      [[maybe_unused]] int4 dc, ds;
      if constexpr (kExact && !kComplex)
        dc = corrections[2 * step * 128], ds = corrections[(2 * step + 1) * 128];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float2 wc = floats(c[step][i]), ws = floats(s[step][i]);
        if constexpr (kExact && !kComplex) {
          const int by_c[4] = {dc.x, dc.y, dc.z, dc.w}, by_s[4] = {ds.x, ds.y, ds.z, ds.w};
          const float2 more_c = floats(by_c[i]), more_s = floats(by_s[i]);
          wc.x += more_c.x, wc.y += more_c.y, ws.x += more_s.x, ws.y += more_s.y;
        }
        const int from = 4 * (2 * k + i / 2) + 2 * (i % 2);
        sums.template add<kComplex>(i % 2, wc, ws, zr + from, zi + from);
      }
    }
  }

  template <bool kComplex>
  __device__ __forceinline__ FormSums form(const int4* corrections) {
    FormSums sums;
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      float zr[32], zi[32];
      multiply(zr, zi);
      detect<kComplex>(block, zr, zi, corrections, sums);
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
      load_weights(weights);
      if constexpr (kExact) {
        const int4* corrections = weights + layout.limb_bytes() / sizeof(int4);
#pragma unroll 1
        for (int matrix = 0; matrix < 4; ++matrix)
          store_form(task, item, tile, matrix, false, form<false>(corrections));
      }
#pragma unroll 1
      for (int matrix = 0; matrix < 2; ++matrix)
        store_form(task, item, tile, 2 * matrix, true, form<true>(nullptr));
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
  int major = 0;
  cuda_check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device_index),
             "asking for the device's properties");
  return major == 9;
}

void launch_half_forms(const HalfFormTask& task, int n_sm, cudaStream_t stream) {
  if (task.layout.n_blocks() == 2)
    task.layout.exact ? launch<2, true>(task, n_sm, stream) : launch<2, false>(task, n_sm, stream);
  else
    task.layout.exact ? launch<4, true>(task, n_sm, stream) : launch<4, false>(task, n_sm, stream);
}

}  // namespace apsyn::epic_cuda
