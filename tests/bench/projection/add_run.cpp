// SPDX-License-Identifier: GPL-3.0-or-later
// Two rows of one vector of cells (8 of AVX-512, 4 of AVX2) times four polarisations stay in registers: eight
// chains of FMA, whose scalar factor comes out of the instruction's memory operand.
#include "tests/bench/projection/add_run.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/bench/projection/add_run.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn::projection::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t pols = 4, rows = 2;

void add_run_simd(const Run& run) {
  const hn::CappedTag<float, 16> d;
  const std::size_t lanes = hn::Lanes(d), row_floats = run.row_floats, n = run.n_visibilities;
  const auto real_sign = hn::OddEven(hn::Zero(d), hn::SignBit(d));
  for (std::size_t v = 0; v < run.size; v += rows)
    for (std::size_t column = 0; column < 2 * run.size; column += lanes) {
      hn::Vec<decltype(d)> sum[rows][pols];
      float* cells = run.cells + v * pols * row_floats + column;
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t pol = 0; pol < pols; ++pol)
          sum[r][pol] = hn::LoadU(d, cells + (r * pols + pol) * row_floats);
      for (std::size_t k = 0; k < n; ++k) {
        const float* value = run.values + k * 2 * pols;
        for (std::size_t r = 0; r < rows; ++r) {
          const auto weight = hn::LoadU(d, run.weights[k] + (v + r) * 2 * run.size + column);
          const auto turned = hn::Xor(hn::Reverse2(d, weight), real_sign);  // i weight
          for (std::size_t pol = 0; pol < pols; ++pol) {
            sum[r][pol] = hn::MulAdd(weight, hn::Set(d, value[2 * pol]), sum[r][pol]);
            sum[r][pol] = hn::MulAdd(turned, hn::Set(d, value[2 * pol + 1]), sum[r][pol]);
          }
        }
      }
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t pol = 0; pol < pols; ++pol)
          hn::StoreU(sum[r][pol], d, cells + (r * pols + pol) * row_floats);
    }
}

}  // namespace apsyn::projection::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn::projection {
HWY_EXPORT(add_run_simd);

void add_run(const Run& run) {
  HWY_DYNAMIC_DISPATCH(add_run_simd)(run);
}
}  // namespace apsyn::projection
#endif
