// SPDX-License-Identifier: GPL-3.0-or-later
// Weights of beams from delays: phases in float64, reduced to a turn, then float32. The integers' step is a
// 127th of the largest modulus among a beam's antennas, so it does not depend on where the beam looks.
#include "kernels/beamform/cuda/stage.cuh"
#include "kernels/common/cuda/launch.cuh"

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

__device__ __forceinline__ double delay_of(const Batch& batch, const Steering& steering, int section,
                                           int beam, int ant) {
  const std::size_t input = std::size_t(beam) * batch.n_ant + ant;
  if (steering.slope_s != nullptr)
    return steering.delay_s[input] + (steering.steps + section) * steering.slope_s[input];
  return steering.delay_s[std::size_t(section) * batch.n_beam * batch.n_ant + input];
}

/// exp(-2 pi i turns)
__device__ __forceinline__ float2 phasor_of(double turns) {
  float sine, cosine;
  sincospif(-2 * static_cast<float>(turns - rint(turns)), &sine, &cosine);
  return make_float2(cosine, sine);
}

/// exp(-2 pi i nu tau)
__device__ __forceinline__ float2 towards(const Batch& batch, const Steering& steering, const Beam& at,
                                          int ant) {
  if (steering.delay_s == nullptr) return make_float2(1, 0);
  return phasor_of(steering.channel_hz[batch.first_channel + at.channel] *
                   delay_of(batch, steering, at.section, at.beam, ant));
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

/// Limbs of a part of a weight join those of the three antennas before it.
__device__ __forceinline__ void add_limbs(float value, int shift, int place, unsigned (&words)[2]) {
  const int most = beam_products::largest_weight(shift);
  const beam_products::Limbs limbs(min(most, max(-most, __float2int_rn(value))), shift);
  words[0] |= (limbs.high & 0xFF) << 8 * place;
  words[1] |= (limbs.low & 0xFF) << 8 * place;
}

/// A warp owns a channel, polarisation and beam.
__global__ void measure_steps(Batch batch, Steering steering, float* step) {
  const std::size_t index = this_thread() / 32;
  if (index >= std::size_t(batch.n_channel) * batch.n_pol * batch.n_beam) return;
  const int beam = static_cast<int>(index % batch.n_beam);
  const int pol = static_cast<int>(index / batch.n_beam % batch.n_pol);
  const float2* factor =
      factors_of(batch, steering, static_cast<int>(index / batch.n_beam / batch.n_pol)) + pol;
  float largest = 0;
  for (int ant = threadIdx.x % 32; ant < batch.n_ant; ant += 32)
    if (batch.member[std::size_t(beam) * batch.n_ant + ant] != 0) {
      const float2 f = factor[ant * batch.n_pol];
      largest = fmaxf(largest, hypotf(f.x, f.y));
    }
  for (int other = 16; other > 0; other /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, other));
  if (threadIdx.x % 32 == 0)
    step[index] = largest / static_cast<float>(beam_products::largest_weight(steering.shift));
}

constexpr int kTurned = 33;  // channels that a phasor is turned through, from one of float64

/// A thread owns four antennas of a beam and section, and kTurned channels. kPols is of the weights.
template <int kPols>
__global__ void __launch_bounds__(kThreads)
    steer_codes(Batch batch, Steering steering, beam_products::WeightLayout layout, std::int8_t* weights,
                const float* step) {
  using namespace beam_products;
  constexpr int kQuads = kBlockAntennas / 4;
  const int n_section = batch.sections.count(), n_block = layout.n_blocks();
  std::size_t index = this_thread();
  const int place = static_cast<int>(index % kQuads);  // in the order of bytes
  index /= kQuads;
  const int beam = static_cast<int>(index % (layout.n_groups() * kGroupBeams));
  index /= layout.n_groups() * kGroupBeams;
  const int block = static_cast<int>(index % n_block), section = static_cast<int>(index / n_block);
  if (section >= n_section) return;
  const int in_block = place % 4 * 16 + place / 4 * 4, ant = block * kBlockAntennas + in_block;
  const int first = blockIdx.y * kTurned, end = min(batch.n_channel, first + kTurned);
  double delay_s[4] = {};
  bool member[4] = {};
  float2 phasor[4] = {}, turn[4] = {};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    member[i] = beam < batch.n_beam && ant + i < batch.n_ant &&
                batch.member[std::size_t(beam) * batch.n_ant + ant + i] != 0;
    if (member[i] && steering.delay_s != nullptr)
      delay_s[i] = delay_of(batch, steering, section, beam, ant + i);
    const double* hz = steering.channel_hz + batch.first_channel;
    if (member[i]) phasor[i] = phasor_of(hz[first] * delay_s[i]);
    if (member[i] && steering.even && end - first > 1)
      turn[i] = phasor_of((hz[first + 1] - hz[first]) * delay_s[i]);
  }
  for (int channel = first; channel < end; ++channel) {
    const int row = channel * n_section + section;
    const float2* factor = factors_of(batch, steering, channel) + std::size_t(ant) * batch.n_pol;
#pragma unroll 1  // both at once take more registers than some devices have
    for (int pol = 0; pol < kPols; ++pol) {
      float per_step = 0;
      if (beam < batch.n_beam) {
        const float one = step[(std::size_t(channel) * batch.n_pol + pol) * batch.n_beam + beam];
        per_step = one > 0 ? 1 / one : 0;
      }
      unsigned re[2] = {0, 0}, im[2] = {0, 0};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (!member[i]) continue;
        const float2 w = multiply(phasor[i], factor[i * batch.n_pol + pol]);
        add_limbs(w.x * per_step, steering.shift, i, re);
        add_limbs(w.y * per_step, steering.shift, i, im);
      }
#pragma unroll
      for (int limb = 0; limb < 2; ++limb) {
        if (limb >= layout.n_limb) break;
        std::int8_t* to = weights + layout.group(row, pol, beam / kGroupBeams, limb * n_block + block);
        *reinterpret_cast<unsigned*>(to + weight_offset(beam % kGroupBeams, 0, in_block)) = re[limb];
        *reinterpret_cast<unsigned*>(to + weight_offset(beam % kGroupBeams, 1, in_block)) = im[limb];
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (steering.even)
        phasor[i] = multiply(phasor[i], turn[i]);
      else if (member[i] && channel + 1 < end)
        phasor[i] = phasor_of(steering.channel_hz[batch.first_channel + channel + 1] * delay_s[i]);
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
  if (index >= std::size_t(batch.n_channel) * batch.n_pol * batch.n_beam) return;
  const int beam = static_cast<int>(index % batch.n_beam);
  const int pol = static_cast<int>(index / batch.n_beam % batch.n_pol);
  const int channel = static_cast<int>(index / batch.n_beam / batch.n_pol);
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

void launch_steps(const Batch& batch, const Steering& steering, float* step, cudaStream_t stream) {
  const std::size_t n = std::size_t(batch.n_channel) * batch.n_pol * batch.n_beam;
  measure_steps<<<blocks_of_warps(n), kThreads, 0, stream>>>(batch, steering, step);
  launched("launching the steps of weights");
}

void launch_steer(const Batch& batch, const Steering& steering, const beam_products::WeightLayout& layout,
                  std::int8_t* weights, const float* step, cudaStream_t stream) {
  using namespace beam_products;
  const std::size_t n = std::size_t(batch.sections.count()) * layout.n_blocks() * layout.n_groups() *
                        kGroupBeams * (kBlockAntennas / 4);
  const auto kernel = layout.n_pol == 1 ? steer_codes<1> : steer_codes<2>;
  kernel<<<dim3(blocks_of(n), (batch.n_channel + kTurned - 1) / kTurned), kThreads, 0, stream>>>(
      batch, steering, layout, weights, step);
  launched("launching the weights of beams (int8)");
}

void launch_norms(const Batch& batch, const Norms& norms, cudaStream_t stream) {
  const std::size_t n =
      std::size_t(batch.norm_of_channels ? batch.n_channel : 1) * batch.n_run * batch.n_beam;
  sum_weights<<<blocks_of_warps(n), kThreads, 0, stream>>>(batch, norms);
  launched("launching the sums of weights");
}

void launch_normalise(const Batch& batch, const float* step, float* scale, cudaStream_t stream) {
  const std::size_t n = std::size_t(batch.n_channel) * batch.n_pol * batch.n_beam;
  normalise<<<blocks_of(n), kThreads, 0, stream>>>(batch, step, scale);
  launched("launching the scales of beams");
}

}  // namespace apsyn::beam_stage
