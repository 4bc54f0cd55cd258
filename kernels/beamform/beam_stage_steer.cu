// SPDX-License-Identifier: GPL-3.0-or-later
// Weights of beams from delays: phases in float64, reduced to a turn, then float32. The integers' step is a
// 127th of the largest modulus among a beam's antennas, so it does not depend on where the beam looks.
#include "kernels/beamform/beam_stage.cuh"
#include "kernels/common/device_launch.cuh"

namespace apsyn::beam_stage {
namespace {

struct Beam {
  int row, beam, channel, section;
};

__device__ __forceinline__ const float2* factors_of(const Batch& batch, const Steering& steering,
                                                    int channel) {
  const int all = batch.first_channel + channel;
  return steering.factor +
         std::size_t(steering.factor_of_channels ? all : all / batch.n_fine) * batch.n_ant * batch.n_pol;
}

/// exp(-2 pi i nu tau)
__device__ __forceinline__ float2 towards(const Batch& batch, const Steering& steering, const Beam& at,
                                          int ant) {
  if (steering.delay_s == nullptr) return make_float2(1, 0);
  const double delay_s =
      steering.delay_s[(std::size_t(at.section) * batch.n_beam + at.beam) * batch.n_ant + ant];
  const double turns = steering.channel_hz[batch.first_channel + at.channel] * delay_s;
  float sine, cosine;
  sincospif(-2 * static_cast<float>(turns - rint(turns)), &sine, &cosine);
  return make_float2(cosine, sine);
}

__device__ __forceinline__ float2 multiply(float2 a, float2 b) {
  return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

/// A warp owns a beam of a row.
__device__ __forceinline__ bool beam_of_warp(const Batch& batch, int n_beam, Beam& at) {
  const std::size_t index = this_thread() / 32;
  if (index >= std::size_t(batch.n_row()) * n_beam) return false;
  at.row = static_cast<int>(index / n_beam);
  at.beam = static_cast<int>(index % n_beam);
  const int n_section = batch.sections.count();
  at.channel = at.row / n_section;
  at.section = at.row % n_section;
  return true;
}

__global__ void steer_floats(Batch batch, Steering steering, float2* weights) {
  Beam at;
  if (!beam_of_warp(batch, batch.n_beam, at)) return;
  const float2* factor = factors_of(batch, steering, at.channel);
  for (int ant = threadIdx.x % 32; ant < batch.n_ant; ant += 32) {
    const bool member = batch.member[std::size_t(at.beam) * batch.n_ant + ant] != 0;
    const float2 phasor = member ? towards(batch, steering, at, ant) : make_float2(0, 0);
    for (int pol = 0; pol < batch.n_pol; ++pol)
      weights[((std::size_t(at.row) * batch.n_pol + pol) * batch.n_beam + at.beam) * batch.n_ant + ant] =
          multiply(phasor, factor[ant * batch.n_pol + pol]);
  }
}

__device__ __forceinline__ int code(float value) {
  return min(127, max(-127, __float2int_rn(value)));
}

__global__ void steer_codes(Batch batch, Steering steering, beam_sums::Layout layout, std::int8_t* weights,
                            float* step) {
  using namespace beam_sums;
  Beam at;
  if (!beam_of_warp(batch, layout.n_groups() * kGroupBeams, at)) return;
  const int lane = threadIdx.x % 32;
  const bool used = at.beam < batch.n_beam;
  const float2* factor = factors_of(batch, steering, at.channel);
  const auto member = [&](int ant) {
    return used && ant < batch.n_ant && batch.member[std::size_t(at.beam) * batch.n_ant + ant] != 0;
  };
  float largest[2] = {0, 0};
  for (int ant = lane; ant < batch.n_ant; ant += 32)
    for (int pol = 0; pol < batch.n_pol; ++pol)
      if (member(ant)) {
        const float2 f = factor[ant * batch.n_pol + pol];
        largest[pol] = fmaxf(largest[pol], hypotf(f.x, f.y));
      }
  float per_step[2];
  for (int pol = 0; pol < 2; ++pol) {
    for (int other = 16; other > 0; other /= 2)
      largest[pol] = fmaxf(largest[pol], __shfl_xor_sync(~0u, largest[pol], other));
    per_step[pol] = largest[pol] > 0 ? 127 / largest[pol] : 0;
    if (lane == 0 && used && pol < batch.n_pol)
      step[(std::size_t(at.row) * batch.n_pol + pol) * batch.n_beam + at.beam] = largest[pol] / 127;
  }
  const int row = beam_row(at.beam % kGroupBeams);
  for (int ant = lane; ant < layout.n_ant_blocks() * kBlockAntennas; ant += 32) {
    const float2 phasor = member(ant) ? towards(batch, steering, at, ant) : make_float2(0, 0);
    for (int pol = 0; pol < batch.n_pol; ++pol) {
      const float2 w = member(ant) ? multiply(phasor, factor[ant * batch.n_pol + pol]) : make_float2(0, 0);
      const int re = code(w.x * per_step[pol]), im = code(w.y * per_step[pol]);
      std::int8_t* group = weights + layout.group(at.row, pol, at.beam / kGroupBeams, ant / kBlockAntennas);
      const int in_block = ant % kBlockAntennas;
      std::int8_t* real_row = group + row * kRowBytes;
      real_row[row_offset(row, 0, in_block)] = static_cast<std::int8_t>(re);
      real_row[row_offset(row, 1, in_block)] = static_cast<std::int8_t>(-im);
      std::int8_t* imaginary_row = real_row + 8 * kRowBytes;
      imaginary_row[row_offset(row + 8, 0, in_block)] = static_cast<std::int8_t>(im);
      imaginary_row[row_offset(row + 8, 1, in_block)] = static_cast<std::int8_t>(re);
    }
  }
}

/// A warp owns a run of a channel and a beam.
__global__ void sum_weights(Batch batch, Norms norms) {
  const std::size_t index = this_thread() / 32;
  const int n_channel = batch.norm_of_channels ? batch.n_channel : 1;
  if (index >= std::size_t(n_channel) * batch.n_run * batch.n_beam) return;
  const int beam = static_cast<int>(index % batch.n_beam);
  const int run = static_cast<int>(index / batch.n_beam % batch.n_run);
  const int channel = static_cast<int>(index / batch.n_beam / batch.n_run);
  const int all = batch.first_channel + channel;
  const std::uint8_t* valid =
      batch.valid + (std::size_t(batch.valid_row(channel)) * batch.n_run + run) * batch.n_ant;
  const std::size_t table =
      std::size_t(norms.amplitude_of_channels ? all : all / batch.n_fine) * batch.n_ant * batch.n_pol;
  double sum[3] = {0, 0, 0};
  for (int ant = threadIdx.x % 32; ant < batch.n_ant; ant += 32) {
    if (valid[ant] == 0 || batch.member[std::size_t(beam) * batch.n_ant + ant] == 0) continue;
    double x = 1, y = 1;
    if (norms.amplitude != nullptr) {
      x = norms.amplitude[table + ant * batch.n_pol];
      y = batch.n_pol == 2 ? norms.amplitude[table + ant * batch.n_pol + 1] : x;
    }
    sum[0] += norms.incoherent ? x * x : x;
    sum[1] += norms.incoherent ? y * y : y;
    sum[2] += x * y;
  }
  for (int i = 0; i < 3; ++i)
    for (int other = 16; other > 0; other /= 2) sum[i] += __shfl_xor_sync(~0u, sum[i], other);
  const bool half = norms.detected && (!(sum[0] > 0) || !(sum[1] > 0));
  if (threadIdx.x % 32 < 3) {
    const int i = threadIdx.x % 32;
    const double value = i == 0 ? sum[0] : i == 1 ? sum[1] : sum[2];
    batch.norm[index * 3 + i] = !half && value > 0 ? static_cast<float>(1 / value) : 0;
  }
}

__global__ void normalise(Batch batch, const float* step, float* scale) {
  const std::size_t index = this_thread();
  if (index >= std::size_t(batch.n_row()) * batch.n_pol * batch.n_beam) return;
  const int beam = static_cast<int>(index % batch.n_beam);
  const int pol = static_cast<int>(index / batch.n_beam % batch.n_pol);
  const int channel = static_cast<int>(index / batch.n_beam / batch.n_pol) / batch.sections.count();
  scale[index] = step[index] * batch.norm_of(channel, 0, beam)[pol];
}

unsigned blocks_of_warps(std::size_t n) {
  return blocks_of(n * 32);
}

}  // namespace

void launch_steer(const Batch& batch, const Steering& steering, float2* weights, cudaStream_t stream) {
  steer_floats<<<blocks_of_warps(std::size_t(batch.n_row()) * batch.n_beam), kThreads, 0, stream>>>(
      batch, steering, weights);
  launched("launching the weights of beams");
}

void launch_steer(const Batch& batch, const Steering& steering, const beam_sums::Layout& layout,
                  std::int8_t* weights, float* step, cudaStream_t stream) {
  const std::size_t n = std::size_t(batch.n_row()) * layout.n_groups() * beam_sums::kGroupBeams;
  steer_codes<<<blocks_of_warps(n), kThreads, 0, stream>>>(batch, steering, layout, weights, step);
  launched("launching the weights of beams (int8)");
}

void launch_norms(const Batch& batch, const Norms& norms, cudaStream_t stream) {
  const std::size_t n =
      std::size_t(batch.norm_of_channels ? batch.n_channel : 1) * batch.n_run * batch.n_beam;
  sum_weights<<<blocks_of_warps(n), kThreads, 0, stream>>>(batch, norms);
  launched("launching the sums of weights");
}

void launch_normalise(const Batch& batch, const float* step, float* scale, cudaStream_t stream) {
  const std::size_t n = std::size_t(batch.n_row()) * batch.n_pol * batch.n_beam;
  normalise<<<blocks_of(n), kThreads, 0, stream>>>(batch, step, scale);
  launched("launching the scales of beams");
}

}  // namespace apsyn::beam_stage
