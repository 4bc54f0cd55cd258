// SPDX-License-Identifier: GPL-3.0-or-later
// What a warpgroup that multiplies in cuda/beams/kernel.cuh keeps of an item: weights in registers, and
// where its results go.
#pragma once

#include "kernels/common/cuda/beams/detect.cuh"
#include "kernels/common/cuda/beams/producer.cuh"
#include "kernels/common/cuda/sm90/wgmma.cuh"

namespace apsyn::beam_products {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

/// Fragments of weights, all or (streamed) those of half the registers.
template <int kGroups, bool kOwn, bool kStreamed>
struct Held {
  static constexpr int kPols = kOwn ? 2 : 1, kSteps = kHeldSteps<kGroups, kOwn, kStreamed>;
  Fragment fragments[kGroups][kPols][kSteps];

  /// Of the groups kFirst .. kEnd - 1, from step `first` of n_steps on.
  template <Source::SampleLayout kLayout, int kFirst = 0, int kEnd = kGroups>
  __device__ void load(std::uint32_t from, int n_left) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if (step >= n_left) break;
#pragma unroll
      for (int g = kFirst; g < kEnd; ++g)
#pragma unroll
        for (int pol = 0; pol < kPols; ++pol)
          load_fragment<kLayout>(fragments[g][pol][step], threadIdx.x & 31, [&](int byte) {
            return load_shared(from + ((g * kPols + pol) * kSteps + step) * kGroupBytes + byte);
          });
    }
  }
  template <int kFirst = 0, int kEnd = kGroups>
  __device__ void mask(const Task& task, const std::uint8_t* valid, int first, int n_left) {
    const int n_blocks = task.layout.n_blocks();
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if (step >= n_left) break;
      const int first_ant = (first + step) % n_blocks * kBlockAntennas;
#pragma unroll
      for (int chunk = 0; chunk < 4; ++chunk) {
        const Masks masks(task, valid, first_ant + 16 * chunk, threadIdx.x & 31);
#pragma unroll
        for (int g = kFirst; g < kEnd; ++g)
#pragma unroll
          for (int pol = 0; pol < kPols; ++pol) masks.apply(fragments[g][pol][step][chunk]);
      }
    }
  }
  /// columns: the low half of a block's descriptor.
  template <bool kAdd>
  __device__ void multiply(Sums& sums, int g, int step, int quarter, std::uint32_t columns) const {
    constexpr std::uint64_t kHigh = swizzled_descriptor(0) >> 32 << 32;
    columns += 2 * quarter;
    if constexpr (kOwn) {
      wgmma_s8_narrow<0, kAdd>(sums, fragments[g][0][step][quarter], kHigh | columns);
      wgmma_s8_narrow<16, kAdd>(sums, fragments[g][1][step][quarter],
                                kHigh | (columns + (kBlockBytes / 2 >> 4)));
    } else {
      wgmma_s8<kAdd>(sums, fragments[g][0][step][quarter], kHigh | columns);
    }
  }
  /// The same of two tiles, whose columns of a block follow each other.
  template <bool kAdd>
  __device__ void multiply(Sums (&sums)[2], int g, int step, int quarter, std::uint32_t columns) const {
    constexpr std::uint64_t kHigh = swizzled_descriptor(0) >> 32 << 32;
    if constexpr (kOwn) {
      multiply<kAdd>(sums[0], g, step, quarter, columns);
      multiply<kAdd>(sums[1], g, step, quarter, columns + (kBlockBytes >> 4));
    } else {
      wgmma_s8<kAdd>(sums, fragments[g][0][step][quarter], kHigh | (columns + 2 * quarter));
    }
  }
  template <bool kAdd>
  __device__ void multiply(Sums (&sums)[1], int g, int step, int quarter, std::uint32_t columns) const {
    multiply<kAdd>(sums[0], g, step, quarter, columns);
  }
  __device__ void clear() {
#pragma unroll
    for (int g = 0; g < kGroups; ++g)
#pragma unroll
      for (int i = 0; i < kPols * kSteps * 16; ++i)
        fragments[g][i / (kSteps * 16)][i / 16 % kSteps][i / 4 % 4][i % 4] = 0;
  }
};

/// A target in shared memory, a slot of 4 bytes for each of its words: registers are scarcer. Read when
/// wanted.
struct TargetAside {
  static constexpr int kSlots = 7;
  template <class T>
  struct Pointer {
    std::uint32_t at;
    __device__ operator T*() const {
      const std::uintptr_t high = __float_as_uint(load_aside(at + kAsideBytes));
      return reinterpret_cast<T*>(high << 32 | __float_as_uint(load_aside(at)));
    }
    __device__ void put(const T* pointer) const {
      const auto bits = reinterpret_cast<std::uintptr_t>(pointer);
      put_aside(at, __uint_as_float(static_cast<std::uint32_t>(bits)));
      put_aside(at + kAsideBytes, __uint_as_float(static_cast<std::uint32_t>(bits >> 32)));
    }
  };
  struct Scale {
    std::uint32_t at;
    __device__ float operator[](int pol) const { return load_aside(at + pol * kAsideBytes); }
  };
  struct Read {
    float* out;
    int n_segments;
    Scale scale;
    Pointer<const short2> coefficients;
  };
  std::uint32_t at;
  __device__ std::uint32_t slot(int index) const { return at + index * kAsideBytes; }
  __device__ Pointer<float> out() const { return {slot(0)}; }
  __device__ Pointer<const short2> coefficients() const { return {slot(2)}; }
  __device__ Scale scale() const { return {slot(5)}; }
  __device__ void put(const Target& target, float unit) const {
    out().put(target.out);
    coefficients().put(target.coefficients);
    put_aside(slot(4), __int_as_float(target.n_segments));
    for (int pol = 0; pol < 2; ++pol) put_aside(slot(5 + pol), unit * target.scale[pol]);
  }
  __device__ Read get() const {
    return {out(), __float_as_int(load_aside(slot(4))), scale(), coefficients()};
  }
};

/// Calls with(n) where n is known when compiling: 1..kMax.
template <int kMax, class With>
__device__ __forceinline__ void with_count(int n, const With& with) {
  if constexpr (kMax > 1)
    if (n < kMax) [[unlikely]]
      return with_count<kMax - 1>(n, with);
  with(std::integral_constant<int, kMax>{});
}

#endif

}  // namespace apsyn::beam_products
