// SPDX-License-Identifier: GPL-3.0-or-later
// Entries of strips' lists, for kernels.
#pragma once

#include "kernels/epic/corr/cuda/batches.cuh"
#include "kernels/epic/corr/cuda/strips/strips.cuh"

namespace apsyn::epic_cuda {

/// Of a pair whose kernel begins at a column x, or reaches the strip the nearest way round.
__device__ __forceinline__ StripEntry strip_entry(const CellShape& shape, PairCode code, int strip, int x,
                                                  int row) {
  const int off = strip * kStripColumns - x;
  StripEntry entry;
  entry.code = code.bits;
  entry.column = static_cast<std::int16_t>(2 * off > shape.n_x    ? off - shape.n_x
                                           : 2 * off < -shape.n_x ? off + shape.n_x
                                                                  : off);
  entry.row = static_cast<std::uint16_t>(row);
  return entry;
}

}  // namespace apsyn::epic_cuda
