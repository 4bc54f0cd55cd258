// SPDX-License-Identifier: GPL-3.0-or-later
// The fused F stage's samples: loading, and folding by the filterbank's taps.
#pragma once

#include "kernels/channelise/cuda/device.cuh"
#include "kernels/channelise/cuda/fused/shape.cuh"

namespace apsyn::f_stage {

/// The samples of a chunk at one time, as 8 int8: the window's own bytes, or spread nibbles.
__device__ __forceinline__ uint2 load_chunk(const SampleWindow& window, const std::uint8_t* at) {
  if (window.format == SampleFormat::int8) return __ldg(reinterpret_cast<const uint2*>(at));
  const unsigned packed = __ldg(reinterpret_cast<const unsigned*>(at));
  const unsigned re = packed & 0xF0F0F0F0u, im = (packed << 4) & 0xF0F0F0F0u;
  return make_uint2(__byte_perm(re, im, 0x5140), __byte_perm(re, im, 0x7362));
}

/// sum += weight * the 8 values of a chunk. Byte k ^ 0x80 in the lowest mantissa bits of 2^23 is
/// 2^23 + 128 + value.
__device__ __forceinline__ void add_tap(float (&sum)[2 * kChunk], uint2 raw, float weight) {
  const unsigned low = raw.x ^ 0x80808080u, high = raw.y ^ 0x80808080u;
  constexpr float kBias = 8388608.0f + 128.0f;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const unsigned selector = 0x7440u | k;
    sum[k] = fmaf(weight, __uint_as_float(__byte_perm(low, 0x4B000000u, selector)) - kBias, sum[k]);
    sum[k + 4] = fmaf(weight, __uint_as_float(__byte_perm(high, 0x4B000000u, selector)) - kBias, sum[k + 4]);
  }
}

/// Folds the samples of one item, sliding from spectrum to spectrum.
template <int kTaps>
struct Fold {
  uint2 older[kTaps > 1 ? kTaps - 1 : 1];  // taps 0 .. kTaps - 2 of the last spectrum shifted by one
  uint2 newest;                            // fetched ahead
};

// Starts of a chunk that are none.
constexpr int kNothing = kNoWeight, kApart = kNoWeight + 1;  // no stream has weight; streams start apart

/// The eight components of a chunk at one tap when its streams start apart, or not on a multiple of 8 bytes.
static __device__ __noinline__ uint2 gather_chunk(const Task& task, int chan, int first_component,
                                                  int spectrum, int offset) {
  const SampleWindow& window = task.samples;
  const int n_component = window.real ? window.n_input : 2 * window.n_input;
  const int per_ant = window.real ? task.n_pol : 2 * task.n_pol;
  unsigned bytes[2] = {0, 0};
  for (int k = 0; k < 2 * kChunk; ++k) {
    const int component = first_component + k;
    if (component >= n_component) break;
    const int start = start_of(task, component / per_ant, spectrum);
    if (start == kNoWeight) continue;
    const auto value = static_cast<signed char>(
        static_cast<int>(load_component(window, chan, component, std::int64_t(start) + offset)));
    bytes[k / 4] |= unsigned(static_cast<unsigned char>(value)) << (8 * (k % 4));
  }
  return make_uint2(bytes[0], bytes[1]);
}

/// The start that all streams of a chunk share, or kNothing, kApart.
static __device__ __forceinline__ int start_of_chunk(const Task& task, int first_component, int spectrum,
                                                     bool aligned) {
  const SampleWindow& window = task.samples;
  const int n_component = window.real ? window.n_input : 2 * window.n_input;
  const int per_ant = window.real ? task.n_pol : 2 * task.n_pol;
  int common = kNothing;
  if (spectrum >= task.n_spectra || first_component >= n_component) return common;
  const int last = min(first_component + 2 * kChunk, n_component) - 1;
  for (int ant = first_component / per_ant; ant <= last / per_ant; ++ant) {
    const int start = start_of(task, ant, spectrum);
    if (start == kNoWeight) continue;
    if (common != kNothing && start != common) return kApart;
    common = start;
  }
  return common == kNothing || aligned ? common : kApart;
}

}  // namespace apsyn::f_stage
