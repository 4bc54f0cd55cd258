// SPDX-License-Identifier: GPL-3.0-or-later
// The F stage on tensor cores: samples -> filterbank and transform -> turn -> integers in the X stage's
// layout, one kernel that reads each sample once and writes each value once.
//
// A block owns 8 inputs of one input channel and 32 spectra, which it makes four at a time:
//   first pass   filterbank, a transform of radix 8 (complex samples) or 16 (real ones) and its turns as a
//                product of int8 samples by weights of three int8 digits (mma_factors.h). A warp keeps the
//                weights of its sets of samples and the samples of the last taps in registers; sums are
//                exact.
//   second pass  transforms of the rest of the length, in registers; of warp f those that make bins f + P g.
//                Real inputs: bins above the middle are those of the mirror image, and bins 0 and P / 2 of
//                first passes, which are real, of two inputs make one transform.
//   finish       turn, scale, round and clip; bytes to a tile in shared memory, which is written at the end.
#pragma once

#include "kernels/channelise/mma_samples.cuh"

namespace apsyn::f_stage {

/// What a thread has of a spectrum after the second pass: two runs of values, kRadix bins from each other.
template <class S>
struct SecondPass {
  static constexpr int kHalf = S::kBehind / 2;
  float2 values[2][kHalf];
  int input[2];  ///< of the block
  int bin[2];
  bool apart;  ///< of two inputs

  /// Transforms the values of first bin f; `rows` is the spectrum's part of the exchange.
  __device__ __forceinline__ void run(const float2* rows, int f, int its_input) {
    float2 x[S::kBehind];
    input[0] = input[1] = its_input;
    apart = false;
    if (S::kReal && f == 0) {
      run_real_ends(rows, its_input, x);
      return;
    }
#pragma unroll
    for (int b = 0; b < S::kBehind; ++b) x[b] = rows[b * 64 + f * 8 + its_input];
    radix::Transform<S::kBehind>::run(x);
    bin[0] = f;
    bin[1] = S::kReal ? S::kRadix - f : f + S::kRadix * kHalf;
#pragma unroll
    for (int k = 0; k < kHalf; ++k) {
      values[0][k] = x[k];
      values[1][k] = S::kReal ? make_float2(x[S::kBehind - 1 - k].x, -x[S::kBehind - 1 - k].y) : x[kHalf + k];
    }
  }

  /// Bins 0, 16 .. (even inputs' threads) and 8, 24 .. (odd ones') of two real inputs.
  __device__ __forceinline__ void run_real_ends(const float2* rows, int its_input, float2 (&x)[S::kBehind]) {
    const int odd = its_input & 1;
    input[0] = its_input - odd;
    input[1] = input[0] + 1;
    apart = true;
    bin[0] = bin[1] = odd * S::kRadix / 2;
    const float* from = reinterpret_cast<const float*>(rows + input[0]) + odd;
#pragma unroll
    for (int b = 0; b < S::kBehind; ++b) {
      x[b] = make_float2(from[b * 128], from[b * 128 + 2]);
      float sine, cosine;
      sincospif(-static_cast<float>(b) / S::kBehind, &sine, &cosine);  // a constant
      if (odd) x[b] = radix::multiply(x[b], make_float2(cosine, sine));
    }
    radix::Transform<S::kBehind>::run(x);
#pragma unroll
    for (int k = 0; k < kHalf; ++k) {
      values[0][k] = x[k];
      values[1][k] = odd ? x[S::kBehind - 1 - k] : x[(S::kBehind - k) % S::kBehind];
      part_pair(values[0][k], values[1][k]);
    }
  }
};

template <int kLength, int kTaps, bool kReal, bool kDither>
__global__ void __launch_bounds__(256, kDither ? 1 : 2)
    channelise_mma(const __grid_constant__ Task task, const __grid_constant__ IntegerOutput out,
                   const uint4* factors, int n_groups) {
  using S = MmaShape<kLength, kTaps, kReal>;
  extern __shared__ __align__(16) unsigned char shared[];
  auto* exchange = reinterpret_cast<float2*>(shared);
  auto* tile = reinterpret_cast<unsigned short*>(shared + S::kExchangeBytes);
  __shared__ int starts[S::kSpan][S::kInputs];

  const BlockPlace at = place_of_block<S>(n_groups);
  static_assert(S::kSpan * S::kInputs == S::kThreads);
  {
    const int s = threadIdx.x / S::kInputs, input = at.first_input + int(threadIdx.x) % S::kInputs;
    const int spectrum = at.first_spectrum + s;
    starts[s][threadIdx.x % S::kInputs] = input < task.samples.n_input && spectrum < task.n_spectra
                                              ? start_of(task, input / task.n_pol, spectrum)
                                              : kNoWeight;
  }
  __syncthreads();

  const float unit = __uint_as_float(__ldg(factors).x);
  FirstPass<S> first{task, at, starts, reinterpret_cast<const unsigned*>(factors + 1)};
  const int f = threadIdx.x / 32, u = threadIdx.x % 32 / S::kInputs;
  for (int phase = 0; phase < S::kSpan / S::kPhase; ++phase) {
    if (at.first_spectrum + phase * S::kPhase >= task.n_spectra) break;
    first.run(phase * S::kPhase, exchange);
    __syncthreads();
    SecondPass<S> second;
    second.run(exchange + u * S::kExchangeSpectrum, f, threadIdx.x % S::kInputs);
    const int s = phase * S::kPhase + u, spectrum = at.first_spectrum + s;
    Ending ending{};
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const int input = at.first_input + second.input[k];
      if (k == 0 || second.apart) ending = ending_of<S::kRadix>(task, at.chan, input, spectrum, unit);
      const int bin = second.bin[k], index = !kReal && k == 1 ? bin - kLength : bin;
      finish<S::kBehind / 2, S::kRadix, kReal, kDither>(
          task, out, at.chan, input, spectrum, ending, bin, index, second.values[k],
          tile + s / S::kRun * S::kTileRun + (s % S::kRun * S::kInputs + second.input[k]) * S::kTileRow +
              bin);
    }
    __syncthreads();
  }
  write_tile<S>(task, out, at, tile);
}

}  // namespace apsyn::f_stage
