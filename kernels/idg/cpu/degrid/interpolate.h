// SPDX-License-Identifier: GPL-3.0-or-later
// Visibilities out of the fine cells of a subgrid: cpu/grid/spread.h transposed, with the terms beside each
// other.
#pragma once

#include <cstddef>

#include "kernels/idg/cpu/grid/spread.h"

namespace apsyn {

/// Upper limit on the values of a fine cell: terms times planes times two.
constexpr std::size_t max_cell_values = 256;

/// For a batch that locate_batch() has placed:
///   value[vis][plane] = exp(2 pi i phase) sum_r term[r][vis] sum_vu phi_v phi_u cell[v][u][r][plane].
template <class T>
struct Interpolation {
  const SpreadTaps<T>* taps = nullptr;
  std::size_t n_terms = 1, n_planes = 1;  ///< planes: 1, 2 or 4
  const T* cells = nullptr;               ///< [v][u][term][plane][re, im], cells cell_stride apart
  std::size_t n_u = 0;
  std::size_t cell_stride = 0;  ///< rounded up to 64 bytes, at most max_cell_values
  T* value = nullptr;
};

void interpolate(const Interpolation<float>& from, const SpreadBatch<float>& batch);
void interpolate(const Interpolation<double>& from, const SpreadBatch<double>& batch);

}  // namespace apsyn
