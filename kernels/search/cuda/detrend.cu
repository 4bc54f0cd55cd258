// SPDX-License-Identifier: GPL-3.0-or-later
// What windows are sums of: weights, the statistics of segments, and running sums of the series without
// trends. A block takes one segment for its statistics, and one series for running sums, which need all that
// is before.
#include <cub/block/block_scan.cuh>

#include "kernels/common/cuda/launch.cuh"
#include "kernels/search/cuda/kernels.cuh"

namespace apsyn::series {
namespace {

// The CPU's, see series.cpp.
constexpr int kMaxPieces = 64, kFewestPieces = 4, kPieceSamples = 16;

constexpr int kStatisticsBlock = 512, kScanBlock = 512;
constexpr int kScanItems = 8;  ///< of a thread at a time

struct Bounds {
  int begin, end;
};
__device__ Bounds bounds_of(const Segments& s, int segment) {
  return {segment * s.segment, segment + 1 == s.n_segment ? s.end_of_last : (segment + 1) * s.segment};
}

__global__ void __launch_bounds__(kScanBlock) weights_kernel(SearchTask task) {
  using Scan = cub::BlockScan<float, kScanBlock>;
  using WideScan = cub::BlockScan<double, kScanBlock>;
  __shared__ union {
    typename Scan::TempStorage narrow;
    typename WideScan::TempStorage wide;
  } scratch;
  const int n = task.segments.n_time;
  const Weight w = task.weight[blockIdx.x];
  float* weights = task.weights + std::size_t(blockIdx.x) * n;
  double* sums = task.weight_sums + std::size_t(blockIdx.x) * (n + 1);
  for (int t = threadIdx.x; t < n; t += kScanBlock) weights[t] = 0;
  __syncthreads();
  for (unsigned i = threadIdx.x; i < w.n_change; i += kScanBlock)
    if (const Change change = task.changes[w.first_change + i]; change.at < unsigned(n))
      atomicAdd(weights + change.at, change.step);
  float weight_before = w.first;
  double sum_before = 0;
  for (int first = 0; first < n; first += kScanBlock) {
    __syncthreads();
    const int t = first + threadIdx.x;
    float step = t < n ? weights[t] : 0, weight = 0, all = 0;
    Scan(scratch.narrow).InclusiveSum(step, weight, all);
    __syncthreads();
    weight += weight_before;
    double sum = 0, whole = 0;
    WideScan(scratch.wide).InclusiveSum(t < n ? double(weight) : 0.0, sum, whole);
    if (t < n) weights[t] = weight, sums[t + 1] = sum_before + sum;
    weight_before += all, sum_before += whole;
  }
  if (threadIdx.x == 0) sums[0] = 0;
}

/// The (n / 2)-th smallest of n values in shared memory, 0 of none; for all threads. As median_of().
__device__ double median(const double* values, int n, double* result) {
  __syncthreads();
  if (threadIdx.x == 0) *result = 0;
  __syncthreads();
  if (int(threadIdx.x) < n) {
    const double own = values[threadIdx.x];
    int rank = 0;
    for (int i = 0; i < n; ++i) rank += values[i] < own || (values[i] == own && i < int(threadIdx.x));
    if (rank == n / 2) *result = own;
  }
  __syncthreads();
  return *result;
}

__device__ double chi_squared_median(double degrees_of_freedom) {
  const double root = 1 - 2 / (9 * degrees_of_freedom);
  return root * root * root;
}

struct PieceSums {
  double value, square, weight, weight_square, product, n;
};

__device__ double warp_sum(double x) {
  for (int d = 16; d > 0; d /= 2) x += __shfl_down_sync(0xffffffffu, x, d);
  return x;
}

/// measure_segment() of series.h.
__global__ void __launch_bounds__(kStatisticsBlock) statistics_kernel(SearchTask task) {
  __shared__ PieceSums pieces[kMaxPieces];
  __shared__ PieceSums valid[kMaxPieces];
  __shared__ double values[kMaxPieces];
  __shared__ double result;
  __shared__ int n_valid;
  const int segment = blockIdx.x, series = blockIdx.y;
  const Bounds at = bounds_of(task.segments, segment);
  const int size = at.end - at.begin;
  const int n_piece = max(min(kFewestPieces, size), min(kMaxPieces, size / kPieceSamples));
  const float* from = task.values + series * task.stride + at.begin;
  const Weight w = task.weight[series];
  const float* weights =
      w.n_change > 0 ? task.weights + std::size_t(series) * task.segments.n_time + at.begin : nullptr;
  const int lane = threadIdx.x % 32;
  for (int piece = threadIdx.x / 32; piece < n_piece; piece += kStatisticsBlock / 32) {
    const int first = static_cast<int>(std::int64_t(piece) * size / n_piece),
              end = static_cast<int>(std::int64_t(piece + 1) * size / n_piece);
    float value = 0, square = 0, weight = 0, weight_square = 0, product = 0;
    for (int t = first + lane; t < end; t += 32) {
      const float x = from[t];
      value += x, square += x * x;
      if (weights != nullptr) {
        const float y = weights[t];
        weight += y, weight_square += y * y, product += x * y;
      }
    }
    PieceSums sums{warp_sum(value),         warp_sum(square),  warp_sum(weight),
                   warp_sum(weight_square), warp_sum(product), double(end - first)};
    if (weights == nullptr) {
      sums.weight = double(w.first) * sums.n;
      sums.weight_square = double(w.first) * sums.weight;
      sums.product = double(w.first) * sums.value;
    }
    if (lane == 0) pieces[piece] = sums;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    n_valid = 0;
    for (int i = 0; i < n_piece; ++i)
      if (pieces[i].weight > 0) valid[n_valid++] = pieces[i];
  }
  __syncthreads();
  Statistics& out = task.statistics[std::size_t(series) * task.segments.n_segment + segment];
  const int n = n_valid;
  if (n < kFewestPieces) {
    if (threadIdx.x == 0) out = {0, 0, 0};
    return;
  }
  const PieceSums own = valid[min(int(threadIdx.x), n - 1)];
  double length = 0;
  for (int i = 0; i < n; ++i) length += valid[i].n;
  length /= n;
  if (int(threadIdx.x) < n) values[threadIdx.x] = own.value / own.weight;
  const double level = median(values, n, &result);
  if (int(threadIdx.x) < n)
    values[threadIdx.x] =
        (own.square - 2 * level * own.product + level * level * own.weight_square) / own.weight;
  const double variance = max(0.0, median(values, n, &result) / chi_squared_median(length));
  if (!(variance > 0)) {
    if (threadIdx.x == 0) out = {0, 0, 0};
    return;
  }
  if (int(threadIdx.x) < n)
    values[threadIdx.x] = fabs((own.value - level * own.weight) / sqrt(variance * own.weight));
  const double spread = 1.4826 * median(values, n, &result);
  const double chance = 1 + 8 / sqrt(double(n));
  if (threadIdx.x == 0) out = {level, variance, max(0.0, spread * spread - chance) / length};
}

__device__ double gain_of(const Statistics& s) {
  return s.variance > 0 ? 1 / sqrt(s.variance) : 0;
}

/// One half of a segment, as in series.cpp.
struct Line {
  float level, level_slope, gain, gain_slope, first;
  int from;
};
__device__ Line line_of(const SearchTask& task, int series, int t) {
  const Segments& s = task.segments;
  const int segment = min(t / s.segment, s.n_segment - 1);
  const Bounds at = bounds_of(s, segment);
  const int length = at.end - at.begin, middle = at.begin + length / 2;
  const Statistics* statistics = task.statistics + std::size_t(series) * s.n_segment;
  const Statistics now = statistics[segment];
  Statistics other{0, 0, 0};
  double distance = 1;
  Line line{float(now.level), 0, float(gain_of(now)), 0, 0, t < middle ? at.begin : middle};
  line.first = float(double(line.from - at.begin) + 0.5 - double(length) / 2);
  if (t < middle) {
    if (segment > 0)
      other = statistics[segment - 1];
    else if (task.before != nullptr)
      other = task.before[series];
    distance = -double(length + s.segment) / 2;  // all before are whole segments
  } else if (segment + 1 < s.n_segment) {
    other = statistics[segment + 1];
    const Bounds next = bounds_of(s, segment + 1);
    distance = double(length + next.end - next.begin) / 2;
  }
  if (other.variance > 0 && now.variance > 0) {
    line.level_slope = float((other.level - now.level) / distance);
    line.gain_slope = float((gain_of(other) - gain_of(now)) / distance);
  }
  return line;
}

__global__ void __launch_bounds__(kScanBlock) detrend_kernel(SearchTask task) {
  using Scan = cub::BlockScan<double, kScanBlock>;
  __shared__ typename Scan::TempStorage scratch;
  const int series = blockIdx.x, n = task.segments.n_time;
  const float* values = task.values + series * task.stride;
  const Weight w = task.weight[series];
  const float* weights = w.n_change > 0 ? task.weights + std::size_t(series) * n : nullptr;
  double* sums = task.sums + std::size_t(series) * (n + 1);
  double before = 0;
  for (int first = 0; first < n; first += kScanBlock * kScanItems) {
    double item[kScanItems], all = 0;
    const int own = first + int(threadIdx.x) * kScanItems;
    Line line{};
    int line_end = -1;  // a thread's neighbours are nearly always on one line
#pragma unroll
    for (int i = 0; i < kScanItems; ++i) {
      item[i] = 0;
      const int t = own + i;
      if (t >= n) continue;
      if (t >= line_end) {
        line = line_of(task, series, t);
        const Bounds at =
            bounds_of(task.segments, min(t / task.segments.segment, task.segments.n_segment - 1));
        const int middle = at.begin + (at.end - at.begin) / 2;
        line_end = t < middle ? middle : at.end;
      }
      const float time = line.first + float(t - line.from);
      const float level = __fadd_rn(line.level, __fmul_rn(line.level_slope, time));
      const float gain = __fadd_rn(line.gain, __fmul_rn(line.gain_slope, time));
      const float weight = weights != nullptr ? weights[t] : w.first;
      item[i] = double(__fmul_rn(__fsub_rn(values[t], __fmul_rn(weight, level)), gain));
    }
    __syncthreads();
    Scan(scratch).InclusiveSum(item, item, all);
#pragma unroll
    for (int i = 0; i < kScanItems; ++i)
      if (own + i < n) sums[own + i + 1] = before + item[i];
    before += all;
  }
  if (threadIdx.x == 0) sums[0] = 0;
}

}  // namespace

void launch_weights(const SearchTask& task, cudaStream_t stream) {
  weights_kernel<<<task.n_series, kScanBlock, 0, stream>>>(task);
  launched("spreading weights");
}

void launch_statistics(const SearchTask& task, cudaStream_t stream) {
  statistics_kernel<<<dim3(task.segments.n_segment, task.n_series), kStatisticsBlock, 0, stream>>>(task);
  launched("measuring series");
}

void launch_detrend(const SearchTask& task, cudaStream_t stream) {
  detrend_kernel<<<task.n_series, kScanBlock, 0, stream>>>(task);
  launched("detrending series");
}

}  // namespace apsyn::series
