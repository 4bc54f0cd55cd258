// SPDX-License-Identifier: GPL-3.0-or-later
// All blocks run for the whole loop. In each iteration a block subtracts the last component from its own
// pixels, finds its highest pixel in the same pass, and writes it to memory for the others; after one barrier
// over all blocks each of them knows the peak and makes the same component from it. Two sets of messages
// alternate, so that one barrier per iteration is enough. A pixel is only ever touched by its own block:
// others read the peak's values from its messages, as its block may have gone on.
#include <algorithm>

#include "kernels/clean/cuda/loop_kernel.cuh"
#include "kernels/clean/cuda/search_values.cuh"
#include "kernels/common/cuda/attribute.h"
#include "kernels/common/cuda/launch.cuh"

namespace apsyn::clean_cuda {
namespace {

constexpr int kBlock = 512, kWarps = kBlock / 32;
constexpr int kSharedPlanes = 512;
/// Neighbouring pixels of a row that a warp of the whole image's loop takes at a time.
constexpr int kRun = 256;

/// Waits until all blocks have arrived; what they wrote before is then visible to all.
__device__ void grid_barrier(LoopState* state, std::uint32_t& target) {
  __syncthreads();
  target += gridDim.x;
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(&state->arrived, 1u);
    // wraps around as the counter does
    while (static_cast<std::int32_t>(*static_cast<volatile std::uint32_t*>(&state->arrived) - target) < 0) {
    }
    __threadfence();
  }
  __syncthreads();
}

struct Best {
  PeakKey key;
  std::uint32_t at;
};

__device__ Best better(Best a, Best b) {
  return b.key > a.key ? b : a;
}

__device__ Best warp_best(Best best) {
  for (int d = 16; d > 0; d /= 2) {
    const Best other{__shfl_xor_sync(0xffffffffu, best.key, d), __shfl_xor_sync(0xffffffffu, best.at, d)};
    best = better(best, other);
  }
  return best;
}

struct Component {
  std::int64_t psf_at;  ///< of pixel (0, 0): index into the PSF
  int y, x;
  bool any;
};

/// Values for each plane, in shared memory.
struct PlaneParts {
  float flux[kSharedPlanes];
  const float* psf[kSharedPlanes];
};

/// Subtracts a component from one pixel in all planes.
__device__ __forceinline__ void subtract(const LoopTask& task, std::size_t at, std::int64_t psf_at,
                                         const PlaneParts& parts, int n_plane) {
#pragma unroll 2
  for (int p = 0; p < n_plane; ++p) {
    float& value = task.planes.values[p * task.planes.stride + at];
    value = fmaf(-parts.flux[p], __ldg(parts.psf[p] + psf_at), value);
  }
}

/// Pixels of a list.
__device__ Best pass_over_list(const LoopTask& task, const Component& c, const PlaneParts& parts,
                               int n_plane) {
  Best best{0, 0};
  for (std::uint32_t at = blockIdx.x * kBlock + threadIdx.x; at < task.planes.n_pixel;
       at += gridDim.x * kBlock) {
    const std::uint32_t index = task.index[at];
    if (c.any) {
      const int y = static_cast<int>(index / task.nx), x = static_cast<int>(index % task.nx);
      const int psf_y = y - c.y + task.psf_ny / 2, psf_x = x - c.x + task.psf_nx / 2;
      if (psf_y >= 0 && psf_y < task.psf_ny && psf_x >= 0 && psf_x < task.psf_nx)
        subtract(task, at, std::int64_t(psf_y) * task.psf_nx + psf_x, parts, n_plane);
    }
    best = better(best, {peak_key(height_at(task.planes, at, search_value(task.planes, at)), index), at});
  }
  return best;
}

/// All pixels, in runs along rows. `single`: of one plane, whose values are the search values.
template <bool single>
__device__ Best pass_over_image(const LoopTask& task, const Component& c, const PlaneParts& parts,
                                int n_plane) {
  float highest = 0;
  std::uint32_t highest_at = 0;
  const int runs = (task.nx + kRun - 1) / kRun, lane = threadIdx.x % 32;
  const int n_run = runs * task.ny, step = gridDim.x * kWarps;
  const int to_psf_x = task.psf_nx / 2 - c.x;
  const float flux = parts.flux[0];
  const float* psf = parts.psf[0];
  for (int run = blockIdx.x * kWarps + threadIdx.x / 32; run < n_run; run += step) {
    const int y = run / runs, first_x = (run % runs) * kRun;
    const int psf_y = y - c.y + task.psf_ny / 2;
    const bool reached = c.any && psf_y >= 0 && psf_y < task.psf_ny;
    const std::int64_t psf_row = std::int64_t(psf_y) * task.psf_nx + to_psf_x;
#pragma unroll(single ? 4 : 1)
    for (int x = first_x + lane; x < min(first_x + kRun, task.nx); x += 32) {
      const std::size_t at = std::size_t(y) * task.nx + x;
      const bool inside = reached && x + to_psf_x >= 0 && x + to_psf_x < task.psf_nx;
      const std::int64_t psf_at = psf_row + x;
      float value = 0;
      if (single) {
        value = task.planes.values[at];
        if (inside) task.planes.values[at] = value = fmaf(-flux, __ldg(psf + psf_at), value);
      } else {
        if (inside) subtract(task, at, psf_at, parts, n_plane);
        value = search_value(task.planes, at);
      }
      // a thread's pixels come in their order
      const float height = height_at(task.planes, at, value);
      if (height > highest) highest = height, highest_at = static_cast<std::uint32_t>(at);
    }
  }
  return {peak_key(highest, highest_at), highest_at};
}

enum class Pixels { list, image, single_image };

template <Pixels pixels>
__global__ void __launch_bounds__(kBlock) loop_kernel(LoopTask task) {
  __shared__ Best warps[kWarps];
  __shared__ Best own, peak;  // `at` of the peak is its block
  __shared__ PlaneParts parts;
  __shared__ float values[kSharedPlanes];
  __shared__ float search;
  const int n_plane = task.planes.n_group * task.planes.n_pol;
  LoopState& state = *task.state;
  std::uint32_t target = 0;  // of the barrier, which was cleared
  Component c{0, 0, 0, state.has_pending != 0};
  if (c.any) {
    c.y = static_cast<int>(state.pending_index / task.nx),
    c.x = static_cast<int>(state.pending_index % task.nx);
    for (int p = threadIdx.x; p < n_plane; p += kBlock) parts.flux[p] = task.pending_flux[p];
  }
  for (int p = threadIdx.x; p < n_plane; p += kBlock) parts.psf[p] = task.psf[p];
  __syncthreads();
  for (std::uint32_t n = 0;; ++n) {
    Best best;
    if constexpr (pixels == Pixels::list)
      best = pass_over_list(task, c, parts, n_plane);
    else
      best = pass_over_image<pixels == Pixels::single_image>(task, c, parts, n_plane);
    best = warp_best(best);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = best;
    __syncthreads();
    PeakKey* messages = task.block_peaks + (n % 2) * kMaxLoopBlocks;
    if (threadIdx.x < 32) {
      best = warp_best(threadIdx.x < kWarps ? warps[threadIdx.x] : Best{0, 0});
      if (threadIdx.x == 0) {
        __stcg(messages + blockIdx.x, best.key);
        own = best;
      }
    }
    __syncthreads();
    float* block_values = task.block_values + std::size_t(n % 2) * kMaxLoopBlocks * n_plane;
    if (own.key != 0)
      for (int p = threadIdx.x; p < n_plane; p += kBlock)
        __stcg(block_values + std::size_t(blockIdx.x) * n_plane + p,
               task.planes.values[p * task.planes.stride + own.at]);
    grid_barrier(task.state, target);
    if (threadIdx.x < 32) {
      Best all{0, 0};
      for (unsigned block = threadIdx.x; block < gridDim.x; block += 32)
        all = better(all, {__ldcg(messages + block), block});
      all = warp_best(all);
      if (threadIdx.x == 0) peak = all;
    }
    __syncthreads();
    const PeakKey key = peak.key;
    const std::uint32_t index = 0xffffffffu - static_cast<std::uint32_t>(key);
    const float height = __uint_as_float(static_cast<std::uint32_t>(key >> 32));
    if (key != 0)
      for (int p = threadIdx.x; p < n_plane; p += kBlock)
        values[p] = __ldcg(block_values + std::size_t(peak.at) * n_plane + p);
    __syncthreads();
    if (threadIdx.x == 0) {
      SearchPlanes one = task.planes;
      one.values = values, one.stride = 1;
      search = key != 0 ? search_value(one, 0) : 0;
    }
    __syncthreads();
    LoopExit exit = LoopExit::pause;
    bool ends = true;
    if (key == 0)
      exit = LoopExit::nothing_left;
    else if (double(height) <= task.level_jy)
      exit = LoopExit::level;
    else if (n == task.max_components)
      exit = LoopExit::iterations;
    else if (task.stop_at_negative && search < 0)
      exit = LoopExit::negative;
    else if (!(double(height) <= task.divergence_jy))
      exit = LoopExit::divergence;
    else
      ends = task.pauses || n == task.capacity;
    if (ends) {
      if (blockIdx.x != 0) return;
      for (int p = threadIdx.x; p < n_plane && key != 0; p += kBlock) task.peak_values[p] = values[p];
      if (threadIdx.x != 0) return;
      state.n_found = n, state.exit = static_cast<int>(exit);
      state.peak_index = key != 0 ? index : 0, state.peak_height = key != 0 ? height : 0;
      state.peak_value = search;
      return;
    }
    for (int p = threadIdx.x; p < n_plane; p += kBlock) {
      double smooth = double(values[p]);
      if (task.projection != nullptr) {
        const int g = p / task.planes.n_pol, pol = p % task.planes.n_pol;
        smooth = 0;
        for (int other = 0; other < task.planes.n_group; ++other)
          smooth += task.projection[g * task.planes.n_group + other] *
                    double(values[other * task.planes.n_pol + pol]);
      }
      parts.flux[p] = float(task.gain * smooth);
      if (blockIdx.x == 0) task.found_flux[std::size_t(n) * n_plane + p] = parts.flux[p];
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) task.found[n] = {index, height};
    c.any = true, c.y = static_cast<int>(index / task.nx), c.x = static_cast<int>(index % task.nx);
    __syncthreads();
  }
}

}  // namespace

void launch_loop(const LoopTask& task, int device_index, cudaStream_t stream) {
  const bool single = task.planes.n_group * task.planes.n_pol == 1;
  auto* kernel = task.index != nullptr ? loop_kernel<Pixels::list>
                 : single              ? loop_kernel<Pixels::single_image>
                                       : loop_kernel<Pixels::image>;
  const int n_sm = device_attribute(cudaDevAttrMultiProcessorCount, device_index);
  int per_sm = 0;
  cuda_check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, kernel, kBlock, 0),
             "asking for the device's properties");
  const std::size_t wanted = (std::size_t(task.planes.n_pixel) + kBlock - 1) / kBlock;
  const std::size_t most =
      std::min<std::size_t>(kMaxLoopBlocks, std::size_t(n_sm) * std::size_t(std::max(1, per_sm)));
  const auto blocks = static_cast<unsigned>(std::max<std::size_t>(1, std::min(wanted, most)));
  cuda_check(cudaMemsetAsync(&task.state->arrived, 0, sizeof(std::uint32_t), stream),
             "clearing device memory");
  LoopTask own = task;
  void* arguments[] = {&own};
  cuda_check(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), dim3(blocks), dim3(kBlock),
                                         arguments, 0, stream),
             "cleaning");
}

}  // namespace apsyn::clean_cuda
