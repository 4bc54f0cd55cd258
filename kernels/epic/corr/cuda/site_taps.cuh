// SPDX-License-Identifier: GPL-3.0-or-later
// Pixels between the sites of a lattice (pair_lattice.h), for kernels.
#pragma once

#include "kernels/epic/corr/cuda/batches.cuh"

namespace apsyn::epic_cuda {

/// A cell of 0 .. n - 1, from -n on.
__device__ __forceinline__ int around(int cell, int n) {
  return cell < 0 ? cell + n : cell >= n ? cell - n : cell;
}

/// Where a pixel of an image is, from the grid's first cell on, which may be beyond its ends.
struct PixelAmongSites {
  double dn, x, y;
  __device__ __forceinline__ PixelAmongSites(const SiteTask& task, int column, int row) {
    const double l = (task.nx / 2 - column) * task.cell, m = (row - task.ny / 2) * task.cell;
    dn = sqrt(fmax(0.0, 1 - l * l - m * m)) - task.n_middle;
    x = -(l + task.slope_u * dn) / task.pitch;
    y = (m + task.slope_v * dn) / task.pitch;
  }
};

constexpr int kSiteTaps = 7;  ///< PairOrders::kWidth

/// Cells of a grid that a pixel is interpolated from along an axis, and their weights.
struct SiteTaps {
  int first;  // may be beyond the grid's ends
  float of[kSiteTaps];
  __device__ __forceinline__ SiteTaps(const SiteTask& task, double place, int n, const float* of_cell) {
    const double left = place - 0.5 * kSiteTaps, ahead = ceil(left);
    const float along = static_cast<float>(2 * (ahead - left) - 1);
    first = static_cast<int>(ahead);
#pragma unroll
    for (int tap = 0; tap < kSiteTaps; ++tap) {
      float value = 0;
      for (int power = task.n_power; power-- > 0;)
        value = fmaf(value, along, task.taps[power * kPairTaps + tap]);
      of[tap] = of_cell == nullptr ? value : value * of_cell[around(first + tap, n)];
    }
  }
};

}  // namespace apsyn::epic_cuda
