// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/corr/cuda/int8.cuh"

#include "kernels/common/cuda/launch.cuh"
#include "kernels/epic/corr/cuda/values.cuh"
#include "kernels/epic/cuda/beam_chunk.cuh"
#include "kernels/epic/cuda/turns.cuh"

namespace apsyn::epic_cuda {
namespace {

using namespace beam_products;

constexpr int kLargest = 127 << 8;  // of a part of M in its units
constexpr int kUnitThreads = 256;
constexpr float kCoefficient = 32000;  // times 1.004, the largest, in 16 bits

/// A block of threads looks at all pairs of a channel.
__global__ void pair_units(PairTask task, double* unit, double* fold) {
  const PairValues channel(task, blockIdx.x);
  float largest = 0;
  for (int i = 0; i < channel.n_input; ++i)
    for (int j = i + 1 + threadIdx.x; j < channel.n_input; j += kUnitThreads) {
      const int a = i / task.n_pol, b = j / task.n_pol;
      if (a == b) continue;
      const double2 v = channel.value(a, i % task.n_pol, b, j % task.n_pol);
      largest = fmaxf(largest, fmaxf(fabsf(static_cast<float>(v.x)), fabsf(static_cast<float>(v.y))));
    }
  __shared__ float of_warp[kUnitThreads / 32];
  for (int step = 16; step > 0; step /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, step));
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = largest;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (float other : of_warp) largest = fmaxf(largest, other);
  const double one = largest > 0 ? static_cast<double>(largest) / kLargest : 1;
  unit[blockIdx.x] = one;
  fold[blockIdx.x] = sqrt(one / 127 / static_cast<double>(kCoefficient));
}

/// A thread packs 16 antennas a of one column.
__global__ void pair_rows(PairTask task, const double* unit, RowLayout layout, std::int8_t* rows) {
  const std::size_t at = this_thread();
  const int n_chunks = layout.n_blocks() * kBlockChunks, n_columns = layout.n_tiles() * kTileSpectra;
  if (at >= std::size_t(layout.n_row) * n_columns * n_chunks) return;
  const int chunk = at % n_chunks, tile = at / n_chunks % n_columns / kTileSpectra;
  const int in_tile = at / n_chunks % kTileSpectra, matrix = in_tile % kMatrices;
  const int antenna = in_tile / kMatrices, b = tile * kTileColumnAntennas + antenna;
  const int chan = static_cast<int>(at / n_chunks / n_columns);
  const PairValues channel(task, chan);
  Chunk re[2]{}, im[2]{};
  for (int i = 0; i < kChunk && b < task.n_ant; ++i) {
    const int a = chunk * kChunk + i;
    if (a >= task.n_ant) break;
    if (a == b) continue;
    double2 m = channel.matrix(min(a, b), max(a, b), matrix);
    if (a > b) m.y = -m.y;
    const auto split = [&](double value, Chunk* parts) {
      const Limbs limbs(max(-kLargest, min(kLargest, __double2int_rn(value / unit[chan]))), 8);
      parts[0].value[i] = limbs.high;
      parts[1].value[i] = limbs.low;
    };
    split(m.x, re);
    split(m.y, im);
  }
  const int row = quadratic_column(antenna, matrix);
#pragma unroll
  for (int limb = 0; limb < 2; ++limb) {
    std::int8_t* to = rows + layout.tile(chan, limb, chunk / kBlockChunks, tile);
    *chunk_of(to, row, 0, chunk) = re[limb];
    *chunk_of(to, row, 1, chunk) = im[limb];
  }
}

__global__ void coefficients_of(CoefficientTask task, short2* coefficients) {
  const std::size_t at = this_thread();
  const int ant = at % task.n_coefficient, pixel = at / task.n_coefficient % task.n_pixel;
  const std::size_t chan = at / task.n_coefficient / task.n_pixel;
  if (chan >= std::size_t(task.sky.n_channel)) return;
  short2 c{0, 0};
  if (ant < task.sky.n_ant) {
    const float2 w = weight_of(task.sky, task.sky.unit + 3 * std::size_t(task.first_pixel + pixel),
                               task.sky.hz[chan], ant);
    const auto corrected = [](float part) {
      const float rounded = rintf(127 * part) / 127;
      return static_cast<short>(__float2int_rn(kCoefficient * (2 * part - rounded)));
    };
    c.x = corrected(w.x);
    c.y = corrected(w.y);
  }
  coefficients[at] = c;
}

}  // namespace

RowLayout pair_rows_of(int n_channel, int n_ant) {
  const int n_tiles = (n_ant + kTileColumnAntennas - 1) / kTileColumnAntennas;
  return {.n_row = n_channel, .n_pol = 2, .n_ant = n_ant, .n_spectra = n_tiles * kTileSpectra};
}

void launch_pair_units(const PairTask& task, double* unit, double* fold, cudaStream_t stream) {
  pair_units<<<task.n_channel, kUnitThreads, 0, stream>>>(task, unit, fold);
  launched("looking for the largest pair");
}

void launch_pair_rows(const PairTask& task, const double* unit, const RowLayout& layout, std::int8_t* rows,
                      cudaStream_t stream) {
  const std::size_t n =
      std::size_t(layout.n_row) * layout.n_tiles() * kTileSpectra * layout.n_blocks() * kBlockChunks;
  pair_rows<<<blocks_of(n), kThreads, 0, stream>>>(task, unit, layout, rows);
  launched("packing pairs");
}

void launch_coefficients(const CoefficientTask& task, short2* coefficients, cudaStream_t stream) {
  const std::size_t n = std::size_t(task.sky.n_channel) * task.n_pixel * task.n_coefficient;
  coefficients_of<<<blocks_of(n), kThreads, 0, stream>>>(task, coefficients);
  launched("making coefficients");
}

}  // namespace apsyn::epic_cuda
