// SPDX-License-Identifier: GPL-3.0-or-later
// Real matrix products of a few dozen rows and columns, such as short Fourier transforms.
#pragma once

#include <cstddef>

namespace apsyn {

/// c[row][col] = sum_k a(row, k) b[k][col], k in rising order, so that results depend on the instruction set
/// at most. Element (row, k) of A is at a + (row / group) group_stride + (row % group) row_stride + k
/// k_stride.
template <class T>
struct MatrixProduct {
  std::size_t n_rows = 0;  ///< a multiple of matrix_product_rows, which `group` is too or divides
  std::size_t n_cols = 0;  ///< a multiple of 64 bytes
  std::size_t n_k = 0;
  const T* a = nullptr;
  std::size_t group = 1, group_stride = 0, row_stride = 1, k_stride = 0;
  const T* b = nullptr;
  std::size_t b_stride = 0;
  T* c = nullptr;
  std::size_t c_stride = 0;
  std::size_t piece =
      0;  ///< k are summed in pieces of so many, then the pieces: less rounding; 0 = all at once
};

constexpr std::size_t matrix_product_rows = 8;

void matrix_product(const MatrixProduct<float>& product);
void matrix_product(const MatrixProduct<double>& product);

}  // namespace apsyn
