// SPDX-License-Identifier: GPL-3.0-or-later
// Sums of pairs with factors g, for kernels.
#pragma once

#include "kernels/epic/corr/cuda/columns.cuh"

namespace apsyn::epic_cuda {

__device__ __forceinline__ std::size_t pair_of(int n_input, int i, int j) {
  return std::size_t(i) * n_input - std::size_t(i) * (i + 1) / 2 + j;
}
__device__ __forceinline__ double2 times(double2 a, double2 b) {
  return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}

/// Values of pairs in one channel.
struct PairValues {
  const PairTask& task;
  const double2 *sums, *factor;
  const float* weights;  // of pairs of antennas, or null
  int channel, n_pol, n_input;
  __device__ PairValues(const PairTask& task, std::size_t channel)
      : task(task),
        channel(task.first_tile_channel + static_cast<int>(channel)),
        n_pol(task.n_pol),
        n_input(task.n_ant * task.n_pol) {
    sums = task.sums == nullptr ? nullptr : task.sums + channel * (std::size_t(n_input) * (n_input + 1) / 2);
    factor = task.factor + channel * n_input;
    const std::size_t n_pair = std::size_t(task.n_ant) * (task.n_ant - 1) / 2;
    weights = task.weights == nullptr ? nullptr : task.weights + channel * n_pair;
  }
  /// The sum of inputs i <= j.
  __device__ double2 sum(int i, int j) const {
    if (sums != nullptr) return sums[pair_of(n_input, i, j)];
    const int2 sum = x_stage::tile_sum(task.tiles, channel, i, j);
    return {static_cast<double>(sum.x), static_cast<double>(sum.y)};
  }
  /// V_ab of a < b with g and its weight; an antenna has none with itself.
  __device__ double2 value(int a, int p, int b, int q) const {
    return turned(sum(a * n_pol + p, b * n_pol + q), a * n_pol + p, b * n_pol + q, weight(a, b));
  }
  __device__ double weight(int a, int b) const {
    return weights == nullptr ? 1 : static_cast<double>(weights[pair_of(task.n_ant, a, b) - a - 1]);
  }
  __device__ double2 turned(double2 sum, int i, int j, double weight) const {
    const double2 by = times(factor[i], {factor[j].x, -factor[j].y});
    return times(sum, {weight * by.x, weight * by.y});
  }
  /// All of two polarisations, a < b: side by side in a tile.
  __device__ void values(int a, int b, double2 (&of)[2][2]) const {
    const int i = 2 * a, j = 2 * b;
    if (sums != nullptr) {
      for (int p = 0; p < 2; ++p)
        for (int q = 0; q < 2; ++q) of[p][q] = value(a, p, b, q);
      return;
    }
    const int2* tile = x_stage::tile_place(task.tiles, channel, i, j);
    const double by = weight(a, b);
    for (int p = 0; p < 2; ++p) {
      const int4 both = *reinterpret_cast<const int4*>(tile + p * task.tiles.tile);
      const int shift = task.tiles.shift;
      of[p][0] = turned({double(both.x >> shift), double(both.y >> shift)}, i + p, j, by);
      of[p][1] = turned({double(both.z >> shift), double(both.w >> shift)}, i + p, j + 1, by);
    }
  }
  /// Element (a, b), a < b, of the Hermitian matrix m: XX, YY, (XY + YX) / 2 or (XY - YX) / 2i. The forms of
  /// the last two are the real and the imaginary part of XY.
  __device__ double2 matrix(int a, int b, int m) const {
    if (m < 2) return value(a, m, b, m);
    return cross(value(a, 0, b, 1), value(a, 1, b, 0), m);
  }
  /// The last two of them.
  __device__ static double2 cross(double2 xy, double2 yx, int m) {
    if (m == 2) return {(xy.x + yx.x) / 2, (xy.y + yx.y) / 2};
    return {(xy.y - yx.y) / 2, (yx.x - xy.x) / 2};
  }
};

}  // namespace apsyn::epic_cuda
