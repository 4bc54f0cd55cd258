// SPDX-License-Identifier: GPL-3.0-or-later
// Register tiles of 4 rows by 2 vectors by 2 parities: 16 accumulators of AVX-512's 32 registers, 8 with two
// rows of AVX2's 16. A panel of 2 vectors of columns stays in the first-level cache while the rows pass.
#include "kernels/common/math/folded_product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/common/math/folded_product.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t rows_at_once = HWY_TARGET <= HWY_AVX3 ? 4 : 2;

template <std::size_t n_rows, std::size_t n_vectors, class D, class T = hn::TFromD<D>>
HWY_INLINE void tile(D d, const FoldedProduct<T>& p, std::size_t row, std::size_t in, std::size_t out) {
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<D> even[n_rows][n_vectors], odd[n_rows][n_vectors];
  for (std::size_t r = 0; r < n_rows; ++r)
    for (std::size_t v = 0; v < n_vectors; ++v) even[r][v] = odd[r][v] = hn::Zero(d);
  const T* HWY_RESTRICT cosine = p.cosine + row * p.table_row_stride;
  const T* HWY_RESTRICT sine = p.sine + row * p.table_row_stride;
  const T* HWY_RESTRICT even_in = p.even + in;
  const T* HWY_RESTRICT odd_in = p.odd + in;
  for (std::size_t k = 0; k < p.n_k; ++k) {
    for (std::size_t v = 0; v < n_vectors; ++v) {
      const auto e = hn::LoadU(d, even_in + v * lanes), o = hn::LoadU(d, odd_in + v * lanes);
      for (std::size_t r = 0; r < n_rows; ++r) {
        even[r][v] = hn::MulAdd(hn::Set(d, cosine[r * p.table_row_stride]), e, even[r][v]);
        odd[r][v] = hn::MulAdd(hn::Set(d, sine[r * p.table_row_stride]), o, odd[r][v]);
      }
    }
    cosine += p.table_k_stride;
    sine += p.table_k_stride;
    even_in += p.k_stride;
    odd_in += p.k_stride;
  }
  for (std::size_t r = 0; r < n_rows; ++r)
    for (std::size_t v = 0; v < n_vectors; ++v) {
      hn::StoreU(hn::Add(even[r][v], odd[r][v]), d, p.plus + (row + r) * p.out_row_stride + out + v * lanes);
      hn::StoreU(hn::Sub(even[r][v], odd[r][v]), d, p.minus + out + v * lanes - (row + r) * p.out_row_stride);
    }
}

template <std::size_t n_vectors, class D, class T = hn::TFromD<D>>
void panel(D d, const FoldedProduct<T>& p, std::size_t in, std::size_t out) {
  std::size_t row = 0;
  for (; row + rows_at_once <= p.n_rows; row += rows_at_once)
    tile<rows_at_once, n_vectors>(d, p, row, in, out);
  for (; row < p.n_rows; ++row) tile<1, n_vectors>(d, p, row, in, out);
}

template <class T>
void folded_product_of(const FoldedProduct<T>& p) {
  const hn::CappedTag<T, 64 / sizeof(T)> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t block = 0; block < p.n_blocks; ++block) {
    const std::size_t in = block * p.block_stride, out = block * p.out_block_stride;
    std::size_t col = 0;
    for (; col + 2 * lanes <= p.block_size; col += 2 * lanes) panel<2>(d, p, in + col, out + col);
    for (; col < p.block_size; col += lanes) panel<1>(d, p, in + col, out + col);
  }
}

void folded_product_float(const FoldedProduct<float>& p) {
  folded_product_of(p);
}
void folded_product_double(const FoldedProduct<double>& p) {
  folded_product_of(p);
}

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {
HWY_EXPORT(folded_product_float);
HWY_EXPORT(folded_product_double);

void folded_product(const FoldedProduct<float>& product) {
  HWY_DYNAMIC_DISPATCH(folded_product_float)(product);
}
void folded_product(const FoldedProduct<double>& product) {
  HWY_DYNAMIC_DISPATCH(folded_product_double)(product);
}
}  // namespace apsyn
#endif
