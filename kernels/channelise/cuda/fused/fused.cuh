// SPDX-License-Identifier: GPL-3.0-or-later
// The fused F stage: samples -> filterbank -> transform -> turn -> integers in the X stage's layout, one
// kernel that reads each sample once and writes each value once.
//
// A block owns kStreams streams of one input channel and kSpan spectra: kRuns runs of 8 side by side, each of
// which it makes one after the other. Their bytes gather in shared memory, and are written when whole sectors
// of rows are there. Per spectrum of each run:
//   fold       a thread owns samples n of four neighbouring streams (8 bytes) and keeps the raw bytes of the
//              last N - 1 taps in registers, as spectrum s + 1 needs all of spectrum s but its oldest tap
//   transform  16 values per thread (cuda/fused/transform.cuh)
//   finish     real inputs part; turn, scale, round and clip; bytes to shared memory (cuda/fused/finish.cuh)
#pragma once

#include "kernels/channelise/cuda/fused/finish.cuh"
#include "kernels/channelise/cuda/fused/fold.cuh"
#include "kernels/channelise/cuda/fused/transform.cuh"

namespace apsyn::f_stage {

/// This thread's share of the fold: samples of kItems chunks, sliding from spectrum to spectrum.
template <int kLength, int kTaps, bool kReal>
struct Folder {
  using S = Shape<kLength, kReal>;
  static_assert(S::kItems * S::kThreads == kLength * S::kChunks);
  const Task& task;
  const BlockPlace& place_of_block;
  const int (&starts)[S::kSpan][S::kStreamChunks];  ///< [spectrum of the block][chunk of streams]
  Fold<kTaps> fold[S::kItems];

  __device__ __forceinline__ static int chunk_of(int item) {
    return (item * S::kThreads + int(threadIdx.x)) / 16 % S::kChunks;
  }
  __device__ __forceinline__ static int sample_of(int item) {
    const int i = item * S::kThreads + int(threadIdx.x);
    return i % 16 + i / (16 * S::kChunks) * 16;
  }
  __device__ __forceinline__ static int first_of_run(int item) {
    return chunk_of(item) / S::kStreamChunks * S::kRun;
  }
  __device__ __forceinline__ int start(int item, int u) const {
    return starts[first_of_run(item) + u][chunk_of(item) % S::kStreamChunks];
  }
  __device__ __forceinline__ int first_stream(int item) const {
    return place_of_block.first_input / (kReal ? 2 : 1) + chunk_of(item) % S::kStreamChunks * kChunk;
  }
  __device__ __forceinline__ uint2 load(int item, std::int64_t time) const {
    const SampleWindow& window = task.samples;
    const int bytes_per_stream = window.format == SampleFormat::int8 ? 2 : 1;
    return load_chunk(window, window.data + time * window.time_bytes +
                                  place_of_block.chan * window.chan_bytes +
                                  first_stream(item) * bytes_per_stream);
  }

  /// Fetches ahead what spectrum u of each run needs and the one before does not.
  __device__ __forceinline__ void fetch(int u) {
#pragma unroll
    for (int item = 0; item < S::kItems; ++item)
      if (const int at = start(item, u); at > kApart)
        fold[item].newest = load(item, std::int64_t(at) + (kTaps - 1) * kLength + sample_of(item));
  }
  /// The folded samples of spectrum u of each run.
  __device__ __forceinline__ void run(int u, float2* exchange) {
#pragma unroll
    for (int item = 0; item < S::kItems; ++item) {
      const int n = sample_of(item), at = start(item, u);
      float sum[2 * kChunk] = {};
      if (at > kApart) {
        if constexpr (kTaps > 1) {
          const bool slides = u > 0 && start(item, u - 1) == at - kLength;
          if (!slides)
#pragma unroll
            for (int tap = 0; tap < kTaps - 1; ++tap)
              fold[item].older[tap] = load(item, std::int64_t(at) + tap * kLength + n);
#pragma unroll
          for (int tap = 0; tap < kTaps - 1; ++tap)
            add_tap(sum, fold[item].older[tap], __ldg(task.taps + tap * kLength + n));
#pragma unroll
          for (int tap = 0; tap < kTaps - 2; ++tap) fold[item].older[tap] = fold[item].older[tap + 1];
          fold[item].older[kTaps - 2] = fold[item].newest;
        }
        add_tap(sum, fold[item].newest, __ldg(task.taps + (kTaps - 1) * kLength + n));
      } else if (at == kApart) {
        for (int tap = 0; tap < kTaps; ++tap)
          add_tap(sum,
                  gather_chunk(task, place_of_block.chan, 2 * first_stream(item),
                               place_of_block.first_spectrum + first_of_run(item) + u, tap * kLength + n),
                  __ldg(task.taps + tap * kLength + n));
      }
#pragma unroll
      for (int k = 0; k < kChunk; ++k)
        exchange[(chunk_of(item) * kChunk + k) * S::kRow + place(n)] =
            make_float2(sum[2 * k], sum[2 * k + 1]);
    }
  }
};

/// Bins above the middle of a real pair's transform, from the threads of their mirror images.
template <int kLength>
__device__ __forceinline__ void exchange_mirror(float2* row, int j, const float2 (&x)[kElements],
                                                float2 (&mirror)[kElements / 2]) {
  constexpr int kPerStream = kLength / kElements;
  if constexpr (kPerStream == 1) {
#pragma unroll
    for (int k = 0; k < kElements / 2; ++k) mirror[k] = x[(kElements - k) % kElements];
  } else {
    wait_for_row<kPerStream>();
#pragma unroll
    for (int k = kElements / 2; k < kElements; ++k) row[place(j + k * kPerStream)] = x[k];
    if (j == 0) row[place(0)] = x[0];
    wait_for_row<kPerStream>();
#pragma unroll
    for (int k = 0; k < kElements / 2; ++k) mirror[k] = row[place((kLength - j - k * kPerStream) % kLength)];
  }
}

/// Ends one input's bins j + (kGroup group + k) kPerStream of a spectrum.
template <int kLength, bool kReal>
__device__ __forceinline__ void finish_bins(const Task& task, const IntegerOutput& out, int chan, int input,
                                            int spectrum, int j, const float2* values,
                                            unsigned short* bytes) {
  constexpr int kStride = Shape<kLength, kReal>::kPerStream, kGroup = 8;
  const Ending ending = ending_of<kStride>(task, chan, input, spectrum, 1);
#pragma unroll
  for (int group = 0; group < (kReal ? 1 : 2); ++group) {
    float2 some[kGroup];
#pragma unroll
    for (int k = 0; k < kGroup; ++k) some[k] = values[group * kGroup + k];
    const int bin = j + group * kGroup * kStride;
    const int index = group == 0 ? bin : bin - kLength;
    unsigned short* to = bytes + group * kGroup * kStride;
    const float2 phase = phase_at(task, ending, index);
    if (out.dither)
      finish<kGroup, kStride, kReal, true>(task, out, chan, input, spectrum, ending, phase, bin, some, to);
    else
      finish<kGroup, kStride, kReal, false>(task, out, chan, input, spectrum, ending, phase, bin, some, to);
  }
}

template <int kLength, int kTaps, bool kReal>
__global__ void __launch_bounds__(Shape<kLength, kReal>::kThreads, Shape<kLength, kReal>::kMinBlocks)
    channelise_fused(const __grid_constant__ Task task, const __grid_constant__ IntegerOutput out,
                     const float2* twiddles, int n_groups, bool aligned) {
  using S = Shape<kLength, kReal>;
  extern __shared__ __align__(16) unsigned char shared[];
  auto* exchange = reinterpret_cast<float2*>(shared);
  auto* tile = reinterpret_cast<unsigned short*>(shared + S::kExchangeBytes);
  __shared__ int starts[S::kSpan][S::kStreamChunks];

  const BlockPlace at = place_of<S>(blockIdx.y, blockIdx.x, n_groups);
  const int row_of_block = threadIdx.x / S::kPerStream, j = threadIdx.x % S::kPerStream;
  const int run = row_of_block / S::kStreams, stream = row_of_block % S::kStreams;
  float2* row = exchange + row_of_block * S::kRow;

  for (int i = threadIdx.x; i < S::kSpan * S::kStreamChunks; i += S::kThreads) {
    const int chunk = i % S::kStreamChunks, s = i / S::kStreamChunks;
    starts[s][chunk] = start_of_chunk(task, 2 * (at.first_input / (kReal ? 2 : 1) + chunk * kChunk),
                                      at.first_spectrum + s, aligned);
  }
  __syncthreads();

  Folder<kLength, kTaps, kReal> folder{task, at, starts};
  folder.fetch(0);
  for (int u = 0; u < S::kRun; ++u) {
    if (at.first_spectrum + u >= task.n_spectra) break;  // the first run's, so everybody's
    folder.run(u, exchange);
    if (u + 1 < S::kRun) folder.fetch(u + 1);
    __syncthreads();
    float2 x[kElements];
    transform<kLength>(row, j, twiddles, x);
    const int spectrum = at.first_spectrum + run * S::kRun + u;
    auto bytes_of = [&](int input_of_block) {
      return tile + run * S::kTileRun + (u * S::kInputs + input_of_block) * S::kTileRow + j;
    };
    if constexpr (kReal) {
      float2 mirror[kElements / 2];
      exchange_mirror<kLength>(row, j, x, mirror);
#pragma unroll
      for (int k = 0; k < kElements / 2; ++k) part_pair(x[k], mirror[k]);
      const int input = at.first_input + 2 * stream;
      finish_bins<kLength, kReal>(task, out, at.chan, input, spectrum, j, x, bytes_of(2 * stream));
      finish_bins<kLength, kReal>(task, out, at.chan, input + 1, spectrum, j, mirror,
                                  bytes_of(2 * stream + 1));
    } else {
      finish_bins<kLength, kReal>(task, out, at.chan, at.first_input + stream, spectrum, j, x,
                                  bytes_of(stream));
    }
    __syncthreads();
  }
  write_tile<S>(task, out, at, tile);
}

}  // namespace apsyn::f_stage
