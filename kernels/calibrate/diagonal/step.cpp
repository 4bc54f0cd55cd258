// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/calibrate/diagonal/step.h"

#include <algorithm>

#include "kernels/calibrate/sums.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/calibrate/diagonal/step.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE hn::Vec<D> load_float(D d, const float* from) {
  if constexpr (sizeof(hn::TFromD<D>) == sizeof(float)) {
    return hn::LoadU(d, from);
  } else {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), from));
  }
}

/// Each baseline is read once and counts for both antennas; the sums of p stay in registers.
template <class T>
void sum_triangle(const float* baselines, std::size_t n_antennas, const T* gains, T* sums) {
  const hn::CappedTag<T, kLanes> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  std::fill(sums, sums + n_antennas * 3 * kLanes, T{0});
  const float* row = baselines;
  for (std::size_t p = 0; p < n_antennas; ++p) {
    const std::size_t n_others = n_antennas - p - 1;
    for (std::size_t i = 0; i < kLanes; i += lanes) {
      const V p_re = hn::LoadU(d, gains + p * 2 * kLanes + i);
      const V p_im = hn::LoadU(d, gains + (p * 2 + 1) * kLanes + i);
      const V p_power = hn::MulAdd(p_re, p_re, hn::Mul(p_im, p_im));
      T* own = sums + p * 3 * kLanes + i;
      V sum_re = hn::LoadU(d, own), sum_im = hn::LoadU(d, own + kLanes),
        sum_s = hn::LoadU(d, own + 2 * kLanes);
      const T* g = gains + (p + 1) * 2 * kLanes + i;
      T* other = sums + (p + 1) * 3 * kLanes + i;
      const float* b = row + i;
      for (std::size_t q = 0; q < n_others; ++q, g += 2 * kLanes, other += 3 * kLanes, b += 3 * kLanes) {
        const V a_re = load_float(d, b), a_im = load_float(d, b + kLanes), s = load_float(d, b + 2 * kLanes);
        const V q_re = hn::LoadU(d, g), q_im = hn::LoadU(d, g + kLanes);
        sum_re = hn::NegMulAdd(a_im, q_im, hn::MulAdd(a_re, q_re, sum_re));
        sum_im = hn::MulAdd(a_im, q_re, hn::MulAdd(a_re, q_im, sum_im));
        sum_s = hn::MulAdd(s, hn::MulAdd(q_re, q_re, hn::Mul(q_im, q_im)), sum_s);
        // A_qp = conj(A_pq).
        const V o_re = hn::MulAdd(a_im, p_im, hn::MulAdd(a_re, p_re, hn::LoadU(d, other)));
        const V o_im = hn::NegMulAdd(a_im, p_re, hn::MulAdd(a_re, p_im, hn::LoadU(d, other + kLanes)));
        hn::StoreU(o_re, d, other);
        hn::StoreU(o_im, d, other + kLanes);
        hn::StoreU(hn::MulAdd(s, p_power, hn::LoadU(d, other + 2 * kLanes)), d, other + 2 * kLanes);
      }
      hn::StoreU(sum_re, d, own);
      hn::StoreU(sum_im, d, own + kLanes);
      hn::StoreU(sum_s, d, own + 2 * kLanes);
    }
    row += n_others * 3 * kLanes;
  }
}

void sum_fit_lanes(const float* HWY_RESTRICT baselines, std::size_t n_antennas,
                   const double* HWY_RESTRICT gains, std::size_t n_lanes, double* HWY_RESTRICT fit,
                   double* of_baselines) {
  std::fill(fit, fit + 4 * kLanes, 0.0);
  const float* b = baselines;
  for (std::size_t p = 0; p < n_antennas; ++p)
    for (std::size_t q = p + 1; q < n_antennas; ++q, b += 5 * kLanes) {
      const double *g_p = gains + p * 2 * kLanes, *g_q = gains + q * 2 * kLanes;
      double chi2[kLanes], count[kLanes];
      for (std::size_t i = 0; i < kLanes; ++i) {
        const double p_re = g_p[i], p_im = g_p[kLanes + i], q_re = g_q[i], q_im = g_q[kLanes + i];
        const double re = p_re * q_re + p_im * q_im, im = p_im * q_re - p_re * q_im;  // g_p conj(g_q)
        const double power = re * re + im * im, used = power > 0 ? 1 : 0;
        const double a_re = b[i], a_im = b[kLanes + i], s = b[2 * kLanes + i], r = b[3 * kLanes + i];
        fit[i] += used * (r - 2 * a_re + s);
        chi2[i] = used * (r - 2 * (a_re * re + a_im * im) + power * s);
        count[i] = used * b[4 * kLanes + i];
        fit[kLanes + i] += chi2[i];
        fit[2 * kLanes + i] += count[i];
        fit[3 * kLanes + i] += used * r;
      }
      if (of_baselines == nullptr) continue;
      for (std::size_t i = 0; i < n_lanes; ++i) {
        of_baselines[0] += chi2[i];
        of_baselines[1] += count[i];
      }
      of_baselines += 2;
    }
}

void sum_triangle_float(const float* baselines, std::size_t n_antennas, const float* gains, float* sums) {
  sum_triangle(baselines, n_antennas, gains, sums);
}
void sum_triangle_double(const float* baselines, std::size_t n_antennas, const double* gains, double* sums) {
  sum_triangle(baselines, n_antennas, gains, sums);
}

}  // namespace HWY_NAMESPACE
}  // namespace apsyn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {

HWY_EXPORT(sum_triangle_float);
HWY_EXPORT(sum_triangle_double);
HWY_EXPORT(sum_fit_lanes);

void sum_over_baselines(const float* baselines, std::size_t n_antennas, const float* gains, float* sums) {
  HWY_DYNAMIC_DISPATCH(sum_triangle_float)(baselines, n_antennas, gains, sums);
}
void sum_over_baselines(const float* baselines, std::size_t n_antennas, const double* gains, double* sums) {
  HWY_DYNAMIC_DISPATCH(sum_triangle_double)(baselines, n_antennas, gains, sums);
}
void sum_fit(const float* baselines, std::size_t n_antennas, const double* gains, std::size_t n_lanes,
             double* fit, double* of_baselines) {
  HWY_DYNAMIC_DISPATCH(sum_fit_lanes)(baselines, n_antennas, gains, n_lanes, fit, of_baselines);
}

}  // namespace apsyn
#endif
