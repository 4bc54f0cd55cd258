// SPDX-License-Identifier: GPL-3.0-or-later
// The samples of a long spectrum, folded by a filterbank's taps: sums of bytes of series
// (cuda/long/series.cuh) times weights of integers (long_factors.h), which are exact.
#pragma once

#include "kernels/channelise/cuda/long/series.cuh"
#include "kernels/channelise/cuda/long/shape.cuh"

namespace apsyn::f_stage {

/// Sums of one component times the two parts of weights. Low ones, of less than 2^19, are added to the bits
/// of 1.5 2^23. Cleared by hand: of arrays of arrays nvcc 13.0 initialises the first element only.
struct WeightedSum {
  static constexpr int kMagic = 0x4B400000;
  int high, low;

  __device__ __forceinline__ void clear() { high = 0, low = kMagic; }
  __device__ __forceinline__ void add(uint4 weights, unsigned samples) {
    high = __dp2a_lo(static_cast<int>(weights.x), static_cast<int>(samples), high);
    high = __dp2a_hi(static_cast<int>(weights.y), static_cast<int>(samples), high);
    low = __dp4a(static_cast<int>(weights.z), static_cast<int>(samples), low);
  }
  /// In units of the high parts.
  __device__ __forceinline__ float value() const {
    return fmaf(__int_as_float(low) - __int_as_float(kMagic), 1.0f / 256, static_cast<float>(high));
  }
};

/// Four bytes of two words; unlike __byte_perm, which masks it, `select` must be in range.
__device__ __forceinline__ unsigned pick_bytes(unsigned low, unsigned high, unsigned select) {
  unsigned picked;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(picked) : "r"(low), "r"(high), "r"(select));
  return picked;
}

/// Where the samples n0 + k kPer of one component start: those that reach behind the end of a block of L
/// samples belong to the next block.
template <class S>
struct SeriesPlace {
  const uint2 *here, *behind;
  unsigned select_here, select_behind;  ///< the first tap's place in its word
  int n0;

  __device__ __forceinline__ SeriesPlace(const uint2* series, int start, int j) {
    const int at = start + j, block = at / S::kLength;
    n0 = at % S::kLength;
    here = series + block / 4 * S::kLength + n0;
    behind = series + (block + 1) / 4 * S::kLength + n0 - S::kLength;
    select_here = 0x3210u + 0x1111u * (block % 4);
    select_behind = 0x3210u + 0x1111u * ((block + 1) % 4);
    asm("" : "+r"(select_here), "+r"(select_behind));  // made once, and not for each sample
  }
  template <bool kWraps>
  __device__ __forceinline__ const uint2* at(int k, unsigned& select) const {
    const bool wrapped = kWraps && n0 + k * S::kPer >= S::kLength;
    select = wrapped ? select_behind : select_here;
    return (wrapped ? behind : here) + k * S::kPer;
  }
};

/// Words of a series' samples, one behind the last tap's more, and of a value's place in the first.
template <int kWords>
struct SeriesWords {
  uint2 word[kWords + 1];

  /// `at` is the first; the last is left out where nothing of it is needed.
  template <class S>
  __device__ __forceinline__ void load(const uint2* at, bool whole) {
#pragma unroll
    for (int i = 0; i < kWords; ++i) word[i] = at[i * S::kLength];
    word[kWords] = make_uint2(0, 0);
    if (!whole) word[kWords] = at[kWords * S::kLength];
  }
};

/// x[k] = sample j + k kPer of the spectrum that starts at `start` of its series; taps fill kWords words.
/// kWraps: the start need not be a multiple of L.
template <class S, int kWords, bool kWraps>
__device__ __forceinline__ void fold_series(const uint2* series, const uint4* weights, int start, int j,
                                            float2 (&x)[S::kElements]) {
  // samples come from far and are asked for early, weights from the first cache
  constexpr int kAhead = kWords == 1 ? 16 : kWords == 2 ? 4 : 2, kSome = kAhead < 4 ? kAhead : 4;
  const SeriesPlace<S> place(series, start, j);
  const bool whole = !kWraps && place.select_here == 0x3210;
  asm volatile("" : "+l"(weights));  // so that what variants have in common is not loaded before they part
#pragma unroll
  for (int first = 0; first < S::kElements; first += kAhead) {
    asm volatile("" ::: "memory");  // no loads further ahead than registers allow
    SeriesWords<kWords> words[kAhead];
    unsigned select[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i)
      words[i].template load<S>(place.template at<kWraps>(first + i, select[i]), whole);
#pragma unroll
    for (int some = 0; some < kAhead; some += kSome) {
      WeightedSum sum[kSome][2];
#pragma unroll
      for (int i = 0; i < kSome; ++i) sum[i][0].clear(), sum[i][1].clear();
#pragma unroll
      for (int word = 0; word < kWords; ++word)
#pragma unroll
        for (int i = 0; i < kSome; ++i) {
          const int k = some + i;
          const uint4 by = weights[word * S::kLength + j + (first + k) * S::kPer];
          const uint2 low = words[k].word[word], high = words[k].word[word + 1];
          sum[i][0].add(by, pick_bytes(low.x, high.x, select[k]));
          sum[i][1].add(by, pick_bytes(low.y, high.y, select[k]));
        }
#pragma unroll
      for (int i = 0; i < kSome; ++i) x[first + some + i] = make_float2(sum[i][0].value(), sum[i][1].value());
    }
  }
}

/// The same of components that start apart, of any number of words; a negative start is none.
template <class S>
__device__ __forceinline__ void fold_apart(const uint2* series, const uint4* weights, int n_words, int2 start,
                                           int j, float2 (&x)[S::kElements]) {
  const SeriesPlace<S> re(series, max(start.x, 0), j), im(series, max(start.y, 0), j);
#pragma unroll
  for (int k = 0; k < S::kElements; ++k) {
    WeightedSum sum[2];
    sum[0].clear(), sum[1].clear();
    unsigned select, select_im;
    const uint2 *at = re.template at<true>(k, select), *at_im = im.template at<true>(k, select_im);
#pragma unroll 1
    for (int word = 0; word < n_words; ++word, at += S::kLength, at_im += S::kLength) {
      const uint4 by = __ldg(weights + word * S::kLength + j + k * S::kPer);
      if (start.x >= 0) sum[0].add(by, pick_bytes(at->x, at[S::kLength].x, select));
      if (start.y >= 0) sum[1].add(by, pick_bytes(at_im->y, at_im[S::kLength].y, select_im));
    }
    x[k] = make_float2(sum[0].value(), sum[1].value());
  }
}

}  // namespace apsyn::f_stage
