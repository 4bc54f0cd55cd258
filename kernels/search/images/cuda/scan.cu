// SPDX-License-Identifier: GPL-3.0-or-later
// All trials and windows of a tile of 16 pixels, as scan_tile() of tile.cpp. A block takes a tile, a warp of
// it a trial and some groups of frames at a time: sums over channels, a lane 8 pixels of a frame; sums over
// windows, each of two before it, in shared memory; and the best window of each group and pixel.
//
// Pairs are added as one integer, see kernels.cuh, where no sum can leave 16 bits, and one by one with
// saturation elsewhere, which gives the integers of tile.cpp.
#include "kernels/common/cuda/launch.cuh"
#include "kernels/search/images/cuda/kernels.cuh"

namespace apsyn::curves {
namespace {

constexpr std::uint32_t kPixels = kDeviceTilePixels;
constexpr int kWarp = 32, kVectorWords = 4, kTileVectors = kTileWords / kVectorWords;
constexpr std::int32_t kLimit = 32767;
constexpr int kMaxThreads = 256;

struct Pair {
  std::int32_t low, high;
};
__device__ __forceinline__ Pair split(std::uint32_t pair) {
  return {std::int16_t(pair & 0xffffu), std::int16_t((pair + 0x8000u) >> 16)};
}
__device__ __forceinline__ std::int32_t saturated(std::int32_t sum) {
  return min(max(sum, -kLimit - 1), kLimit);
}
template <bool kSaturates>
__device__ __forceinline__ std::uint32_t add(std::uint32_t a, std::uint32_t b) {
  if constexpr (!kSaturates) return a + b;
  const Pair x = split(a), y = split(b);
  return (std::uint32_t(saturated(x.high + y.high)) << 16) + std::uint32_t(saturated(x.low + y.low));
}
template <bool kSaturates>
__device__ __forceinline__ void add_to(uint4& sum, const uint4& x) {
  sum.x = add<kSaturates>(sum.x, x.x), sum.y = add<kSaturates>(sum.y, x.y);
  sum.z = add<kSaturates>(sum.z, x.z), sum.w = add<kSaturates>(sum.w, x.w);
}
__device__ __forceinline__ std::int32_t magnitude(std::uint32_t pair) {
  const Pair x = split(pair);
  return max(abs(x.low), abs(x.high));
}
__device__ __forceinline__ std::int32_t magnitude(const uint4& x) {
  return max(max(magnitude(x.x), magnitude(x.y)), max(magnitude(x.z), magnitude(x.w)));
}

/// What a warp works on: `n` frames in which windows begin, from `begin` on, of one trial.
struct Item {
  std::uint32_t trial, begin, n;
};

/// Sums over channels of n + longest - 1 frames. Returns the lane's largest magnitude.
template <bool kSaturates>
__device__ __forceinline__ std::int32_t sum_channels(const Curves& curves, const Scan& scan, const Item& item,
                                                     const uint4* tile, uint4* sums) {
  const std::uint32_t n_sum = item.n + scan.group - 1, lane = threadIdx.x % kWarp, half = lane % kTileVectors;
  const std::uint32_t* delay = scan.delay + std::size_t(item.trial) * curves.n_chan;
  constexpr int kUnroll = kSaturates ? 1 : 4;
  std::int32_t largest = 0;
  for (std::uint32_t t = lane / kTileVectors; t < n_sum; t += kWarp / kTileVectors) {
    // below twice the ring's length, as delays and windows fit into it
    const std::uint32_t at = scan.place + item.begin + t;
    uint4 sum = make_uint4(0, 0, 0, 0);
#pragma unroll kUnroll
    for (std::uint32_t chan = 0; chan < curves.n_chan; ++chan) {
      std::uint32_t place = at + __ldg(delay + chan);
      if (place >= curves.n_frame) place -= curves.n_frame;
      add_to<kSaturates>(sum,
                         __ldg(tile + (std::size_t(chan) * curves.n_frame + place) * kTileVectors + half));
    }
    sums[t * kTileVectors + half] = sum;
    largest = max(largest, magnitude(sum));
  }
  return largest;
}

/// Windows of one width that are above the threshold go to the best ones, which are ordered by S/N, then the
/// shortest, then the earliest.
__device__ void keep(const Scan& scan, const Item& item, std::uint32_t width, std::uint32_t i,
                     const Pair& sum, unsigned long long* best) {
  const std::uint32_t t = i / kTileWords;
  const std::size_t row = (std::size_t(item.trial) * scan.n_width + width) * scan.n_begin + item.begin + t;
  const std::int32_t below = scan.below[row];
  const float to_sn = scan.to_sn[row];
  for (std::uint32_t pixel = 0; pixel < 2; ++pixel) {
    const std::int32_t value = pixel == 0 ? sum.low : sum.high;
    const float sn = float(value) * to_sn;
    if (value <= below || double(sn) < scan.threshold || !(sn > 0)) continue;
    const std::uint32_t rank = 0xffffffffu - (width * scan.chunk + t);
    atomicMax(best + t / scan.group * kPixels + i % kTileWords * 2 + pixel,
              static_cast<unsigned long long>(__float_as_uint(sn)) << 32 | rank);
  }
}

/// Sums of windows of all widths, and a look at each. Whether any may be above the threshold.
template <bool kSaturates>
__device__ __forceinline__ bool look(const Scan& scan, const Item& item, std::uint32_t* sums,
                                     std::uint32_t stride, unsigned long long* best) {
  const std::uint32_t n_sum = item.n + scan.group - 1;
  bool any = false;
  for (std::uint32_t number = 0; number < scan.n_step; ++number) {
    const Step step = scan.step[number];
    const bool is_wanted = step.wanted != Step::kNone, is_stored = number > 0 && step.slot != Step::kNone;
    const std::int32_t least =
        is_wanted ? __ldg(scan.min_below + std::size_t(item.trial) * scan.n_width + step.wanted) : kLimit;
    const std::uint32_t *a = sums + step.first * stride,
                        *b = sums + step.second * stride + step.shift * kTileWords;
    std::uint32_t* to = sums + (is_stored ? step.slot : 0) * stride;
    const std::uint32_t n_look = item.n * kTileWords,
                        n = is_stored ? (n_sum + 1 - step.width) * kTileWords : n_look;
    __syncwarp();
    for (std::uint32_t i = threadIdx.x % kWarp; i < n; i += kWarp) {
      const std::uint32_t pair = number == 0 ? sums[i] : add<kSaturates>(a[i], b[i]);
      if (is_stored) to[i] = pair;
      const Pair sum = split(pair);
      if (max(sum.low, sum.high) <= least || i >= n_look) continue;
      keep(scan, item, step.wanted, i, sum, best);
      any = true;
    }
  }
  return __any_sync(0xffffffffu, any);
}

__device__ __forceinline__ void emit(const Scan& scan, const Item& item, std::uint32_t tile,
                                     unsigned long long* best) {
  const std::uint32_t n = (item.n + scan.group - 1) / scan.group * kPixels;
  __syncwarp();
  for (std::uint32_t i = threadIdx.x % kWarp; i < n; i += kWarp) {
    const unsigned long long key = best[i];
    if (key == 0) continue;
    best[i] = 0;
    const std::uint32_t place = atomicAdd(scan.n_hit, 1u), rank = 0xffffffffu - std::uint32_t(key);
    if (place < scan.capacity)
      scan.hits[place] = {item.trial, rank / scan.chunk, item.begin + rank % scan.chunk,
                          tile * kPixels + i % kPixels, __uint_as_float(std::uint32_t(key >> 32))};
  }
  __syncwarp();
}

/// A block's largest of all its threads' values, to all of them.
__device__ std::int32_t largest_of_block(std::int32_t value, std::int32_t* shared) {
  __syncthreads();
  if (threadIdx.x == 0) *shared = 0;
  __syncthreads();
  value = __reduce_max_sync(0xffffffffu, value);
  if (threadIdx.x % kWarp == 0) atomicMax(shared, value);
  __syncthreads();
  return *shared;
}

__global__ void __launch_bounds__(kMaxThreads, 4) scan_kernel(Curves curves, Scan scan) {
  extern __shared__ uint4 memory[];
  __shared__ std::int32_t shared_largest;
  const std::uint32_t warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const std::size_t bytes = scan.warp_bytes;
  unsigned char* own = scan.scratch != nullptr
                           ? scan.scratch + (std::size_t(blockIdx.x) * scan.n_warp + warp) * bytes
                           : reinterpret_cast<unsigned char*>(memory) + warp * bytes;
  auto* best = reinterpret_cast<unsigned long long*>(own);
  const std::uint32_t n_best = scan.chunk / scan.group * kPixels,
                      stride = (scan.chunk + scan.group - 1) * kTileWords;
  auto* sums = reinterpret_cast<std::uint32_t*>(best + n_best);
  for (std::uint32_t i = lane; i < n_best; i += kWarp) best[i] = 0;
  const std::uint32_t n_chunk = (scan.n_begin + scan.chunk - 1) / scan.chunk;
  for (std::uint32_t number = blockIdx.x; number < scan.n_tile; number += gridDim.x) {
    const std::uint32_t tile_number = scan.first_tile + number;
    const std::size_t tile_vectors = std::size_t(curves.n_chan) * curves.n_frame * kTileVectors;
    const uint4* tile = reinterpret_cast<const uint4*>(curves.ring) + tile_number * tile_vectors;
    std::int32_t largest = 0;
    for (std::uint32_t chan = warp; chan < curves.n_chan; chan += scan.n_warp)
      for (std::uint32_t i = lane; i < scan.reach * kTileVectors; i += kWarp) {
        std::uint32_t place = scan.place + i / kTileVectors;
        if (place >= curves.n_frame) place -= curves.n_frame;
        largest =
            max(largest, magnitude(__ldg(tile + (std::size_t(chan) * curves.n_frame + place) * kTileVectors +
                                         i % kTileVectors)));
      }
    largest = largest_of_block(largest, &shared_largest);
    const bool channels_fit = std::int64_t(largest) * curves.n_chan <= kLimit;
    for (std::uint32_t i = warp; i < scan.n_trial * n_chunk; i += scan.n_warp) {
      const std::uint32_t begin = i % n_chunk * scan.chunk;
      const Item item{i / n_chunk, begin, min(scan.chunk, scan.n_begin - begin)};
      auto* vectors = reinterpret_cast<uint4*>(sums);
      std::int32_t sum = channels_fit ? sum_channels<false>(curves, scan, item, tile, vectors)
                                      : sum_channels<true>(curves, scan, item, tile, vectors);
      sum = __reduce_max_sync(0xffffffffu, sum);
      const bool any = std::int64_t(sum) * scan.group <= kLimit ? look<false>(scan, item, sums, stride, best)
                                                                : look<true>(scan, item, sums, stride, best);
      if (any) emit(scan, item, tile_number, best);
      __syncwarp();
    }
  }
}

}  // namespace

void launch_scan(const Curves& curves, const Scan& scan, cudaStream_t stream) {
  if (scan.n_tile == 0 || scan.n_begin == 0) return;
  if (scan.shared_bytes > 0) {
    cuda_check(cudaFuncSetAttribute(scan_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(scan.shared_bytes)),
               "asking for shared memory");
    // the rest stays a cache, in which samples are found again by the next trials
    cuda_check(cudaFuncSetAttribute(scan_kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 80),
               "asking for shared memory");
  }
  const std::uint32_t n_block = scan.scratch != nullptr ? std::min(scan.n_block, scan.n_tile) : scan.n_tile;
  scan_kernel<<<n_block, scan.n_warp * kWarp, scan.scratch != nullptr ? 0 : scan.shared_bytes, stream>>>(
      curves, scan);
  launched("searching images");
}

}  // namespace apsyn::curves
