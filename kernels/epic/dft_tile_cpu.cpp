// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/dft_tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/epic/dft_tile_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/common/turns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void turn_weights_simd(const DftWeights& w) {
  const hn::CappedTag<double, kDftLanes> d;
  const hn::Rebind<float, decltype(d)> f;
  const auto hz = hn::Set(d, -w.hz);
  for (std::size_t pixel = 0; pixel < w.n_pixel; ++pixel) {
    const double* unit = w.unit + 3 * pixel;
    const auto east = hn::Set(d, unit[0]), north = hn::Set(d, unit[1]), up = hn::Set(d, unit[2]);
    float* to = w.weights + pixel * w.weight_stride;
    for (std::size_t ant = 0; ant < w.n_ant; ant += hn::Lanes(d)) {
      auto tau = hn::MulSub(east, hn::LoadU(d, w.east_s + ant), hn::LoadU(d, w.delay_s + ant));
      tau = hn::MulAdd(north, hn::LoadU(d, w.north_s + ant), tau);
      tau = hn::MulAdd(up, hn::LoadU(d, w.up_s + ant), tau);
      hn::Vec<decltype(f)> cosine, sine;
      cos_sin_turns<float>(d, hn::Mul(tau, hz), cosine, sine);
      hn::StoreInterleaved2(cosine, sine, f, to + 2 * ant);
    }
  }
}

template <std::size_t P>
HWY_INLINE void image_pixels(const DftProduct& product, std::size_t pixel) {
  const hn::CappedTag<float, kDftLanes> d;
  using V = hn::Vec<decltype(d)>;
  const float* weights = product.weights + pixel * product.weight_stride;
  for (std::size_t tile = 0; tile < product.n_tile; ++tile) {
    for (std::size_t lane = 0; lane < kDftLanes; lane += hn::Lanes(d)) {
      const float* from = product.spectra + tile * product.n_ant * kDftAntFloats + lane;
      V re[P][2], im[P][2];
      for (std::size_t p = 0; p < P; ++p)
        for (std::size_t row = 0; row < 2; ++row) re[p][row] = im[p][row] = hn::Zero(d);
      for (std::size_t ant = 0; ant < product.n_ant; ++ant, from += kDftAntFloats) {
        V x_re[2], x_im[2];
        for (std::size_t row = 0; row < 2; ++row) {
          x_re[row] = hn::LoadU(d, from + 2 * row * kDftLanes);
          x_im[row] = hn::LoadU(d, from + (2 * row + 1) * kDftLanes);
        }
        for (std::size_t p = 0; p < P; ++p) {
          const float* w = weights + p * product.weight_stride + 2 * ant;
          const auto w_re = hn::Set(d, w[0]), w_im = hn::Set(d, w[1]);
          for (std::size_t row = 0; row < 2; ++row) {
            re[p][row] = hn::NegMulAdd(w_im, x_im[row], hn::MulAdd(w_re, x_re[row], re[p][row]));
            im[p][row] = hn::MulAdd(w_im, x_re[row], hn::MulAdd(w_re, x_im[row], im[p][row]));
          }
        }
      }
      for (std::size_t p = 0; p < P; ++p) {
        float* sums = product.sums + (pixel + p) * kDftValues * kDftLanes + lane;
        const auto add = [&](std::size_t value, V a, V b, V c, V e) HWY_ATTR {
          float* to = sums + value * kDftLanes;
          hn::StoreU(hn::MulAdd(a, b, hn::MulAdd(c, e, hn::LoadU(d, to))), d, to);
        };
        add(0, re[p][0], re[p][0], im[p][0], im[p][0]);
        if (product.n_pol == 1) {
          add(0, re[p][1], re[p][1], im[p][1], im[p][1]);
          continue;
        }
        add(1, re[p][1], re[p][1], im[p][1], im[p][1]);
        add(2, re[p][0], re[p][1], im[p][0], im[p][1]);
        add(3, im[p][0], re[p][1], hn::Neg(re[p][0]), im[p][1]);
      }
    }
  }
}

#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
inline constexpr std::size_t kPixels = 6;
#else
inline constexpr std::size_t kPixels = 2;
#endif

void image_tiles_simd(const DftProduct& product) {
  std::size_t pixel = 0;
  for (; pixel + kPixels <= product.n_pixel; pixel += kPixels) image_pixels<kPixels>(product, pixel);
  for (; pixel < product.n_pixel; ++pixel) image_pixels<1>(product, pixel);
}

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {

HWY_EXPORT(turn_weights_simd);
HWY_EXPORT(image_tiles_simd);

void turn_weights(const DftWeights& weights) {
  HWY_DYNAMIC_DISPATCH(turn_weights_simd)(weights);
}
void image_tiles(const DftProduct& product) {
  HWY_DYNAMIC_DISPATCH(image_tiles_simd)(product);
}

}  // namespace apsyn
#endif
