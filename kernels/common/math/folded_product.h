// SPDX-License-Identifier: GPL-3.0-or-later
// Dense Fourier transforms of short arrays as real matrix products: with places +-x_r on the one side and the
// sums (even) and differences (odd) of values at +-k on the other, a transform takes a quarter of the complex
// product's operations,
//
//   out(+-x_r) = sum_k cosine[k][r] even[k] +- sum_k sine[k][r] odd[k],
//
// for many columns at once: planes, terms, and the axis that is not transformed.
#pragma once

#include <cstddef>

namespace apsyn {

/// Columns come in blocks; within a block they are contiguous.
template <class T>
struct FoldedProduct {
  std::size_t n_k = 0, n_rows = 0, n_blocks = 1;
  std::size_t block_size = 0;  ///< columns of a block, a multiple of folded_product_columns()
  const T* cosine = nullptr;   ///< of (k, row) at k table_k_stride + row table_row_stride
  const T* sine = nullptr;
  std::size_t table_k_stride = 0, table_row_stride = 1;
  const T* even = nullptr;  ///< [k][block][column]
  const T* odd = nullptr;
  std::size_t k_stride = 0, block_stride = 0;
  T* plus = nullptr;   ///< out(+x_r) at plus + r out_row_stride
  T* minus = nullptr;  ///< out(-x_r) at minus - r out_row_stride
  std::size_t out_row_stride = 0, out_block_stride = 0;
};

void folded_product(const FoldedProduct<float>& product);
void folded_product(const FoldedProduct<double>& product);

/// 64 bytes.
template <class T>
constexpr std::size_t folded_product_columns() {
  return 64 / sizeof(T);
}

}  // namespace apsyn
