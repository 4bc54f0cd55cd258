// SPDX-License-Identifier: GPL-3.0-or-later
// Sums of pairs with factors g, for kernels.
#pragma once

#include "kernels/epic/pair_columns.cuh"

namespace apsyn::epic_cuda {

__device__ __forceinline__ std::size_t pair_of(int n_input, int i, int j) {
  return std::size_t(i) * n_input - std::size_t(i) * (i + 1) / 2 + j;
}
__device__ __forceinline__ double2 times(double2 a, double2 b) {
  return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}

/// Of one channel.
struct PairValues {
  const PairTask& task;
  const double2 *sums, *factor;
  int channel, n_pol, n_input;
  __device__ PairValues(const PairTask& task, std::size_t channel)
      : task(task),
        channel(task.first_tile_channel + static_cast<int>(channel)),
        n_pol(task.n_pol),
        n_input(task.n_ant * task.n_pol) {
    sums = task.sums == nullptr ? nullptr : task.sums + channel * (std::size_t(n_input) * (n_input + 1) / 2);
    factor = task.factor + channel * n_input;
  }
  /// Of inputs i <= j.
  __device__ double2 sum(int i, int j) const {
    if (sums != nullptr) return sums[pair_of(n_input, i, j)];
    const int2 sum = x_stage::tile_sum(task.tiles, channel, i, j);
    return {static_cast<double>(sum.x), static_cast<double>(sum.y)};
  }
  /// V_ab of a < b with g.
  __device__ double2 value(int a, int p, int b, int q) const {
    const int i = a * n_pol + p, j = b * n_pol + q;
    return times(sum(i, j), times(factor[i], {factor[j].x, -factor[j].y}));
  }
  /// Of the Hermitian matrices XX, YY, and (XY + YX) / 2, (XY - YX) / 2i, whose forms are real and imaginary
  /// part of XY; a < b.
  __device__ double2 matrix(int a, int b, int m) const {
    if (m < 2) return value(a, m, b, m);
    const double2 xy = value(a, 0, b, 1), yx = value(a, 1, b, 0);
    if (m == 2) return {(xy.x + yx.x) / 2, (xy.y + yx.y) / 2};
    return {(xy.y - yx.y) / 2, (yx.x - xy.x) / 2};
  }
};

}  // namespace apsyn::epic_cuda
