// SPDX-License-Identifier: GPL-3.0-or-later
// Register tile: R rows by one vector of columns, real and imaginary; 4 fused multiply-adds for 2
// accumulators. With 32 registers (AVX-512) R = 8 keeps 16 independent chains, with 16 (AVX2) R = 4 keeps 8:
// both hide the latency of 4 at two per cycle. The order of additions of a pair is the same in all.
#include "kernels/common/spectra/multiply.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/common/spectra/multiply.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/common/spectra/spectra.h"

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE void add_to_sums(D d, hn::Vec<D> value, double* sums) {
  HWY_ALIGN float values[kPanelInputs];
  hn::Store(value, d, values);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) sums[i] += static_cast<double>(values[i]);
}

/// Rows `row` .. row + R - 1 (of one panel) by the columns of `panel`.
template <std::size_t R>
HWY_INLINE void float_tile(const PanelRun& run, std::size_t panel, std::size_t row, double* sums) {
  const hn::CappedTag<float, kPanelInputs> d;
  const std::size_t lanes = hn::Lanes(d);
  const float* rows = run.first + row / kPanelInputs * run.panel_stride + row % kPanelInputs;
  for (std::size_t column = 0; column < kPanelInputs; column += lanes) {
    const float* columns = run.first + panel * run.panel_stride + column;
    hn::Vec<decltype(d)> re[R], im[R];
    for (std::size_t r = 0; r < R; ++r) re[r] = im[r] = hn::Zero(d);
    for (std::size_t t = 0; t < run.n_spectra; ++t) {
      const float* at = rows + t * 2 * kPanelInputs;
      const auto column_re = hn::LoadU(d, columns + t * 2 * kPanelInputs);
      const auto column_im = hn::LoadU(d, columns + t * 2 * kPanelInputs + kPanelInputs);
      for (std::size_t r = 0; r < R; ++r) {
        const auto row_re = hn::Set(d, at[r]), row_im = hn::Set(d, at[r + kPanelInputs]);
        re[r] = hn::MulAdd(row_im, column_im, hn::MulAdd(row_re, column_re, re[r]));
        im[r] = hn::NegMulAdd(row_re, column_im, hn::MulAdd(row_im, column_re, im[r]));
      }
    }
    for (std::size_t r = 0; r < R; ++r) {
      add_to_sums(d, re[r], sums + (row + r) * 2 * kPanelInputs + column);
      add_to_sums(d, im[r], sums + (row + r) * 2 * kPanelInputs + kPanelInputs + column);
    }
  }
}

#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
inline constexpr std::size_t kRows = 8;
#else
inline constexpr std::size_t kRows = 4;
#endif

void multiply_float(const PanelRun& run, std::size_t panel, std::size_t n_rows, double* sums) {
  std::size_t row = 0;
  for (; row + kRows <= n_rows; row += kRows) float_tile<kRows>(run, panel, row, sums);
  for (; row < n_rows; ++row) float_tile<1>(run, panel, row, sums);
}

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {

HWY_EXPORT(multiply_float);

void multiply_panel(const PanelRun& run, std::size_t panel, std::size_t n_rows, double* sums) {
  HWY_DYNAMIC_DISPATCH(multiply_float)(run, panel, n_rows, sums);
}

}  // namespace apsyn
#endif
