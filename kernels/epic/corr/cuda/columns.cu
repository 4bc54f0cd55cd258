// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/corr/cuda/columns.cuh"

#include "kernels/common/cuda/launch.cuh"
#include "kernels/epic/corr/cuda/values.cuh"

namespace apsyn::epic_cuda {
namespace {

template <ColumnKind kKind>
__global__ void columns_of_pairs(PairTask task, float* columns) {
  constexpr bool kFour = kKind == ColumnKind::pairs_4;
  const int tile = blockIdx.y, column = threadIdx.x, n_padded = padded_ants(task.n_ant);
  const int a = blockIdx.x * blockDim.y + threadIdx.y;
  const int b = tile * tile_length(kKind) + (kFour ? column / 4 : column);
  if (a >= n_padded) return;
  double2 m{0, 0};
  if (a < b && b < task.n_ant) m = PairValues(task, blockIdx.z).matrix(a, b, kFour ? column % 4 : 0);
  float* to = columns + ((std::size_t(blockIdx.z) * gridDim.y + tile) * n_padded + a) * 2 * kTileColumns;
  to[column] = static_cast<float>(2 * m.x);
  to[kTileColumns + column] = static_cast<float>(2 * m.y);
}

__global__ void own_sums(PairTask task, double* powers) {
  const std::size_t at = this_thread();
  if (at >= std::size_t(task.n_channel) * task.n_ant) return;
  const PairValues channel(task, at / task.n_ant);
  const int i = static_cast<int>(at % task.n_ant) * task.n_pol;
  double* to = powers + at * 4;
  to[0] = channel.sum(i, i).x;
  const bool both = task.n_pol == 2;
  to[1] = both ? channel.sum(i + 1, i + 1).x : 0;
  const double2 xy = both ? channel.sum(i, i + 1) : double2{0, 0};
  to[2] = xy.x;
  to[3] = xy.y;
}

template <ColumnKind kKind>
void launch(const PairTask& task, float* columns, cudaStream_t stream) {
  constexpr int kAnts = 2;
  const dim3 grid((padded_ants(task.n_ant) + kAnts - 1) / kAnts,
                  (task.n_ant + tile_length(kKind) - 1) / tile_length(kKind), task.n_channel);
  columns_of_pairs<kKind><<<grid, dim3(kTileColumns, kAnts), 0, stream>>>(task, columns);
  launched("turning sums of pairs");
}

}  // namespace

void launch_pair_columns(const PairTask& task, float* columns, cudaStream_t stream) {
  if (task.n_pol == 2)
    launch<ColumnKind::pairs_4>(task, columns, stream);
  else
    launch<ColumnKind::pairs_1>(task, columns, stream);
}

void launch_own_sums(const PairTask& task, double* powers, cudaStream_t stream) {
  const std::size_t n = std::size_t(task.n_channel) * task.n_ant;
  own_sums<<<blocks_of(n), kThreads, 0, stream>>>(task, powers);
  launched("copying autocorrelations");
}

}  // namespace apsyn::epic_cuda
