// SPDX-License-Identifier: GPL-3.0-or-later
// Register tiles of 8 (or 4) rows by up to 3 vectors: 24 sums of AVX-512's 32 registers, 12 of AVX2's 16. The
// elements of A come out of the FMA's memory operand, those of B are loaded once for all rows of a tile.
#include "kernels/common/math/matrix_product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/common/math/matrix_product.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t tile_rows = HWY_TARGET <= HWY_AVX3 ? 8 : 4;

/// n_rows rows, in groups of n_group neighbours in memory.
template <bool in_pieces, std::size_t n_rows, std::size_t n_vectors, std::size_t n_group, class T>
void product_tile(const MatrixProduct<T>& p, std::size_t row, std::size_t col) {
  const hn::CappedTag<T, 64 / sizeof(T)> d;
  const std::size_t lanes = hn::Lanes(d);
  constexpr std::size_t n_groups = n_rows / n_group;
  const T* HWY_RESTRICT a[n_groups];
  for (std::size_t g = 0; g < n_groups; ++g) {
    const std::size_t first = row + g * n_group;
    a[g] = p.a + first / p.group * p.group_stride + first % p.group * p.row_stride;
  }
  const T* HWY_RESTRICT b = p.b + col;
  hn::Vec<decltype(d)> sum[n_rows][n_vectors], total[n_rows][n_vectors];
  auto clear = [&](auto& sums) HWY_ATTR {
    for (std::size_t r = 0; r < n_rows; ++r)
      for (std::size_t v = 0; v < n_vectors; ++v) sums[r][v] = hn::Zero(d);
  };
  if constexpr (in_pieces) clear(total);
  for (std::size_t left = p.n_k; left > 0;) {
    const std::size_t n = in_pieces && left > p.piece ? p.piece : left;
    left -= n;
    clear(sum);
    for (std::size_t k = 0; k < n; ++k) {
      hn::Vec<decltype(d)> column[n_vectors];
      for (std::size_t v = 0; v < n_vectors; ++v) column[v] = hn::LoadU(d, b + v * lanes);
      for (std::size_t g = 0; g < n_groups; ++g) {
        for (std::size_t r = 0; r < n_group; ++r) {
          const auto factor = hn::Set(d, a[g][r]);
          for (std::size_t v = 0; v < n_vectors; ++v)
            sum[g * n_group + r][v] = hn::MulAdd(column[v], factor, sum[g * n_group + r][v]);
        }
        a[g] += p.k_stride;
      }
      b += p.b_stride;
    }
    if constexpr (in_pieces)
      for (std::size_t r = 0; r < n_rows; ++r)
        for (std::size_t v = 0; v < n_vectors; ++v) total[r][v] = hn::Add(total[r][v], sum[r][v]);
  }
  for (std::size_t r = 0; r < n_rows; ++r)
    for (std::size_t v = 0; v < n_vectors; ++v)
      hn::StoreU(in_pieces ? total[r][v] : sum[r][v], d, p.c + (row + r) * p.c_stride + col + v * lanes);
}

template <bool in_pieces, std::size_t n_group, class T>
void product_of_groups(const MatrixProduct<T>& p) {
  // Sums of pieces take as many registers again.
  constexpr std::size_t rows = in_pieces ? tile_rows / 2 : tile_rows;
  constexpr std::size_t group = n_group < rows ? n_group : rows;
  const std::size_t lanes = hn::Lanes(hn::CappedTag<T, 64 / sizeof(T)>());
  std::size_t col = 0;
  // B's columns stay in the first-level cache while all rows pass.
  while (col < p.n_cols) {
    const std::size_t left = (p.n_cols - col) / lanes, vectors = left >= 5 || left == 3 ? 3
                                                                 : left >= 2            ? 2
                                                                                        : 1;
    for (std::size_t row = 0; row < p.n_rows; row += rows) {
      if (vectors == 3) product_tile<in_pieces, rows, 3, group>(p, row, col);
      if (vectors == 2) product_tile<in_pieces, rows, 2, group>(p, row, col);
      if (vectors == 1) product_tile<in_pieces, rows, 1, group>(p, row, col);
    }
    col += vectors * lanes;
  }
}

template <class T>
void matrix_product_of(const MatrixProduct<T>& p) {
  const std::size_t together = p.row_stride != 1 ? 1 : p.group;
  if (p.piece != 0 && p.piece < p.n_k) {
    if (together % 4 == 0) return product_of_groups<true, 4>(p);
    return product_of_groups<true, 1>(p);
  }
  if (together % tile_rows == 0) return product_of_groups<false, tile_rows>(p);
  if (together % 4 == 0) return product_of_groups<false, 4>(p);
  if (together % 2 == 0) return product_of_groups<false, 2>(p);
  product_of_groups<false, 1>(p);
}

void matrix_product_float(const MatrixProduct<float>& p) {
  matrix_product_of(p);
}
void matrix_product_double(const MatrixProduct<double>& p) {
  matrix_product_of(p);
}

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {
HWY_EXPORT(matrix_product_float);
HWY_EXPORT(matrix_product_double);

void matrix_product(const MatrixProduct<float>& product) {
  HWY_DYNAMIC_DISPATCH(matrix_product_float)(product);
}
void matrix_product(const MatrixProduct<double>& product) {
  HWY_DYNAMIC_DISPATCH(matrix_product_double)(product);
}
}  // namespace apsyn
#endif
