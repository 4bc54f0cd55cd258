// SPDX-License-Identifier: GPL-3.0-or-later
// The fused F stage: samples -> filterbank -> transform -> turn -> integers in the X stage's layout, one
// kernel that reads each sample once and writes each value once.
//
// A block owns kStreams streams of one input channel and up to 64 spectra, which it makes one after the
// other; 8 of them at a time gather in shared memory as bytes, so that 8 bytes of a row are written
// together. Per spectrum:
//   fold       a thread owns samples n of four neighbouring streams (8 bytes) and keeps the raw bytes of the
//              last N - 1 taps in registers, as spectrum s + 1 needs all of spectrum s but its oldest tap
//   transform  16 values per thread; passes of radix 16, 8 (2, 4) in Stockham's order with an exchange
//   through
//              shared memory between them, whose rows are swizzled against bank conflicts
//   finish     real inputs part; turn, scale, round and clip; bytes to shared memory
// Turns within a thread go from bin to bin by a product with a constant phasor, restarted every 8 bins.
#pragma once

#include "kernels/channelise/channelise_device.cuh"
#include "kernels/channelise/radix.cuh"

namespace apsyn::f_stage {

constexpr int kElements = 16;  // values per thread
constexpr int kRound = 8;      // spectra that are written together
constexpr int kChunk = 4;      // streams whose samples a thread folds
constexpr int kRounds = kBlockSpectra / kRound;

template <int kLength, bool kReal>
struct Shape {
  static constexpr int kStreams = kLength >= 1024 ? 4 : kLength <= 128 ? 32 : 4096 / kLength;
  static constexpr int kPerStream = kLength / kElements;  // threads
  static constexpr int kThreads = kPerStream * kStreams;
  static constexpr int kChunks = kStreams / kChunk;
  static constexpr int kItems = kLength * kChunks / kThreads;  // folded by a thread
  static constexpr int kPad = kLength >= 256 ? 0 : kPerStream;
  static constexpr int kRow = kLength + kPad;  // of the exchange, float2
  static constexpr int kInputs = kReal ? 2 * kStreams : kStreams;
  static constexpr int kFine = kReal ? kLength / 2 : kLength;
  static constexpr int kTileRow = kFine + (kPerStream < 2 ? 2 : kPerStream < 32 ? kPerStream : 0);  // pairs
  static constexpr int kExchangeBytes = kStreams * kRow * int(sizeof(float2));
  static constexpr int kTileBytes = kRound * kInputs * kTileRow * 2;
  static constexpr int kSharedBytes = kExchangeBytes + kTileBytes;
  static constexpr int kMinBlocks = kThreads >= 512      ? 1
                                    : kThreads >= 256    ? 2
                                    : 512 / kThreads < 8 ? 512 / kThreads
                                                         : 8;
};

/// Where value p of a row stands: swizzled within groups of 16, so that the strides of all passes spread over
/// the banks.
__device__ __forceinline__ constexpr int place(int p) {
  const int q = p >> 4;
  return p ^ ((q & 7) | ((((q >> 2) ^ (q >> 3)) & 1) << 3));
}

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

/// One pass of the transform on this thread's values: butterfly b holds x[b * kRadix + r].
template <int kLength, int kRadix, int kBefore>
struct Pass {
  static constexpr int kCount = kElements / kRadix, kThreads = kLength / kElements;

  __device__ __forceinline__ static void load(const float2* row, int j, float2 (&x)[kElements]) {
#pragma unroll
    for (int b = 0; b < kCount; ++b)
#pragma unroll
      for (int r = 0; r < kRadix; ++r)
        x[b * kRadix + r] = row[place(j + b * kThreads + r * (kLength / kRadix))];
  }
  /// `twiddles` [r - 1][k], exp(-2 pi i k r / (kBefore kRadix)).
  __device__ __forceinline__ static void run(const float2* twiddles, int j, float2 (&x)[kElements]) {
#pragma unroll
    for (int b = 0; b < kCount; ++b) {
      if constexpr (kBefore > 1) {
        const int k = (j + b * kThreads) % kBefore;
#pragma unroll
        for (int r = 1; r < kRadix; ++r)
          x[b * kRadix + r] = radix::multiply(x[b * kRadix + r], __ldg(twiddles + (r - 1) * kBefore + k));
      }
      radix::Transform<kRadix>::run(x + b * kRadix);
    }
  }
  __device__ __forceinline__ static void store(float2* row, int j, const float2 (&x)[kElements]) {
#pragma unroll
    for (int b = 0; b < kCount; ++b) {
      const int i = j + b * kThreads;
#pragma unroll
      for (int r = 0; r < kRadix; ++r)
        row[place(i / kBefore * kBefore * kRadix + i % kBefore + r * kBefore)] = x[b * kRadix + r];
    }
  }
};

/// Transforms the rows of the exchange; x(k) of the result is bin j + k kPerStream. All threads of the block
/// must come.
template <int kLength>
__device__ __forceinline__ void transform(float2* row, int j, const float2* twiddles,
                                          float2 (&x)[kElements]) {
  constexpr Passes passes = passes_of(kLength);
  constexpr int kA = passes.radix[0], kB = passes.radix[1], kC = passes.radix[2];
  constexpr int kLast = kC > 1 ? kC : kB > 1 ? kB : kA, kCount = kElements / kLast;
  using First = Pass<kLength, kA, 1>;
  First::load(row, j, x);
  First::run(twiddles, j, x);
  if constexpr (kB > 1) {
    using Second = Pass<kLength, kB, kA>;
    __syncthreads();
    First::store(row, j, x);
    __syncthreads();
    Second::load(row, j, x);
    Second::run(twiddles, j, x);
    if constexpr (kC > 1) {
      using Third = Pass<kLength, kC, kA * kB>;
      __syncthreads();
      Second::store(row, j, x);
      __syncthreads();
      Third::load(row, j, x);
      Third::run(twiddles + kA * (kB - 1), j, x);
    }
  }
  float2 y[kElements];
#pragma unroll
  for (int k = 0; k < kElements; ++k) y[k] = x[k % kCount * kLast + k / kCount];
#pragma unroll
  for (int k = 0; k < kElements; ++k) x[k] = y[k];
}

/// Adding 1.5 2^23 + 128 rounds a value to even and leaves value + 128 in the lowest byte.
constexpr float kShift = 12582912.0f + 128.0f;
constexpr unsigned kShiftBits = 0x4B400000u;  // of the upper 24 bits, for values -128 .. 127
constexpr unsigned kZeroPair = 0x8080u;

/// Lowest bytes of two shifted values.
__device__ __forceinline__ unsigned pair_of(float re, float im) {
  return __byte_perm(__float_as_uint(re), __float_as_uint(im), 0x7740) & 0xFFFFu;
}
/// Brings a shifted value into range; 1 when it was not.
__device__ __forceinline__ unsigned clip(float& shifted) {
  const float before = shifted;
  shifted = fminf(fmaxf(shifted, kShift - 127), kShift + 127);
  return shifted != before;
}
/// The same for the four bytes (value + 128) of a word, of which only -128 can be out of range.
__device__ __forceinline__ unsigned clip_bytes(unsigned& word) {
  if (((word - 0x01010101u) & ~word & 0x80808080u) == 0) return 0;
  unsigned n = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k)
    if ((word >> (8 * k) & 255u) == 0) {
      word |= 1u << (8 * k);
      ++n;
    }
  return n;
}

template <int kLength, int kTaps, bool kReal>
__global__ void __launch_bounds__(Shape<kLength, kReal>::kThreads, Shape<kLength, kReal>::kMinBlocks)
    channelise_fused(Task task, IntegerOutput out, const float2* twiddles, int n_groups, int n_parts,
                     bool aligned) {
  using S = Shape<kLength, kReal>;
  extern __shared__ __align__(16) unsigned char shared[];
  auto* exchange = reinterpret_cast<float2*>(shared);
  auto* tile = reinterpret_cast<unsigned short*>(shared + S::kExchangeBytes);  // [spectrum][input][bin]
  __shared__ int starts[kBlockSpectra][S::kChunks];

  const SampleWindow& window = task.samples;
  const int group = blockIdx.x / n_parts % n_groups, block = blockIdx.x / n_parts / n_groups,
            chan = blockIdx.y;
  const int rounds = kRounds / n_parts, first_round = blockIdx.x % n_parts * rounds;
  const int first_stream = group * S::kStreams, first_spectrum = block * kBlockSpectra;
  const int stream = threadIdx.x / S::kPerStream, j = threadIdx.x % S::kPerStream;
  float2* row = exchange + stream * S::kRow;
  const Grid grid(task);

  for (int i = threadIdx.x; i < rounds * kRound * S::kChunks; i += S::kThreads) {
    const int chunk = i % S::kChunks, s = first_round * kRound + i / S::kChunks;
    starts[s][chunk] = start_of_chunk(task, 2 * (first_stream + chunk * kChunk), first_spectrum + s, aligned);
  }
  __syncthreads();

  // This thread's items of the fold: sample n of a chunk of streams.
  static_assert(S::kItems * S::kThreads == kLength * S::kChunks);
  auto chunk_of = [&](int item) { return (item * S::kThreads + int(threadIdx.x)) / 16 % S::kChunks; };
  auto sample_of = [&](int item) {
    const int i = item * S::kThreads + int(threadIdx.x);
    return i % 16 + i / (16 * S::kChunks) * 16;
  };
  const int bytes_per_stream = window.format == SampleFormat::int8 ? 2 : 1;
  auto address = [&](int chunk, std::int64_t time) {
    return window.data + time * window.time_bytes + chan * window.chan_bytes +
           (first_stream + chunk * kChunk) * bytes_per_stream;
  };
  Fold<kTaps> fold[S::kItems];
  auto fetch = [&](int s) {
#pragma unroll
    for (int item = 0; item < S::kItems; ++item) {
      const int start = starts[s][chunk_of(item)];
      if (start > kApart)
        fold[item].newest = load_chunk(
            window, address(chunk_of(item), std::int64_t(start) + (kTaps - 1) * kLength + sample_of(item)));
    }
  };
  fetch(first_round * kRound);
  auto count_clipped = [&](int input, unsigned n) {
    atomicAdd(out.clipped + std::size_t(chan) * window.n_input + input, static_cast<unsigned long long>(n));
  };

  for (int round = first_round; round < first_round + rounds; ++round) {
    for (int u = 0; u < kRound; ++u) {
      const int s = round * kRound + u, spectrum = first_spectrum + s;
      if (spectrum >= task.n_spectra) break;
#pragma unroll
      for (int item = 0; item < S::kItems; ++item) {
        const int chunk = chunk_of(item), n = sample_of(item);
        const int start = starts[s][chunk];
        float sum[2 * kChunk] = {};
        if (start > kApart) {
          if constexpr (kTaps > 1) {
            const bool slides = s > first_round * kRound && starts[s - 1][chunk] == start - kLength;
            if (!slides)
#pragma unroll
              for (int tap = 0; tap < kTaps - 1; ++tap)
                fold[item].older[tap] =
                    load_chunk(window, address(chunk, std::int64_t(start) + tap * kLength + n));
#pragma unroll
            for (int tap = 0; tap < kTaps - 1; ++tap)
              add_tap(sum, fold[item].older[tap], __ldg(task.taps + tap * kLength + n));
#pragma unroll
            for (int tap = 0; tap < kTaps - 2; ++tap) fold[item].older[tap] = fold[item].older[tap + 1];
            fold[item].older[kTaps - 2] = fold[item].newest;
          }
          add_tap(sum, fold[item].newest, __ldg(task.taps + (kTaps - 1) * kLength + n));
        } else if (start == kApart) {
          for (int tap = 0; tap < kTaps; ++tap)
            add_tap(
                sum,
                gather_chunk(task, chan, 2 * (first_stream + chunk * kChunk), spectrum, tap * kLength + n),
                __ldg(task.taps + tap * kLength + n));
        }
#pragma unroll
        for (int k = 0; k < kChunk; ++k)
          exchange[(chunk * kChunk + k) * S::kRow + place(n)] = make_float2(sum[2 * k], sum[2 * k + 1]);
      }
      if (s + 1 < (first_round + rounds) * kRound && spectrum + 1 < task.n_spectra) fetch(s + 1);
      __syncthreads();
      float2 x[kElements];
      transform<kLength>(row, j, twiddles, x);

      constexpr int kParts = kReal ? 2 : 1;
      float2 mirror[kReal ? kElements / 2 : 1];
      if constexpr (kReal) {
        // bins above the middle go to the threads of their mirror images
        if constexpr (S::kPerStream == 1) {
#pragma unroll
          for (int k = 0; k < kElements / 2; ++k) mirror[k] = x[(kElements - k) % kElements];
        } else {
          __syncthreads();
#pragma unroll
          for (int k = kElements / 2; k < kElements; ++k) row[place(j + k * S::kPerStream)] = x[k];
          if (j == 0) row[place(0)] = x[0];
          __syncthreads();
#pragma unroll
          for (int k = 0; k < kElements / 2; ++k)
            mirror[k] = row[place((kLength - j - k * S::kPerStream) % kLength)];
        }
      }
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        const int input = kReal ? 2 * (first_stream + stream) + part : first_stream + stream;
        unsigned short* bytes =
            tile + (u * S::kInputs + (kReal ? 2 * stream + part : stream)) * S::kTileRow + j;
        constexpr int kBins = kReal ? kElements / 2 : kElements;
        const bool exists = input < window.n_input;
        const Turn turn = exists ? turn_of(task, chan, input / task.n_pol, spectrum) : Turn{};
        if (!turn.used) {
#pragma unroll
          for (int k = 0; k < kBins; ++k) bytes[k * S::kPerStream] = kZeroPair;
          continue;
        }
        const float scale = task.scale == nullptr ? 1 : __ldg(task.scale + chan * window.n_input + input);
        const float sign = kReal && task.mirrored ? -1.0f : 1.0f;
        float2 phase = make_float2(1, 0), step = make_float2(1, 0);
        if (task.turns) step = phasor(sign * turn.step * S::kPerStream);
        float re[kBins], im[kBins];
        unsigned seen = kShiftBits;
#pragma unroll
        for (int k = 0; k < kBins; ++k) {
          float2 value;
          if constexpr (!kReal) {
            value = x[k];
          } else {
            // x = a + i b: a = (x(f) + x(-f)*) / 2, b = (x(f) - x(-f)*) / 2i
            if (part == 0)
              value = make_float2(0.5f * (x[k].x + mirror[k].x), 0.5f * (x[k].y - mirror[k].y));
            else
              value = make_float2(0.5f * (x[k].y + mirror[k].y), 0.5f * (mirror[k].x - x[k].x));
            value.y *= sign;
          }
          if (task.turns) {
            if (k % 8 == 0)
              phase = phasor(turn.phase + sign * turn.step * (k < 8 ? j : j + k * S::kPerStream - kLength));
            else
              phase = radix::multiply(phase, step);
            value = radix::multiply(value, phase);
          }
          if (!out.dither) {
            re[k] = fmaf(value.x, scale, kShift);
            im[k] = fmaf(value.y, scale, kShift);
          } else {
            float dither_re, dither_im;
            const int channel = chan * task.n_fine + grid.fine(j + k * S::kPerStream);
            const std::int64_t number = out.first_number + spectrum;
            requantise_dither(requantise_key(channel, input, number), static_cast<std::uint32_t>(number),
                              dither_re, dither_im);
            re[k] = fmaf(value.x, scale, dither_re) + kShift;
            im[k] = fmaf(value.y, scale, dither_im) + kShift;
          }
          seen |= __float_as_uint(re[k]) | __float_as_uint(im[k]);
        }
        unsigned n_clipped = 0;
        if ((seen & 0xFFFFFF00u) != kShiftBits)
#pragma unroll
          for (int k = 0; k < kBins; ++k) n_clipped += clip(re[k]) + clip(im[k]);
#pragma unroll
        for (int k = 0; k < kBins; ++k)
          bytes[k * S::kPerStream] = static_cast<unsigned short>(pair_of(re[k], im[k]));
        if (n_clipped > 0) count_clipped(input, n_clipped);
      }
      __syncthreads();
    }
    // Write the round: an item is two bins of one input, 8 spectra of which are 8 bytes of four rows.
    // Neighbouring threads write neighbouring inputs: channels lie megabytes apart, and as many page
    // translations would be needed.
    const int used = task.n_spectra - first_spectrum - round * kRound;
    for (int i = threadIdx.x; i < S::kInputs * S::kFine / 2; i += S::kThreads) {
      const int input_of_block = i % S::kInputs, pair = i / S::kInputs;
      const int input = (kReal ? 2 : 1) * first_stream + input_of_block;
      if (input >= window.n_input) continue;
      unsigned word[kRound];
#pragma unroll
      for (int u = 0; u < kRound; ++u)
        word[u] = u < used ? reinterpret_cast<const unsigned*>(tile + (u * S::kInputs + input_of_block) *
                                                                          S::kTileRow)[pair]
                           : kZeroPair | kZeroPair << 16;
      unsigned n_clipped = 0;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int channel = chan * task.n_fine + grid.fine(2 * pair + half);
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
          std::int8_t* to = out.data + out.layout.row(channel, block, input) +
                            x_layout::offset_8bit(input, part, round * kRound);
          *reinterpret_cast<uint2*>(to) = make_uint2(packed[0], packed[1]);
        }
      }
      if (n_clipped > 0) count_clipped(input, n_clipped);
    }
    __syncthreads();
  }
}

}  // namespace apsyn::f_stage
