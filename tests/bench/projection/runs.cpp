// SPDX-License-Identifier: GPL-3.0-or-later
// Gridding: two rows of one vector of cells (8 of AVX-512, 4 of AVX2) times four polarisations stay in
// registers: eight chains of FMA, whose scalar factor comes out of the instruction's memory operand.
// Degridding: eight sums of a visibility stay in registers, with AVX-512 of two that share the cells' loads.
#include "tests/bench/projection/runs.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/bench/projection/runs.cpp"
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

/// The sums of `together` visibilities from `first` on. With w g the product of parts (re re, im im) and w' g
/// that of crossed parts (im re, re im), conj(w) g = (sum of w g, odd less even ones of w' g).
template <std::size_t together>
void dot(const Run& run, std::size_t first) {
  const hn::CappedTag<float, 16> d;
  using Vec = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  Vec straight[together][pols], crossed[together][pols];
  for (std::size_t k = 0; k < together; ++k)
    for (std::size_t pol = 0; pol < pols; ++pol) straight[k][pol] = crossed[k][pol] = hn::Zero(d);
  for (std::size_t v = 0; v < run.size; ++v)
    for (std::size_t column = 0; column < 2 * run.size; column += lanes) {
      Vec weight[together], swapped[together];
      for (std::size_t k = 0; k < together; ++k) {
        weight[k] = hn::LoadU(d, run.weights[first + k] + v * 2 * run.size + column);
        swapped[k] = hn::Reverse2(d, weight[k]);
      }
      for (std::size_t pol = 0; pol < pols; ++pol) {
        const auto cells = hn::LoadU(d, run.cells + (v * pols + pol) * run.row_floats + column);
        for (std::size_t k = 0; k < together; ++k) {
          straight[k][pol] = hn::MulAdd(weight[k], cells, straight[k][pol]);
          crossed[k][pol] = hn::MulAdd(swapped[k], cells, crossed[k][pol]);
        }
      }
    }
  const auto real_sign = hn::OddEven(hn::Zero(d), hn::SignBit(d));
  for (std::size_t k = 0; k < together; ++k)
    for (std::size_t pol = 0; pol < pols; ++pol) {
      float* value = run.values + ((first + k) * pols + pol) * 2;
      value[0] = hn::GetLane(hn::SumOfLanes(d, straight[k][pol]));
      value[1] = hn::GetLane(hn::SumOfLanes(d, hn::Xor(crossed[k][pol], real_sign)));
    }
}

void dot_run_simd(const Run& run) {
  constexpr std::size_t together = HWY_TARGET <= HWY_AVX3 ? 2 : 1;
  std::size_t k = 0;
  for (; k + together <= run.n_visibilities; k += together) dot<together>(run, k);
  for (; k < run.n_visibilities; ++k) dot<1>(run, k);
}

}  // namespace apsyn::projection::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn::projection {
HWY_EXPORT(add_run_simd);
HWY_EXPORT(dot_run_simd);

void add_run(const Run& run) {
  HWY_DYNAMIC_DISPATCH(add_run_simd)(run);
}
void dot_run(const Run& run) {
  HWY_DYNAMIC_DISPATCH(dot_run_simd)(run);
}
}  // namespace apsyn::projection
#endif
