// SPDX-License-Identifier: GPL-3.0-or-later
// Windows above the threshold. A block takes one tile of one series. Few tiles hold a hit: the best window of
// a tile is found once, and again with those taken out that overlap, until none is above the threshold.
#include <cub/block/block_reduce.cuh>

#include "kernels/common/cuda/launch.cuh"
#include "kernels/search/cuda/kernels.cuh"

namespace apsyn::series {
namespace {

// The CPU's, see series.cpp.
constexpr float kMinWeight = 0.25f, kEvenWeight = 0.99f;

constexpr int kWindowBlock = 256;
constexpr int kSharedWidths = 64;  ///< filters that are prepared together

struct Taken {
  int begin, end;
};
struct Filter {
  int width;
  float scale;   ///< S/N of a sum
  double least;  ///< sum that is worth a look
};

__global__ void __launch_bounds__(kWindowBlock) windows_kernel(SearchTask task) {
  using Largest = cub::BlockReduce<unsigned long long, kWindowBlock>;
  using Extreme = cub::BlockReduce<float, kWindowBlock>;
  __shared__ union {
    typename Largest::TempStorage largest;
    typename Extreme::TempStorage extreme;
  } scratch;
  __shared__ unsigned long long best_key;
  __shared__ float low, high;
  __shared__ Taken taken[kMaxHits];
  __shared__ Filter filters[kSharedWidths];
  const Tile tile = task.tiles[blockIdx.x];
  const int series = blockIdx.y, n_time = task.segments.n_time;
  const Statistics statistics = task.statistics[std::size_t(series) * task.segments.n_segment + tile.segment];
  if (!(statistics.variance > 0)) return;
  const int n_value = min(tile.end + task.widths[task.n_width - 1] - 1, n_time) - tile.begin;
  const double* sums = task.sums + std::size_t(series) * (n_time + 1) + tile.begin;
  const Weight w = task.weight[series];
  const double* weight_sums = nullptr;
  if (w.n_change > 0) {
    const float* weights = task.weights + std::size_t(series) * n_time + tile.begin;
    float least = INFINITY, most = 0;
    for (int t = threadIdx.x; t < n_value; t += kWindowBlock)
      least = fminf(least, weights[t]), most = fmaxf(most, weights[t]);
    least = Extreme(scratch.extreme).Reduce(least, [](float a, float b) { return fminf(a, b); });
    __syncthreads();
    most = Extreme(scratch.extreme).Reduce(most, [](float a, float b) { return fmaxf(a, b); });
    if (threadIdx.x == 0) low = least, high = most;
    __syncthreads();
    if (high < kMinWeight * w.most) return;
    if (!(low >= kEvenWeight * high))
      weight_sums = task.weight_sums + std::size_t(series) * (n_time + 1) + tile.begin;
  } else if (threadIdx.x == 0) {
    high = w.first;
  }
  __syncthreads();
  const float even_weight = high;
  for (int rank = 0; rank < kMaxHits; ++rank) {
    unsigned long long best = 0;
    for (int first = 0; first < task.n_width; first += kSharedWidths) {
      const int n_width = min(kSharedWidths, task.n_width - first);
      __syncthreads();
      if (int(threadIdx.x) < n_width) {
        const int width = task.widths[first + threadIdx.x];
        float scale = rsqrtf(1 + float(statistics.slow) * float(width));
        if (weight_sums == nullptr) scale *= rsqrtf(float(width) * even_weight);
        // a little less: what is above it is looked at again in float32
        filters[threadIdx.x] = {width, scale, double(__fdividef(task.threshold, scale)) * (1 - 1e-5)};
      }
      __syncthreads();
      for (int t = threadIdx.x; t < tile.end - tile.begin; t += kWindowBlock) {
        const double before = sums[t];
        for (int i = 0; i < n_width; ++i) {
          const Filter filter = filters[i];
          if (t + filter.width > n_value) break;
          double sum = sums[t + filter.width] - before;
          if (weight_sums != nullptr) {
            const auto weight = float(weight_sums[t + filter.width] - weight_sums[t]);
            sum = weight >= kMinWeight * w.most * float(filter.width) ? sum * double(rsqrtf(weight)) : 0;
          }
          if (!(sum > filter.least)) continue;
          const float sn = float(sum) * filter.scale;
          if (!(sn > task.threshold)) continue;
          bool apart = true;
          for (int k = 0; k < rank; ++k) apart &= t >= taken[k].end || t + filter.width <= taken[k].begin;
          if (!apart) continue;
          // the highest, then the earliest, then the shortest
          const unsigned long long key = (unsigned long long)(__float_as_uint(sn)) << 32 |
                                         (0xffffu - unsigned(t)) << 16 | (0xffffu - unsigned(first + i));
          best = max(best, key);
        }
      }
    }
    best = Largest(scratch.largest).Reduce(best, [](unsigned long long a, unsigned long long b) {
      return a > b ? a : b;
    });
    if (threadIdx.x == 0) {
      best_key = best;
      if (best != 0) {
        const int t = 0xffff - int(best >> 16 & 0xffff), i = 0xffff - int(best & 0xffff);
        taken[rank] = {t, t + task.widths[i]};
        task.hits[atomicAdd(task.n_hit, 1u)] = {unsigned(series), blockIdx.x,
                                                unsigned(rank),   unsigned(i),
                                                tile.begin + t,   __uint_as_float(unsigned(best >> 32))};
      }
    }
    __syncthreads();
    if (best_key == 0) return;
    __syncthreads();
  }
}

}  // namespace

void launch_windows(const SearchTask& task, cudaStream_t stream) {
  if (task.n_tile == 0) return;
  windows_kernel<<<dim3(task.n_tile, task.n_series), kWindowBlock, 0, stream>>>(task);
  launched("searching series");
}

}  // namespace apsyn::series
