// SPDX-License-Identifier: GPL-3.0-or-later
// Register tiles of 8 (or 4) rows by 2 vectors: 16 accumulators of AVX-512's 32 registers, 8 of AVX2's 16.
// The broadcasts of A come out of the FMA's memory operand, B's two vectors are loaded once per k.
#include "kernels/common/outer_sum.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/common/outer_sum.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t tile_rows = HWY_TARGET <= HWY_AVX3 ? 8 : 4;

template <std::size_t n_vectors, class D, class T = hn::TFromD<D>>
void tile(D d, std::size_t n_k, std::size_t n_rows, std::size_t n_cols, const T* HWY_RESTRICT a,
          const T* HWY_RESTRICT b, T* HWY_RESTRICT c) {
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<D> sum[tile_rows][n_vectors];
  for (std::size_t r = 0; r < tile_rows; ++r)
    for (std::size_t v = 0; v < n_vectors; ++v) sum[r][v] = hn::Zero(d);
  for (std::size_t k = 0; k < n_k; ++k) {
    hn::Vec<D> column[n_vectors];
    for (std::size_t v = 0; v < n_vectors; ++v) column[v] = hn::LoadU(d, b + k * n_cols + v * lanes);
    for (std::size_t r = 0; r < tile_rows; ++r) {
      const auto factor = hn::Set(d, a[k * n_rows + r]);
      for (std::size_t v = 0; v < n_vectors; ++v) sum[r][v] = hn::MulAdd(factor, column[v], sum[r][v]);
    }
  }
  for (std::size_t r = 0; r < tile_rows; ++r)
    for (std::size_t v = 0; v < n_vectors; ++v) {
      T* out = c + r * n_cols + v * lanes;
      hn::StoreU(hn::Add(sum[r][v], hn::LoadU(d, out)), d, out);
    }
}

template <class T>
void outer_sum_of(std::size_t n_k, std::size_t n_rows, std::size_t n_cols, const T* a, const T* b, T* c) {
  const hn::CappedTag<T, 64 / sizeof(T)> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t row = 0; row < n_rows; row += tile_rows) {
    std::size_t col = 0;
    for (; col + 2 * lanes <= n_cols; col += 2 * lanes)
      tile<2>(d, n_k, n_rows, n_cols, a + row, b + col, c + row * n_cols + col);
    for (; col < n_cols; col += lanes)
      tile<1>(d, n_k, n_rows, n_cols, a + row, b + col, c + row * n_cols + col);
  }
}

void outer_sum_float(std::size_t n_k, std::size_t n_rows, std::size_t n_cols, const float* a, const float* b,
                     float* c) {
  outer_sum_of(n_k, n_rows, n_cols, a, b, c);
}
void outer_sum_double(std::size_t n_k, std::size_t n_rows, std::size_t n_cols, const double* a,
                      const double* b, double* c) {
  outer_sum_of(n_k, n_rows, n_cols, a, b, c);
}

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {
HWY_EXPORT(outer_sum_float);
HWY_EXPORT(outer_sum_double);

void outer_sum(std::size_t n_k, std::size_t n_rows, std::size_t n_cols, const float* a, const float* b,
               float* c) {
  HWY_DYNAMIC_DISPATCH(outer_sum_float)(n_k, n_rows, n_cols, a, b, c);
}
void outer_sum(std::size_t n_k, std::size_t n_rows, std::size_t n_cols, const double* a, const double* b,
               double* c) {
  HWY_DYNAMIC_DISPATCH(outer_sum_double)(n_k, n_rows, n_cols, a, b, c);
}
}  // namespace apsyn
#endif
