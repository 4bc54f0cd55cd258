// SPDX-License-Identifier: GPL-3.0-or-later
// A thread sums all components of one row in a run of channels, in registers. What a block's threads share, a
// component's place and fluxes, they load from the same addresses at nearly the same time. Matrices of 16 +
// 16 stations are moved to shared memory for a block whose rows are of these stations, while those that came
// before are summed; rows of which there are too few for a block find theirs in the caches.
#include <cuda_pipeline.h>

#include "kernels/common/cuda/launch.cuh"
#include "kernels/simulate/cuda/sums.cuh"

namespace apsyn::simulate {
namespace {

constexpr unsigned kMaxGridY = 65535;

template <int kRun, int kPlanes>
__global__ void __launch_bounds__(kThreads) sum_kernel(SumTask task, std::uint32_t first_run) {
  const std::size_t i = this_thread();
  if (i >= task.n_rows) return;
  sum_terms<kRun, kPlanes>(task.table, task.rows[i], first_run + blockIdx.y, task.sums);
}

template <int kRun>
__global__ void __launch_bounds__(kThreads, 4)
    loose_kernel(SumTask task, TermBatches batches, std::uint32_t first_run) {
  const std::size_t i = task.n_tiled + this_thread();
  if (i >= task.n_rows) return;
  const TermRow row = task.rows[i];
  const std::uint32_t run_index = first_run + blockIdx.y;
  for (std::uint32_t b = 0; b < batches.n; ++b) {
    const TermMatrices matrices = batches.of[b];
    if (has_run(matrices, run_index))
      sum_terms_through<kRun>(task.table, matrices, row, run_index, task.sums);
  }
}

template <int kRun>
__device__ __forceinline__ void move_to(TileStage<kRun>& stage, const TermMatrices& matrices,
                                        const TermRun& run, const TermTile& tile,
                                        std::uint32_t first_component) {
  for (std::uint32_t i = threadIdx.x; i < TileStage<kRun>::kSize; i += kTileRows) {
    const StagedHalf staged = staged_half<kRun>(matrices, run, tile, first_component, i);
    if (staged.from != nullptr)
      __pipeline_memcpy_async(&stage.halves[staged.to], staged.from, sizeof(TermHalf));
  }
}

template <int kRun>
__global__ void __launch_bounds__(kTileRows, 2)
    tile_kernel(SumTask task, TermBatches batches, std::uint32_t first_run) {
  __shared__ TileStage<kRun> stages[2];
  constexpr std::uint32_t kAtOnce = TileStage<kRun>::kComponents;
  const TermTile tile = task.tiles[blockIdx.x];
  const bool has_row = threadIdx.x < tile.n_rows;
  const TermRow row = task.rows[tile.first_row + (has_row ? threadIdx.x : 0)];
  const std::uint32_t run_index = first_run + blockIdx.y;
  const TermRun run = task.table.runs[run_index];
  for (std::uint32_t b = 0; b < batches.n; ++b) {
    const TermMatrices matrices = batches.of[b];
    if (!has_run(matrices, run_index)) continue;  // the same for all threads
    TermProducts<kRun> sum;
    start_products(row, sum);
    move_to(stages[0], matrices, run, tile, 0);
    __pipeline_commit();
    std::uint32_t which = 0;
    for (std::uint32_t c = 0; c < matrices.n_components; c += kAtOnce, which = 1 - which) {
      // Beyond the last component nothing is moved.
      move_to(stages[1 - which], matrices, run, tile, c + kAtOnce);
      __pipeline_commit();
      __pipeline_wait_prior(1);
      __syncthreads();
      if (has_row) add_stage(task.table, matrices, run_index, run, tile, row, stages[which], c, sum);
      __syncthreads();  // before the stage is written again
    }
    if (has_row) store_products(task.table, run, row, sum, matrices.first_component > 0, task.sums);
  }
}

/// A thread for each matrix: components along x, as they arrive.
__global__ void __launch_bounds__(kThreads) matrix_kernel(MatrixTask task, std::uint32_t first_pair) {
  const auto c = static_cast<std::uint32_t>(this_thread());
  if (c >= task.of.n_components) return;
  const std::uint32_t pair = first_pair + blockIdx.y;
  const std::uint32_t chan = pair / task.of.n_stations, station = pair % task.of.n_stations;
  const TermMatrix jones = task.from[std::size_t(pair) * task.of.n_components + c];
  const float* const from =
      task.brightness +
      4 * (std::size_t(task.of.first_component + c) * task.n_table_chan + task.of.first_chan + chan);
  const float stokes[4] = {from[0], from[1], from[2], from[3]};
  const std::size_t to = (std::size_t(c) * task.of.n_chan + chan) * task.of.n_stations + station;
  task.jones[to] = jones;
  task.seen[to] = brightened(jones, stokes);
}

/// Calls launch(grid, first) for pieces of n_y that a grid's y can count.
template <class Launch>
void for_each_grid(std::size_t n_blocks, std::size_t n_y, Launch launch) {
  for (std::size_t first = 0; first < n_y; first += kMaxGridY) {
    const std::size_t n = n_y - first < kMaxGridY ? n_y - first : kMaxGridY;
    launch(dim3(static_cast<unsigned>(n_blocks), static_cast<unsigned>(n)),
           static_cast<std::uint32_t>(first));
  }
}

template <int kRun, int kPlanes>
void launch_of(const SumTask& task, cudaStream_t stream) {
  for_each_grid(blocks_of(task.n_rows), task.table.n_runs, [&](dim3 grid, std::uint32_t first) {
    sum_kernel<kRun, kPlanes><<<grid, kThreads, 0, stream>>>(task, first);
    launched("summing components");
  });
}

template <int kRun>
void launch_through_of(const SumTask& task, const TermBatches& batches, cudaStream_t stream) {
  for_each_grid(task.n_tiles, batches.n_runs, [&](dim3 grid, std::uint32_t first) {
    if (task.n_tiles > 0)
      tile_kernel<kRun><<<grid, kTileRows, 0, stream>>>(task, batches, batches.first_run + first);
    if (task.n_tiled < task.n_rows) {
      grid.x = blocks_of(task.n_rows - task.n_tiled);
      loose_kernel<kRun><<<grid, kThreads, 0, stream>>>(task, batches, batches.first_run + first);
    }
    launched("summing components through A-terms");
  });
}

}  // namespace

void launch_sums(const SumTask& task, cudaStream_t stream) {
  if (task.n_rows == 0 || task.table.n_runs == 0) return;
  if (task.n_planes == 1)
    (task.run_length == 16  ? launch_of<16, 1>
     : task.run_length == 8 ? launch_of<8, 1>
                            : launch_of<4, 1>)(task, stream);
  else
    (task.run_length == 8 ? launch_of<8, 4> : launch_of<4, 4>)(task, stream);
}

void launch_sums_through(const SumTask& task, const TermBatches& batches, cudaStream_t stream) {
  if (task.n_rows == 0 || batches.n_runs == 0) return;
  (task.run_length == 8 ? launch_through_of<8> : launch_through_of<4>)(task, batches, stream);
}

void launch_matrices(const MatrixTask& task, cudaStream_t stream) {
  const TermMatrices& of = task.of;
  for_each_grid(blocks_of(of.n_components), std::size_t(of.n_chan) * of.n_stations,
                [&](dim3 grid, std::uint32_t first) {
                  matrix_kernel<<<grid, kThreads, 0, stream>>>(task, first);
                  launched("arranging A-terms");
                });
}

}  // namespace apsyn::simulate
