// SPDX-License-Identifier: GPL-3.0-or-later
// A cell of four matrices is one vector of 8 floats, which no line of the cache is split by; a pair's row of
// cells stays in registers for all of the kernel's lines.
#include "kernels/epic/corr/cpu/spread.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/epic/corr/cpu/spread.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// The first cell right of `left`, and the kernel's values from there on.
HWY_INLINE double first_taps(const float* coefficients, std::size_t n_power, double left, float* taps) {
  const double first = std::ceil(left);
  const hn::CappedTag<float, kPairTaps> d;
  const auto q = hn::Set(d, static_cast<float>(2 * (first - left) - 1));
  for (std::size_t tap = 0; tap < kPairTaps; tap += hn::Lanes(d)) {
    const float* from = coefficients + (n_power - 1) * kPairTaps + tap;
    auto value = hn::LoadU(d, from);
    for (std::size_t power = n_power - 1; power-- > 0;)
      value = hn::MulAdd(value, q, hn::LoadU(d, from -= kPairTaps));
    hn::StoreU(value, d, taps + tap);
  }
  return first;
}

/// First cell of a place, counted from -width / 2, and the kernel's values there.
HWY_INLINE std::size_t locate(const PairLocation& at, double place, std::size_t cells, float* taps) {
  const double size = static_cast<double>(cells), half = 0.5 * static_cast<double>(at.width);
  const double first = first_taps(at.taps, at.n_power, place - size * std::floor(place / size) - half, taps);
  // left >= -half, and ceil(-half) = -(width / 2)
  return static_cast<std::size_t>(static_cast<std::int64_t>(first) + static_cast<std::int64_t>(at.width / 2));
}

void locate_pairs_simd(const PairLocation& at) {
  std::uint32_t* cell = at.cell;
  float* taps = at.pair_taps;
  for (std::size_t b = at.a + 1; b < at.n_ant; ++b, taps += 2 * kPairTaps) {
    const std::size_t column = locate(at, at.x[at.a] - at.x[b], at.cells_x, taps);
    const std::size_t line = locate(at, at.y[at.a] - at.y[b], at.cells_y, taps + kPairTaps);
    *cell++ = static_cast<std::uint32_t>(line * (at.cells_x + kPairTaps) + column);
  }
}

template <std::size_t M, std::size_t W>
HWY_INLINE void spread_matrices(const PairSpread& s) {
  const hn::CappedTag<float, 8> d;
  constexpr std::size_t kLanes = HWY_TARGET <= HWY_AVX2 ? 8 : HWY_TARGET == HWY_SCALAR ? 1 : 4;
  constexpr std::size_t n_vector = (W * 2 * M + kLanes - 1) / kLanes;
  const float a_re = s.phase[2 * s.a], a_im = s.phase[2 * s.a + 1];
  const float *pair = s.pairs, *taps = s.pair_taps;
  const std::uint32_t* cell = s.cell;
  for (std::size_t b = s.a + 1; b < s.n_ant; ++b, pair += 2 * M, taps += 2 * kPairTaps, ++cell) {
    const float b_re = s.phase[2 * b], b_im = s.phase[2 * b + 1];
    const float re = a_re * b_re + a_im * b_im, im = a_im * b_re - a_re * b_im;
    hn::Vec<decltype(d)> row[n_vector];
    if constexpr (2 * M == kLanes) {
      const auto value = hn::LoadU(d, pair);
      const auto turned = hn::OddEven(hn::Mul(hn::Reverse2(d, value), hn::Set(d, im)),
                                      hn::Mul(hn::Reverse2(d, value), hn::Set(d, -im)));
      const auto product = hn::MulAdd(value, hn::Set(d, re), turned);
      for (std::size_t tap = 0; tap < W; ++tap) row[tap] = hn::Mul(product, hn::Set(d, taps[tap]));
    } else {
      HWY_ALIGN float values[n_vector * kLanes] = {};
      for (std::size_t m = 0; m < M; ++m) {
        const float v_re = re * pair[2 * m] - im * pair[2 * m + 1];
        const float v_im = re * pair[2 * m + 1] + im * pair[2 * m];
        for (std::size_t tap = 0; tap < W; ++tap) {
          values[(tap * M + m) * 2] = taps[tap] * v_re;
          values[(tap * M + m) * 2 + 1] = taps[tap] * v_im;
        }
      }
      for (std::size_t v = 0; v < n_vector; ++v) row[v] = hn::Load(d, values + v * kLanes);
    }
    float* to = s.cells + *cell * 2 * M;
    for (std::size_t line = 0; line < W; ++line, to += s.line_cells * 2 * M) {
      const auto tap = hn::Set(d, taps[kPairTaps + line]);
      for (std::size_t v = 0; v < n_vector; ++v)
        hn::StoreU(hn::MulAdd(row[v], tap, hn::LoadU(d, to + v * kLanes)), d, to + v * kLanes);
    }
  }
}

template <std::size_t W>
void spread_width(const PairSpread& s) {
  if (s.n_matrix == 1) spread_matrices<1, W>(s);
  if (s.n_matrix == 2) spread_matrices<2, W>(s);
  if (s.n_matrix == 3) spread_matrices<3, W>(s);
  if (s.n_matrix == 4) spread_matrices<4, W>(s);
}

/// Kernels of fewer taps have zeros behind them.
void spread_pairs_simd(const PairSpread& s) {
  if (s.width <= 6) return spread_width<6>(s);
  if (s.width == 7) return spread_width<7>(s);
  spread_width<8>(s);
}

void interpolate_sites_simd(const SiteInterpolation& s) {
  const hn::CappedTag<float, kPairTaps> d;
  HWY_ALIGN float along_x[kPairTaps], along_y[kPairTaps];
  const double half = 0.5 * static_cast<double>(s.width);
  for (std::size_t pixel = 0; pixel < s.n_pixel; ++pixel) {
    const double* place = s.places + 2 * pixel;
    const auto column = static_cast<std::size_t>(first_taps(s.taps, s.n_power, place[0] - half, along_x));
    const auto line = static_cast<std::size_t>(first_taps(s.taps, s.n_power, place[1] - half, along_y));
    for (std::size_t plane = 0; plane < s.n_plane; ++plane) {
      const float* from = s.sites + plane * s.plane_sites + line * s.line_sites + column;
      auto sum = hn::Zero(d);
      for (std::size_t tap = 0; tap < kPairTaps; tap += hn::Lanes(d)) {
        auto own = hn::Zero(d);
        for (std::size_t i = 0; i < kPairTaps; ++i)
          own = hn::MulAdd(hn::Set(d, along_y[i]), hn::LoadU(d, from + i * s.line_sites + tap), own);
        sum = hn::MulAdd(own, hn::Load(d, along_x + tap), sum);
      }
      s.image[pixel * s.pixel_stride + plane] = s.factors[pixel] * hn::GetLane(hn::SumOfLanes(d, sum));
    }
  }
}

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {

HWY_EXPORT(locate_pairs_simd);
HWY_EXPORT(spread_pairs_simd);
HWY_EXPORT(interpolate_sites_simd);

void locate_pairs(const PairLocation& location) {
  HWY_DYNAMIC_DISPATCH(locate_pairs_simd)(location);
}
void spread_pairs(const PairSpread& spread) {
  HWY_DYNAMIC_DISPATCH(spread_pairs_simd)(spread);
}
void interpolate_sites(const SiteInterpolation& sites) {
  HWY_DYNAMIC_DISPATCH(interpolate_sites_simd)(sites);
}

}  // namespace apsyn
#endif
