// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/dft_int8.cuh"

#include "kernels/common/device_launch.cuh"
#include "kernels/epic/beam_chunk.cuh"
#include "kernels/epic/sample_value.cuh"
#include "kernels/epic/turns.cuh"

namespace apsyn::epic_cuda {
namespace {

using namespace beam_sums;

/// A thread packs 16 antennas of one spectrum and polarisation: 16 bytes of each part.
template <SampleFormat kFormat>
__global__ void pack_samples(Samples samples, Layout layout, std::int8_t* out) {
  const std::size_t at = this_thread();
  const int n_chunks = layout.n_ant_blocks() * kBlockChunks, n_t = layout.n_tiles() * kTileSpectra;
  if (at >= std::size_t(layout.n_chan) * n_t * n_chunks * layout.n_pol) return;
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

/// A thread makes the weights of 16 antennas for a pixel.
__global__ void weigh_beams(BeamWeightTask task, std::int8_t* weights) {
  const Layout& layout = task.layout;
  const std::size_t at = this_thread();
  const int n_chunks = layout.n_ant_blocks() * kBlockChunks, n_beams = layout.n_groups() * kGroupBeams;
  const int beam = at / n_chunks % n_beams, chunk = at % n_chunks;
  const int pol = at / n_chunks / n_beams % layout.n_weight_pol;
  const std::size_t channel = at / n_chunks / n_beams / layout.n_weight_pol;
  if (channel >= std::size_t(layout.n_chan)) return;
  Chunk re[2]{}, im[2]{}, minus_im[2]{};
  for (int i = 0; i < kChunk && beam < layout.n_beam; ++i) {
    const int ant = chunk * kChunk + i;
    if (ant >= layout.n_ant) break;
    const std::size_t pixel = task.first_pixel + beam;
    const float2 e = weight_of(task.sky, task.sky.unit + 3 * pixel, task.sky.hz[channel], ant);
    float2 g{static_cast<float>(largest_weight(task.shift)), 0};
    if (task.factor != nullptr) g = task.factor[(channel * layout.n_ant + ant) * task.n_pol + pol];
    const auto split = [&](float value, Chunk* high, Chunk* low) {
      const int most = largest_weight(task.shift);
      const Limbs limbs(max(-most, min(most, __float2int_rn(value))), task.shift);
      high->value[i] = limbs.high;
      low->value[i] = limbs.low;
    };
    const float w_im = g.x * e.y + g.y * e.x;
    split(g.x * e.x - g.y * e.y, &re[0], &re[1]);
    split(w_im, &im[0], &im[1]);
    split(-w_im, &minus_im[0], &minus_im[1]);
  }
  const int row = beam_row(beam % kGroupBeams);
#pragma unroll
  for (int limb = 0; limb < 2; ++limb) {
    if (limb >= layout.n_limb) break;
    std::int8_t* group = weights + layout.group(static_cast<int>(channel), pol, beam / kGroupBeams,
                                                limb * layout.n_ant_blocks() + chunk / kBlockChunks);
    *chunk_of(group, row, 0, chunk) = re[limb];
    *chunk_of(group, row, 1, chunk) = minus_im[limb];
    *chunk_of(group, row + 8, 0, chunk) = im[limb];
    *chunk_of(group, row + 8, 1, chunk) = re[limb];
  }
}

/// 16 weights as they stand, limbs joined.
struct Weights {
  Chunk re[2], im[2];
  int shift;
  __device__ Weights(const FoldTask& task, int channel, int pol, int beam, int chunk) : shift(task.shift) {
    const Layout& layout = task.layout;
    const int row = beam_row(beam % kGroupBeams);
#pragma unroll
    for (int limb = 0; limb < 2; ++limb) {
      if (limb >= layout.n_limb) {
        re[limb] = im[limb] = {};
        continue;
      }
      const std::int8_t* group =
          task.weights +
          layout.group(channel, pol, beam / kGroupBeams, limb * layout.n_ant_blocks() + chunk / kBlockChunks);
      re[limb] = *chunk_of(group, row, 0, chunk);
      im[limb] = *chunk_of(group, row + 8, 0, chunk);
    }
  }
  __device__ int2 value(int i) const {
    return {(re[0].value[i] << shift) + re[1].value[i], (im[0].value[i] << shift) + im[1].value[i]};
  }
};

/// sum over antennas of w_p conj(w_q) P_pq, P in float32: for a channel's pixels the same, in shared memory.
template <bool kShared>
__device__ void sum_autos(const FoldTask& task, const float4* powers, int channel, int beam,
                          double (&autos)[4]) {
  const Layout& layout = task.layout;
  for (int chunk = 0; chunk * kChunk < layout.n_ant; ++chunk) {
    const Weights x(task, channel, 0, beam, chunk);
    float part[4] = {};
    if constexpr (kShared) {
#pragma unroll
      for (int i = 0; i < kChunk; ++i) {
        const int2 a = x.value(i);
        const float square = static_cast<float>(a.x * a.x + a.y * a.y);
        const float4 p = powers[chunk * kChunk + i];
        part[0] += square * p.x;
        part[1] += square * p.y;
        part[2] += square * p.z;
        part[3] += square * p.w;
      }
    } else {
      const Weights y(task, channel, 1, beam, chunk);
#pragma unroll
      for (int i = 0; i < kChunk; ++i) {
        const int2 a = x.value(i), b = y.value(i);
        const float re = static_cast<float>(a.x * b.x + a.y * b.y);
        const float im = static_cast<float>(a.y * b.x - a.x * b.y);
        const float4 p = powers[chunk * kChunk + i];
        part[0] += static_cast<float>(a.x * a.x + a.y * a.y) * p.x;
        part[1] += static_cast<float>(b.x * b.x + b.y * b.y) * p.y;
        part[2] += re * p.z - im * p.w;
        part[3] += re * p.w + im * p.z;
      }
    }
    for (int value = 0; value < 4; ++value) autos[value] += static_cast<double>(part[value]);
  }
}

template <bool kShared>
__global__ void fold(FoldTask task) {
  extern __shared__ float4 powers[];  // [ant, padded]
  const Layout& layout = task.layout;
  const int beam = blockIdx.x * blockDim.x + threadIdx.x, channel = blockIdx.y;
  if (task.powers != nullptr)
    for (int ant = threadIdx.x; ant < layout.n_ant_blocks() * kBlockAntennas; ant += blockDim.x) {
      const double* from = task.powers + (std::size_t(channel) * layout.n_ant + ant) * 4;
      powers[ant] = ant < layout.n_ant ? float4{static_cast<float>(from[0]), static_cast<float>(from[1]),
                                                static_cast<float>(from[2]), static_cast<float>(from[3])}
                                       : float4{0, 0, 0, 0};
    }
  __syncthreads();
  if (beam >= layout.n_beam) return;
  const int n_value = layout.n_pol == 2 ? 4 : 1, n_tiles = layout.n_tiles();
  double autos[4] = {};
  if (task.powers != nullptr) sum_autos<kShared>(task, powers, channel, beam, autos);
  const float* from = task.products + (std::size_t(channel) * layout.n_beam + beam) * n_value * n_tiles;
  double* to = task.sums + (std::size_t(channel) * task.n_stride + beam) * 4;
  const double square = task.unit[channel] * task.unit[channel];
  for (int value = 0; value < n_value; ++value) {
    double sum = -autos[value];
    for (int tile = 0; tile < n_tiles; ++tile) sum += static_cast<double>(from[value * n_tiles + tile]);
    to[value] += square * sum;
  }
}

}  // namespace

void launch_beam_samples(const Samples& samples, const Layout& layout, std::int8_t* out,
                         cudaStream_t stream) {
  const std::size_t n = std::size_t(layout.n_chan) * layout.n_tiles() * kTileSpectra * layout.n_ant_blocks() *
                        kBlockChunks * layout.n_pol;
  if (samples.format == SampleFormat::int4)
    pack_samples<SampleFormat::int4><<<blocks_of(n), kThreads, 0, stream>>>(samples, layout, out);
  else
    pack_samples<SampleFormat::int8><<<blocks_of(n), kThreads, 0, stream>>>(samples, layout, out);
  launched("packing samples");
}

void launch_beam_weights(const BeamWeightTask& task, std::int8_t* weights, cudaStream_t stream) {
  const Layout& layout = task.layout;
  const std::size_t n = std::size_t(layout.n_chan) * layout.n_weight_pol * layout.n_groups() * kGroupBeams *
                        layout.n_ant_blocks() * kBlockChunks;
  weigh_beams<<<blocks_of(n), kThreads, 0, stream>>>(task, weights);
  launched("rounding weights");
}

void launch_fold(const FoldTask& task, cudaStream_t stream) {
  const Layout& layout = task.layout;
  const dim3 grid(blocks_of(layout.n_beam), layout.n_chan);
  const std::size_t bytes =
      task.powers != nullptr ? std::size_t(layout.n_ant_blocks()) * kBlockAntennas * sizeof(float4) : 0;
  const auto kernel = layout.n_weight_pol == 1 ? fold<true> : fold<false>;
  cuda_check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
      "asking for shared memory");
  kernel<<<grid, kThreads, bytes, stream>>>(task);
  launched("adding products");
}

}  // namespace apsyn::epic_cuda
