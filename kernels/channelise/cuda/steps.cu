// SPDX-License-Identifier: GPL-3.0-or-later
// The F stage in three steps, for what the fused kernel does not do: any length, any number of taps, floats
// in and out. Between the steps stand float32 complex values in device memory, and cuFFT.
#include "kernels/channelise/cuda/device.cuh"
#include "kernels/common/cuda/check.h"
#include "kernels/common/cuda/radix.cuh"

namespace apsyn::f_stage {
namespace {

constexpr int kTile = 32, kRows = 8;

/// A block owns 32 streams by 32 samples, of which it reads the streams and writes the samples in a row.
__global__ void __launch_bounds__(kTile* kRows) fold(Task task, Batch batch, float2* folded, int n_tiles) {
  __shared__ float2 tile[kTile][kTile + 1];  // [stream][sample]
  const SampleWindow& window = task.samples;
  const int n_stream = stream_count(task), chan = batch.first_chan + blockIdx.y;
  const int lane = threadIdx.x % kTile, warp = threadIdx.x / kTile;
  const int first_stream = blockIdx.x % n_tiles * kTile;
  const std::int64_t first = std::int64_t(blockIdx.x / n_tiles) * kTile;  // spectrum * length + sample
  const std::int64_t n = std::int64_t(batch.n_spectra) * task.length;
  const int n_component = window.real ? window.n_input : 2 * window.n_input;
  const int per_ant = window.real ? task.n_pol : 2 * task.n_pol;
  for (int i = warp; i < kTile; i += kRows) {
    float2 sum = make_float2(0, 0);
    if (first_stream + lane < n_stream && first + i < n) {
      const int spectrum = batch.first_spectrum + static_cast<int>((first + i) / task.length);
      const int sample = static_cast<int>((first + i) % task.length);
      float part[2] = {0, 0};
      for (int k = 0; k < 2; ++k) {
        const int component = 2 * (first_stream + lane) + k;
        if (component >= n_component) break;
        const int start = start_of(task, component / per_ant, spectrum);
        if (start == kNoWeight) continue;
        for (int tap = 0; tap < task.n_taps; ++tap)
          part[k] = fmaf(__ldg(task.taps + std::size_t(tap) * task.length + sample),
                         load_component(window, chan, component,
                                        std::int64_t(start) + std::int64_t(tap) * task.length + sample),
                         part[k]);
      }
      sum = make_float2(part[0], part[1]);
    }
    tile[lane][i] = sum;
  }
  __syncthreads();
  if (first + lane >= n) return;
  const std::int64_t spectrum = (first + lane) / task.length, sample = (first + lane) % task.length;
  for (int i = warp; i < kTile && first_stream + i < n_stream; i += kRows)
    folded[((blockIdx.y * std::int64_t(batch.n_spectra) + spectrum) * n_stream + first_stream + i) *
               task.length +
           sample] = tile[i][lane];
}

/// One value of one input: parted when real, turned, and zero without weight.
__device__ float2 value_of(const Task& task, const Batch& batch, const float2* transformed, int batch_chan,
                           int spectrum, int input, int bin) {
  const int chan = batch.first_chan + batch_chan;
  const Turn turn = turn_of(task, chan, input / task.n_pol, spectrum);
  if (!turn.used) return make_float2(0, 0);
  const bool real = task.samples.real;
  const int stream = real ? input / 2 : input;
  const float2* row =
      transformed +
      ((std::size_t(batch_chan) * batch.n_spectra + spectrum - batch.first_spectrum) * stream_count(task) +
       stream) *
          task.length;
  float2 value = row[bin];
  if (real) {
    const float2 mirror = row[bin == 0 ? 0 : task.length - bin];
    value = input % 2 == 0 ? make_float2(0.5f * (value.x + mirror.x), 0.5f * (value.y - mirror.y))
                           : make_float2(0.5f * (value.y + mirror.y), 0.5f * (mirror.x - value.x));
    if (task.mirrored) value.y = -value.y;
  }
  if (!task.turns) return value;
  return radix::multiply(value, phasor(turn.phase + turn.step * Grid(task).index(bin)));
}

/// A block owns 32 values (input, bin) of one channel and 64 spectra.
__global__ void __launch_bounds__(kTile* kRows)
    finish_integers(Task task, Batch batch, const float2* transformed, IntegerOutput out) {
  constexpr int kRow = 2 * kBlockSpectra;
  __shared__ __align__(16) signed char bytes[kTile][kRow + 16];  // [value][re 64 | im 64]
  const SampleWindow& window = task.samples;
  const int lane = threadIdx.x % kTile, warp = threadIdx.x / kTile;
  const int chan = batch.first_chan + blockIdx.y, block = batch.first_spectrum / kBlockSpectra + blockIdx.z;
  const int first = blockIdx.x * kTile, n_value = window.n_input * task.n_fine;
  const Grid grid(task);
  if (first + lane < n_value) {
    const int input = (first + lane) / task.n_fine, bin = (first + lane) % task.n_fine;
    const float scale = task.scale == nullptr ? 1 : task.scale[chan * window.n_input + input];
    const int channel = chan * task.n_fine + grid.fine(bin);
    unsigned n_clipped = 0;
    for (int t = warp; t < kBlockSpectra; t += kRows) {
      const int spectrum = block * kBlockSpectra + t;
      int re = 0, im = 0;
      if (spectrum < batch.first_spectrum + batch.n_spectra) {
        const float2 value = value_of(task, batch, transformed, blockIdx.y, spectrum, input, bin);
        float2 dither = make_float2(0, 0);
        if (out.dither && (value.x != 0 || value.y != 0)) {
          const std::int64_t number = out.first_number + spectrum;
          requantise_dither(requantise_key(channel, input, number), static_cast<std::uint32_t>(number),
                            dither.x, dither.y);
        }
        int clipped_re, clipped_im;
        re = requantise_round(fmaf(value.x, scale, dither.x), requantise_low(8), requantise_high(8),
                              clipped_re);
        im = requantise_round(fmaf(value.y, scale, dither.y), requantise_low(8), requantise_high(8),
                              clipped_im);
        n_clipped += clipped_re + clipped_im;
      }
      bytes[lane][t] = static_cast<signed char>(re);
      bytes[lane][kBlockSpectra + t] = static_cast<signed char>(im);
    }
    if (n_clipped > 0)
      atomicAdd(out.clipped + std::size_t(chan) * window.n_input + input,
                static_cast<unsigned long long>(n_clipped));
  }
  __syncthreads();
  const int i = threadIdx.x / kRows, chunk = threadIdx.x % kRows;  // 32 rows of 8 chunks
  if (first + i >= n_value) return;
  const int input = (first + i) / task.n_fine, bin = (first + i) % task.n_fine;
  std::int8_t* to = out.data + out.layout.row(chan * task.n_fine + grid.fine(bin), block, input) +
                    x_layout::offset_8bit(input, chunk / 4, chunk % 4 * 16);
  *reinterpret_cast<int4*>(to) = *reinterpret_cast<const int4*>(&bytes[i][chunk * 16]);
}

/// A block owns 32 inputs by 32 bins of one spectrum.
__global__ void __launch_bounds__(kTile* kRows)
    finish_floats(Task task, Batch batch, const float2* transformed, FloatOutput out, int n_tiles) {
  __shared__ float2 tile[kTile][kTile + 1];  // [input][bin]
  const int lane = threadIdx.x % kTile, warp = threadIdx.x / kTile, n_input = task.samples.n_input;
  const int chan = batch.first_chan + blockIdx.y;
  const int first_input = blockIdx.x % n_tiles * kTile;
  const int n_bin_tiles = (task.n_fine + kTile - 1) / kTile;
  const int first_bin = blockIdx.x / n_tiles % n_bin_tiles * kTile;
  const int spectrum = batch.first_spectrum + blockIdx.x / n_tiles / n_bin_tiles;
  for (int i = warp; i < kTile; i += kRows)
    if (first_input + i < n_input && first_bin + lane < task.n_fine)
      tile[i][lane] =
          value_of(task, batch, transformed, blockIdx.y, spectrum, first_input + i, first_bin + lane);
  __syncthreads();
  const Grid grid(task);
  for (int i = warp; i < kTile; i += kRows)
    if (first_input + lane < n_input && first_bin + i < task.n_fine)
      out.data[(chan * task.n_fine + grid.fine(first_bin + i)) * out.channel_stride +
               std::size_t(spectrum) * n_input + first_input + lane] = tile[lane][i];
}

}  // namespace

void launch_fold(const Task& task, const Batch& batch, float2* folded, cudaStream_t stream) {
  const int n_tiles = (stream_count(task) + kTile - 1) / kTile;
  const std::int64_t n = std::int64_t(batch.n_spectra) * task.length;
  const auto n_blocks = static_cast<unsigned>((n + kTile - 1) / kTile * n_tiles);
  fold<<<dim3(n_blocks, batch.n_chan), kTile * kRows, 0, stream>>>(task, batch, folded, n_tiles);
  cuda_check(cudaGetLastError(), "launching the F stage's sums over taps");
}

void launch_finish(const Task& task, const Batch& batch, const float2* transformed, const IntegerOutput& out,
                   cudaStream_t stream) {
  const unsigned n_tiles = (task.samples.n_input * task.n_fine + kTile - 1) / kTile;
  const unsigned n_blocks = (batch.n_spectra + kBlockSpectra - 1) / kBlockSpectra;
  finish_integers<<<dim3(n_tiles, batch.n_chan, n_blocks), kTile * kRows, 0, stream>>>(task, batch,
                                                                                       transformed, out);
  cuda_check(cudaGetLastError(), "launching the F stage's requantisation");
}

void launch_finish(const Task& task, const Batch& batch, const float2* transformed, const FloatOutput& out,
                   cudaStream_t stream) {
  const int n_tiles = (task.samples.n_input + kTile - 1) / kTile;
  const int n_bin_tiles = (task.n_fine + kTile - 1) / kTile;
  finish_floats<<<dim3(n_tiles * n_bin_tiles * batch.n_spectra, batch.n_chan), kTile * kRows, 0, stream>>>(
      task, batch, transformed, out, n_tiles);
  cuda_check(cudaGetLastError(), "launching the F stage's turns");
}

}  // namespace apsyn::f_stage
