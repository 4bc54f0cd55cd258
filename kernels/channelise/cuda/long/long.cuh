// SPDX-License-Identifier: GPL-3.0-or-later
// The F stage of long spectra and of filterbanks with many taps: series of samples (cuda/long/series.cuh) ->
// filterbank -> transform -> turn -> integers in the X stage's layout, one kernel.
//
// A block makes kSpan spectra of one stream of one input channel, kTransforms at a time, kPer threads each
// with 32 values:
//   fold       sums of products of integers, four taps in an instruction (cuda/long/fold.cuh)
//   transform  passes of radix 32 and less (cuda/long/transform.cuh); up to 1024 samples within a warp
//   finish     real inputs part; turn, scale, round and clip; bytes to a tile in shared memory, which is
//              written when the block's spectra are made (cuda/long/write_tile.cuh)
#pragma once

#include "kernels/channelise/cuda/fused/finish.cuh"
#include "kernels/channelise/cuda/long/fold.cuh"
#include "kernels/channelise/cuda/long/task.cuh"
#include "kernels/channelise/cuda/long/transform.cuh"
#include "kernels/channelise/cuda/long/write_tile.cuh"

namespace apsyn::f_stage {

/// Where a block's spectra start and how they end, in shared memory; [spectrum][input].
template <class S>
struct LongPlaces {
  float4* endings;  // phase, step, scale, whether used
  float2* turns;    // [place][k], of bins k kPer from bin 0
  int* starts;

  __device__ __forceinline__ explicit LongPlaces(unsigned char* shared)
      : endings(reinterpret_cast<float4*>(shared)),
        turns(reinterpret_cast<float2*>(endings + S::kPlaces)),
        starts(reinterpret_cast<int*>(turns + S::kPlaces * S::kTurns)) {}

  __device__ __forceinline__ void fill(const Task& task, int chan, int first_input, int first_spectrum,
                                       std::int64_t first_sample, float unit) const {
    for (int i = threadIdx.x; i < S::kPlaces; i += S::kThreads) {
      const int input = first_input + i % S::kInputs, spectrum = first_spectrum + i / S::kInputs;
      Turn turn;
      float scale = unit;
      int start = -1;
      if (input < task.samples.n_input && spectrum < task.n_spectra) {
        const int ant = input / task.n_pol;
        turn = turn_of(task, chan, ant, spectrum);
        if (task.scale != nullptr) scale *= __ldg(task.scale + chan * task.samples.n_input + input);
        if (task.mirrored) turn.step = -turn.step;  // the index from here on is the bin
        if (turn.used) start = static_cast<int>(start_of(task, ant, spectrum) - first_sample);
      }
      endings[i] = make_float4(turn.phase, turn.step, scale, turn.used ? 1 : 0);
      starts[i] = start;
    }
    __syncthreads();
    if (!task.turns) return;
    for (int i = threadIdx.x; i < S::kPlaces * S::kTurns; i += S::kThreads) {
      const int k = i % S::kTurns;
      const int index = k * S::kPer - (!S::kReal && k >= S::kElements / 2 ? S::kLength : 0);
      turns[i] = phasor(endings[i / S::kTurns].y * index);
    }
    __syncthreads();
  }
};

/// Ends bins j + (first + k) kPer, k below 8, of a place.
template <class S>
__device__ __forceinline__ void finish_long(const Task& task, const IntegerOutput& out, int chan, int input,
                                            int spectrum, const LongPlaces<S>& places, int place,
                                            float2 phase, int j, int first, float2 (&values)[8],
                                            unsigned short* bytes) {
  bytes += j + first * S::kPer;
  const float4 ending = places.endings[place];
  if (ending.w == 0) {
#pragma unroll
    for (int k = 0; k < 8; ++k) bytes[k * S::kPer] = 0;
    return;
  }
  if (S::kReal && task.mirrored)
#pragma unroll
    for (int k = 0; k < 8; ++k) values[k].y = -values[k].y;
  if (task.turns) {
    const float2* turns = places.turns + place * S::kTurns + first;
#pragma unroll
    for (int k = 0; k < 8; ++k) values[k] = radix::multiply(values[k], radix::multiply(phase, turns[k]));
  }
  const int bin = j + first * S::kPer;
  if (out.dither)
    round_values<8, S::kPer, true>(task, out, chan, input, spectrum, ending.z, bin, values, bytes);
  else
    round_values<8, S::kPer, false>(task, out, chan, input, spectrum, ending.z, bin, values, bytes);
}

/// What turns bin j of a place.
template <class S>
__device__ __forceinline__ float2 phase_of(const Task& task, const LongPlaces<S>& places, int place, int j) {
  const float4 ending = places.endings[place];
  return task.turns ? phasor(ending.x + ending.y * j) : make_float2(1, 0);
}

/// Parts the two real inputs of a transform and ends them. Bins above the middle come from the threads of
/// their mirror images.
template <class S>
__device__ __forceinline__ void finish_pair(const Task& task, const IntegerOutput& out, int chan,
                                            int first_input, int spectrum, const LongPlaces<S>& places,
                                            int place, int j, int transform, float2* row,
                                            float2 (&x)[S::kElements], unsigned short* bytes) {
  constexpr int kHalf = S::kElements / 2, kMiddle = S::kLength / 2;
  const auto at = [](int p) { return p + p / 32; };
  wait_for_transform<S>(transform);
#pragma unroll
  for (int k = 0; k < kHalf; ++k) row[at(j + k * S::kPer)] = x[kHalf + k];
  wait_for_transform<S>(transform);
  const float2 phase[2] = {phase_of<S>(task, places, place, j), phase_of<S>(task, places, place + 1, j)};
#pragma unroll
  for (int first = 0; first < kHalf; first += 8) {
    float2 a[8], b[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      const int bin = j + (first + k) * S::kPer;
      a[k] = x[first + k];
      b[k] = bin == 0 ? x[0] : row[at(kMiddle - bin)];
      part_pair(a[k], b[k]);
    }
    finish_long<S>(task, out, chan, first_input, spectrum, places, place, phase[0], j, first, a, bytes);
    finish_long<S>(task, out, chan, first_input + 1, spectrum, places, place + 1, phase[1], j, first, b,
                   bytes + S::kTileRow);
  }
}

template <class S, int kWords>
__device__ __forceinline__ void fold_place(const Series& series, int series_chan, int stream,
                                           const LongFactors& factors, const int* starts, int j,
                                           float2 (&x)[S::kElements]) {
  const uint2* data =
      series.data + (std::size_t(series_chan) * series.n_streams + stream) * series.n_groups * S::kLength;
  const int2 start = make_int2(starts[0], starts[S::kInputs - 1]);
  if (S::kReal && start.x != start.y) return fold_apart<S>(data, factors.weights, kWords, start, j, x);
  const int from = max(start.x, 0);  // what has no weight is made of anything, and not used
  const bool wraps = from % S::kLength != 0;
  if (wraps)
    fold_series<S, kWords, true>(data, factors.weights, from, j, x);
  else
    fold_series<S, kWords, false>(data, factors.weights, from, j, x);
}

/// Brings what the block's next transforms need of a stream into the cache, but for what these needed too:
/// groups behind the first one's, by lines of 16 words.
template <class S>
__device__ __forceinline__ void fetch_next(const Series& series, int series_chan, int stream, int n_words,
                                           int start) {
  if (start < 0) return;
  constexpr int kLine = 16, kGroups = S::kTransforms / 4 > 1 ? S::kTransforms / 4 : 1;
  const int first = start / S::kLength / 4 + n_words;
  const uint2* data =
      series.data +
      ((std::size_t(series_chan) * series.n_streams + stream) * series.n_groups + first) * S::kLength;
  for (int line = threadIdx.x; line < kGroups * (S::kLength / kLine); line += S::kThreads)
    if (first + line / (S::kLength / kLine) < series.n_groups)
      asm volatile("prefetch.global.L2 [%0];" ::"l"(data + line * kLine));
}

template <class S, int kWords>
__device__ __forceinline__ void channelise_block(const Task& task, const IntegerOutput& out,
                                                 const Series& series, const LongFactors& factors,
                                                 int first_of_batch) {
  extern __shared__ __align__(16) unsigned char shared[];
  auto* tile = reinterpret_cast<unsigned short*>(shared + S::kExchangeBytes);
  const LongPlaces<S> places(shared + S::kSharedBytes - S::kPlaceBytes);

  // blocks that share a row of 64 spectra run at the same time, and so do those that share samples
  constexpr int kBlocksOfRow = kBlockSpectra / S::kSpan;
  const int part_of_row = blockIdx.x % kBlocksOfRow, rest = blockIdx.x / kBlocksOfRow;
  const int stream = rest % series.n_streams, chan = series.first_chan + blockIdx.y;
  const int first_input = (series.first_stream + stream) * S::kInputs;
  const int first_spectrum =
      first_of_batch + rest / series.n_streams * kBlockSpectra + part_of_row * S::kSpan;

  const int transform = threadIdx.x / S::kPer;
  unsigned char* row = shared + transform * (S::kExchangeBytes / S::kTransforms);
  places.fill(task, chan, first_input, first_spectrum, series.first, __ldg(factors.unit));
#pragma unroll 1
  for (int first = 0; first < S::kSpan; first += S::kTransforms) {
    if (first_spectrum + first >= task.n_spectra) break;
    const int place = (first + transform) * S::kInputs, spectrum = first_spectrum + first + transform;
    unsigned short* bytes = tile + place * S::kTileRow;
    // nothing made of j outlives an iteration, or is anything but a sum whose constant part a load may add
    int j = threadIdx.x % S::kPer;
    asm volatile("" : "+r"(j));
    float2 x[S::kElements];
    fold_place<S, kWords>(series, blockIdx.y, stream, factors, places.starts + place, j, x);
    if (first + S::kTransforms < S::kSpan)
      fetch_next<S>(series, blockIdx.y, stream, kWords, places.starts[(first + S::kTransforms) * S::kInputs]);
    transform_long<S>(row, j, transform, factors.turns, x);
    if constexpr (S::kReal) {
      finish_pair<S>(task, out, chan, first_input, spectrum, places, place, j, transform,
                     reinterpret_cast<float2*>(row), x, bytes);
    } else {
      const float2 phase = phase_of<S>(task, places, place, j);
#pragma unroll
      for (int group = 0; group < S::kElements; group += 8) {
        float2 values[8];
#pragma unroll
        for (int k = 0; k < 8; ++k) values[k] = x[group + k];
        finish_long<S>(task, out, chan, first_input, spectrum, places, place, phase, j, group, values, bytes);
      }
    }
  }
  __syncthreads();
  write_long_tile<S>(task, out, chan, first_input, first_spectrum, tile);
}

/// Of taps that fill kWords words. Code for one kind of device is made of one kind of shape.
template <class S, int kWords>
__global__ void __launch_bounds__(S::kThreads, S::kMinBlocks)
    channelise_long(const __grid_constant__ Task task, const __grid_constant__ IntegerOutput out,
                    const __grid_constant__ Series series, const __grid_constant__ LongFactors factors,
                    int first_of_batch) {
#ifdef __CUDA_ARCH__
  if constexpr (!S::kHasSmall || S::kSmall != has_whole_tiles(__CUDA_ARCH__))
    channelise_block<S, kWords>(task, out, series, factors, first_of_batch);
  else
    __trap();
#endif
}

}  // namespace apsyn::f_stage
