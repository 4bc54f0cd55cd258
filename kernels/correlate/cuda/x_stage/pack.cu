// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/correlate/cuda/x_stage/pack.cuh"

#include "kernels/common/cuda/check.h"

namespace apsyn::x_stage {
namespace {

constexpr int kPackInputs = 4, kPackSpectra = x_layout::kChunkBytes;  ///< of a thread
constexpr int kPackChunks = kBlockSpectra / kPackSpectra, kPackLanes = 32, kPackGroups = 2;
constexpr int kBlockInputs = kPackInputs * kPackLanes * kPackGroups;

/// One spectrum of 4 inputs, a byte each.
struct FourSamples {
  std::uint32_t re = 0, im = 0;
};

/// Sign-extends numbers whose sign bit is `sign` in each byte; the bits above must be 0.
__device__ __forceinline__ std::uint32_t extended(std::uint32_t bytes, std::uint32_t sign) {
  return __vsub4(bytes ^ sign, sign);
}

template <RawFormat kFormat>
constexpr int kSampleBytes = kFormat == RawFormat::int4 ? 1 : 2;

/// Samples as in memory: 4-bit ones in the first word, others two in a word.
template <RawFormat kFormat>
__device__ __forceinline__ FourSamples decode(uint2 raw) {
  if constexpr (kFormat == RawFormat::int8) {
    return {__byte_perm(raw.x, raw.y, 0x6420), __byte_perm(raw.x, raw.y, 0x7531)};
  } else if constexpr (kFormat == RawFormat::int4) {
    return {extended(raw.x >> 4 & 0x0F0F0F0Fu, 0x08080808u), extended(raw.x & 0x0F0F0F0Fu, 0x08080808u)};
  } else {
    constexpr unsigned kOrder = kFormat == RawFormat::pack5x5_little ? 0x3210 : 0x2301;
    const std::uint32_t first = __byte_perm(raw.x, 0, kOrder), second = __byte_perm(raw.y, 0, kOrder);
    const auto both = [&](int shift) {
      return extended(__byte_perm(first >> shift & 0x001F001Fu, second >> shift & 0x001F001Fu, 0x6420),
                      0x10101010u);
    };
    return {both(5), both(0)};
  }
}

/// Bytes of 4 spectra, a word of 4 inputs each, to words of 4 spectra.
__device__ __forceinline__ void turn_round(std::uint32_t (&words)[4]) {
  const std::uint32_t low_01 = __byte_perm(words[0], words[1], 0x5140),
                      high_01 = __byte_perm(words[0], words[1], 0x7362),
                      low_23 = __byte_perm(words[2], words[3], 0x5140),
                      high_23 = __byte_perm(words[2], words[3], 0x7362);
  words[0] = __byte_perm(low_01, low_23, 0x5410);
  words[1] = __byte_perm(low_01, low_23, 0x7632);
  words[2] = __byte_perm(high_01, high_23, 0x5410);
  words[3] = __byte_perm(high_01, high_23, 0x7632);
}

template <RawFormat kFormat>
struct Packer {
  const PackTask& task;
  int chan, first_input;

  /// Loads 4 inputs of spectrum `time` unchanged, as whole words if rows begin at word boundaries.
  __device__ __forceinline__ uint2 load(int time, bool whole) const {
    const Layout& layout = task.layout;
    const std::uint8_t* from =
        task.in +
        ((std::size_t(time) * layout.n_chan + chan) * layout.n_input + first_input) * kSampleBytes<kFormat>;
    uint2 raw{};
    if (whole) {
      if constexpr (kFormat == RawFormat::int4)
        raw.x = *reinterpret_cast<const std::uint32_t*>(from);
      else
        raw = *reinterpret_cast<const uint2*>(from);
      return raw;
    }
    const int n_byte = min(kPackInputs, layout.n_input - first_input) * kSampleBytes<kFormat>;
#pragma unroll
    for (int i = 0; i < 2 * kPackInputs; ++i)
      if (i < n_byte) (i < 4 ? raw.x : raw.y) |= std::uint32_t(from[i]) << (8 * (i % 4));
    return raw;
  }

  /// A byte of ones for each of the 4 inputs that has samples, of the first n_time spectra from first_time
  /// on.
  __device__ __forceinline__ void find_samples(int first_time, int n_time,
                                               std::uint32_t (&there)[kPackSpectra]) const {
    const int n_left = task.layout.n_input - first_input, n_ant = task.layout.n_input / task.n_pol;
    const std::uint32_t inputs = n_left >= kPackInputs ? ~0u : (1u << (8 * n_left)) - 1;
    int ant[kPackInputs];
#pragma unroll
    for (int i = 0; i < kPackInputs; ++i) ant[i] = min((first_input + i) / task.n_pol, n_ant - 1);
    int row = (task.first_offset + first_time) / task.samples_per_row,
        sample = (task.first_offset + first_time) % task.samples_per_row;
#pragma unroll
    for (int t = 0; t < kPackSpectra; ++t) {
      there[t] = t < n_time ? inputs : 0;
      if (task.valid == nullptr || t >= n_time) continue;
      bool valid = true;
#pragma unroll
      for (int i = 0; i < kPackInputs; ++i) {
        if (i == 0 || ant[i] != ant[i - 1]) valid = task.valid[std::size_t(row) * n_ant + ant[i]] != 0;
        if (!valid) there[t] &= ~(0xFFu << (8 * i));
      }
      if (++sample == task.samples_per_row) sample = 0, ++row;
    }
  }
};

/// A thread owns 16 spectra of 4 inputs of a channel. Rows of a block of threads are adjacent, and are
/// written through shared memory in whole lines.
template <RawFormat kFormat, Bits kBits>
__global__ void __launch_bounds__(kPackLanes* kPackChunks* kPackGroups, 3) pack(PackTask task) {
  const Layout& layout = task.layout;
  constexpr int kBytes = kBits == Bits::four ? kRowBytes / 2 : kRowBytes;
  __shared__ __align__(16) std::int8_t rows[kBlockInputs * kBytes];
  const int chunk = threadIdx.y, block = blockIdx.y, block_input = blockIdx.x * kBlockInputs;
  const int first_input = block_input + (threadIdx.z * kPackLanes + threadIdx.x) * kPackInputs;
  const Packer<kFormat> packer{task, static_cast<int>(blockIdx.z), first_input};
  const int first_time = block * kBlockSpectra + chunk * kPackSpectra;
  const int n_time = first_input < layout.n_input ? min(kPackSpectra, task.n_time - first_time) : 0;
  const bool whole = layout.n_input % kPackInputs == 0 &&
                     reinterpret_cast<std::uintptr_t>(task.in) % (kPackInputs * kSampleBytes<kFormat>) == 0;
  std::uint32_t there[kPackSpectra];
  packer.find_samples(first_time, n_time, there);
  uint2 raw[kPackSpectra];
#pragma unroll
  for (int t = 0; t < kPackSpectra; ++t) raw[t] = t < n_time ? packer.load(first_time + t, whole) : uint2{};
  constexpr std::uint32_t kOffset = kFormat == RawFormat::int4   ? 0x88888888u
                                    : kFormat == RawFormat::int8 ? 0x80808080u
                                                                 : 0u;
  const std::uint32_t flip = task.offset_binary ? kOffset : 0;
  std::uint32_t re[kPackInputs][kPackSpectra / 4], im[kPackInputs][kPackSpectra / 4];
#pragma unroll
  for (int four = 0; four < kPackSpectra / 4; ++four) {
    std::uint32_t re_of[4], im_of[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int t = four * 4 + i;
      const FourSamples samples = decode<kFormat>({raw[t].x ^ flip, raw[t].y ^ flip});
      re_of[i] = samples.re & there[t];
      im_of[i] = (task.conjugate ? __vnegss4(samples.im) : samples.im) & there[t];
    }
    turn_round(re_of);
    turn_round(im_of);
#pragma unroll
    for (int input = 0; input < kPackInputs; ++input) {
      re[input][four] = re_of[input];
      im[input][four] = im_of[input];
    }
  }
#pragma unroll
  for (int i = 0; i < kPackInputs; ++i) {
    const int input = first_input + i;
    std::int8_t* row = rows + (input - block_input) * kBytes;
    if constexpr (kBits == Bits::four) {
      const auto both = [&](int four) {
        return (re[i][four] << 4 & 0xF0F0F0F0u) | (im[i][four] & 0x0F0F0F0Fu);
      };
      *reinterpret_cast<uint4*>(row + x_layout::offset_4bit(input, chunk * kPackSpectra)) =
          make_uint4(both(0), both(1), both(2), both(3));
    } else {
      *reinterpret_cast<uint4*>(row + x_layout::offset_8bit(input, 0, chunk * kPackSpectra)) =
          make_uint4(re[i][0], re[i][1], re[i][2], re[i][3]);
      *reinterpret_cast<uint4*>(row + x_layout::offset_8bit(input, 1, chunk * kPackSpectra)) =
          make_uint4(im[i][0], im[i][1], im[i][2], im[i][3]);
    }
  }
  __syncthreads();
  const int n_byte = min(kBlockInputs, layout.n_input_padded - block_input) * kBytes;
  std::int8_t* to = task.out + layout.row(blockIdx.z, block, block_input);
  const int thread = (threadIdx.z * kPackChunks + threadIdx.y) * kPackLanes + threadIdx.x;
  for (int at = 16 * thread; at < n_byte; at += 16 * kPackLanes * kPackChunks * kPackGroups)
    *reinterpret_cast<uint4*>(to + at) = *reinterpret_cast<const uint4*>(rows + at);
}

/// A block owns 64 inputs of one channel's last block, four threads each.
__global__ void __launch_bounds__(256) clear_tail(Layout layout, std::int8_t* samples, int block, int first) {
  const int chan = blockIdx.y, input = blockIdx.x * 64 + threadIdx.x / 4;
  if (input >= layout.n_input_padded) return;
  std::int8_t* row = samples + layout.row(chan, block, input);
  for (int t = first + threadIdx.x % 4; t < kBlockSpectra; t += 4) {
    if (layout.bits == Bits::four) {
      row[x_layout::offset_4bit(input, t)] = 0;
    } else {
      row[x_layout::offset_8bit(input, 0, t)] = 0;
      row[x_layout::offset_8bit(input, 1, t)] = 0;
    }
  }
}

/// A thread owns 16 spectra of an input.
__global__ void __launch_bounds__(256)
    expand(Layout layout, Layout expanded, const std::int8_t* in, std::int8_t* out) {
  const int chan = blockIdx.z, block = blockIdx.y, input = blockIdx.x * 64 + threadIdx.x / 4;
  const int first = threadIdx.x % 4 * x_layout::kChunkBytes;
  if (input >= layout.n_input_padded) return;
  const int4 packed = *reinterpret_cast<const int4*>(in + layout.row(chan, block, input) +
                                                     x_layout::offset_4bit(input, first));
  const auto word = [](int w, int shift) {  // sign-extends the nibbles at `shift` of four bytes
    const unsigned nibbles = static_cast<unsigned>(w) >> shift & 0x0F0F0F0Fu;
    return static_cast<int>(__vsub4(nibbles ^ 0x08080808u, 0x08080808u));
  };
  const auto expand_to = [&](int component, int shift) {
    *reinterpret_cast<int4*>(out + expanded.row(chan, block, input) +
                             x_layout::offset_8bit(input, component, first)) =
        make_int4(word(packed.x, shift), word(packed.y, shift), word(packed.z, shift), word(packed.w, shift));
  };
  expand_to(0, 4);
  expand_to(1, 0);
}

auto pack_kernel(Bits bits, RawFormat format) {
  if (bits == Bits::four)
    return format == RawFormat::int8 ? pack<RawFormat::int8, Bits::four> : pack<RawFormat::int4, Bits::four>;
  switch (format) {
    case RawFormat::int8:
      return pack<RawFormat::int8, Bits::eight>;
    case RawFormat::int4:
      return pack<RawFormat::int4, Bits::eight>;
    case RawFormat::pack5x5_little:
      return pack<RawFormat::pack5x5_little, Bits::eight>;
    default:
      return pack<RawFormat::pack5x5_big, Bits::eight>;
  }
}

}  // namespace

void launch_pack(const PackTask& task, cudaStream_t stream) {
  const Layout& layout = task.layout;
  const dim3 grid((layout.n_input_padded + kBlockInputs - 1) / kBlockInputs,
                  (task.n_time + kBlockSpectra - 1) / kBlockSpectra, layout.n_chan);
  const auto kernel = pack_kernel(layout.bits, task.format);
  kernel<<<grid, dim3(kPackLanes, kPackChunks, kPackGroups), 0, stream>>>(task);
  cuda_check(cudaGetLastError(), "launching the X stage's packing");
}

void launch_expand(const Layout& layout, const std::int8_t* in, int n_blocks, std::int8_t* out,
                   cudaStream_t stream) {
  Layout expanded = layout;
  expanded.bits = Bits::eight;
  expand<<<dim3((layout.n_input_padded + 63) / 64, n_blocks, layout.n_chan), 256, 0, stream>>>(
      layout, expanded, in, out);
  cuda_check(cudaGetLastError(), "launching the X stage's unpacking of 4 bits");
}

void launch_clear_tail(const Layout& layout, std::int8_t* samples, int n_spectra, cudaStream_t stream) {
  const int first = n_spectra % kBlockSpectra;
  if (first == 0) return;
  clear_tail<<<dim3((layout.n_input_padded + 63) / 64, layout.n_chan), 256, 0, stream>>>(
      layout, samples, n_spectra / kBlockSpectra, first);
  cuda_check(cudaGetLastError(), "launching the X stage's padding");
}

}  // namespace apsyn::x_stage
