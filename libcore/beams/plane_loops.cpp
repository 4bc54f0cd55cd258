// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/beams/plane_loops.h"

#include "libcore/beams/lanes.h"

namespace apsyn {
namespace {

APSYN_BEAM_INLINE void add_products_lanes(std::size_t n, const ConstPlanePair& a, const ConstPlanePair& b,
                                          const PlanePair& to) {
  const float* __restrict a_re = a.re, * __restrict a_im = a.im, * __restrict b_re = b.re, * __restrict b_im = b.im;
  float* __restrict re = to.re, * __restrict im = to.im;
  for (std::size_t i = 0; i < n; ++i) {
    re[i] += a_re[i] * b_re[i] - a_im[i] * b_im[i];
    im[i] += a_re[i] * b_im[i] + a_im[i] * b_re[i];
  }
}

APSYN_BEAM_INLINE void scale_by_lanes(std::size_t n, float scale, const ConstPlanePair& by,
                                      const PlanePair& to) {
  const float* __restrict by_re = by.re, * __restrict by_im = by.im;
  float* __restrict re = to.re, * __restrict im = to.im;
  for (std::size_t i = 0; i < n; ++i) {
    const float real = re[i] * by_re[i] - im[i] * by_im[i];
    im[i] = scale * (re[i] * by_im[i] + im[i] * by_re[i]);
    re[i] = scale * real;
  }
}

APSYN_BEAM_INLINE void multiply_from_right_lanes(std::size_t n, float scale, const float* planes,
                                                 std::size_t stride, std::complex<float>* jones) {
  float* to = reinterpret_cast<float*>(jones);
  for (std::size_t i = 0; i < n; ++i, to += 8) {
    float j[8];
    for (std::size_t k = 0; k < 8; ++k) j[k] = scale * planes[k * stride + i];
    // The first entry of a list multiplies the unit matrix.
    if (to[0] == 1 && to[1] == 0 && to[2] == 0 && to[3] == 0 && to[4] == 0 && to[5] == 0 && to[6] == 1 &&
        to[7] == 0) {
      for (std::size_t k = 0; k < 8; ++k) to[k] = j[k];
      continue;
    }
    for (std::size_t row = 0; row < 2; ++row) {
      const float a_re = to[4 * row], a_im = to[4 * row + 1], b_re = to[4 * row + 2], b_im = to[4 * row + 3];
      for (std::size_t column = 0; column < 2; ++column) {
        const float *first = j + 2 * column, *second = j + 4 + 2 * column;
        to[4 * row + 2 * column] = a_re * first[0] - a_im * first[1] + (b_re * second[0] - b_im * second[1]);
        to[4 * row + 2 * column + 1] =
            a_re * first[1] + a_im * first[0] + (b_re * second[1] + b_im * second[0]);
      }
    }
  }
}

}  // namespace

void add_products(std::size_t n, const ConstPlanePair& a, const ConstPlanePair& b, const PlanePair& to) {
  run_on_lanes([&](auto) APSYN_BEAM_BODY { add_products_lanes(n, a, b, to); });
}

void scale_by(std::size_t n, float scale, const ConstPlanePair& by, const PlanePair& to) {
  run_on_lanes([&](auto) APSYN_BEAM_BODY { scale_by_lanes(n, scale, by, to); });
}

void multiply_from_right(std::size_t n, float scale, const float* planes, std::size_t stride,
                         std::complex<float>* jones) {
  run_on_lanes([&](auto) APSYN_BEAM_BODY { multiply_from_right_lanes(n, scale, planes, stride, jones); });
}

}  // namespace apsyn
