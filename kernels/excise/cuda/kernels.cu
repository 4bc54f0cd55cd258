// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/excise/cuda/kernels.cuh"

#include "kernels/common/cuda/check.h"

namespace apsyn::excise {
namespace {

constexpr int kThreads = 128;
constexpr int kLanes = 8;  // of sum_piece()
constexpr float kLargest = 3.4e38f;

__device__ __forceinline__ float quiet_nan() {
  return __int_as_float(0x7fffffff);
}
__device__ __forceinline__ bool finite(float x) {
  return fabsf(x) <= 3.402823466e38f;
}

template <int kBits>
__device__ __forceinline__ float load_value(const RawBlock& block, const std::uint8_t* row, int index) {
  if constexpr (kBits == 32) {
    return __ldg(reinterpret_cast<const float*>(row) + index);
  } else if constexpr (kBits == 16) {
    if (block.is_signed) return __ldg(reinterpret_cast<const short*>(row) + index);
    return __ldg(reinterpret_cast<const unsigned short*>(row) + index);
  } else if constexpr (kBits == 8) {
    const unsigned char byte = __ldg(row + index);
    return block.is_signed ? static_cast<float>(static_cast<signed char>(byte)) : static_cast<float>(byte);
  } else {
    constexpr int kCodes = 1 << kBits;
    const int code = __ldg(row + index * kBits / 8) >> (index * kBits % 8) & (kCodes - 1);
    return static_cast<float>(kBits > 1 && block.is_signed && code >= kCodes / 2 ? code - kCodes : code);
  }
}

/// A channel's value at one time; NaN where it is missing.
template <int kBits>
__device__ __forceinline__ float value_at(const RawBlock& block, int chan, int time) {
  if (block.missing != nullptr && block.missing[time]) return quiet_nan();
  const std::uint8_t* row = block.data + std::size_t(time) * block.row_bytes;
  const float value = load_value<kBits>(block, row, chan);
  return block.second == 0 ? value : __fadd_rn(value, load_value<kBits>(block, row, chan + block.second));
}

/// work<bits>() for the bits of a value.
template <class Work>
void with_bits(unsigned n_bit, const Work& work) {
  switch (n_bit) {
    case 1:
      return work.template operator()<1>();
    case 2:
      return work.template operator()<2>();
    case 4:
      return work.template operator()<4>();
    case 8:
      return work.template operator()<8>();
    case 16:
      return work.template operator()<16>();
    default:
      return work.template operator()<32>();
  }
}

template <int kBits>
__global__ void __launch_bounds__(kThreads) find_first(RawBlock block, float* about) {
  const int chan = blockIdx.x * kThreads + threadIdx.x;
  if (chan >= block.n_chan) return;
  float first = 0;
  for (int t = 0; t < block.n_time; ++t) {
    const float x = value_at<kBits>(block, chan, t);
    if (!finite(x)) continue;
    first = x;
    break;
  }
  about[chan] = first;
}

/// A thread sums a channel's piece, in the order of sum_piece().
template <int kBits>
__global__ void __launch_bounds__(kThreads)
    sum_pieces(RawBlock block, const float* about_of, int n_piece, Sums* sums) {
  const int chan = blockIdx.x * kThreads + threadIdx.x, piece = blockIdx.y;
  if (chan >= block.n_chan) return;
  const int from = static_cast<int>(std::int64_t(piece) * block.n_time / n_piece),
            to = static_cast<int>(std::int64_t(piece + 1) * block.n_time / n_piece);
  const float about = about_of[chan];
  double sum[kLanes] = {}, square[kLanes] = {};
  const auto add = [&](double x, double& to_sum, double& to_square) {
    to_sum = __dadd_rn(to_sum, x);
    to_square = __dadd_rn(to_square, __dmul_rn(x, x));
  };
  int t = from;
  for (; t + kLanes <= to; t += kLanes) {
    float x[kLanes];
#pragma unroll
    for (int i = 0; i < kLanes; ++i) x[i] = value_at<kBits>(block, chan, t + i);
#pragma unroll
    for (int i = 0; i < kLanes; ++i) add(static_cast<double>(__fsub_rn(x[i], about)), sum[i], square[i]);
  }
  Sums all{0, 0, static_cast<std::uint64_t>(to - from)};
  for (; t < to; ++t)
    add(static_cast<double>(__fsub_rn(value_at<kBits>(block, chan, t), about)), all.sum, all.square);
#pragma unroll
  for (int i = 0; i < kLanes; ++i) {
    all.sum = __dadd_rn(all.sum, sum[i]);
    all.square = __dadd_rn(all.square, square[i]);
  }
  if (!(fabs(all.square) <= 1.7976931348623157e308)) {
    all = {0, 0, 0};
    for (t = from; t < to; ++t) {
      const float value = value_at<kBits>(block, chan, t);
      if (!finite(value)) continue;
      add(__dsub_rn(static_cast<double>(value), static_cast<double>(about)), all.sum, all.square);
      ++all.n;
    }
  }
  sums[std::size_t(piece) * block.n_chan + chan] = all;
}

/// A warp looks at one time.
template <int kBits>
__global__ void __launch_bounds__(kThreads) find_missing(RawBlock block, bool zeros, std::uint8_t* missing) {
  const int time = blockIdx.x * (kThreads / 32) + threadIdx.x / 32;
  if (time >= block.n_time) return;
  bool any = false;
  for (int chan = threadIdx.x % 32; chan < block.n_chan; chan += 32) {
    const float x = value_at<kBits>(block, chan, time);
    any = any || (finite(x) && !(zeros && x == 0));
  }
  any = __any_sync(~0u, any);
  if (threadIdx.x % 32 == 0) missing[time] = any ? 0 : 1;
}

constexpr int kSide = 64, kNormaliseThreads = 256;

/// A block turns 64 channels by 64 times.
template <int kBits>
__global__ void __launch_bounds__(kNormaliseThreads) normalise_tile(NormaliseTask task) {
  __shared__ signed char tile[kSide][kSide + 4];  // [chan][time]
  const RawBlock& block = task.block;
  const int first_chan = blockIdx.x * kSide, first_time = blockIdx.y * kSide, half = block.n_time / 2;
  const int lane = threadIdx.x % kSide, row = threadIdx.x / kSide;
  constexpr int kRows = kNormaliseThreads / kSide;
  unsigned n_clipped = 0;
  const int chan = first_chan + lane;
  Lines lines{0, 0, 0, 0};
  if (chan < block.n_chan) lines = task.lines[chan];
#pragma unroll 4
  for (int i = row; i < kSide; i += kRows) {
    const int time = first_time + i;
    float value = 0;
    if (time < block.n_time && lines.scale != 0) {
      const bool head = time < half;
      const float at =
          __fadd_rn(head ? task.head_first : task.tail_first, static_cast<float>(head ? time : time - half));
      const float x = value_at<kBits>(block, chan, time);
      value = __fmaf_rn(-(head ? lines.rising : lines.leaving), at, __fsub_rn(x, lines.level));
      value = __fmul_rn(value, lines.scale);
      if (task.common != nullptr) value = __fsub_rn(value, task.common[time]);
      if (!(fabsf(x) <= kLargest)) value = 0;
      n_clipped += fabsf(value) > 127.0f;
      value = fmaxf(fminf(value, 127.0f), -127.0f);
    }
    tile[lane][i] = static_cast<signed char>(__float2int_rn(value));
  }
  n_clipped = __reduce_add_sync(~0u, n_clipped);
  if (threadIdx.x % 32 == 0 && n_clipped > 0)
    atomicAdd(task.n_clipped, static_cast<unsigned long long>(n_clipped));
  __syncthreads();
  const int time = first_time + lane;
  if (time >= block.n_time) return;
  for (int i = row; i < kSide && first_chan + i < block.n_chan; i += kRows)
    task.out[std::size_t(first_chan + i) * block.n_time + time] = tile[i][lane];
}

/// A thread sums a group at one time; integers below 2^24, which float32 holds.
__global__ void __launch_bounds__(kThreads)
    sum_groups(const std::int8_t* samples, int n_time, const std::uint32_t* channel,
               const std::uint32_t* begin, float* out) {
  const int time = blockIdx.x * kThreads + threadIdx.x, group = blockIdx.y;
  if (time >= n_time) return;
  int sum = 0;
  for (std::uint32_t i = begin[group]; i < begin[group + 1]; ++i)
    sum += samples[std::size_t(channel[i]) * n_time + time];
  out[std::size_t(group) * n_time + time] = static_cast<float>(sum);
}

__global__ void __launch_bounds__(kThreads)
    clear_times(std::int8_t* samples, int n_chan, int n_time, const std::uint32_t* times, int n) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < n) samples[std::size_t(blockIdx.y) * n_time + times[i]] = 0;
}

unsigned blocks_of(int n, int per_block) {
  return static_cast<unsigned>((n + per_block - 1) / per_block);
}
void launched() {
  cuda_check(cudaGetLastError(), "cleaning samples on the device");
}

}  // namespace

void launch_sums(const RawBlock& block, int n_piece, float* about, Sums* sums, cudaStream_t stream) {
  const unsigned n_blocks = blocks_of(block.n_chan, kThreads);
  with_bits(block.n_bit, [&]<int kBits>() {
    find_first<kBits><<<n_blocks, kThreads, 0, stream>>>(block, about);
    sum_pieces<kBits><<<dim3(n_blocks, n_piece), kThreads, 0, stream>>>(block, about, n_piece, sums);
  });
  launched();
}

void launch_missing(const RawBlock& block, bool zeros, std::uint8_t* missing, cudaStream_t stream) {
  with_bits(block.n_bit, [&]<int kBits>() {
    find_missing<kBits>
        <<<blocks_of(block.n_time, kThreads / 32), kThreads, 0, stream>>>(block, zeros, missing);
  });
  launched();
}

void launch_normalise(const NormaliseTask& task, cudaStream_t stream) {
  const dim3 grid(blocks_of(task.block.n_chan, kSide), blocks_of(task.block.n_time, kSide));
  with_bits(task.block.n_bit,
            [&]<int kBits>() { normalise_tile<kBits><<<grid, kNormaliseThreads, 0, stream>>>(task); });
  launched();
}

void launch_group_sums(const std::int8_t* samples, int n_time, const std::uint32_t* channel,
                       const std::uint32_t* begin, int n_group, float* out, cudaStream_t stream) {
  sum_groups<<<dim3(blocks_of(n_time, kThreads), n_group), kThreads, 0, stream>>>(samples, n_time, channel,
                                                                                  begin, out);
  launched();
}

void launch_clear(std::int8_t* samples, int n_chan, int n_time, const std::uint32_t* times, int n,
                  cudaStream_t stream) {
  for (int first = 0; first < n_chan; first += 65535)
    clear_times<<<dim3(blocks_of(n, kThreads), static_cast<unsigned>(std::min(65535, n_chan - first))),
                  kThreads, 0, stream>>>(samples + std::size_t(first) * n_time, n_chan, n_time, times, n);
  launched();
}

}  // namespace apsyn::excise
