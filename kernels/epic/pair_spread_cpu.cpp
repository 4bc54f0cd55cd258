// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/pair_spread.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/epic/pair_spread_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// First cell of a place in cells, counted from -width / 2, and the kernel's values there.
HWY_INLINE std::size_t place(const PairSpread& s, double place, std::size_t cells, float* taps) {
  const double size = static_cast<double>(cells), half = 0.5 * static_cast<double>(s.width);
  const double left = place - size * std::floor(place / size) - half;
  const double first = std::ceil(left);
  const hn::CappedTag<float, kPairTaps> d;
  const auto q = hn::Set(d, static_cast<float>(2 * (first - left) - 1));
  for (std::size_t tap = 0; tap < kPairTaps; tap += hn::Lanes(d)) {
    auto value = hn::LoadU(d, s.taps + (s.n_power - 1) * kPairTaps + tap);
    for (std::size_t power = s.n_power - 1; power-- > 0;)
      value = hn::MulAdd(value, q, hn::LoadU(d, s.taps + power * kPairTaps + tap));
    hn::StoreU(value, d, taps + tap);
    if (s.width <= tap + hn::Lanes(d)) break;
  }
  // left >= -half, and ceil(-half) = -(width / 2)
  return static_cast<std::size_t>(static_cast<long>(first) + static_cast<long>(s.width / 2));
}

template <std::size_t M>
HWY_INLINE void spread_matrices(const PairSpread& s) {
  const hn::CappedTag<float, 16> d;
  const float a_re = s.phase[2 * s.a], a_im = s.phase[2 * s.a + 1];
  HWY_ALIGN float taps_x[kPairTaps], taps_y[kPairTaps], row[kPairTaps * 2 * M + 16] = {};
  const float* pair = s.pairs;
  for (std::size_t b = s.a + 1; b < s.n_ant; ++b, pair += 2 * M) {
    const float b_re = s.phase[2 * b], b_im = s.phase[2 * b + 1];
    const float re = a_re * b_re + a_im * b_im, im = a_im * b_re - a_re * b_im;
    float value[2 * M];
    for (std::size_t m = 0; m < M; ++m) {
      value[2 * m] = re * pair[2 * m] - im * pair[2 * m + 1];
      value[2 * m + 1] = re * pair[2 * m + 1] + im * pair[2 * m];
    }
    const std::size_t column = place(s, s.x[s.a] - s.x[b], s.cells_x, taps_x);
    const std::size_t line = place(s, s.y[s.a] - s.y[b], s.cells_y, taps_y);
    for (std::size_t tap = 0; tap < s.width; ++tap)
      for (std::size_t i = 0; i < 2 * M; ++i) row[tap * 2 * M + i] = taps_x[tap] * value[i];
    float* cells = s.cells + line * s.row_floats + column * 2 * M;
    for (std::size_t i = 0; i < s.width * 2 * M; i += hn::Lanes(d)) {
      const auto values = hn::LoadU(d, row + i);
      float* to = cells + i;
      for (std::size_t tap = 0; tap < s.width; ++tap, to += s.row_floats)
        hn::StoreU(hn::MulAdd(values, hn::Set(d, taps_y[tap]), hn::LoadU(d, to)), d, to);
    }
  }
}

void spread_pairs_simd(const PairSpread& s) {
  if (s.n_matrix == 1) spread_matrices<1>(s);
  if (s.n_matrix == 2) spread_matrices<2>(s);
  if (s.n_matrix == 3) spread_matrices<3>(s);
  if (s.n_matrix == 4) spread_matrices<4>(s);
}

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {

HWY_EXPORT(spread_pairs_simd);

void spread_pairs(const PairSpread& spread) {
  HWY_DYNAMIC_DISPATCH(spread_pairs_simd)(spread);
}

}  // namespace apsyn
#endif
