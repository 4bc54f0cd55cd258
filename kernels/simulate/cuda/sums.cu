// SPDX-License-Identifier: GPL-3.0-or-later
// A thread sums all components of one row in a run of channels, in registers. What a block's threads share, a
// component's place and fluxes, they load from the same addresses at nearly the same time; matrices of
// stations come out of the caches, because the rows of a block are those of a tile of 8 x 16 stations
// (order_rows()).
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
    through_kernel(SumTask task, TermMatrices matrices, std::uint32_t first_run, bool add) {
  const std::size_t i = this_thread();
  if (i >= task.n_rows) return;
  sum_terms_through<kRun>(task.table, matrices, task.rows[i], first_run + blockIdx.y, add, task.sums);
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

/// Calls launch(grid, first) for pieces of n that a grid's y can count.
template <class Launch>
void for_each_grid(std::size_t n_x, std::size_t n_y, Launch launch) {
  for (std::size_t first = 0; first < n_y; first += kMaxGridY) {
    const std::size_t n = n_y - first < kMaxGridY ? n_y - first : kMaxGridY;
    launch(dim3(blocks_of(n_x), static_cast<unsigned>(n)), static_cast<std::uint32_t>(first));
  }
}

template <int kRun, int kPlanes>
void launch_of(const SumTask& task, cudaStream_t stream) {
  for_each_grid(task.n_rows, task.table.n_runs, [&](dim3 grid, std::uint32_t first) {
    sum_kernel<kRun, kPlanes><<<grid, kThreads, 0, stream>>>(task, first);
    launched("summing components");
  });
}

template <int kRun>
void launch_through_of(const SumTask& task, const TermMatrices& matrices, bool add, cudaStream_t stream) {
  for_each_grid(task.n_rows, matrices.n_runs, [&](dim3 grid, std::uint32_t first) {
    through_kernel<kRun><<<grid, kThreads, 0, stream>>>(task, matrices, first, add);
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

void launch_sums_through(const SumTask& task, const TermMatrices& matrices, bool add, cudaStream_t stream) {
  if (task.n_rows == 0 || matrices.n_runs == 0) return;
  (task.run_length == 8 ? launch_through_of<8> : launch_through_of<4>)(task, matrices, add, stream);
}

void launch_matrices(const MatrixTask& task, cudaStream_t stream) {
  const TermMatrices& of = task.of;
  for_each_grid(of.n_components, std::size_t(of.n_chan) * of.n_stations, [&](dim3 grid, std::uint32_t first) {
    matrix_kernel<<<grid, kThreads, 0, stream>>>(task, first);
    launched("arranging A-terms");
  });
}

}  // namespace apsyn::simulate
