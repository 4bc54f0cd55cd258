// SPDX-License-Identifier: GPL-3.0-or-later
// The first pass of the F stage on tensor cores: filterbank, first radix and turns as a product of integers,
// exact in 32 bits.
#pragma once

#include "kernels/channelise/channelise_device.cuh"
#include "kernels/channelise/fused_finish.cuh"
#include "kernels/channelise/mma_shape.cuh"
#include "kernels/common/int8_ptx.cuh"

namespace apsyn::f_stage {

/// Loads that leave the first cache to the weights.
__device__ __forceinline__ unsigned load_byte(const std::uint8_t* at) {
  unsigned value;
  asm("ld.global.nc.L1::no_allocate.u8 %0, [%1];" : "=r"(value) : "l"(at));
  return value;
}
__device__ __forceinline__ unsigned load_pair(const std::uint8_t* at) {
  unsigned short value;
  asm("ld.global.nc.L1::no_allocate.u16 %0, [%1];" : "=h"(value) : "l"(at));
  return value;
}

/// A lane's samples of one tap and set: 4 bytes of one input, as mma_factors.h orders them.
template <bool kReal>
struct RawWord {
  static constexpr int kParts = kReal ? 4 : 2;
  unsigned part[kParts];

  /// From `time` on and kApart samples from each other.
  template <int kApart>
  __device__ __forceinline__ void load(SampleFormat format, const std::uint8_t* origin, int time,
                                       int time_bytes) {
#pragma unroll
    for (int k = 0; k < kParts; ++k) {
      const std::uint8_t* at = origin + ptx::multiply_wide(time + k * kApart, time_bytes);
      part[k] = !kReal && format == SampleFormat::int8 ? load_pair(at) : load_byte(at);
    }
  }
  __device__ __forceinline__ unsigned word(SampleFormat format) const {
    if constexpr (kReal)
      return __byte_perm(__byte_perm(part[0], part[1], 0x0040), __byte_perm(part[2], part[3], 0x0040),
                         0x5410);
    if (format == SampleFormat::int8) return __byte_perm(part[0], part[1], 0x5410);
    const unsigned packed = __byte_perm(part[0], part[1], 0x3430);
    return (packed & 0x00F000F0u) | (packed << 12 & 0xF000F000u);
  }
};

/// A warp's sets of samples, which it multiplies by their weights. Column c of a product is input c of the
/// block: that of lanes 4 c .. 4 c + 3 for samples, and of lanes with lane % 4 = c / 2 for sums.
template <class S>
struct FirstPass {
  static constexpr int kSteps = S::kTaps == 1 ? 1 : S::kTaps / 2, kWords = S::kTaps == 1 ? 2 : 4;
  static constexpr int kDigits = 3;
  using Weights = unsigned[kSteps][kDigits][kWords];
  const Task& task;
  const BlockPlace& at;
  const int (&starts)[S::kSpan][S::kInputs];
  const unsigned* factors;                       // behind the unit
  unsigned samples[S::kPerWarp][S::kTaps] = {};  // of the last spectrum, and behind

  __device__ __forceinline__ static int set(int j) { return int(threadIdx.x) / 32 + j * S::kWarps; }

  /// The place in `samples` of a tap of spectrum s: those of the next one have theirs already, but for the
  /// last.
  __device__ __forceinline__ static constexpr int slot(int s, int tap) { return (s + tap) % S::kTaps; }

  __device__ __forceinline__ void load_weights(int j, Weights& weights) const {
#pragma unroll
    for (int step = 0; step < kSteps; ++step)
#pragma unroll
      for (int digit = 0; digit < kDigits; ++digit) {
        const unsigned* from =
            factors + (((set(j) * kSteps + step) * kDigits + digit) * 32 + threadIdx.x % 32) * kWords;
        unsigned(&to)[kWords] = weights[step][digit];
        if constexpr (kWords == 4) {
          const uint4 four = __ldg(reinterpret_cast<const uint4*>(from));
          to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
        } else {
          const uint2 two = __ldg(reinterpret_cast<const uint2*>(from));
          to[0] = two.x, to[1] = two.y;
        }
      }
  }

  /// This lane's word of set j for a tap of the spectrum that starts with sample `start`.
  __device__ __forceinline__ RawWord<S::kReal> load(int j, int start, int tap) const {
    const SampleWindow& window = task.samples;
    const int input = at.first_input + int(threadIdx.x) % 32 / 4, q = threadIdx.x % 4;
    const int input_bytes = !S::kReal && window.format == SampleFormat::int8 ? 2 : 1;
    RawWord<S::kReal> raw;
    raw.template load<4 * S::kBehind>(
        window.format, window.data + at.chan * window.chan_bytes + input * input_bytes,
        start + tap * S::kLength + q * S::kBehind + set(j), static_cast<int>(window.time_bytes));
    return raw;
  }

  /// Brings the samples of the phase's spectrum k, spectrum s of the block, of which `newest` are the last
  /// tap's.
  template <int k>
  __device__ __forceinline__ void advance(int j, int s, const RawWord<S::kReal>& newest) {
    const int input = threadIdx.x % 32 / 4, start = starts[s][input];
    const SampleFormat format = task.samples.format;
    samples[j][slot(k, S::kTaps - 1)] = newest.word(format);
    if (start == kNoWeight) {
#pragma unroll
      for (int tap = 0; tap < S::kTaps; ++tap) samples[j][tap] = 0;
    } else if (S::kTaps > 1 && (s == 0 || starts[s - 1][input] != start - S::kLength)) {
#pragma unroll
      for (int tap = 0; tap + 1 < S::kTaps; ++tap)
        samples[j][slot(k, tap)] = load(j, start, tap).word(format);
    }
  }

  /// y(b, f) of the phase's spectrum k for set j. Sums of K = 16 taps products stay below 128 128 K = 2^20
  /// for each digit; those of d1 and d0 together below 2^29.
  template <int k>
  __device__ __forceinline__ void multiply(int j, const Weights& weights, float2* exchange) const {
    constexpr int kMagic =
        0x4B400000;  // of 1.5 2^23, whose lowest bits an integer below 2^22 may be added to
    int magic[4] = {kMagic, kMagic, kMagic, kMagic}, zero[4] = {};
    int high[4], middle[4], low[4];
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      const auto& high_before = step == 0 ? magic : high;
      const auto& middle_before = step == 0 ? zero : middle;
      const auto& low_before = step == 0 ? zero : low;
      if constexpr (kWords == 4) {
        const unsigned a = samples[j][slot(k, 2 * step)], b = samples[j][slot(k, 2 * step + 1)];
        ptx::mma_s8(high, weights[step][0], a, b, high_before);
        ptx::mma_s8(middle, weights[step][1], a, b, middle_before);
        ptx::mma_s8(low, weights[step][2], a, b, low_before);
      } else {
        ptx::mma_s8(high, weights[step][0], samples[j][0], high_before);
        ptx::mma_s8(middle, weights[step][1], samples[j][0], middle_before);
        ptx::mma_s8(low, weights[step][2], samples[j][0], low_before);
      }
    }
    float y[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      y[i] = fmaf(static_cast<float>(middle[i] * 256 + low[i]), 1.0f / 65536,
                  __int_as_float(high[i]) - __int_as_float(kMagic));
    // rows lane / 4 and + 8: re and im; columns 2 (lane % 4) and + 1
    float2* to = exchange + k * S::kExchangeSpectrum + set(j) * 64 + threadIdx.x % 32 * 2;
    *reinterpret_cast<float4*>(to) = make_float4(y[0], y[2], y[1], y[3]);
  }

  template <int k>
  __device__ __forceinline__ void run_one(int j, int s, const Weights& weights,
                                          const RawWord<S::kReal>& newest, float2* exchange) {
    advance<k>(j, s + k, newest);
    multiply<k>(j, weights, exchange);
  }

  /// The first pass of a phase that starts at spectrum s of the block.
  __device__ __forceinline__ void run(int s, float2* exchange) {
    static_assert(S::kPhase == 4 && (S::kTaps == 4 || S::kTaps == 1));
    RawWord<S::kReal> newest[S::kPerWarp][S::kPhase];
#pragma unroll
    for (int k = 0; k < S::kPhase; ++k) {
      const int start = starts[s + k][threadIdx.x % 32 / 4];
#pragma unroll
      for (int j = 0; j < S::kPerWarp; ++j)
        newest[j][k] = start == kNoWeight ? RawWord<S::kReal>{} : load(j, start, S::kTaps - 1);
    }
#pragma unroll
    for (int j = 0; j < S::kPerWarp; ++j) {
      Weights weights;
      load_weights(j, weights);
      run_one<0>(j, s, weights, newest[j][0], exchange);
      run_one<1>(j, s, weights, newest[j][1], exchange);
      run_one<2>(j, s, weights, newest[j][2], exchange);
      run_one<3>(j, s, weights, newest[j][3], exchange);
    }
  }
};

}  // namespace apsyn::f_stage
