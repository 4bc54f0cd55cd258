// SPDX-License-Identifier: GPL-3.0-or-later
// Pairs of the few antennas that stand apart from the grid (pair_orders.h), summed directly:
//   sums += 2 Re(V exp(2 pi i nu (u x c - v y c - w (n - n_middle)))),
// pixel (x, y) of a lattice of c, counted from the middle. Phases are integers, of 2^32 to a turn, and exact.
// Pixels (+-x, +-y) have the same n.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/epic/corr/cuda/grid.cuh"

namespace apsyn::epic_cuda {

constexpr int kOutlierRows = 4;

/// Column x >= 0 of the lattice, rows y, y + 1, ... >= 0.
struct OutlierRun {
  std::uint32_t x, y;
  std::uint32_t n[kOutlierRows];  ///< n - n_middle + 1 in units of 2^-30
  std::uint32_t pixels[kOutlierRows]
                      [4];  ///< (x, y), (-x, y), (x, -y), (-x, -y); kNoPixel: no sky, or stands there before
};
constexpr double kOutlierN = 1 << 30;

struct OutlierTask {
  CellShape shape;
  int n_image = 0, n_run = 0, n_pair = 0;
  int nth = 0;                                   ///< of the shape's n_average channels of each image
  const double *hz = nullptr, *uvw_s = nullptr;  ///< as PlaceTask
  double cell = 0;                               ///< of pixels, as direction cosines
  const uint2* pairs = nullptr;                  ///< antennas a < b
  const OutlierRun* runs = nullptr;
  const float2* values = nullptr;  ///< [channel][pair][4]
  double* sums = nullptr;          ///< [image][n_stride][4] +=
  std::size_t n_stride = 0;
};
void launch_sum_outliers(const OutlierTask& task, cudaStream_t stream);

}  // namespace apsyn::epic_cuda
