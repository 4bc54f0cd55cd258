// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/correlate/cuda/x_stage/means.cuh"

#include <stdexcept>

#include "kernels/common/cuda/check.h"
#include "kernels/common/cuda/launch.cuh"

namespace apsyn::x_stage {
namespace {

/// A block owns 16 antennas j of one antenna i, and 16 averaged channels: neighbouring threads read
/// neighbouring antennas' sums and, through shared memory, write neighbouring channels.
constexpr int kSide = 16, kMaxProducts = 4;

__device__ __forceinline__ std::size_t pair_of(int i, int j, int n) {
  return std::size_t(i) * n - std::size_t(i) * (i + 1) / 2 + j;
}

__device__ __forceinline__ longlong2 integer_sum(const TileSums& sums, int chan, int i, int j) {
  longlong2 value = make_longlong2(0, 0);
  if (sums.total != nullptr)
    value = sums.total[chan * (pair_of(sums.n_input - 1, sums.n_input - 1, sums.n_input) + 1) +
                       pair_of(i, j, sums.n_input)];
  if (sums.sums != nullptr) {
    const int2 recent = tile_sum(sums, chan, i, j);
    value.x += recent.x;
    value.y += recent.y;
  }
  return value;
}

__device__ __forceinline__ double2 sum_of(const TileSums& sums, int chan, int i, int j) {
  const longlong2 value = integer_sum(sums, chan, i, j);
  return make_double2(double(value.x), double(value.y));
}
__device__ __forceinline__ double2 sum_of(const FloatPairSums& sums, int chan, int i, int j) {
  const double2* part = sums.sums + chan * sums.chan_stride + pair_of(i, j, sums.n_input) * sums.pair_stride;
  double2 sum = *part;
#pragma unroll 1
  for (int k = 1; k < sums.n_parts; ++k) {
    part += sums.part_stride;
    sum.x += part->x;
    sum.y += part->y;
  }
  return sum;
}

template <class Sums>
__global__ void __launch_bounds__(kSide* kSide) means(Sums sums, MeanTask task) {
  __shared__ float2 values[kSide][kSide][kMaxProducts + 1];  // [antenna][channel]
  __shared__ float weights[kSide][kSide + 1][kMaxProducts];
  const int n_out = task.n_chan / task.n_average, n_product = task.n_pol * task.n_pol;
  const int ant1 = blockIdx.y, first_ant = blockIdx.x * kSide, first_out = blockIdx.z * kSide;
  const int ant_step = threadIdx.x % kSide, out_step = threadIdx.x / kSide;
  const int first_ant2 = task.with_autos ? ant1 : ant1 + 1;
  if (first_ant + kSide <= first_ant2) return;

  const int ant2 = first_ant + ant_step, out = first_out + out_step;
  if (ant2 >= first_ant2 && ant2 < task.n_ant && out < n_out) {
    const std::size_t n_ant_pairs = pair_of(task.n_ant - 1, task.n_ant - 1, task.n_ant) + 1;
#pragma unroll 1
    for (int product = 0; product < n_product; ++product) {
      const int i = ant1 * task.n_pol + product / task.n_pol, j = ant2 * task.n_pol + product % task.n_pol;
      double re = 0, im = 0;
      std::int64_t valid = 0;
      for (int chan = out * task.n_average; chan < (out + 1) * task.n_average; ++chan) {
        const std::int64_t n =
            task.counts == nullptr
                ? task.n_valid
                : task.counts[chan / task.n_fine * n_ant_pairs + pair_of(ant1, ant2, task.n_ant)];
        if (n == 0) continue;
        double2 sum = i <= j ? sum_of(sums, chan, i, j) : sum_of(sums, chan, j, i);
        if (i > j) sum.y = -sum.y;
        if (task.inverse_gains != nullptr) {
          const double2 gi = task.inverse_gains[std::size_t(chan) * sums.n_input + i],
                        gj = task.inverse_gains[std::size_t(chan) * sums.n_input + j];
          if (isnan(gi.x) || isnan(gj.x)) continue;
          const double2 gain = make_double2(gi.x * gj.x + gi.y * gj.y, gi.y * gj.x - gi.x * gj.y);
          sum = make_double2(sum.x * gain.x - sum.y * gain.y, sum.x * gain.y + sum.y * gain.x);
        }
        re += sum.x;
        im += sum.y;
        valid += n;
      }
      const double factor = valid > 0 ? task.scale * task.scale / double(valid) : 0.0;
      const float2 value = make_float2(float(re * factor), i == j ? 0.0f : float(im * factor));
      const bool good = valid > 0 && isfinite(value.x) && isfinite(value.y);
      values[ant_step][out_step][product] = good ? value : make_float2(0, 0);
      weights[ant_step][out_step][product] = good ? float(double(valid) / task.full) : 0.0f;
    }
  }
  __syncthreads();
  const int row = kSide * n_product;
  for (int k = threadIdx.x; k < kSide * row; k += kSide * kSide) {
    const int step = k / row, chan = k % row / n_product, product = k % n_product;
    const int other = first_ant + step;
    if (other < first_ant2 || other >= task.n_ant || first_out + chan >= n_out) continue;
    const std::size_t baseline =
        task.with_autos ? pair_of(ant1, other, task.n_ant) : pair_of(ant1, other, task.n_ant) - ant1 - 1;
    const std::size_t at = (baseline * n_out + first_out + chan) * n_product + product;
    task.data[at] = values[step][chan][product];
    task.weight[at] = weights[step][chan][product];
  }
}

__device__ __forceinline__ void total_of(const TileSums& sums, int chan, int i, int j, longlong2& total) {
  total = integer_sum(sums, chan, i, j);
}
template <class Sums>
__device__ __forceinline__ void total_of(const Sums& sums, int chan, int i, int j, double2& total) {
  total = sum_of(sums, chan, i, j);
}

/// A block owns row i of one channel: pairs (i, j >= i).
template <bool kAdd, class Sums, class Total>
__global__ void collect(Sums sums, Total* total) {
  const int i = blockIdx.x, chan = blockIdx.y;
  const std::size_t n_pairs = pair_of(sums.n_input - 1, sums.n_input - 1, sums.n_input) + 1;
  for (int j = i + threadIdx.x; j < sums.n_input; j += blockDim.x) {
    Total value, &to = total[chan * n_pairs + pair_of(i, j, sums.n_input)];
    total_of(sums, chan, i, j, value);
    if constexpr (kAdd) {
      value.x += to.x;
      value.y += to.y;
    }
    to = value;
  }
}

bool fits(const MeanTask& task, int n_input) {
  return task.n_ant > 0 && (task.n_pol == 1 || task.n_pol == 2) && task.n_average > 0 && task.n_fine > 0 &&
         task.n_ant * task.n_pol == n_input && task.n_chan % task.n_average == 0 &&
         task.n_chan % task.n_fine == 0;
}

template <class Sums>
void launch(const Sums& sums, const MeanTask& task, cudaStream_t stream) {
  if (!fits(task, sums.n_input)) throw std::logic_error("launch_means: means of another shape than the sums");
  if (!task.with_autos && task.n_ant == 1) return;  // no baselines
  const int n_out = task.n_chan / task.n_average;
  const dim3 grid((task.n_ant + kSide - 1) / kSide, task.n_ant, (n_out + kSide - 1) / kSide);
  means<<<grid, kSide * kSide, 0, stream>>>(sums, task);
  cuda_check(cudaGetLastError(), "launching the X stage's means");
}

__global__ void add_sums(double2* sums, const double* values, std::size_t n) {
  const std::size_t at = this_thread();
  if (at >= n) return;
  sums[at].x += values[2 * at];
  sums[at].y += values[2 * at + 1];
}

}  // namespace

void launch_collect(const TileSums& sums, int n_chan, longlong2* total, cudaStream_t stream) {
  collect<false><<<dim3(sums.n_input, n_chan), 128, 0, stream>>>(sums, total);
  cuda_check(cudaGetLastError(), "launching the X stage's sums to int64");
}
void launch_collect(const TileSums& sums, int n_chan, double2* total, bool add, cudaStream_t stream) {
  const dim3 grid(sums.n_input, n_chan);
  if (add)
    collect<true><<<grid, 128, 0, stream>>>(sums, total);
  else
    collect<false><<<grid, 128, 0, stream>>>(sums, total);
  cuda_check(cudaGetLastError(), "launching the X stage's sums to float64");
}
void launch_collect(const FloatPairSums& sums, int n_chan, double2* total, cudaStream_t stream) {
  collect<false><<<dim3(sums.n_input, n_chan), 128, 0, stream>>>(sums, total);
  cuda_check(cudaGetLastError(), "launching the X stage's collection of sums");
}

void launch_means(const TileSums& sums, const MeanTask& task, cudaStream_t stream) {
  launch(sums, task, stream);
}
void launch_means(const FloatPairSums& sums, const MeanTask& task, cudaStream_t stream) {
  launch(sums, task, stream);
}

void launch_add_sums(double2* sums, const double* values, std::size_t n, cudaStream_t stream) {
  if (n == 0) return;
  add_sums<<<blocks_of(n), kThreads, 0, stream>>>(sums, values, n);
  launched("adding sums of pairs");
}

}  // namespace apsyn::x_stage
