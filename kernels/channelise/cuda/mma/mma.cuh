// SPDX-License-Identifier: GPL-3.0-or-later
// The F stage on tensor cores: samples -> filterbank and transform -> turn -> integers in the X stage's
// layout, one kernel that reads each sample once and writes each value once.
//
// A block makes items of 16 inputs of one input channel and 32 spectra (16 where shared memory is short),
// four spectra at a time:
//   first pass   filterbank, a transform of radix 8 (complex samples) or 16 (real ones) and its turns as a
//                product of int8 samples by weights of three int8 digits (mma_factors.h). A warp keeps the
//                weights of its set of samples and the samples of the last taps in registers, and fetches
//                those of the next four spectra ahead; sums are exact.
//   second pass  transforms of the rest of the length, in registers; of one warp those of bins f + P g.
//                Real inputs: bins above the middle are those of the mirror image, and bins 0 and P / 2 of
//                first passes, which are real, of two inputs make one transform.
//   finish       turn, scale, round and clip; bytes to a tile in shared memory, which is written at the end.
// Between the passes values go through one exchange in shared memory. Warps wait for each other before the
// second pass takes them; that all have been taken is told by a barrier of its own, so that a warp may finish
// its spectra and multiply the next before it has to look.
#pragma once

#include "kernels/channelise/cuda/mma/samples.cuh"
#include "kernels/common/cuda/sm90/mbarrier.cuh"

namespace apsyn::f_stage {

/// What a thread has of a spectrum after the second pass: two runs of values, kRadix bins from each other.
template <class S>
struct SecondPass {
  static constexpr int kHalf = S::kBehind / 2;
  float2 values[2][kHalf];
  int f, column;
  int input[2];  ///< of the item
  int bin[2];
  bool apart;  ///< of two inputs

  /// Of first bin `first_bin` and the input in this thread's column of product g.
  __device__ __forceinline__ SecondPass(int first_bin, int g) : f(first_bin), column(threadIdx.x % 8) {
    input[0] = input[1] = 2 * column + g;
    bin[0] = f;
    bin[1] = S::kReal ? S::kRadix - f : f + S::kRadix * kHalf;
    apart = S::kReal && f == 0;
    if (!apart) return;
    const int odd = column & 1;
    input[0] -= 2 * odd;
    input[1] = input[0] + 2;
    bin[0] = bin[1] = odd * S::kRadix / 2;
  }

  /// Transforms the values. `rows` is the product's part of the exchange; `taken` is called once nothing of
  /// it is needed any more.
  template <class Taken>
  __device__ __forceinline__ void run(const float2* rows, const Taken& taken) {
    float2 x[S::kBehind];
    if (apart) {
      run_real_ends(rows, x, taken);
      return;
    }
#pragma unroll
    for (int b = 0; b < S::kBehind; ++b) x[b] = rows[b * S::kExchangeSet + f * 8 + column];
    taken();
    radix::Transform<S::kBehind>::run(x);
#pragma unroll
    for (int k = 0; k < kHalf; ++k) {
      values[0][k] = x[k];
      values[1][k] = S::kReal ? make_float2(x[S::kBehind - 1 - k].x, -x[S::kBehind - 1 - k].y) : x[kHalf + k];
    }
  }

  /// Bins 0, 16 .. (even columns' threads) and 8, 24 .. (odd ones') of the real inputs of two columns.
  template <class Taken>
  __device__ __forceinline__ void run_real_ends(const float2* rows, float2 (&x)[S::kBehind],
                                                const Taken& taken) {
    const int odd = column & 1;
    const float* from = reinterpret_cast<const float*>(rows + column - odd) + odd;
#pragma unroll
    for (int b = 0; b < S::kBehind; ++b)
      x[b] = make_float2(from[b * 2 * S::kExchangeSet], from[b * 2 * S::kExchangeSet + 2]);
    taken();
#pragma unroll
    for (int b = 0; b < S::kBehind; ++b) {
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

/// Where an item's spectra start and how they end, in shared memory.
struct Places {
  float4* turns;  // phase, step, scale, whether used; [spectrum][odd input or even][pair of inputs]
  float2* steps;  // the same
  int* starts;    // [spectrum][input]

  template <class S>
  __device__ __forceinline__ static Places at(unsigned char* shared) {
    auto* turns = reinterpret_cast<float4*>(shared);
    auto* steps = reinterpret_cast<float2*>(turns + S::kPlaces);
    return {turns, steps, reinterpret_cast<int*>(steps + S::kPlaces)};
  }
  template <class S>
  __device__ __forceinline__ static int place(int spectrum, int input) {
    return spectrum * S::kInputs + input % 2 * (S::kInputs / 2) + input / 2;
  }
  template <class S>
  __device__ __forceinline__ Ending ending(int spectrum, int input) const {
    const int at = place<S>(spectrum, input);
    const float4 turn = turns[at];
    return {{turn.x, turn.y, turn.w != 0}, turn.z, steps[at]};
  }

  /// Fills in this thread's share; whether it lets the first pass be steady: both inputs of a pair are there
  /// and start together where a load takes both, and spectra follow each other.
  template <class S>
  __device__ __forceinline__ bool fill(const Task& task, const BlockPlace& block, float unit) const {
    const SampleWindow& window = task.samples;
    const unsigned pair_bytes = !S::kReal && window.format == SampleFormat::int8 ? 4 : 2;
    bool steady = window.time_bytes % pair_bytes == 0 && window.chan_bytes % pair_bytes == 0 &&
                  reinterpret_cast<std::uintptr_t>(window.data) % pair_bytes == 0;
    for (int i = threadIdx.x; i < S::kPlaces; i += S::kThreads) {
      const int s = i % S::kSpan, in_block = i / S::kSpan;
      const int input = block.first_input + in_block, spectrum = block.first_spectrum + s;
      int start = kNoWeight;
      if (input < window.n_input && spectrum < task.n_spectra) {
        start = start_of(task, input / task.n_pol, spectrum);
        const int first = start_of(task, (input & ~1) / task.n_pol, block.first_spectrum);
        steady = steady && start != kNoWeight && start == first + s * S::kLength;
      } else {
        steady = false;
      }
      starts[s * S::kInputs + in_block] = start;
      const Ending ending = ending_of<S::kRadix>(task, block.chan, input, spectrum, unit);
      turns[place<S>(s, in_block)] =
          make_float4(ending.turn.phase, ending.turn.step, ending.scale, ending.turn.used ? 1.0f : 0.0f);
      steps[place<S>(s, in_block)] = ending.step;
    }
    return steady;
  }
};

/// A barrier in shared memory of all threads, at which they arrive and may wait later.
struct Rendezvous {
  std::uint32_t barrier;
  unsigned n_passed = 0;

  __device__ __forceinline__ void arrive() const { ptx::barrier_arrive(barrier); }
  __device__ __forceinline__ void wait() { ptx::barrier_wait(barrier, n_passed++ & 1); }
};

/// The second pass and the end of a phase, spectra s .. of the item, that has gone through the exchange.
template <class S, bool kDither>
__device__ __forceinline__ void finish_phase(const Task& task, const IntegerOutput& out, const BlockPlace& at,
                                             const Places& places, int first_s, const float2* exchange,
                                             unsigned short* tile, Rendezvous& made,
                                             const Rendezvous& taken) {
  const int warp = threadIdx.x / 32, u = threadIdx.x % 32 / 8;
  const int s = first_s + u, spectrum = at.first_spectrum + s;
#pragma unroll 1
  for (int unit = 0; unit < S::kUnits; ++unit) {
    const int g = (warp + unit * S::kWarps) / 8;
    SecondPass<S> second((warp + g) % 8, g);
    float2 phase[2];  // while others still come
#pragma unroll
    for (int k = 0; k < 2; ++k)
      phase[k] = phase_at(task, places.ending<S>(s, second.input[k]),
                          second.bin[k] - (!S::kReal && k == 1 ? S::kLength : 0));
    if (unit == 0) made.wait();
    second.run(exchange + u * S::kExchangeSpectrum + g * 64, [&] {
      if (unit + 1 == S::kUnits) taken.arrive();
    });
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const int input = second.input[k], bin = second.bin[k];
      finish<S::kBehind / 2, S::kRadix, S::kReal, kDither>(
          task, out, at.chan, at.first_input + input, spectrum, places.ending<S>(s, input), phase[k], bin,
          second.values[k],
          tile + s / S::kRun * S::kTileRun + S::tile_input(input) + s % S::kRun * S::kTileSpectrum + bin);
    }
  }
}

/// Items are 16 inputs of a channel in as many spectra as a block owns.
template <class S, bool kDither>
__global__ void __launch_bounds__(S::kThreads, S::kMinBlocks)
    channelise_mma(const __grid_constant__ Task task, const __grid_constant__ IntegerOutput out,
                   const uint4* factors, int n_groups, int items_of_chan) {
  extern __shared__ __align__(16) unsigned char shared[];
  auto* exchange = reinterpret_cast<float2*>(shared);
  auto* tile = reinterpret_cast<unsigned short*>(shared + S::kExchangeBytes);
  unsigned char* place_bytes = shared + S::kExchangeBytes + S::kTileBytes;
  __shared__ std::uint64_t barriers[2];
  Rendezvous made{ptx::shared_address(barriers)}, taken{ptx::shared_address(barriers + 1)};
  if (threadIdx.x < 2) ptx::barrier_init(made.barrier + 8 * threadIdx.x, S::kThreads);

  const float unit = __uint_as_float(__ldg(factors).x);
  const int n_items = items_of_chan * task.samples.n_chan;
  int item = blockIdx.x;
  const auto place_of_item = [&] {
    return place_of<S>(item / items_of_chan, item % items_of_chan, n_groups);
  };
  BlockPlace at = place_of_item();
  int half = 0;  // of the places that are the item's
  const auto places = [&](int which) { return Places::at<S>(place_bytes + which * S::kPlaceBytes); };
  bool steady = __syncthreads_and(places(0).template fill<S>(task, at, unit));
#if __CUDA_ARCH__ >= 900
  constexpr bool kOlderAhead = !(S::kReal && kDither);
#else
  constexpr bool kOlderAhead = !S::kReal;
#endif
  FirstPass<S, kOlderAhead> first(task, reinterpret_cast<const unsigned*>(factors + 1));
  first.start(at, places(0).starts, steady);
  bool begun = false;
  while (true) {
    // one at least, of spectra without weight, which looks up the next item's places
    const int n_phases =
        max(1, (min(S::kSpan, task.n_spectra - at.first_spectrum) + S::kPhase - 1) / S::kPhase);
    item += gridDim.x;
    const bool goes_on = S::kStays && item < n_items;
    bool next_steady = true;
    first.take_older();
#pragma unroll 1
    for (int phase = 0; phase < n_phases; ++phase) {
      const int s = phase * S::kPhase;
      first.run(s, exchange, [&] {
        if (begun) taken.wait();
        begun = true;
      });
      made.arrive();
      if (steady && phase + 1 < n_phases) first.fetch();
      if (goes_on && phase == 0) next_steady = places(half ^ 1).template fill<S>(task, place_of_item(), unit);
      finish_phase<S, kDither>(task, out, at, places(half), s, exchange, tile, made, taken);
    }
    next_steady = __syncthreads_and(next_steady);
    half ^= 1;
    if (goes_on) first.start(place_of_item(), places(half).starts, next_steady);
    write_tile<S>(task, out, at, tile);
    if (!goes_on) return;
    at = place_of_item();
    steady = next_steady;
  }
}

}  // namespace apsyn::f_stage
