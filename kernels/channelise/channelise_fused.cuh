// SPDX-License-Identifier: GPL-3.0-or-later
// The fused F stage: samples -> filterbank -> transform -> turn -> integers in the X stage's layout, one
// kernel that reads each sample once and writes each value once.
//
// A block owns kStreams streams of one input channel and kSpan spectra: kRuns runs of 8 side by side, each of
// which it makes one after the other. Their bytes gather in shared memory, and are written when whole sectors
// of rows are there. Per spectrum of each run:
//   fold       a thread owns samples n of four neighbouring streams (8 bytes) and keeps the raw bytes of the
//              last N - 1 taps in registers, as spectrum s + 1 needs all of spectrum s but its oldest tap
//   transform  16 values per thread (fused_transform.cuh)
//   finish     real inputs part; turn, scale, round and clip; bytes to shared memory
// Turns within a thread go from bin to bin by a product with a constant phasor, restarted every 8 bins.
#pragma once

#include "kernels/channelise/fused_fold.cuh"
#include "kernels/channelise/fused_integers.cuh"
#include "kernels/channelise/fused_transform.cuh"

namespace apsyn::f_stage {

/// What a block is about.
struct BlockPlace {
  int chan, block;
  int first_stream;    ///< of the window
  int first_spectrum;  ///< of the task
};

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
    return chunk_of(item) / S::kStreamChunks * kRun;
  }
  __device__ __forceinline__ int start(int item, int u) const {
    return starts[first_of_run(item) + u][chunk_of(item) % S::kStreamChunks];
  }
  __device__ __forceinline__ int first_stream(int item) const {
    return place_of_block.first_stream + chunk_of(item) % S::kStreamChunks * kChunk;
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

/// Of the values x(f) of two real inputs a + i b: a = (x(f) + x(-f)*) / 2, b = (x(f) - x(-f)*) / 2i.
__device__ __forceinline__ void part_pair(float2& x, float2& mirror) {
  const float2 a = make_float2(0.5f * (x.x + mirror.x), 0.5f * (x.y - mirror.y));
  mirror = make_float2(0.5f * (x.y + mirror.y), 0.5f * (mirror.x - x.x));
  x = a;
}

__device__ __forceinline__ void count_clipped(const Task& task, const IntegerOutput& out, int chan, int input,
                                              unsigned n) {
  if (n > 0)
    atomicAdd(out.clipped + std::size_t(chan) * task.samples.n_input + input,
              static_cast<unsigned long long>(n));
}

/// Turns, scales and rounds one input's bins j + k kPerStream of a spectrum, and leaves their bytes in the
/// tile.
template <int kLength, bool kReal>
__device__ __forceinline__ void finish(const Task& task, const IntegerOutput& out, int chan, int input,
                                       int spectrum, int j, const float2* values, unsigned short* bytes) {
  using S = Shape<kLength, kReal>;
  constexpr int kBins = kReal ? kElements / 2 : kElements;
  const int n_input = task.samples.n_input;
  const bool exists = input < n_input && spectrum < task.n_spectra;
  const Turn turn = exists ? turn_of(task, chan, input / task.n_pol, spectrum) : Turn{};
  if (!turn.used) {
#pragma unroll
    for (int k = 0; k < kBins; ++k) bytes[k * S::kPerStream] = kZeroPair;
    return;
  }
  const float scale = task.scale == nullptr ? 1 : __ldg(task.scale + chan * n_input + input);
  const float sign = kReal && task.mirrored ? -1.0f : 1.0f;
  float2 step = make_float2(1, 0);
  if (task.turns) step = phasor(sign * turn.step * S::kPerStream);
  unsigned n_clipped = 0;
  constexpr int kGroup = 8;  // bins that are rounded together: few, for the registers
  float2 phase = make_float2(1, 0);
#pragma unroll
  for (int group = 0; group < kBins; group += kGroup) {
    const int bin = j + group * S::kPerStream;
    if (task.turns && group % 8 == 0)
      phase = phasor(turn.phase + sign * turn.step * (group == 0 ? bin : bin - kLength));
    float re[kGroup], im[kGroup];
    unsigned seen = kShiftBits;
#pragma unroll
    for (int k = 0; k < kGroup; ++k) {
      float2 value = values[group + k];
      if constexpr (kReal) value.y *= sign;
      if (task.turns) {
        value = radix::multiply(value, phase);
        phase = radix::multiply(phase, step);
      }
      if (!out.dither) {
        re[k] = fmaf(value.x, scale, kShift);
        im[k] = fmaf(value.y, scale, kShift);
      } else {
        float dither_re, dither_im;
        const int channel = chan * task.n_fine + Grid(task).fine(bin + k * S::kPerStream);
        const std::int64_t number = out.first_number + spectrum;
        requantise_dither(requantise_key(channel, input, number), static_cast<std::uint32_t>(number),
                          dither_re, dither_im);
        re[k] = fmaf(value.x, scale, dither_re) + kShift;
        im[k] = fmaf(value.y, scale, dither_im) + kShift;
      }
      seen |= __float_as_uint(re[k]) | __float_as_uint(im[k]);
    }
    if ((seen & 0xFFFFFF00u) != kShiftBits)
#pragma unroll
      for (int k = 0; k < kGroup; ++k) n_clipped += clip(re[k]) + clip(im[k]);
#pragma unroll
    for (int k = 0; k < kGroup; ++k)
      bytes[(group + k) * S::kPerStream] = static_cast<unsigned short>(pair_of(re[k], im[k]));
  }
  count_clipped(task, out, chan, input, n_clipped);
}

/// Writes the tile: an item is two bins of one input in one run, 8 bytes of four rows. Neighbouring threads
/// write the runs of a sector, and then neighbouring inputs: channels lie megabytes apart, and as many page
/// translations would be needed.
template <int kLength, bool kReal>
__device__ __forceinline__ void write_tile(const Task& task, const IntegerOutput& out, const BlockPlace& at,
                                           const unsigned short* tile) {
  using S = Shape<kLength, kReal>;
  const Grid grid(task);
  for (int i = threadIdx.x; i < S::kRuns * S::kInputs * S::kFine / 2; i += S::kThreads) {
    const int run = i % S::kRuns, input_of_block = i / S::kRuns % S::kInputs,
              pair = i / (S::kRuns * S::kInputs);
    const int input = (kReal ? 2 : 1) * at.first_stream + input_of_block;
    if (input >= task.samples.n_input) continue;
    const int first = at.first_spectrum + run * kRun, used = task.n_spectra - first;
    unsigned word[kRun];
#pragma unroll
    for (int u = 0; u < kRun; ++u)
      word[u] = u < used
                    ? reinterpret_cast<const unsigned*>(tile + run * S::kTileRun +
                                                        (u * S::kInputs + input_of_block) * S::kTileRow)[pair]
                    : kZeroPair | kZeroPair << 16;
    unsigned n_clipped = 0;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int channel = at.chan * task.n_fine + grid.fine(2 * pair + half);
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        const unsigned byte = 2 * half + part;
        unsigned packed[2];
#pragma unroll
        for (int quad = 0; quad < 2; ++quad) {
          const unsigned select = byte | (byte + 4) << 4;
          const unsigned ab = __byte_perm(word[4 * quad], word[4 * quad + 1], select);
          const unsigned cd = __byte_perm(word[4 * quad + 2], word[4 * quad + 3], select);
          packed[quad] = __byte_perm(ab, cd, 0x5410);
          n_clipped += clip_bytes(packed[quad]);
          packed[quad] ^= 0x80808080u;
        }
        std::int8_t* to = out.data + out.layout.row(channel, at.block, input) +
                          x_layout::offset_8bit(input, part, first % kBlockSpectra);
        *reinterpret_cast<uint2*>(to) = make_uint2(packed[0], packed[1]);
      }
    }
    count_clipped(task, out, at.chan, input, n_clipped);
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

  // Blocks that share a row of 64 spectra run at the same time, and so do those that share samples.
  constexpr int kBlocksOfRow = kBlockSpectra / S::kSpan;
  const int part_of_row = blockIdx.x % kBlocksOfRow, group = blockIdx.x / kBlocksOfRow % n_groups,
            block = blockIdx.x / kBlocksOfRow / n_groups;
  const BlockPlace at{int(blockIdx.y), block, group * S::kStreams,
                      block * kBlockSpectra + part_of_row * S::kSpan};
  const int row_of_block = threadIdx.x / S::kPerStream, j = threadIdx.x % S::kPerStream;
  const int run = row_of_block / S::kStreams, stream = row_of_block % S::kStreams;
  float2* row = exchange + row_of_block * S::kRow;

  for (int i = threadIdx.x; i < S::kSpan * S::kStreamChunks; i += S::kThreads) {
    const int chunk = i % S::kStreamChunks, s = i / S::kStreamChunks;
    starts[s][chunk] =
        start_of_chunk(task, 2 * (at.first_stream + chunk * kChunk), at.first_spectrum + s, aligned);
  }
  __syncthreads();

  Folder<kLength, kTaps, kReal> folder{task, at, starts};
  folder.fetch(0);
  for (int u = 0; u < kRun; ++u) {
    if (at.first_spectrum + u >= task.n_spectra) break;  // the first run's, so everybody's
    folder.run(u, exchange);
    if (u + 1 < kRun) folder.fetch(u + 1);
    __syncthreads();
    float2 x[kElements];
    transform<kLength>(row, j, twiddles, x);
    const int spectrum = at.first_spectrum + run * kRun + u;
    auto bytes_of = [&](int input_of_block) {
      return tile + run * S::kTileRun + (u * S::kInputs + input_of_block) * S::kTileRow + j;
    };
    if constexpr (kReal) {
      float2 mirror[kElements / 2];
      exchange_mirror<kLength>(row, j, x, mirror);
#pragma unroll
      for (int k = 0; k < kElements / 2; ++k) part_pair(x[k], mirror[k]);
      const int input = 2 * (at.first_stream + stream);
      finish<kLength, kReal>(task, out, at.chan, input, spectrum, j, x, bytes_of(2 * stream));
      finish<kLength, kReal>(task, out, at.chan, input + 1, spectrum, j, mirror, bytes_of(2 * stream + 1));
    } else {
      finish<kLength, kReal>(task, out, at.chan, at.first_stream + stream, spectrum, j, x, bytes_of(stream));
    }
    __syncthreads();
  }
  write_tile<kLength, kReal>(task, out, at, tile);
}

}  // namespace apsyn::f_stage
