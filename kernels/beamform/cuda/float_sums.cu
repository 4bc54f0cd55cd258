// SPDX-License-Identifier: GPL-3.0-or-later
// Sums over antennas on the CUDA cores, in float32. A block owns a tile of beams by spectra of one row and
// polarisation; weights and spectra of 16 antennas at a time pass through shared memory, those of the next 16
// on their way, and each thread keeps the sums of a few beams by a few spectra in registers. Few beams take a
// tile of few.
#include "kernels/beamform/cuda/detect.cuh"
#include "kernels/beamform/cuda/stage.cuh"
#include "kernels/common/cuda/launch.cuh"

namespace apsyn::beam_stage {
namespace {

constexpr int kChunk = 16;  // antennas at a time

/// kBeams by kSpectra sums of a thread, of kRows by kColumns threads. Pairs of beams and of spectra stand
/// side by side, so that 16 bytes are read at a time.
template <int kBeams, int kSpectra, int kRows, int kColumns>
__global__ void __launch_bounds__(kRows* kColumns)
    sum_antennas(Batch batch, Spectra spectra, const float2* weights, float2* voltages, int n_tile) {
  static_assert(kBeams % 2 == 0 && kSpectra % 2 == 0);
  constexpr int kTileBeams = kBeams * kRows, kTile = kSpectra * kColumns, kThreads = kRows * kColumns;
  constexpr int kTakenX = kTile * kChunk / kThreads, kTakenW = kTileBeams * kChunk / kThreads;
  __shared__ alignas(16) float2 w[2][kChunk][kTileBeams + 2], x[2][kChunk][kTile + 2];
  const Sections& sections = batch.sections;
  const int n_section = sections.count();
  const int row = blockIdx.x / n_tile, first = blockIdx.x % n_tile * kTile;
  const int section = row % n_section, channel = row / n_section, n = sections.size(section);
  const int first_beam = blockIdx.y * kTileBeams, pol = blockIdx.z;
  if (first >= n) return;
  const int n_input = batch.n_ant * batch.n_pol;
  const float2* from =
      spectra.data +
      std::size_t(batch.first_channel - spectra.first_channel + channel) * spectra.channel_stride +
      std::size_t(sections.begin(section)) * n_input + pol;
  const float2* weight = weights + (std::size_t(row) * batch.n_pol + pol) * batch.n_beam * batch.n_ant;
  const int column = threadIdx.x % kColumns, beam_row = threadIdx.x / kColumns;
  float2 next_x[kTakenX], next_w[kTakenW];
  const auto take = [&](int chunk) {
    const float2 nothing = make_float2(0, 0);
    const int ant = chunk + threadIdx.x % kChunk, at = threadIdx.x / kChunk;
#pragma unroll
    for (int i = 0; i < kTakenX; ++i) {
      const int t = first + at + i * (kThreads / kChunk);
      next_x[i] =
          ant < batch.n_ant && t < n ? __ldg(from + std::size_t(t) * n_input + ant * batch.n_pol) : nothing;
    }
#pragma unroll
    for (int i = 0; i < kTakenW; ++i) {
      const int beam = first_beam + at + i * (kThreads / kChunk);
      next_w[i] = ant < batch.n_ant && beam < batch.n_beam
                      ? __ldg(weight + std::size_t(beam) * batch.n_ant + ant)
                      : nothing;
    }
  };
  const auto put = [&](int half) {
    const int ant = threadIdx.x % kChunk, at = threadIdx.x / kChunk;
#pragma unroll
    for (int i = 0; i < kTakenX; ++i) x[half][ant][at + i * (kThreads / kChunk)] = next_x[i];
#pragma unroll
    for (int i = 0; i < kTakenW; ++i) w[half][ant][at + i * (kThreads / kChunk)] = next_w[i];
  };
  float2 sum[kBeams][kSpectra];
#pragma unroll
  for (int b = 0; b < kBeams; ++b)
#pragma unroll
    for (int t = 0; t < kSpectra; ++t) sum[b][t] = make_float2(0, 0);
  take(0);
  put(0);
  for (int chunk = 0, half = 0; chunk < batch.n_ant; chunk += kChunk, half ^= 1) {
    __syncthreads();
    const bool more = chunk + kChunk < batch.n_ant;
    if (more) take(chunk + kChunk);
#pragma unroll
    for (int k = 0; k < kChunk; ++k) {
      float4 a[kBeams / 2], c[kSpectra / 2];
#pragma unroll
      for (int b = 0; b < kBeams / 2; ++b)
        a[b] = *reinterpret_cast<const float4*>(&w[half][k][2 * (beam_row + b * kRows)]);
#pragma unroll
      for (int t = 0; t < kSpectra / 2; ++t)
        c[t] = *reinterpret_cast<const float4*>(&x[half][k][2 * (column + t * kColumns)]);
#pragma unroll
      for (int b = 0; b < kBeams; ++b)
#pragma unroll
        for (int t = 0; t < kSpectra; ++t) {
          const float wr = b % 2 == 0 ? a[b / 2].x : a[b / 2].z, wi = b % 2 == 0 ? a[b / 2].y : a[b / 2].w;
          const float xr = t % 2 == 0 ? c[t / 2].x : c[t / 2].z, xi = t % 2 == 0 ? c[t / 2].y : c[t / 2].w;
          sum[b][t].x = fmaf(wr, xr, fmaf(-wi, xi, sum[b][t].x));
          sum[b][t].y = fmaf(wr, xi, fmaf(wi, xr, sum[b][t].y));
        }
    }
    if (more) put(half ^ 1);
  }
#pragma unroll
  for (int b = 0; b < kBeams; ++b) {
    const int beam = first_beam + 2 * (beam_row + b / 2 * kRows) + b % 2;
    if (beam >= batch.n_beam) continue;
    float2* to =
        voltages + ((std::size_t(row) * batch.n_beam + beam) * batch.n_pol + pol) * sections.stride + first;
#pragma unroll
    for (int t = 0; t < kSpectra; ++t) {
      const int spectrum = 2 * (column + t / 2 * kColumns) + t % 2;
      if (first + spectrum < n) to[spectrum] = sum[b][t];
    }
  }
}

template <int kBeams, int kSpectra, int kRows, int kColumns>
void launch(const Batch& batch, const Spectra& spectra, const float2* weights, float2* voltages,
            cudaStream_t stream) {
  constexpr int kTile = kSpectra * kColumns, kTileBeams = kBeams * kRows;
  const int longest = min(batch.sections.n_spectra, max(batch.sections.first_length, batch.sections.length));
  const int n_tile = (longest + kTile - 1) / kTile;
  const dim3 grid(static_cast<unsigned>(batch.n_row()) * n_tile, (batch.n_beam + kTileBeams - 1) / kTileBeams,
                  batch.n_pol);
  sum_antennas<kBeams, kSpectra, kRows, kColumns>
      <<<grid, kRows * kColumns, 0, stream>>>(batch, spectra, weights, voltages, n_tile);
  launched("launching the sums of beams (float32)");
}

constexpr int kLanes = 32, kWarps = 4;

/// A block owns 32 spectra of a row, a warp one of its four beams.
__global__ void __launch_bounds__(kLanes* kWarps)
    sum_products(Batch batch, Spectra spectra, const float2* weights, Products products, int n_tile) {
  __shared__ float2 x[kLanes][kLanes + 1];  // [spectrum][input]
  const Sections& sections = batch.sections;
  const int n_section = sections.count();
  const int row = blockIdx.x / n_tile, first = blockIdx.x % n_tile * kLanes;
  const int section = row % n_section, channel = row / n_section, n = sections.size(section);
  if (first >= n) return;
  const int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes, beam = blockIdx.y * kWarps + warp;
  const int n_input = batch.n_ant * batch.n_pol, n_pol = batch.n_pol;
  const float2* from =
      spectra.data +
      std::size_t(batch.first_channel - spectra.first_channel + channel) * spectra.channel_stride +
      std::size_t(sections.begin(section) + first) * n_input;
  float xx = 0, yy = 0, re = 0, im = 0;
  for (int input = 0; input < n_input; input += kLanes) {
    __syncthreads();
    for (int t = warp; t < kLanes; t += kWarps)
      x[t][lane] = first + t < n && input + lane < n_input
                       ? __ldg(from + std::size_t(t) * n_input + input + lane)
                       : make_float2(0, 0);
    __syncthreads();
    if (beam >= batch.n_beam) continue;
    const int n_ant = min(kLanes, n_input - input) / n_pol, first_ant = input / n_pol;
    for (int i = 0; i < n_ant; ++i) {
      const float2* weight =
          weights + (std::size_t(row) * n_pol * batch.n_beam + beam) * batch.n_ant + first_ant + i;
      const float2 a = x[lane][i * n_pol], wa = __ldg(weight);
      xx = fmaf(wa.x * wa.x + wa.y * wa.y, a.x * a.x + a.y * a.y, xx);
      if (n_pol == 1) continue;
      const float2 b = x[lane][i * n_pol + 1], wb = __ldg(weight + std::size_t(batch.n_beam) * batch.n_ant);
      yy = fmaf(wb.x * wb.x + wb.y * wb.y, b.x * b.x + b.y * b.y, yy);
      const float2 cross = conjugate_product(a, b), w = conjugate_product(wa, wb);
      re += w.x * cross.x - w.y * cross.y;
      im += w.x * cross.y + w.y * cross.x;
    }
  }
  if (beam >= batch.n_beam) return;
  const bool there = first + lane < n;
  const int run = there ? batch.run_of(channel, sections.begin(section) + first + lane) : 0;
  const float* norm = batch.norm_of(channel, run, beam);
  const bool valid = there && norm[0] > 0;
  const float values[4] = {valid ? xx * norm[0] : 0, valid ? yy * norm[1] : 0, valid ? re * norm[2] : 0,
                           valid ? im * norm[2] : 0};
  store_products(products, batch, row, beam, first, lane, valid, values);
}

}  // namespace

void launch_sums(const Batch& batch, const Spectra& spectra, const float2* weights, float2* voltages,
                 cudaStream_t stream) {
  if (batch.n_beam <= 8)
    launch<2, 4, 4, 32>(batch, spectra, weights, voltages, stream);
  else if (batch.n_beam <= 32)
    launch<4, 4, 8, 16>(batch, spectra, weights, voltages, stream);
  else
    launch<8, 4, 8, 16>(batch, spectra, weights, voltages, stream);
}

void launch_incoherent(const Batch& batch, const Spectra& spectra, const float2* weights,
                       const Products& products, cudaStream_t stream) {
  const int longest = min(batch.sections.n_spectra, max(batch.sections.first_length, batch.sections.length));
  const int n_tile = (longest + kLanes - 1) / kLanes;
  const dim3 grid(static_cast<unsigned>(batch.n_row()) * n_tile, (batch.n_beam + kWarps - 1) / kWarps);
  sum_products<<<grid, kLanes * kWarps, 0, stream>>>(batch, spectra, weights, products, n_tile);
  launched("launching incoherent beams");
}

}  // namespace apsyn::beam_stage
