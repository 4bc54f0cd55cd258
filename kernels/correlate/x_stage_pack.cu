// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/correlate/x_stage_pack.cuh"

#include "kernels/common/cuda_check.h"

namespace apsyn::x_stage {
namespace {

constexpr int kPackInputs = 32, kPackThreads = 256;

template <RawFormat kFormat>
__device__ __forceinline__ char2 decode(const std::uint8_t* in, std::size_t index, unsigned flip) {
  if constexpr (kFormat == RawFormat::int8) {
    const uchar2 pair = reinterpret_cast<const uchar2*>(in)[index];
    return make_char2(static_cast<signed char>(pair.x ^ flip), static_cast<signed char>(pair.y ^ flip));
  } else if constexpr (kFormat == RawFormat::int4) {
    const int byte = in[index] ^ flip;
    return make_char2(static_cast<signed char>(((byte >> 4) ^ 8) - 8),
                      static_cast<signed char>(((byte & 15) ^ 8) - 8));
  } else {
    const uchar2 pair = reinterpret_cast<const uchar2*>(in)[index];
    const int word = kFormat == RawFormat::pack5x5_little ? pair.x | pair.y << 8 : pair.y | pair.x << 8;
    return make_char2(static_cast<signed char>((word >> 5 & 31 ^ 16) - 16),
                      static_cast<signed char>((word & 31 ^ 16) - 16));
  }
}

/// A block owns 32 inputs of one block of 64 spectra of a channel and turns them round through shared memory.
template <RawFormat kFormat, Bits kBits>
__global__ void __launch_bounds__(kPackThreads) pack(PackTask task) {
  __shared__ char2 samples[kBlockSpectra][kPackInputs + 1];
  const Layout& layout = task.layout;
  const int chan = blockIdx.z, block = blockIdx.y, first_input = blockIdx.x * kPackInputs;
  const unsigned flip = !task.offset_binary ? 0 : kFormat == RawFormat::int4 ? 0x88 : 0x80;
  for (int k = threadIdx.x; k < kBlockSpectra * kPackInputs; k += kPackThreads) {
    const int t = k / kPackInputs, i = k % kPackInputs;
    const int time = block * kBlockSpectra + t, input = first_input + i;
    char2 value = make_char2(0, 0);
    if (time < task.n_time && input < layout.n_input) {
      const int n_ant = layout.n_input / task.n_pol;
      const bool valid = task.valid == nullptr ||
                         task.valid[std::size_t((task.first_offset + time) / task.samples_per_row) * n_ant +
                                    input / task.n_pol] != 0;
      if (valid)
        value = decode<kFormat>(task.in, (std::size_t(time) * layout.n_chan + chan) * layout.n_input + input,
                                flip);
      if (task.conjugate) value.y = static_cast<signed char>(min(-int(value.y), 127));
    }
    samples[t][i] = value;
  }
  __syncthreads();
  constexpr int kWords = kBits == Bits::eight ? kRowBytes / 4 : kBlockSpectra / 4;
  for (int k = threadIdx.x; k < kPackInputs * kWords; k += kPackThreads) {
    const int i = k / kWords, word = k % kWords, input = first_input + i;
    const int component = word / (kBlockSpectra / 4), t = word % (kBlockSpectra / 4) * 4;
    std::uint32_t packed = 0;
    for (int e = 0; e < 4; ++e) {
      const char2 sample = samples[t + e][i];
      const int byte =
          kBits == Bits::four ? sample.x << 4 | (sample.y & 15) : (component == 0 ? sample.x : sample.y);
      packed |= std::uint32_t(std::uint8_t(byte)) << (8 * e);
    }
    const int offset =
        kBits == Bits::four ? x_layout::offset_4bit(input, t) : x_layout::offset_8bit(input, component, t);
    *reinterpret_cast<std::uint32_t*>(task.out + layout.row(chan, block, input) + offset) = packed;
  }
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
  const dim3 grid(layout.n_input_padded / kPackInputs, (task.n_time + kBlockSpectra - 1) / kBlockSpectra,
                  layout.n_chan);
  const auto kernel = pack_kernel(layout.bits, task.format);
  kernel<<<grid, kPackThreads, 0, stream>>>(task);
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
