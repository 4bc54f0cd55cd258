// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/cuda/halves.cuh"
#include "kernels/common/cuda/launch.cuh"
#include "kernels/common/cuda/sm90/mma.cuh"
#include "kernels/common/cuda/sm90/shared_memory.cuh"
#include "kernels/epic/cuda/sample_value.cuh"
#include "kernels/epic/fft/cuda/matrix/matrix.cuh"

namespace apsyn::epic_fft {
namespace {

constexpr int kTiles = 4;                      ///< a tile and its mirror images
constexpr int kOperands = kGroupSpectra / 2;   ///< right ones, each of two spectra
constexpr int kRowBytes = 2 * kOperands * 16;  ///< an antenna's samples E and i E of a group

/// Chunk `which` of an antenna's row: spread over banks by antenna.
__device__ __forceinline__ int chunk_at(int ant, int which) {
  return ant * kRowBytes + ((which ^ (ant & 7)) << 4);
}

/// shared [group][part][ant] rows of halves (spectrum, pol, re and im) of g E, then of i g E; 0 after the
/// last.
template <int kParts, epic_cuda::SampleFormat kFormat>
__device__ void load_samples(const GridCellsTask& task, int channel, int first, char* shared) {
  const epic_cuda::Samples& samples = task.samples;
  const int n_ant = samples.n_ant, n = task.n_group * n_ant * kOperands;
  const float4* factor =
      reinterpret_cast<const float4*>(task.factor) + std::size_t(samples.first_channel + channel) * n_ant;
  const float scale = task.scale * task.channel_scale[samples.first_channel + channel];
  for (int item = threadIdx.x; item < n; item += kMatrixThreads) {
    const int ant = item % n_ant, operand = item / n_ant % kOperands, group = item / n_ant / kOperands;
    const float4 g = factor[ant];
    std::uint32_t plain[kParts][4], turned[kParts][4];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int spectrum = first + group * kGroupSpectra + 2 * operand + i;
      float2 e[2] = {};
      if (spectrum < samples.n_spectra) {
#pragma unroll
        for (int pol = 0; pol < 2; ++pol) {
          const auto value = epic_cuda::sample<kFormat>(samples, channel, spectrum, ant, pol);
          e[pol] = make_float2(scale * static_cast<float>(value.x), scale * static_cast<float>(value.y));
        }
      }
      const float2 x = make_float2(g.x * e[0].x - g.y * e[0].y, g.x * e[0].y + g.y * e[0].x);
      const float2 y = make_float2(g.z * e[1].x - g.w * e[1].y, g.z * e[1].y + g.w * e[1].x);
      const Halves<kParts> of_x(x.x, x.y), of_y(y.x, y.y), of_ix(-x.y, x.x), of_iy(-y.y, y.x);
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        plain[part][2 * i] = of_x.part[part], plain[part][2 * i + 1] = of_y.part[part];
        turned[part][2 * i] = of_ix.part[part], turned[part][2 * i + 1] = of_iy.part[part];
      }
    }
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      char* rows = shared + std::size_t(group * kParts + part) * n_ant * kRowBytes;
      const auto store = [&](int which, const std::uint32_t(&word)[4]) {
        *reinterpret_cast<uint4*>(rows + chunk_at(ant, which)) =
            make_uint4(word[0], word[1], word[2], word[3]);
      };
      store(operand, plain[part]);
      store(kOperands + operand, turned[part]);
    }
  }
}

using Cells = float[kOperands][4];

/// Sixteen antennas and their weights for a tile, as a lane holds them.
template <int kParts>
struct Step {
  int ant;                  ///< of lane % 16
  uint4 weight[kParts][2];  ///< re, im

  __device__ __forceinline__ Step(const GridCellsTask& task, std::uint32_t step, int lane)
      : ant(task.antennas[step * 16 + (lane & 15)]) {
#pragma unroll
    for (int part = 0; part < kParts; ++part)
#pragma unroll
      for (int i = 0; i < 2; ++i)
        weight[part][i] = task.weights[(std::size_t(step) * kParts + part) * 64 + i * 32 + lane];
  }
};

/// cells [16 rows][spectrum, pol, re and im] += those antennas' weights times their samples.
template <int kParts>
__device__ __forceinline__ void add_step(const Step<kParts>& step, std::uint32_t rows, int part_bytes,
                                         int lane, Cells& cells) {
#pragma unroll
  for (int turned = 0; turned < 2; ++turned) {
    std::uint32_t weight[kParts][4], sample[kParts][2][4];
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      const uint4 w = step.weight[part][turned];
      weight[part][0] = w.x, weight[part][1] = w.y, weight[part][2] = w.z, weight[part][3] = w.w;
#pragma unroll
      for (int pair = 0; pair < 2; ++pair)
        ptx::load_matrices_transposed(
            sample[part][pair],
            rows + part * part_bytes + chunk_at(step.ant, turned * kOperands + 2 * pair + (lane >> 4)));
    }
#pragma unroll
    for (int operand = 0; operand < kOperands; ++operand) {
      const auto add = [&](int of_weight, int of_sample) {
        const std::uint32_t* b = sample[of_sample][operand / 2] + 2 * (operand % 2);
        ptx::mma_f16(cells[operand], weight[of_weight], b[0], b[1]);
      };
      add(0, 0);
      if constexpr (kParts == 2) {
        add(1, 0);
        add(0, 1);
      }
    }
  }
}

/// Blocks: (spectra, channel).
template <int kParts, epic_cuda::SampleFormat kFormat>
__global__ __launch_bounds__(kMatrixThreads) void grid_cells(const __grid_constant__ GridCellsTask task,
                                                             const __grid_constant__ MatrixSize size) {
  extern __shared__ __align__(128) char shared[];
  const int channel = blockIdx.y, first = blockIdx.x * task.n_group * kGroupSpectra;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  load_samples<kParts, kFormat>(task, channel, first, shared);
  __syncthreads();
  const int n_quad = task.quads_y * task.quads_x;
  const std::uint32_t* steps =
      task.steps + std::size_t(task.samples.first_channel + channel) * n_quad * kTiles;
  const std::size_t n_word = grid_words(size);
  const int plane_words =
      128 * size.steps_x * size.steps_y;  // of a part, parities, polarisation and component
  for (int item = warp; item < n_quad * task.n_group; item += kMatrixWarps) {
    const int quad = item / task.n_group, group = item % task.n_group;
    const int part_bytes = task.samples.n_ant * kRowBytes;
    const std::uint32_t rows =
        ptx::shared_address(shared) + static_cast<std::uint32_t>(group * kParts * part_bytes);
    Cells tiles[kTiles] = {};
    std::uint32_t step = steps[quad * kTiles];
    Step<kParts> next(task, step, lane);
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile)
      for (const std::uint32_t end = steps[quad * kTiles + tile + 1]; step < end;) {
        const Step<kParts> now = next;
        next = Step<kParts>(task, ++step, lane);
        add_step<kParts>(now, rows, part_bytes, lane, tiles[tile]);
      }
    const int y = quad / task.quads_x, x = quad % task.quads_x;
    const int word = (x / 4 * 2 * size.steps_y + y) * 32 + x % 4 * 8 + lane / 4;
#pragma unroll
    for (int operand = 0; operand < kOperands; ++operand) {
      const int spectrum = first + group * kGroupSpectra + 2 * operand + lane % 4 / 2, pol = lane % 2;
      if (spectrum >= task.samples.n_spectra) continue;
      std::uint32_t* to =
          task.grids + (std::size_t(channel) * task.samples.n_spectra + spectrum) * n_word + word;
#pragma unroll
      for (int odd_y = 0; odd_y < 2; ++odd_y)
#pragma unroll
        for (int odd_x = 0; odd_x < 2; ++odd_x)
#pragma unroll
          for (int component = 0; component < 2; ++component) {
            float folded[2];
#pragma unroll
            for (int half = 0; half < 2; ++half) {
              const int i = 2 * half + component;
              const auto of_x = [&](int tile) {
                const float front = tiles[tile][operand][i], back = tiles[tile + 1][operand][i];
                return odd_x ? front - back : front + back;
              };
              folded[half] = odd_y ? of_x(0) - of_x(2) : of_x(0) + of_x(2);
            }
            const Halves<kParts> rounded(folded[0], folded[1]);
#pragma unroll
            for (int part = 0; part < kParts; ++part)
              to[((((part * 2 + odd_y) * 2 + odd_x) * 2 + pol) * 2 + component) * plane_words] =
                  rounded.part[part];
          }
    }
  }
}

template <int kParts, epic_cuda::SampleFormat kFormat>
void launch(const GridCellsTask& task, const MatrixSize& size, cudaStream_t stream) {
  const auto kernel = grid_cells<kParts, kFormat>;
  const std::size_t bytes = grid_cells_shared_bytes(size, task.samples.n_ant, task.n_group);
  cuda_check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
      "gridding: shared memory");
  const int of_block = task.n_group * kGroupSpectra;
  const dim3 grid(static_cast<unsigned>((task.samples.n_spectra + of_block - 1) / of_block),
                  static_cast<unsigned>(task.samples.n_channel));
  kernel<<<grid, kMatrixThreads, bytes, stream>>>(task, size);
  launched("gridding");
}

}  // namespace

std::size_t grid_cells_shared_bytes(const MatrixSize& size, int n_ant, int n_group) {
  return std::size_t(n_group) * static_cast<std::size_t>(size.n_part * n_ant * kRowBytes);
}

void launch_grid_cells(const GridCellsTask& task, const MatrixSize& size, cudaStream_t stream) {
  epic_cuda::with_format(task.samples.format, [&](auto format) {
    if (size.n_part == 2)
      launch<2, format>(task, size, stream);
    else
      launch<1, format>(task, size, stream);
  });
}

}  // namespace apsyn::epic_fft
