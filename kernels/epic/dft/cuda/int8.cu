// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/dft/cuda/int8.cuh"

#include "kernels/common/cuda/launch.cuh"
#include "kernels/epic/cuda/beam_chunk.cuh"
#include "kernels/epic/cuda/sample_value.cuh"
#include "kernels/epic/cuda/turns.cuh"

namespace apsyn::epic_cuda {
namespace {

using namespace beam_products;

constexpr int kQuad = 4;  // antennas of a word
constexpr int kBlockQuads = kBlockAntennas / kQuad;

/// First antenna of a block of a word, of those that a beam's part has side by side.
__device__ __forceinline__ int antenna_of(int word) {
  return word % 4 * 16 + word / 4 * kQuad;
}

/// A thread packs 16 antennas of one spectrum and polarisation: 16 bytes of each part.
template <SampleFormat kFormat>
__global__ void pack_samples(Samples samples, RowLayout layout, std::int8_t* out) {
  const std::size_t at = this_thread();
  const int n_chunks = layout.n_blocks() * kBlockChunks, n_t = layout.n_tiles() * kTileSpectra;
  if (at >= std::size_t(layout.n_row) * n_t * n_chunks * layout.n_pol) return;
  const int pol = at % layout.n_pol, chunk = at / layout.n_pol % n_chunks;
  const int t = at / layout.n_pol / n_chunks % n_t;
  const int channel = static_cast<int>(at / layout.n_pol / n_chunks / n_t);
  Chunk re{}, im{};
  for (int i = 0; i < kChunk && t < samples.n_spectra; ++i) {
    const int ant = chunk * kChunk + i;
    if (ant >= samples.n_ant) break;
    const auto value = sample<kFormat>(samples, channel, t, ant, pol);
    re.value[i] = static_cast<std::int8_t>(value.x);
    im.value[i] = static_cast<std::int8_t>(value.y);
  }
  const int row = t % kTileSpectra;
  std::int8_t* rows = out + layout.tile(channel, pol, chunk / kBlockChunks, t / kTileSpectra);
  *chunk_of(rows, row, 0, chunk) = re;
  *chunk_of(rows, row, 1, chunk) = im;
}

/// A thread makes the weights of four antennas for a pixel.
__global__ void weigh_beams(BeamWeightTask task, std::int8_t* weights) {
  const WeightLayout& layout = task.layout;
  std::size_t at = this_thread();
  const int word = static_cast<int>(at % kBlockQuads);
  at /= kBlockQuads;
  const int n_beams = layout.n_groups() * kGroupBeams, beam = static_cast<int>(at % n_beams);
  at /= n_beams;
  const int block = static_cast<int>(at % layout.n_blocks());
  at /= layout.n_blocks();
  const int pol = static_cast<int>(at % layout.n_pol), channel = static_cast<int>(at / layout.n_pol);
  if (channel >= layout.n_row) return;
  const int in_block = antenna_of(word), most = largest_weight(task.shift);
  unsigned parts[2][2] = {};  // [limb][re, im]
#pragma unroll
  for (int i = 0; i < kQuad; ++i) {
    const int ant = block * kBlockAntennas + in_block + i;
    if (beam >= layout.n_beam || ant >= layout.n_ant) break;
    const std::size_t pixel = task.first_pixel + beam;
    const float2 e = weight_of(task.sky, task.sky.unit + 3 * pixel, task.sky.hz[channel], ant);
    float2 g{static_cast<float>(most), 0};
    if (task.factor != nullptr)
      g = task.factor[(std::size_t(channel) * layout.n_ant + ant) * task.n_pol + pol];
    const float values[2] = {g.x * e.x - g.y * e.y, g.x * e.y + g.y * e.x};
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const Limbs limbs(max(-most, min(most, __float2int_rn(values[part]))), task.shift);
      parts[0][part] |= (limbs.high & 0xFF) << 8 * i;
      parts[1][part] |= (limbs.low & 0xFF) << 8 * i;
    }
  }
#pragma unroll
  for (int limb = 0; limb < 2; ++limb)
#pragma unroll
    for (int part = 0; part < 2; ++part)
      if (limb < layout.n_limb)
        *reinterpret_cast<unsigned*>(
            weights + layout.group(channel, pol, beam / kGroupBeams, limb * layout.n_blocks() + block) +
            weight_offset(beam % kGroupBeams, part, in_block)) = parts[limb][part];
}

/// Four words, 16 antennas, of a pixel as they stand, limbs joined.
struct Weights {
  Chunk re[2], im[2];
  int shift;
  __device__ Weights(const FoldTask& task, int channel, int pol, int beam, int chunk) : shift(task.shift) {
    const WeightLayout& layout = task.layout;
#pragma unroll
    for (int limb = 0; limb < 2; ++limb) {
      re[limb] = im[limb] = {};
      if (limb >= layout.n_limb) continue;
      const std::int8_t* from =
          task.weights +
          layout.group(channel, pol, beam / kGroupBeams, limb * layout.n_blocks() + chunk / 4) +
          weight_offset(beam % kGroupBeams, 0, chunk % 4 * kQuad);
      re[limb] = *reinterpret_cast<const Chunk*>(from);
      im[limb] = *reinterpret_cast<const Chunk*>(from + weight_offset(0, 1, 0));
    }
  }
  __device__ int2 value(int i) const {
    return {(re[0].value[i] << shift) + re[1].value[i], (im[0].value[i] << shift) + im[1].value[i]};
  }
};

/// sum over antennas of w_p conj(w_q) P_pq, P in float32: for a channel's pixels the same, in shared memory.
template <bool kSameWeights>
__device__ void sum_autos(const FoldTask& task, const float4* powers, int channel, int beam,
                          double (&autos)[4]) {
  for (int chunk = 0; chunk < 4 * task.layout.n_blocks(); ++chunk) {
    const Weights x(task, channel, 0, beam, chunk);
    const Weights y(task, channel, kSameWeights ? 0 : 1, beam, chunk);
    float part[4] = {};
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      const int2 a = x.value(i), b = kSameWeights ? a : y.value(i);
      const float4 p = powers[chunk / 4 * kBlockAntennas + antenna_of(chunk % 4 * 4 + i / 4) + i % 4];
      const float square = static_cast<float>(a.x * a.x + a.y * a.y);
      part[0] += square * p.x;
      if constexpr (kSameWeights) {
        part[1] += square * p.y;
        part[2] += square * p.z;
        part[3] += square * p.w;
      } else {
        const float re = static_cast<float>(a.x * b.x + a.y * b.y);
        const float im = static_cast<float>(a.y * b.x - a.x * b.y);
        part[1] += static_cast<float>(b.x * b.x + b.y * b.y) * p.y;
        part[2] += re * p.z - im * p.w;
        part[3] += re * p.w + im * p.z;
      }
    }
    for (int value = 0; value < 4; ++value) autos[value] += static_cast<double>(part[value]);
  }
}

template <bool kSameWeights>
__global__ void fold(FoldTask task) {
  extern __shared__ float4 powers[];  // [ant, padded]
  const WeightLayout& layout = task.layout;
  const int beam = blockIdx.x * blockDim.x + threadIdx.x, channel = blockIdx.y;
  if (task.powers != nullptr)
    for (int ant = threadIdx.x; ant < layout.n_blocks() * kBlockAntennas; ant += blockDim.x) {
      const double* from = task.powers + (std::size_t(channel) * layout.n_ant + ant) * 4;
      powers[ant] = ant < layout.n_ant ? float4{static_cast<float>(from[0]), static_cast<float>(from[1]),
                                                static_cast<float>(from[2]), static_cast<float>(from[3])}
                                       : float4{0, 0, 0, 0};
    }
  __syncthreads();
  if (beam >= layout.n_beam) return;
  const int n_value = task.n_pol == 2 ? 4 : 1;
  double autos[4] = {};
  if (task.powers != nullptr) sum_autos<kSameWeights>(task, powers, channel, beam, autos);
  const float* from =
      task.products + (std::size_t(channel) * layout.n_beam + beam) * n_value * task.n_segment;
  double* to = task.sums + (std::size_t(channel) * task.n_stride + beam) * 4;
  const double square = task.unit[channel] * task.unit[channel];
  for (int value = 0; value < n_value; ++value) {
    double sum = -autos[value];
    for (int segment = 0; segment < task.n_segment; ++segment)
      sum += static_cast<double>(from[value * task.n_segment + segment]);
    to[value] += square * sum;
  }
}

}  // namespace

void launch_beam_samples(const Samples& samples, const RowLayout& layout, std::int8_t* out,
                         cudaStream_t stream) {
  const std::size_t n = std::size_t(layout.n_row) * layout.n_tiles() * kTileSpectra * layout.n_blocks() *
                        kBlockChunks * layout.n_pol;
  if (samples.format == SampleFormat::int4)
    pack_samples<SampleFormat::int4><<<blocks_of(n), kThreads, 0, stream>>>(samples, layout, out);
  else
    pack_samples<SampleFormat::int8><<<blocks_of(n), kThreads, 0, stream>>>(samples, layout, out);
  launched("packing samples");
}

bool as_they_come(const Samples& samples) {
  const std::size_t bytes = sample_bytes(samples.format), input = bytes * samples.n_pol;
  return samples.valid == nullptr && samples.n_ant * input % 16 == 0 &&
         samples.channel_stride * bytes % 16 == 0 && samples.spectrum_stride * bytes % 16 == 0 &&
         reinterpret_cast<std::uintptr_t>(samples.data) % 16 == 0;
}

Source source_of(const Samples& samples) {
  Source source;
  const std::size_t bytes = sample_bytes(samples.format);
  source.layout =
      samples.format == SampleFormat::int4 ? Source::SampleLayout::int4 : Source::SampleLayout::int8;
  source.data = samples.data;
  source.spectrum_stride = samples.spectrum_stride * bytes;
  source.channel_stride = samples.channel_stride * bytes;
  return source;
}

void launch_beam_weights(const BeamWeightTask& task, std::int8_t* weights, cudaStream_t stream) {
  const WeightLayout& layout = task.layout;
  const std::size_t n = std::size_t(layout.n_row) * layout.n_pol * layout.n_groups() * kGroupBeams *
                        layout.n_blocks() * kBlockQuads;
  weigh_beams<<<blocks_of(n), kThreads, 0, stream>>>(task, weights);
  launched("rounding weights");
}

void launch_fold(const FoldTask& task, cudaStream_t stream) {
  const WeightLayout& layout = task.layout;
  const dim3 grid(blocks_of(layout.n_beam), layout.n_row);
  const std::size_t bytes =
      task.powers != nullptr ? std::size_t(layout.n_blocks()) * kBlockAntennas * sizeof(float4) : 0;
  const auto kernel = layout.n_pol == 1 ? fold<true> : fold<false>;
  cuda_check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
      "asking for shared memory");
  kernel<<<grid, kThreads, bytes, stream>>>(task);
  launched("adding products");
}

}  // namespace apsyn::epic_cuda
