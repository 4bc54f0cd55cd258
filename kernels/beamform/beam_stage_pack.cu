// SPDX-License-Identifier: GPL-3.0-or-later
// Into rows of 64 antennas. Of untouched samples a thread owns four antennas of one spectrum, all
// polarisations: 16 threads write a row. Of requantised spectra, where the F stage left runs of spectra of
// one input, a block turns 64 antennas by 64 spectra in shared memory, each thread four by four bytes at a
// time.
#include "kernels/beamform/beam_stage.cuh"
#include "kernels/common/device_launch.cuh"

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
__global__ void pack(Batch batch, Packing packing, beam_sums::Layout layout, std::int8_t* rows) {
  using namespace beam_sums;
  constexpr int kQuads = kBlockAntennas / kQuad;
  const Sections& sections = batch.sections;
  std::size_t index = this_thread();
  const int quad = static_cast<int>(index % kQuads);
  index /= kQuads;
  const int t = static_cast<int>(index % sections.stride);
  index /= sections.stride;
  const int block = static_cast<int>(index % layout.n_ant_blocks());
  const std::size_t row = index / layout.n_ant_blocks();
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

constexpr int kRepackThreads = 128, kWords = 32;  // of a row

/// Rows of the four bytes of `in` to columns.
__device__ __forceinline__ void turn_bytes(const unsigned (&in)[4], unsigned (&out)[4]) {
  const unsigned low01 = __byte_perm(in[0], in[1], 0x5140), low23 = __byte_perm(in[2], in[3], 0x5140);
  const unsigned high01 = __byte_perm(in[0], in[1], 0x7362), high23 = __byte_perm(in[2], in[3], 0x7362);
  out[0] = __byte_perm(low01, low23, 0x5410);
  out[1] = __byte_perm(low01, low23, 0x7632);
  out[2] = __byte_perm(high01, high23, 0x5410);
  out[3] = __byte_perm(high01, high23, 0x7632);
}

/// A block owns a block of 64 spectra of a channel, and 64 antennas of a polarisation.
__global__ void __launch_bounds__(kRepackThreads)
    repack(Batch batch, const std::int8_t* spectra, x_layout::Layout from, beam_sums::Layout layout,
           std::int8_t* rows, int n_block) {
  using namespace beam_sums;
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
                   const beam_sums::Layout& layout, std::int8_t* rows, cudaStream_t stream) {
  const Sections& sections = batch.sections;
  if (sections.n_spectra < sections.count() * sections.stride)  // what only fills up must be 0
    cuda_check(cudaMemsetAsync(rows, 0, layout.sample_bytes(), stream), "clearing rows");
  const int n_block = (sections.n_spectra + x_layout::kBlockSpectra - 1) / x_layout::kBlockSpectra;
  const dim3 grid(static_cast<unsigned>(batch.n_channel) * n_block, layout.n_ant_blocks() * batch.n_pol);
  repack<<<grid, kRepackThreads, 0, stream>>>(batch, spectra, from, layout, rows, n_block);
  launched("launching the packing of spectra for beams");
}

void launch_pack(const Batch& batch, const Packing& packing, const beam_sums::Layout& layout,
                 std::int8_t* rows, cudaStream_t stream) {
  const std::size_t n = std::size_t(batch.n_row()) * layout.n_ant_blocks() * batch.sections.stride *
                        (beam_sums::kBlockAntennas / kQuad);
  const auto kernel = packing.four_bit ? pack<true> : pack<false>;
  kernel<<<blocks_of(n), kThreads, 0, stream>>>(batch, packing, layout, rows);
  launched("launching the packing of samples for beams");
}

}  // namespace apsyn::beam_stage
