// SPDX-License-Identifier: GPL-3.0-or-later
// Into rows of 64 antennas. Of untouched samples a thread owns 16 antennas of one spectrum, all polarisations
// (four where the numbers do not let it read whole words): 4 threads write a row. Of requantised spectra,
// where the F stage left runs of spectra of one input, a block turns 64 antennas by 64 spectra in shared
// memory, each thread four by four bytes at a time.
#include "kernels/beamform/cuda/stage.cuh"
#include "kernels/common/cuda/launch.cuh"

namespace apsyn::beam_stage {
namespace {

constexpr int kQuad = 4;

/// re in the low byte.
template <bool kFourBit>
__device__ __forceinline__ unsigned load(const std::uint8_t* samples, std::size_t index) {
  if constexpr (kFourBit) {
    const int pair = samples[index];
    const int re = static_cast<signed char>(pair) >> 4, im = static_cast<signed char>(pair << 4) >> 4;
    return (re & 0xFF) | (im & 0xFF) << 8;
  } else {
    return reinterpret_cast<const std::uint16_t*>(samples)[index];
  }
}

template <bool kFourBit>
__global__ void pack(Batch batch, Packing packing, beam_products::RowLayout layout, std::int8_t* rows) {
  using namespace beam_products;
  constexpr int kQuads = kBlockAntennas / kQuad;
  const Sections& sections = batch.sections;
  std::size_t index = this_thread();
  const int quad = static_cast<int>(index % kQuads);
  index /= kQuads;
  const int t = static_cast<int>(index % sections.stride);
  index /= sections.stride;
  const int block = static_cast<int>(index % layout.n_blocks());
  const std::size_t row = index / layout.n_blocks();
  if (row >= std::size_t(batch.n_row())) return;
  const int n_section = sections.count(), section = static_cast<int>(row % n_section);
  const int channel = static_cast<int>(row / n_section);
  const int spectrum = sections.begin(section) + t, first_ant = block * kBlockAntennas + quad * kQuad;
  unsigned re[2] = {0, 0}, im[2] = {0, 0};
  if (t < sections.size(section)) {
    const int n_input = batch.n_ant * batch.n_pol;
    const std::size_t from =
        (std::size_t(spectrum) * packing.n_channel + batch.first_channel + channel) * n_input;
    const std::uint8_t* valid =
        batch.valid +
        (std::size_t(batch.valid_row(channel)) * batch.n_run + batch.run_of(channel, spectrum)) * batch.n_ant;
#pragma unroll
    for (int i = 0; i < kQuad; ++i) {
      const int ant = first_ant + i;
      if (ant >= batch.n_ant || valid[ant] == 0) continue;
#pragma unroll
      for (int pol = 0; pol < 2; ++pol) {
        if (pol >= batch.n_pol) continue;
        const unsigned sample = load<kFourBit>(packing.samples, from + ant * batch.n_pol + pol);
        re[pol] |= (sample & 0xFF) << 8 * i;
        im[pol] |= (sample >> 8 & 0xFF) << 8 * i;
      }
    }
  }
#pragma unroll
  for (int pol = 0; pol < 2; ++pol) {
    if (pol >= batch.n_pol) continue;
    const int in_tile = t % kTileSpectra;
    std::int8_t* to =
        rows + layout.tile(static_cast<int>(row), pol, block, t / kTileSpectra) + in_tile * kRowBytes;
    *reinterpret_cast<unsigned*>(to + row_offset(in_tile, 0, quad * kQuad)) = re[pol];
    *reinterpret_cast<unsigned*>(to + row_offset(in_tile, 1, quad * kQuad)) = im[pol];
  }
}

/// Components of 16 antennas of a polarisation.
struct Chunks {
  unsigned re[4], im[4];
};

/// Rows of the four bytes of `in` to columns.
__device__ __forceinline__ void turn_bytes(const unsigned (&in)[4], unsigned (&out)[4]) {
  const unsigned low01 = __byte_perm(in[0], in[1], 0x5140), low23 = __byte_perm(in[2], in[3], 0x5140);
  const unsigned high01 = __byte_perm(in[0], in[1], 0x7362), high23 = __byte_perm(in[2], in[3], 0x7362);
  out[0] = __byte_perm(low01, low23, 0x5410);
  out[1] = __byte_perm(low01, low23, 0x7632);
  out[2] = __byte_perm(high01, high23, 0x5410);
  out[3] = __byte_perm(high01, high23, 0x7632);
}

/// Bytes -8..7 of the low nibbles.
__device__ __forceinline__ unsigned signed_nibbles(unsigned word) {
  return ((((word & 0x0F0F0F0F) ^ 0x08080808) | 0x80808080) - 0x08080808) ^ 0x80808080;
}

/// 16 antennas' samples, in words that begin at `from`.
template <bool kFourBit, int kPols>
__device__ __forceinline__ void load_chunks(const uint4* from, Chunks (&chunks)[kPols]) {
  constexpr int kVectors = (kFourBit ? 1 : 2) * kPols;
  unsigned words[4 * kVectors];
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const uint4 vector = __ldg(from + i);
    words[4 * i] = vector.x, words[4 * i + 1] = vector.y;
    words[4 * i + 2] = vector.z, words[4 * i + 3] = vector.w;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (kFourBit) {
#pragma unroll
      for (int pol = 0; pol < kPols; ++pol) {
        const unsigned pairs = kPols == 1 ? words[i]
                                          : __byte_perm(words[kPols * i], words[kPols * i + kPols - 1],
                                                        pol == 0 ? 0x6420 : 0x7531);
        chunks[pol].re[i] = signed_nibbles(pairs >> 4);
        chunks[pol].im[i] = signed_nibbles(pairs);
      }
    } else if constexpr (kPols == 1) {
      chunks[0].re[i] = __byte_perm(words[2 * i], words[2 * i + 1], 0x6420);
      chunks[0].im[i] = __byte_perm(words[2 * i], words[2 * i + 1], 0x7531);
    } else {
      const unsigned in[4] = {words[4 * i], words[4 * i + 1], words[4 * i + 2], words[4 * i + 3]};
      unsigned out[4];
      turn_bytes(in, out);
      chunks[0].re[i] = out[0], chunks[0].im[i] = out[1];
      chunks[1].re[i] = out[2], chunks[1].im[i] = out[3];
    }
  }
}

constexpr int kPackThreads = 256, kChunkAntennas = 16;

template <bool kFourBit, int kPols>
__global__ void __launch_bounds__(kPackThreads)
    pack_words(Batch batch, Packing packing, beam_products::RowLayout layout, std::int8_t* rows,
               int n_piece) {
  using namespace beam_products;
  constexpr int kChunks = kBlockAntennas / kChunkAntennas, kPiece = kPackThreads / kChunks;
  const Sections& sections = batch.sections;
  const int n_section = sections.count(), row = blockIdx.x / n_piece, block = blockIdx.y;
  const int section = row % n_section, channel = row / n_section;
  const int t = blockIdx.x % n_piece * kPiece + threadIdx.x / kChunks;
  const int chunk = threadIdx.x % kChunks, ant = block * kBlockAntennas + chunk * kChunkAntennas;
  if (t >= sections.stride) return;
  Chunks chunks[kPols] = {};
  if (t < sections.size(section) && ant < batch.n_ant) {
    const int spectrum = sections.begin(section) + t;
    const std::size_t from =
        ((std::size_t(spectrum) * packing.n_channel + batch.first_channel + channel) * batch.n_ant + ant) *
        kPols * (kFourBit ? 1 : 2);
    load_chunks<kFourBit, kPols>(reinterpret_cast<const uint4*>(packing.samples + from), chunks);
    const std::size_t run = std::size_t(batch.valid_row(channel)) * batch.n_run +
                            (batch.n_run == 1 ? 0 : batch.run_of(channel, spectrum));
    const auto* valid = reinterpret_cast<const unsigned*>(batch.valid + run * batch.n_ant + ant);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const unsigned mask = __ldg(valid + i) * 0xFF;
#pragma unroll
      for (int pol = 0; pol < kPols; ++pol) chunks[pol].re[i] &= mask, chunks[pol].im[i] &= mask;
    }
  }
  const int in_tile = t % kTileSpectra;
#pragma unroll
  for (int pol = 0; pol < kPols; ++pol) {
    std::int8_t* to = rows + layout.tile(row, pol, block, t / kTileSpectra) + in_tile * kRowBytes;
    const auto store = [&](int half, const unsigned(&words)[4]) {
      *reinterpret_cast<uint4*>(to + row_offset(in_tile, half, chunk * kChunkAntennas)) =
          make_uint4(words[0], words[1], words[2], words[3]);
    };
    store(0, chunks[pol].re);
    store(1, chunks[pol].im);
  }
}

/// A thread owns one sample.
template <bool kFourBit>
__global__ void unpack(Batch batch, Packing packing, float2* spectra) {
  const int n_input = batch.n_ant * batch.n_pol, spectrum = blockIdx.y;
  const int index = blockIdx.x * blockDim.x + threadIdx.x, channel = index / n_input, input = index % n_input;
  if (channel >= batch.n_channel) return;
  const std::size_t run =
      std::size_t(batch.valid_row(channel)) * batch.n_run + batch.run_of(channel, spectrum);
  const unsigned sample = load<kFourBit>(
      packing.samples, (std::size_t(spectrum) * packing.n_channel + batch.first_channel) * n_input + index);
  float2 value = make_float2(static_cast<signed char>(sample & 0xFF), static_cast<signed char>(sample >> 8));
  if (batch.valid[run * batch.n_ant + input / batch.n_pol] == 0) value = make_float2(0, 0);
  spectra[(std::size_t(channel) * batch.sections.n_spectra + spectrum) * n_input + input] = value;
}

constexpr int kRepackThreads = 128, kWords = 32;  // of a row

/// A block owns a block of 64 spectra of a channel, and 64 antennas of a polarisation.
__global__ void __launch_bounds__(kRepackThreads)
    repack(Batch batch, const std::int8_t* spectra, x_layout::Layout from, beam_products::RowLayout layout,
           std::int8_t* rows, int n_block) {
  using namespace beam_products;
  constexpr int kChunks = 8, kQuads = kBlockAntennas / kQuad;
  __shared__ unsigned words[kBlockAntennas][kWords + 1];  // [antenna][re of 64 spectra, im]
  const Sections& sections = batch.sections;
  const int channel = blockIdx.x / n_block, spectrum_block = blockIdx.x % n_block;
  const int ant_block = blockIdx.y / batch.n_pol, pol = blockIdx.y % batch.n_pol;
  for (int i = threadIdx.x; i < kBlockAntennas * kChunks; i += kRepackThreads) {
    const int ant = ant_block * kBlockAntennas + i / kChunks, input = ant * batch.n_pol + pol;
    const int chunk = i % kChunks;  // as it stands in memory
    uint4 bytes = make_uint4(0, 0, 0, 0);
    if (ant < batch.n_ant)
      bytes = __ldg(reinterpret_cast<const uint4*>(
          spectra + from.row(batch.first_channel + channel, spectrum_block, input) + 16 * chunk));
    unsigned* to = &words[i / kChunks][4 * (chunk ^ (input & 7))];
    to[0] = bytes.x, to[1] = bytes.y, to[2] = bytes.z, to[3] = bytes.w;
  }
  __syncthreads();
  const int n_section = sections.count();
  for (int i = threadIdx.x; i < kQuads * kWords; i += kRepackThreads) {
    const int quad = i % kQuads, word = i / kQuads, half = word / (kWords / 2);
    unsigned in[4], out[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) in[k] = words[kQuad * quad + k][word];
    turn_bytes(in, out);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int spectrum = spectrum_block * x_layout::kBlockSpectra + 4 * (word % (kWords / 2)) + k;
      if (spectrum >= sections.n_spectra) continue;
      const int section = sections.of(spectrum), t = spectrum - sections.begin(section);
      const int in_tile = t % kTileSpectra;
      std::int8_t* to = rows + layout.tile(channel * n_section + section, pol, ant_block, t / kTileSpectra) +
                        in_tile * kRowBytes + row_offset(in_tile, half, quad * kQuad);
      *reinterpret_cast<unsigned*>(to) = out[k];
    }
  }
}

}  // namespace

void launch_repack(const Batch& batch, const std::int8_t* spectra, const x_layout::Layout& from,
                   const beam_products::RowLayout& layout, std::int8_t* rows, cudaStream_t stream) {
  const Sections& sections = batch.sections;
  if (sections.n_spectra < sections.count() * sections.stride)  // what only fills up must be 0
    cuda_check(cudaMemsetAsync(rows, 0, layout.bytes(), stream), "clearing rows");
  const int n_block = (sections.n_spectra + x_layout::kBlockSpectra - 1) / x_layout::kBlockSpectra;
  const dim3 grid(static_cast<unsigned>(batch.n_channel) * n_block, layout.n_blocks() * batch.n_pol);
  repack<<<grid, kRepackThreads, 0, stream>>>(batch, spectra, from, layout, rows, n_block);
  launched("launching the packing of spectra for beams");
}

namespace {

template <bool kFourBit, int kPols>
void launch_words(const Batch& batch, const Packing& packing, const beam_products::RowLayout& layout,
                  std::int8_t* rows, cudaStream_t stream) {
  constexpr int kPiece = kPackThreads * kChunkAntennas / beam_products::kBlockAntennas;
  const int n_piece = (batch.sections.stride + kPiece - 1) / kPiece;
  const dim3 grid(static_cast<unsigned>(batch.n_row()) * n_piece, layout.n_blocks());
  pack_words<kFourBit, kPols><<<grid, kPackThreads, 0, stream>>>(batch, packing, layout, rows, n_piece);
}

}  // namespace

void launch_pack(const Batch& batch, const Packing& packing, const beam_products::RowLayout& layout,
                 std::int8_t* rows, cudaStream_t stream) {
  const auto aligned = [](const void* pointer, std::size_t to) {
    return reinterpret_cast<std::uintptr_t>(pointer) % to == 0;
  };
  if (batch.n_ant % kChunkAntennas == 0 && aligned(packing.samples, 16) && aligned(batch.valid, 4)) {
    if (batch.n_pol == 1)
      (packing.four_bit ? launch_words<true, 1> : launch_words<false, 1>)(batch, packing, layout, rows,
                                                                          stream);
    else
      (packing.four_bit ? launch_words<true, 2> : launch_words<false, 2>)(batch, packing, layout, rows,
                                                                          stream);
  } else {
    const std::size_t n = std::size_t(batch.n_row()) * layout.n_blocks() * batch.sections.stride *
                          (beam_products::kBlockAntennas / kQuad);
    const auto kernel = packing.four_bit ? pack<true> : pack<false>;
    kernel<<<blocks_of(n), kThreads, 0, stream>>>(batch, packing, layout, rows);
  }
  launched("launching the packing of samples for beams");
}

void launch_unpack(const Batch& batch, const Packing& packing, float2* spectra, cudaStream_t stream) {
  const std::size_t n = std::size_t(batch.n_channel) * batch.n_ant * batch.n_pol;
  const auto kernel = packing.four_bit ? unpack<true> : unpack<false>;
  kernel<<<dim3(blocks_of(n), batch.sections.n_spectra), kThreads, 0, stream>>>(batch, packing, spectra);
  launched("launching the unpacking of samples for beams");
}

}  // namespace apsyn::beam_stage
