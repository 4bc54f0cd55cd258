// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/cuda/tile_product.cuh"

#include <cuda_pipeline.h>

#include <algorithm>

#include "kernels/common/cuda/launch.cuh"
#include "kernels/epic/cuda/turns.cuh"

namespace apsyn::epic_cuda {
namespace {

constexpr int kBlockThreads = 256, kStages = 4;
constexpr int kPixelsEach = 4, kColumnThreads = 16;  // lanes of half a warp share pixels

struct alignas(16) Stage {
  float columns[kStepAnts][2][kTileColumns];
  float weights[kStepAnts][2][kTilePixels];
};

__host__ __device__ constexpr bool of_pairs(ColumnKind kind) {
  return kind == ColumnKind::pairs_1 || kind == ColumnKind::pairs_4;
}

template <ColumnKind kKind>
__device__ __forceinline__ int steps_of(const TileProduct& product, int tile) {
  const int rows = of_pairs(kKind) ? min(product.n_ant, (tile + 1) * tile_length(kKind)) : product.n_ant;
  return rows / kStepAnts;
}

template <std::size_t kBytes>
__device__ __forceinline__ void copy(float* to, const float* from) {
  static_assert(kBytes % (16 * kBlockThreads) == 0);
#pragma unroll
  for (unsigned i = 0; i < kBytes / 16 / kBlockThreads; ++i) {
    const unsigned at = 4 * (threadIdx.x + i * kBlockThreads);
    __pipeline_memcpy_async(to + at, from + at, 16);
  }
}

/// Copies that follow each other through all steps of all tiles.
template <ColumnKind kKind>
struct Fetcher {
  const float *columns, *weights;  // of this channel, and its pixels
  Stage* stages;
  int tile = 0, step = 0;
  unsigned stage = 0;

  __device__ __forceinline__ void next(const TileProduct& product) {
    if (tile < product.n_tiles) {
      Stage& to = stages[stage];
      copy<sizeof(to.columns)>(&to.columns[0][0][0], columns + step * kStepAnts * 2 * kTileColumns);
      copy<sizeof(to.weights)>(&to.weights[0][0][0], weights + step * kStepAnts * 2 * kTilePixels);
      stage = (stage + 1) % kStages;
      if (++step == steps_of<kKind>(product, tile)) {
        step = 0;
        ++tile;
        columns += product.n_ant * 2 * kTileColumns;
      }
    }
    __pipeline_commit();
  }
};

__device__ __forceinline__ void load4(float* to, const float* from) {
  const float4 values = *reinterpret_cast<const float4*>(from);
  to[0] = values.x, to[1] = values.y, to[2] = values.z, to[3] = values.w;
}

template <ColumnKind kKind>
__global__ void __launch_bounds__(kBlockThreads, 2) multiply_tiles(TileProduct product) {
  __shared__ Stage stages[kStages];
  const int column_thread = threadIdx.x % kColumnThreads;
  const int pixel = threadIdx.x / kColumnThreads * kPixelsEach;
  const std::size_t channel = blockIdx.y;
  const float* weights =
      product.weights + (channel * product.n_pixel_tiles + blockIdx.x) * product.n_ant * 2 * kTilePixels;
  Fetcher<kKind> fetcher{product.columns + channel * product.n_tiles * product.n_ant * 2 * kTileColumns,
                         weights, stages};
  float sums[kPixelsEach][4] = {};
#pragma unroll
  for (int i = 0; i < kStages - 1; ++i) fetcher.next(product);
  unsigned number = 0;
  for (int tile = 0; tile < product.n_tiles; ++tile) {
    float re[kPixelsEach][8] = {}, im[kPixelsEach][8] = {};
    const int n_steps = steps_of<kKind>(product, tile);
    for (int step = 0; step < n_steps; ++step, ++number) {
      __pipeline_wait_prior(kStages - 2);
      __syncthreads();
      fetcher.next(product);
      const Stage& stage = stages[number % kStages];
#pragma unroll 1
      for (int a = 0; a < kStepAnts; ++a) {
        float w_re[kPixelsEach], w_im[kPixelsEach], x_re[8], x_im[8];
        load4(w_re, &stage.weights[a][0][pixel]);
        load4(w_im, &stage.weights[a][1][pixel]);
        for (int g = 0; g < 2; ++g) {
          load4(x_re + 4 * g, &stage.columns[a][0][kTileColumns / 2 * g + 4 * column_thread]);
          load4(x_im + 4 * g, &stage.columns[a][1][kTileColumns / 2 * g + 4 * column_thread]);
        }
#pragma unroll
        for (int p = 0; p < kPixelsEach; ++p)
#pragma unroll
          for (int c = 0; c < 8; ++c) {
            re[p][c] += w_re[p] * x_re[c];
            im[p][c] += w_re[p] * x_im[c];
            re[p][c] -= w_im[p] * x_im[c];
            im[p][c] += w_im[p] * x_re[c];
          }
      }
    }
    if constexpr (!of_pairs(kKind)) {
#pragma unroll
      for (int p = 0; p < kPixelsEach; ++p)
#pragma unroll
        for (int c = 0; c < 8; c += kKind == ColumnKind::coherence ? 2 : 1) {
          const float x_re = re[p][c], x_im = im[p][c];
          sums[p][0] += x_re * x_re + x_im * x_im;
          if constexpr (kKind == ColumnKind::coherence) {
            const float y_re = re[p][c + 1], y_im = im[p][c + 1];
            sums[p][1] += y_re * y_re + y_im * y_im;
            sums[p][2] += x_re * y_re + x_im * y_im;
            sums[p][3] += x_im * y_re - x_re * y_im;
          }
        }
    } else {
#pragma unroll
      for (int c = 0; c < 8; ++c) {
        constexpr bool kFour = kKind == ColumnKind::pairs_4;
        const int column = kTileColumns / 2 * (c / 4) + 4 * column_thread + c % 4;
        const int ant = tile * tile_length(kKind) + (kFour ? column / 4 : column);
        if (ant >= product.n_ant) continue;
        float w_re[kPixelsEach], w_im[kPixelsEach];
        load4(w_re, weights + std::size_t(2 * ant) * kTilePixels + pixel);
        load4(w_im, weights + std::size_t(2 * ant + 1) * kTilePixels + pixel);
#pragma unroll
        for (int p = 0; p < kPixelsEach; ++p)
          sums[p][kFour ? c % 4 : 0] += re[p][c] * w_re[p] + im[p][c] * w_im[p];
      }
    }
  }
#pragma unroll
  for (int p = 0; p < kPixelsEach; ++p)
#pragma unroll
    for (int value = 0; value < 4; ++value) {
      if ((kKind == ColumnKind::power || kKind == ColumnKind::pairs_1) && value > 0) continue;
      double sum = sums[p][value];
#pragma unroll
      for (int step = 1; step < kColumnThreads; step *= 2) sum += __shfl_xor_sync(~0u, sum, step);
      if (column_thread == 0)
        product.sums[(channel * product.n_stride + blockIdx.x * kTilePixels + pixel + p) * 4 + value] += sum;
    }
}

__global__ void weigh(WeightTask task, float* weights) {
  const int channel = blockIdx.z, tile = blockIdx.y, n_ant_padded = padded_ants(task.n_ant);
  const int pixel = (task.first_tile + tile) * kTilePixels + threadIdx.x;
  const int ant = blockIdx.x * blockDim.y + threadIdx.y;
  if (ant >= n_ant_padded) return;
  float2 weight{0, 0};
  if (pixel < task.n_pixel && ant < task.n_ant) {
    weight = weight_of(task, task.unit + 3 * std::size_t(pixel), task.hz[channel], ant);
    if (task.heard != nullptr) {
      const float2 a =
          task.heard[(std::size_t(channel) * task.n_kind + task.kinds[ant]) * task.n_pixel + pixel];
      weight = {weight.x * a.x + weight.y * a.y, weight.y * a.x - weight.x * a.y};
    }
  }
  float* to =
      weights + ((std::size_t(channel) * task.n_pixel_tiles + tile) * n_ant_padded + ant) * 2 * kTilePixels;
  to[threadIdx.x] = weight.x;
  to[kTilePixels + threadIdx.x] = weight.y;
}

template <ColumnKind kKind>
void launch(const TileProduct& product, cudaStream_t stream) {
  const dim3 grid(product.n_pixel_tiles, product.n_channel);
  multiply_tiles<kKind><<<grid, kBlockThreads, 0, stream>>>(product);
}

}  // namespace

void launch_tile_product(const TileProduct& product, ColumnKind kind, cudaStream_t stream) {
  switch (kind) {
    case ColumnKind::power:
      launch<ColumnKind::power>(product, stream);
      break;
    case ColumnKind::coherence:
      launch<ColumnKind::coherence>(product, stream);
      break;
    case ColumnKind::pairs_1:
      launch<ColumnKind::pairs_1>(product, stream);
      break;
    case ColumnKind::pairs_4:
      launch<ColumnKind::pairs_4>(product, stream);
      break;
  }
  launched("multiplying antennas and pixels");
}

void launch_weights(const WeightTask& task, float* weights, cudaStream_t stream) {
  constexpr int kAnts = 4;
  const dim3 grid((padded_ants(task.n_ant) + kAnts - 1) / kAnts, task.n_pixel_tiles, task.n_channel);
  weigh<<<grid, dim3(kTilePixels, kAnts), 0, stream>>>(task, weights);
  launched("making weights");
}

}  // namespace apsyn::epic_cuda
