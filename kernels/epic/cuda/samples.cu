// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/cuda/launch.cuh"
#include "kernels/epic/cuda/sample_value.cuh"
#include "kernels/epic/cuda/tile_product.cuh"

namespace apsyn::epic_cuda {
namespace {

constexpr int kPanel = 16;  // kPanelInputs

template <SampleFormat kFormat>
__global__ void columns_of(Samples samples, const float2* factor, int n_ant_padded, float* columns) {
  const int channel = blockIdx.z, tile = blockIdx.y;
  const int column = threadIdx.x, ant = blockIdx.x * blockDim.y + threadIdx.y;
  if (ant >= n_ant_padded) return;
  const int per_tile = kTileColumns / samples.n_pol;
  const int t = tile * per_tile + column / samples.n_pol, pol = column % samples.n_pol;
  float2 e{0, 0};
  if (t < samples.n_spectra && ant < samples.n_ant) {
    const auto value = sample<kFormat>(samples, channel, t, ant, pol);
    e = {static_cast<float>(value.x), static_cast<float>(value.y)};
    if (factor != nullptr) {
      const float2 g =
          factor[(std::size_t(samples.first_channel + channel) * samples.n_ant + ant) * samples.n_pol + pol];
      e = {g.x * e.x - g.y * e.y, g.x * e.y + g.y * e.x};
    }
  }
  float* to = columns + ((std::size_t(channel) * gridDim.y + tile) * n_ant_padded + ant) * 2 * kTileColumns;
  to[column] = e.x;
  to[kTileColumns + column] = e.y;
}

constexpr int kPowerAnts = 32, kPowerSlices = 8;  // of a block of threads

/// A thread sums an antenna's products over a slice of the spectra: neighbours read neighbouring samples.
template <SampleFormat kFormat>
__global__ void powers_of(Samples samples, double* powers) {
  const int channel = blockIdx.y, ant = blockIdx.x * kPowerAnts + threadIdx.x, slice = threadIdx.y;
  constexpr int kPiece = 8;  // loads in flight
  using Value = decltype(sample<kFormat>(samples, 0, 0, 0, 0).x);
  double sums[4] = {};
  for (int first = slice * kPiece; ant < samples.n_ant && first < samples.n_spectra;
       first += kPiece * kPowerSlices) {
    Value part[4] = {};
#pragma unroll
    for (int i = 0; i < kPiece; ++i) {
      const int t = min(first + i, samples.n_spectra - 1);
      const Value inside = first + i < samples.n_spectra ? 1 : 0;
      const auto x = sample<kFormat>(samples, channel, t, ant, 0);
      const auto y = sample<kFormat>(samples, channel, t, ant, samples.n_pol - 1);
      part[0] += inside * (x.x * x.x + x.y * x.y);
      part[1] += inside * (y.x * y.x + y.y * y.y);
      part[2] += inside * (x.x * y.x + x.y * y.y);
      part[3] += inside * (x.y * y.x - x.x * y.y);
    }
    for (int value = 0; value < 4; ++value) sums[value] += static_cast<double>(part[value]);
  }
  __shared__ double of_slice[kPowerSlices][4][kPowerAnts];
  for (int value = 0; value < 4; ++value) of_slice[slice][value][threadIdx.x] = sums[value];
  __syncthreads();
  if (slice >= 4 || ant >= samples.n_ant || (samples.n_pol == 1 && slice > 0)) return;
  double sum = 0;  // of value `slice`
  for (int i = 0; i < kPowerSlices; ++i) sum += of_slice[i][slice][threadIdx.x];
  powers[(std::size_t(samples.first_channel + channel) * samples.n_ant + ant) * 4 + slice] += sum;
}

__global__ void from_codes(PanelTask task, char2* samples) {
  const std::size_t at = this_thread();
  if (at >= std::size_t(task.n_spectra) * task.n_channel * task.n_input) return;
  const int input = at % task.n_input, channel = at / task.n_input % task.n_channel;
  const int t = static_cast<int>(at / task.n_input / task.n_channel);
  const int n_panel = (task.n_input + kPanel - 1) / kPanel;
  const std::size_t pair = (std::size_t(channel) * n_panel + input / kPanel) * task.n_held + t / 2;
  samples[at] = static_cast<const char2*>(task.panels)[(pair * kPanel + input % kPanel) * 2 + t % 2];
}

__global__ void from_planes(PanelTask task, float2* samples) {
  const std::size_t at = this_thread();
  if (at >= std::size_t(task.n_spectra) * task.n_channel * task.n_input) return;
  const int input = at % task.n_input, t = at / task.n_input % task.n_spectra;
  const int channel = static_cast<int>(at / task.n_input / task.n_spectra);
  const int n_panel = (task.n_input + kPanel - 1) / kPanel;
  const float* from = static_cast<const float*>(task.panels) +
                      ((std::size_t(channel) * n_panel + input / kPanel) * task.n_held + t) * 2 * kPanel +
                      input % kPanel;
  samples[at] = {from[0], from[kPanel]};
}

}  // namespace

void launch_columns(const Samples& samples, const float2* factor, int n_ant_padded, float* columns,
                    cudaStream_t stream) {
  constexpr int kAnts = 2;
  const int per_tile = kTileColumns / samples.n_pol;
  const dim3 grid((n_ant_padded + kAnts - 1) / kAnts, (samples.n_spectra + per_tile - 1) / per_tile,
                  samples.n_channel);
  with_format(samples.format, [&](auto format) {
    columns_of<format>
        <<<grid, dim3(kTileColumns, kAnts), 0, stream>>>(samples, factor, n_ant_padded, columns);
  });
  launched("turning samples");
}

void launch_powers(const Samples& samples, double* powers, cudaStream_t stream) {
  const dim3 grid((samples.n_ant + kPowerAnts - 1) / kPowerAnts, samples.n_channel);
  with_format(samples.format, [&](auto format) {
    powers_of<format><<<grid, dim3(kPowerAnts, kPowerSlices), 0, stream>>>(samples, powers);
  });
  launched("summing powers");
}

void launch_from_codes(const PanelTask& task, char2* samples, cudaStream_t stream) {
  const std::size_t n = std::size_t(task.n_spectra) * task.n_channel * task.n_input;
  from_codes<<<blocks_of(n), kThreads, 0, stream>>>(task, samples);
  launched("turning codes");
}

void launch_from_planes(const PanelTask& task, float2* samples, cudaStream_t stream) {
  const std::size_t n = std::size_t(task.n_spectra) * task.n_channel * task.n_input;
  from_planes<<<blocks_of(n), kThreads, 0, stream>>>(task, samples);
  launched("turning planes");
}

}  // namespace apsyn::epic_cuda
