// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/dft/cpu/tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/epic/dft/cpu/tile.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/common/simd/turns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
void turn_weights_simd(const DftWeights<T>& w) {
  const hn::CappedTag<double, kDftLanes> d;
  const hn::Rebind<T, decltype(d)> f;
  const auto hz = hn::Set(d, -w.hz);
  for (std::size_t pixel = 0; pixel < w.n_pixel; ++pixel) {
    const double* unit = w.unit + 3 * pixel;
    const auto east = hn::Set(d, unit[0]), north = hn::Set(d, unit[1]), up = hn::Set(d, unit[2]);
    T* to = w.weights + pixel * w.weight_stride;
    for (std::size_t ant = 0; ant < w.n_ant; ant += hn::Lanes(d)) {
      auto tau = hn::MulSub(east, hn::LoadU(d, w.east_s + ant), hn::LoadU(d, w.delay_s + ant));
      tau = hn::MulAdd(north, hn::LoadU(d, w.north_s + ant), tau);
      tau = hn::MulAdd(up, hn::LoadU(d, w.up_s + ant), tau);
      hn::Vec<decltype(f)> cosine, sine;
      cos_sin_turns<T>(d, hn::Mul(tau, hz), cosine, sine);
      hn::StoreInterleaved2(cosine, sine, f, to + 2 * ant);
    }
  }
}

/// P complex sums of two rows.
template <class D, std::size_t P>
struct TileSums {
  hn::Vec<D> re[P][2], im[P][2];
};

/// sum over n_ant antennas of weights[pixel][ant] from[ant][row].
template <class D, std::size_t P, class T = hn::TFromD<D>>
HWY_INLINE void sum_antennas(D d, const T* from, std::size_t n_ant, const T* weights,
                             std::size_t weight_stride, TileSums<D, P>& sums) {
  // local, so that they live in registers
  hn::Vec<D> re[P][2], im[P][2];
  for (std::size_t p = 0; p < P; ++p)
    for (std::size_t row = 0; row < 2; ++row) re[p][row] = im[p][row] = hn::Zero(d);
  for (std::size_t ant = 0; ant < n_ant; ++ant, from += kDftAntNumbers) {
    hn::Vec<D> x_re[2], x_im[2];
    for (std::size_t row = 0; row < 2; ++row) {
      x_re[row] = hn::LoadU(d, from + 2 * row * kDftLanes);
      x_im[row] = hn::LoadU(d, from + (2 * row + 1) * kDftLanes);
    }
    for (std::size_t p = 0; p < P; ++p) {
      const T* w = weights + p * weight_stride + 2 * ant;
      const auto w_re = hn::Set(d, w[0]), w_im = hn::Set(d, w[1]);
      for (std::size_t row = 0; row < 2; ++row) {
        re[p][row] = hn::NegMulAdd(w_im, x_im[row], hn::MulAdd(w_re, x_re[row], re[p][row]));
        im[p][row] = hn::MulAdd(w_im, x_re[row], hn::MulAdd(w_re, x_im[row], im[p][row]));
      }
    }
  }
  for (std::size_t p = 0; p < P; ++p)
    for (std::size_t row = 0; row < 2; ++row) {
      sums.re[p][row] = re[p][row];
      sums.im[p][row] = im[p][row];
    }
}

/// to[lane] += a b + c e
template <class D>
HWY_INLINE void add_products(D d, hn::Vec<D> a, hn::Vec<D> b, hn::Vec<D> c, hn::Vec<D> e, hn::TFromD<D>* to) {
  hn::StoreU(hn::MulAdd(a, b, hn::MulAdd(c, e, hn::LoadU(d, to))), d, to);
}

template <std::size_t P, class T>
HWY_INLINE void image_pixels(const DftProduct<T>& product, std::size_t pixel) {
  using D = hn::CappedTag<T, kDftLanes>;
  const D d;
  const T* weights = product.weights + pixel * product.weight_stride;
  for (std::size_t tile = 0; tile < product.n_tile; ++tile)
    for (std::size_t lane = 0; lane < kDftLanes; lane += hn::Lanes(d)) {
      TileSums<D, P> e;
      sum_antennas(d, product.spectra + tile * product.n_ant * kDftAntNumbers + lane, product.n_ant, weights,
                   product.weight_stride, e);
      for (std::size_t p = 0; p < P; ++p) {
        T* to = product.sums + (pixel + p) * kDftValues * kDftLanes + lane;
        const auto x_re = e.re[p][0], x_im = e.im[p][0], y_re = e.re[p][1], y_im = e.im[p][1];
        add_products(d, x_re, x_re, x_im, x_im, to);
        if (product.n_pol == 1) {
          add_products(d, y_re, y_re, y_im, y_im, to);
          continue;
        }
        add_products(d, y_re, y_re, y_im, y_im, to + kDftLanes);
        add_products(d, x_re, y_re, x_im, y_im, to + 2 * kDftLanes);
        add_products(d, x_im, y_re, hn::Neg(x_re), y_im, to + 3 * kDftLanes);
      }
    }
}

template <std::size_t P>
HWY_INLINE void pair_pixels(const PairProduct& product, std::size_t pixel) {
  using D = hn::CappedTag<float, kDftLanes>;
  const D d;
  const float* weights = product.weights + pixel * product.weight_stride;
  const std::size_t n_matrix = product.n_matrix, columns = pair_tile_columns(n_matrix);
  for (std::size_t tile = 0; tile < product.n_tile; ++tile)
    for (std::size_t lane = 0; lane < kDftLanes; lane += hn::Lanes(d)) {
      TileSums<D, P> y;
      sum_antennas(d, product.pairs + pair_tile_begin(tile, n_matrix) + lane,
                   pair_tile_ants(tile, product.n_ant, n_matrix), weights, product.weight_stride, y);
      for (std::size_t p = 0; p < P; ++p)
        for (std::size_t row = 0; row < 2; ++row) {
          const std::size_t column = tile * columns + (n_matrix == 1 ? row * kDftLanes : 0) + lane;
          hn::Vec<D> w_re, w_im;
          hn::LoadInterleaved2(d, weights + p * product.weight_stride + 2 * column, w_re, w_im);
          const std::size_t matrix = n_matrix == 1 ? 0 : row;
          float* to = product.sums + ((pixel + p) * n_matrix + matrix) * kDftLanes + lane;
          add_products(d, y.re[p][row], w_re, y.im[p][row], w_im, to);
        }
    }
}

#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
inline constexpr std::size_t kPixels = 6;
#else
inline constexpr std::size_t kPixels = 2;
#endif

template <class T>
void image_tiles_simd(const DftProduct<T>& product) {
  std::size_t pixel = 0;
  for (; pixel + kPixels <= product.n_pixel; pixel += kPixels) image_pixels<kPixels>(product, pixel);
  for (; pixel < product.n_pixel; ++pixel) image_pixels<1>(product, pixel);
}

void image_pairs_simd(const PairProduct& product) {
  std::size_t pixel = 0;
  for (; pixel + kPixels <= product.n_pixel; pixel += kPixels) pair_pixels<kPixels>(product, pixel);
  for (; pixel < product.n_pixel; ++pixel) pair_pixels<1>(product, pixel);
}

void turn_floats_simd(const DftWeights<float>& weights) {
  turn_weights_simd(weights);
}
void turn_doubles_simd(const DftWeights<double>& weights) {
  turn_weights_simd(weights);
}
void image_floats_simd(const DftProduct<float>& product) {
  image_tiles_simd(product);
}
void image_doubles_simd(const DftProduct<double>& product) {
  image_tiles_simd(product);
}

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {

HWY_EXPORT(turn_floats_simd);
HWY_EXPORT(turn_doubles_simd);
HWY_EXPORT(image_floats_simd);
HWY_EXPORT(image_doubles_simd);
HWY_EXPORT(image_pairs_simd);

template <>
void turn_weights(const DftWeights<float>& weights) {
  HWY_DYNAMIC_DISPATCH(turn_floats_simd)(weights);
}
template <>
void turn_weights(const DftWeights<double>& weights) {
  HWY_DYNAMIC_DISPATCH(turn_doubles_simd)(weights);
}
template <>
void image_tiles(const DftProduct<float>& product) {
  HWY_DYNAMIC_DISPATCH(image_floats_simd)(product);
}
template <>
void image_tiles(const DftProduct<double>& product) {
  HWY_DYNAMIC_DISPATCH(image_doubles_simd)(product);
}
void image_pairs(const PairProduct& product) {
  HWY_DYNAMIC_DISPATCH(image_pairs_simd)(product);
}

}  // namespace apsyn
#endif
