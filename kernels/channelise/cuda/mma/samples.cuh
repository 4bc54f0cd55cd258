// SPDX-License-Identifier: GPL-3.0-or-later
// The first pass of the F stage on tensor cores: filterbank, first radix and turns as a product of integers,
// exact in 32 bits.
#pragma once

#include "kernels/channelise/cuda/device.cuh"
#include "kernels/channelise/cuda/fused/finish.cuh"
#include "kernels/channelise/cuda/mma/shape.cuh"
#include "kernels/common/cuda/sm90/mma.cuh"

namespace apsyn::f_stage {

/// The product of two numbers of 32 bits, exactly.
__device__ __forceinline__ std::int64_t multiply_wide(int a, int b) {
  std::int64_t product;
  asm("mul.wide.s32 %0, %1, %2;" : "=l"(product) : "r"(a), "r"(b));
  return product;
}

/// Loads that leave the first cache alone.
template <int kBytes>
__device__ __forceinline__ unsigned load_bytes(const std::uint8_t* at) {
  unsigned value = 0;
  if constexpr (kBytes == 1) {
    asm("ld.global.nc.L1::no_allocate.u8 %0, [%1];" : "=r"(value) : "l"(at));
  } else if constexpr (kBytes == 2) {
    unsigned short half;
    asm("ld.global.nc.L1::no_allocate.u16 %0, [%1];" : "=h"(half) : "l"(at));
    value = half;
  } else {
    asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(value) : "l"(at));
  }
  return value;
}

/// A lane's samples of one tap and set: 4 bytes of either input of a pair, as mma_factors.h orders them.
template <bool kReal>
struct RawWords {
  static constexpr int kParts = kReal ? 4 : 2;
  unsigned part[kParts];

  __device__ __forceinline__ unsigned word(SampleFormat format, int odd) const {
    if constexpr (kReal) {
      const unsigned bytes = odd ? 0x0051 : 0x0040;
      return __byte_perm(__byte_perm(part[0], part[1], bytes), __byte_perm(part[2], part[3], bytes), 0x5410);
    } else {
      if (format == SampleFormat::int8) return __byte_perm(part[0], part[1], odd ? 0x7632 : 0x5410);
      const unsigned packed = __byte_perm(part[0], part[1], odd ? 0x3531 : 0x3430);
      return (packed & 0x00F000F0u) | (packed << 12 & 0xF000F000u);
    }
  }
};

/// Four bytes of either input of a pair whose spectra start apart, or not on a multiple of their bytes, as
/// mma_factors.h orders them: samples from `sample` of the spectrum on, `apart` of them from each other.
template <bool kReal>
__device__ __noinline__ uint2 gather_words(const SampleWindow& window, const std::uint8_t* first_of_pair,
                                           int2 starts, int sample, int apart) {
  unsigned word[2] = {0, 0};
  const int time_bytes = static_cast<int>(window.time_bytes);
  const bool two_bytes = !kReal && window.format == SampleFormat::int8;
#pragma unroll
  for (int odd = 0; odd < 2; ++odd) {
    const int start = odd ? starts.y : starts.x;
    if (start == kNoWeight) continue;
    RawWords<kReal> raw;
#pragma unroll
    for (int k = 0; k < RawWords<kReal>::kParts; ++k) {
      const std::uint8_t* at =
          first_of_pair + (two_bytes ? 2 * odd : odd) + multiply_wide(start + sample + k * apart, time_bytes);
      raw.part[k] = two_bytes ? load_bytes<2>(at) : load_bytes<1>(at);
    }
    word[odd] = raw.word(window.format, 0);
  }
  return make_uint2(word[0], word[1]);
}

/// A warp's set of samples, which it multiplies by its weights. Column c of product g is input 2 c + g of the
/// block: that of lanes 4 c .. 4 c + 3 for samples, and of lanes with lane % 4 = c / 2 for sums.
/// kOlderAhead: whether registers suffice to fetch an item's first taps ahead.
template <class S, bool kOlderAhead>
struct FirstPass {
  static constexpr int kSteps = S::kTaps == 1 ? 1 : S::kTaps / 2, kWords = S::kTaps == 1 ? 2 : 4;
  static constexpr int kDigits = 3;
  static_assert(S::kPhase % S::kTaps == 0);
  using Raw = RawWords<S::kReal>;
  const SampleWindow& window;
  const std::uint8_t* first_of_pair;   // of this lane's inputs, at time 0
  const int* starts;                   // of this lane's pair, [spectrum of the item][input]
  int first_sample;                    // this lane's, of a spectrum
  bool steady;                         // pairs of inputs are read together and spectra follow each other
  const std::uint8_t* next = nullptr;  // if so, where the next spectrum's last tap starts
  unsigned weights[kSteps][kDigits][kWords];
  unsigned samples[2][S::kTaps];  // [product], of the last spectrum, and behind
  Raw older[S::kTaps];            // the item's first taps but the last, if steady
  Raw newest[S::kPhase];          // the next spectra's last tap, if steady

  __device__ __forceinline__ FirstPass(const Task& task, const unsigned* factors) : window(task.samples) {
    const int lane = threadIdx.x % 32, set = threadIdx.x / 32;
    first_sample = lane % 4 * S::kBehind + set;
    const unsigned* from = factors + (set * kSteps * kDigits * 32 + lane) * kWords;
#pragma unroll
    for (int step = 0; step < kSteps; ++step)
#pragma unroll
      for (int digit = 0; digit < kDigits; ++digit, from += 32 * kWords) {
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

  /// Fetches an item's first samples ahead; all threads' places must be there.
  __device__ __forceinline__ void start(const BlockPlace& at, const int* all_starts, bool all_steady) {
    const int pair = threadIdx.x % 32 / 4;
    const int bytes = !S::kReal && window.format == SampleFormat::int8 ? 2 : 1;
    first_of_pair = window.data + at.chan * window.chan_bytes + (at.first_input + 2 * pair) * bytes;
    starts = all_starts + 2 * pair;
    steady = all_steady;
    if (!steady) return;
    next = first_of_pair + multiply_wide(starts[0] + first_sample, static_cast<int>(window.time_bytes));
    if constexpr (kOlderAhead)
      fetch_older();
    else
      next += (S::kTaps - 1) * spectrum_bytes();
    fetch();
  }
  /// Takes the first of them.
  __device__ __forceinline__ void take_older() {
    if (!steady) return;
    if constexpr (!kOlderAhead) {
      const std::uint8_t* after = next;
      next -= (S::kTaps - 1 + S::kPhase) * spectrum_bytes();
      fetch_older();
      next = after;
    }
#pragma unroll
    for (int tap = 0; tap + 1 < S::kTaps; ++tap) put(older[tap], slot(0, tap));
  }

  /// The place in `samples` of a tap of spectrum s: those of the next one have theirs already, but for the
  /// last.
  __device__ __forceinline__ static constexpr int slot(int s, int tap) {
    return (s + tap) % S::kTaps;
  }

  __device__ __forceinline__ void put(const Raw& raw, int slot) {
#pragma unroll
    for (int g = 0; g < 2; ++g) samples[g][slot] = raw.word(window.format, g);
  }
  __device__ __forceinline__ Raw load_next() {
    Raw raw;
    const std::size_t apart = 4 * S::kBehind * window.time_bytes;
    const bool four_bytes = !S::kReal && window.format == SampleFormat::int8;
#pragma unroll
    for (int k = 0; k < Raw::kParts; ++k)
      raw.part[k] = four_bytes ? load_bytes<4>(next + k * apart) : load_bytes<2>(next + k * apart);
    next += spectrum_bytes();
    return raw;
  }
  __device__ __forceinline__ std::int64_t spectrum_bytes() const {
    return S::kLength * static_cast<std::int64_t>(window.time_bytes);
  }
  __device__ __forceinline__ void fetch_older() {
#pragma unroll
    for (int tap = 0; tap + 1 < S::kTaps; ++tap) older[tap] = load_next();
  }
  /// Fetches the samples of the next phase ahead.
  __device__ __forceinline__ void fetch() {
#pragma unroll
    for (int k = 0; k < S::kPhase; ++k) newest[k] = load_next();
  }

  /// Brings the samples of the phase's spectrum k, spectrum s of the item; those without weight are 0.
  template <int k>
  __device__ __forceinline__ void advance(int s) {
    if (steady) return put(newest[k], slot(k, S::kTaps - 1));
    const int2 start = *reinterpret_cast<const int2*>(starts + s * S::kInputs);
    bool slides = s > 0;
    if (slides) {
      const int2 before = *reinterpret_cast<const int2*>(starts + (s - 1) * S::kInputs);
      slides = start.x == before.x + S::kLength && start.y == before.y + S::kLength;
    }
#pragma unroll
    for (int tap = 0; tap < S::kTaps; ++tap) {
      if (slides && tap + 1 < S::kTaps) continue;
      const uint2 words = gather_words<S::kReal>(window, first_of_pair, start,
                                                 tap * S::kLength + first_sample, 4 * S::kBehind);
      samples[0][slot(k, tap)] = words.x;
      samples[1][slot(k, tap)] = words.y;
    }
  }

  /// y(b, f) of the phase's spectrum k for product g. Sums of K = 16 taps products stay below 128 128 K =
  /// 2^20 for each digit; those of d1 and d0 together below 2^29.
  template <int k>
  __device__ __forceinline__ float4 multiply(int g) const {
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
        const unsigned a = samples[g][slot(k, 2 * step)], b = samples[g][slot(k, 2 * step + 1)];
        ptx::mma_s8(high, weights[step][0], a, b, high_before);
        ptx::mma_s8(middle, weights[step][1], a, b, middle_before);
        ptx::mma_s8(low, weights[step][2], a, b, low_before);
      } else {
        ptx::mma_s8(high, weights[step][0], samples[g][0], high_before);
        ptx::mma_s8(middle, weights[step][1], samples[g][0], middle_before);
        ptx::mma_s8(low, weights[step][2], samples[g][0], low_before);
      }
    }
    float y[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      y[i] = fmaf(static_cast<float>(middle[i] * 256 + low[i]), 1.0f / 65536,
                  __int_as_float(high[i]) - __int_as_float(kMagic));
    // rows lane / 4 and + 8: re and im; columns 2 (lane % 4) and + 1
    return make_float4(y[0], y[2], y[1], y[3]);
  }

  template <int k>
  __device__ __forceinline__ static void store(float2* exchange, float4 y0, float4 y1) {
    float4* to = reinterpret_cast<float4*>(exchange + k * S::kExchangeSpectrum);
    to[0] = y0;
    to[32] = y1;
  }
  template <int k>
  __device__ __forceinline__ void run_one(int s, float2* exchange) {
    advance<k>(s);
    const float4 y0 = multiply<k>(0), y1 = multiply<k>(1);
    store<k>(exchange, y0, y1);
  }

  /// The first pass of a phase that starts at spectrum s of the item; may_store waits until the exchange may
  /// be written.
  template <class MayStore>
  __device__ __forceinline__ void run(int s, float2* exchange, const MayStore& may_store) {
    static_assert(S::kPhase == 4 && (S::kTaps == 4 || S::kTaps == 1));
    float2* to = exchange + threadIdx.x / 32 * S::kExchangeSet + threadIdx.x % 32 * 2;
    advance<0>(s);
    const float4 y0 = multiply<0>(0), y1 = multiply<0>(1);
    may_store();
    store<0>(to, y0, y1);
    run_one<1>(s + 1, to);
    run_one<2>(s + 2, to);
    run_one<3>(s + 3, to);
  }
};

}  // namespace apsyn::f_stage
