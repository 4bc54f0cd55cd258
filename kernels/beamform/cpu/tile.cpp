// SPDX-License-Identifier: GPL-3.0-or-later
// Register tile of the sum: B beams by V vectors of time, 4 fused multiply-adds for 2 accumulators; a sample
// is loaded once for B beams, a weight broadcast once for V vectors. With 32 registers (AVX-512) B = 4, V = 2
// take 16 accumulators, with 16 registers (AVX2) B = 2, V = 2 take 8.
#include "kernels/beamform/cpu/tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/beamform/cpu/tile.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/common/simd/turns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
constexpr std::size_t kRow = kTileSpectra;

template <std::size_t B>
HWY_INLINE void sum_beams(const TileSum& sum, std::size_t beam) {
  constexpr std::size_t V = 2;
  const hn::CappedTag<float, kRow / V> d;
  const std::size_t lanes = hn::Lanes(d);
  const float* weights = sum.weights + beam * sum.beam_weight_stride;
  for (std::size_t t = 0; t < kRow; t += V * lanes) {
    hn::Vec<decltype(d)> re[B][V], im[B][V];
    for (std::size_t b = 0; b < B; ++b)
      for (std::size_t v = 0; v < V; ++v) re[b][v] = im[b][v] = hn::Zero(d);
    for (std::size_t ant = 0; ant < sum.n_ant; ++ant) {
      const float* at = sum.spectra + ant * sum.spectra_stride + t;
      hn::Vec<decltype(d)> x_re[V], x_im[V];
      for (std::size_t v = 0; v < V; ++v) {
        x_re[v] = hn::LoadU(d, at + v * lanes);
        x_im[v] = hn::LoadU(d, at + kRow + v * lanes);
      }
      for (std::size_t b = 0; b < B; ++b) {
        const float* w = weights + b * sum.beam_weight_stride + ant * sum.weight_stride;
        const auto w_re = hn::Set(d, w[0]), w_im = hn::Set(d, w[1]);
        for (std::size_t v = 0; v < V; ++v) {
          re[b][v] = hn::NegMulAdd(w_im, x_im[v], hn::MulAdd(w_re, x_re[v], re[b][v]));
          im[b][v] = hn::MulAdd(w_im, x_re[v], hn::MulAdd(w_re, x_im[v], im[b][v]));
        }
      }
    }
    for (std::size_t b = 0; b < B; ++b)
      for (std::size_t v = 0; v < V; ++v) {
        const auto norm = hn::LoadU(d, sum.norm + (beam + b) * sum.norm_stride + t + v * lanes);
        float* to = sum.beams + (beam + b) * sum.beam_stride + t + v * lanes;
        hn::StoreU(hn::Mul(re[b][v], norm), d, to);
        hn::StoreU(hn::Mul(im[b][v], norm), d, to + kRow);
      }
  }
}

#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
inline constexpr std::size_t kBeams = 4;
#else
inline constexpr std::size_t kBeams = 2;
#endif

void sum_tile_simd(const TileSum& sum) {
  std::size_t beam = 0;
  for (; beam + kBeams <= sum.n_beam; beam += kBeams) sum_beams<kBeams>(sum, beam);
  for (; beam < sum.n_beam; ++beam) sum_beams<1>(sum, beam);
}

void sum_tile_incoherent_simd(const TileIncoherent& sum) {
  const hn::CappedTag<float, kRow> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t t = 0; t < kRow; t += lanes) {
    auto xx = hn::Zero(d), yy = hn::Zero(d), re = hn::Zero(d), im = hn::Zero(d);
    for (std::size_t ant = 0; ant < sum.n_ant; ++ant) {
      const float* at = sum.spectra + ant * sum.n_pol * 2 * kRow + t;
      const float* w = sum.weights + ant * sum.n_pol * 2;
      const auto x_re = hn::LoadU(d, at), x_im = hn::LoadU(d, at + kRow);
      xx = hn::MulAdd(hn::Set(d, w[0] * w[0] + w[1] * w[1]), hn::MulAdd(x_re, x_re, hn::Mul(x_im, x_im)), xx);
      if (sum.n_pol == 1) continue;
      const auto y_re = hn::LoadU(d, at + 2 * kRow), y_im = hn::LoadU(d, at + 3 * kRow);
      yy = hn::MulAdd(hn::Set(d, w[2] * w[2] + w[3] * w[3]), hn::MulAdd(y_re, y_re, hn::Mul(y_im, y_im)), yy);
      const auto xy_re = hn::MulAdd(x_re, y_re, hn::Mul(x_im, y_im));
      const auto xy_im = hn::NegMulAdd(x_re, y_im, hn::Mul(x_im, y_re));
      const auto w_re = hn::Set(d, w[0] * w[2] + w[1] * w[3]), w_im = hn::Set(d, w[1] * w[2] - w[0] * w[3]);
      re = hn::NegMulAdd(w_im, xy_im, hn::MulAdd(w_re, xy_re, re));
      im = hn::MulAdd(w_im, xy_re, hn::MulAdd(w_re, xy_im, im));
    }
    hn::StoreU(hn::Mul(xx, hn::LoadU(d, sum.norm + t)), d, sum.products + t);
    if (sum.n_pol == 1) continue;
    const auto cross = hn::LoadU(d, sum.norm + 2 * kRow + t);
    hn::StoreU(hn::Mul(yy, hn::LoadU(d, sum.norm + kRow + t)), d, sum.products + kRow + t);
    hn::StoreU(hn::Mul(re, cross), d, sum.products + 2 * kRow + t);
    hn::StoreU(hn::Mul(im, cross), d, sum.products + 3 * kRow + t);
  }
}

/// Adds the values of `product` at t to their rows.
template <class D>
HWY_INLINE void add_values(D d, BeamProduct product, bool circular, hn::Vec<D> xx, hn::Vec<D> yy,
                           hn::Vec<D> re, hn::Vec<D> im, float* sums) {
  const auto add = [&](std::size_t value, hn::Vec<D> what) HWY_ATTR {
    float* to = sums + value * kRow;
    hn::StoreU(hn::Add(hn::LoadU(d, to), what), d, to);
  };
  const auto half = hn::Set(d, 0.5f);
  const auto total = hn::Mul(half, hn::Add(xx, yy)), difference = hn::Mul(half, hn::Sub(xx, yy));
  if (product == BeamProduct::power) return add(0, total);
  const bool coherence = product == BeamProduct::coherence;
  add(0, coherence ? xx : total);
  add(1, coherence ? yy : circular ? re : difference);
  add(2, coherence ? re : circular ? im : re);
  add(3, coherence ? im : circular ? difference : im);
}

void add_products_simd(const float* products, BeamProduct product, std::size_t n_pol, bool circular,
                       float* sums) {
  const hn::CappedTag<float, kRow> d;
  for (std::size_t t = 0; t < kRow; t += hn::Lanes(d)) {
    const auto xx = hn::LoadU(d, products + t);
    if (n_pol == 1) {
      hn::StoreU(hn::Add(hn::LoadU(d, sums + t), xx), d, sums + t);
      continue;
    }
    add_values(d, product, circular, xx, hn::LoadU(d, products + kRow + t),
               hn::LoadU(d, products + 2 * kRow + t), hn::LoadU(d, products + 3 * kRow + t), sums + t);
  }
}

void detect_tile_simd(const TileDetection& detection) {
  const hn::CappedTag<float, kRow> d;
  const std::size_t n_value = detection.product == BeamProduct::power ? 1 : 4;
  for (std::size_t beam = 0; beam < detection.n_beam; ++beam) {
    const float* x = detection.beams + beam * detection.n_pol * 2 * kRow;
    float* sums = detection.sums + beam * n_value * kRow;
    for (std::size_t t = 0; t < kRow; t += hn::Lanes(d)) {
      const auto x_re = hn::LoadU(d, x + t), x_im = hn::LoadU(d, x + kRow + t);
      const auto xx = hn::MulAdd(x_re, x_re, hn::Mul(x_im, x_im));
      if (detection.n_pol == 1) {
        hn::StoreU(hn::Add(hn::LoadU(d, sums + t), xx), d, sums + t);
        continue;
      }
      const auto y_re = hn::LoadU(d, x + 2 * kRow + t), y_im = hn::LoadU(d, x + 3 * kRow + t);
      add_values(d, detection.product, detection.circular, xx, hn::MulAdd(y_re, y_re, hn::Mul(y_im, y_im)),
                 hn::MulAdd(x_re, y_re, hn::Mul(x_im, y_im)), hn::NegMulAdd(x_re, y_im, hn::Mul(x_im, y_re)),
                 sums + t);
    }
  }
}

void sum_rows_simd(const float* rows, std::size_t n_row, std::size_t first, std::size_t n, float* sums) {
  const hn::CappedTag<float, 8> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t row = 0; row < n_row; ++row) {
    const float* values = rows + row * kRow + first;
    auto sum = hn::Zero(d);
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes) sum = hn::Add(sum, hn::LoadU(d, values + i));
    float rest = 0;
    for (; i < n; ++i) rest += values[i];
    sums[row] = hn::GetLane(hn::SumOfLanes(d, sum)) + rest;
  }
}

void steer_phases_simd(const double* delay_s, std::size_t n_ant, double hz, float* cosine, float* sine) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> f;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t ant = 0; ant < n_ant; ant += lanes) {
    hn::Vec<decltype(f)> c, s;
    cos_sin_turns<float>(d, hn::Mul(hn::LoadU(d, delay_s + ant), hn::Set(d, hz)), c, s);
    hn::StoreU(c, f, cosine + ant);
    hn::StoreU(s, f, sine + ant);
  }
}

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {

HWY_EXPORT(sum_tile_simd);
HWY_EXPORT(detect_tile_simd);
HWY_EXPORT(sum_tile_incoherent_simd);
HWY_EXPORT(add_products_simd);
HWY_EXPORT(sum_rows_simd);
HWY_EXPORT(steer_phases_simd);

void sum_tile(const TileSum& sum) {
  HWY_DYNAMIC_DISPATCH(sum_tile_simd)(sum);
}
void detect_tile(const TileDetection& detection) {
  HWY_DYNAMIC_DISPATCH(detect_tile_simd)(detection);
}
void sum_tile_incoherent(const TileIncoherent& sum) {
  HWY_DYNAMIC_DISPATCH(sum_tile_incoherent_simd)(sum);
}
void add_products(const float* products, BeamProduct product, std::size_t n_pol, bool circular, float* sums) {
  HWY_DYNAMIC_DISPATCH(add_products_simd)(products, product, n_pol, circular, sums);
}
void sum_rows(const float* rows, std::size_t n_row, std::size_t first, std::size_t n, float* sums) {
  HWY_DYNAMIC_DISPATCH(sum_rows_simd)(rows, n_row, first, n, sums);
}
void steer_phases(const double* delay_s, std::size_t n_ant, double hz, float* cosine, float* sine) {
  HWY_DYNAMIC_DISPATCH(steer_phases_simd)(delay_s, n_ant, hz, cosine, sine);
}

}  // namespace apsyn
#endif
