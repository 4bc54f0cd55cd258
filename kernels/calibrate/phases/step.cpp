// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/calibrate/phases/step.h"

#include "kernels/calibrate/sums.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/calibrate/phases/step.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void phase_sums_lanes(const float* baselines, std::size_t n_antennas, const double* phasors,
                      const double* slopes, const double* use, bool observed, double* sums) {
  const hn::CappedTag<double, kLanes> d;
  const hn::Rebind<float, decltype(d)> f;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  const float* b = baselines;
  for (std::size_t p = 0; p < n_antennas; ++p)
    for (std::size_t q = p + 1; q < n_antennas; ++q, b += 3 * kLanes, sums += kPhaseSums) {
      const double *e_p = phasors + p * 2 * kLanes, *e_q = phasors + q * 2 * kLanes;
      V value = hn::Zero(d), g0 = value, g1 = value, h00 = value, h01 = value, h11 = value;
      for (std::size_t i = 0; i < kLanes; i += lanes) {
        const V p_re = hn::LoadU(d, e_p + i), p_im = hn::LoadU(d, e_p + kLanes + i);
        const V q_re = hn::LoadU(d, e_q + i), q_im = hn::LoadU(d, e_q + kLanes + i);
        const V on = hn::LoadU(d, use + i);
        const V m_re = hn::Mul(on, hn::MulAdd(p_re, q_re, hn::Mul(p_im, q_im)));
        const V m_im = hn::Mul(on, hn::NegMulAdd(p_re, q_im, hn::Mul(p_im, q_re)));
        const V a_re = hn::PromoteTo(d, hn::LoadU(f, b + i));
        const V a_im = hn::PromoteTo(d, hn::LoadU(f, b + kLanes + i));
        const V fit = hn::MulAdd(a_re, m_re, hn::Mul(a_im, m_im));
        const V slope = hn::NegMulAdd(a_re, m_im, hn::Mul(a_im, m_re));
        V weight = fit;
        if (!observed)
          weight = hn::Mul(hn::PromoteTo(d, hn::LoadU(f, b + 2 * kLanes + i)),
                           hn::MulAdd(m_re, m_re, hn::Mul(m_im, m_im)));
        const V b0 = hn::LoadU(d, slopes + i), b1 = hn::LoadU(d, slopes + kLanes + i);
        const V w0 = hn::Mul(weight, b0), w1 = hn::Mul(weight, b1);
        value = hn::Add(value, fit);
        g0 = hn::MulAdd(slope, b0, g0);
        g1 = hn::MulAdd(slope, b1, g1);
        h00 = hn::MulAdd(w0, b0, h00);
        h01 = hn::MulAdd(w0, b1, h01);
        h11 = hn::MulAdd(w1, b1, h11);
      }
      sums[0] += hn::GetLane(hn::SumOfLanes(d, value));
      sums[1] += hn::GetLane(hn::SumOfLanes(d, g0));
      sums[2] += hn::GetLane(hn::SumOfLanes(d, g1));
      sums[3] += hn::GetLane(hn::SumOfLanes(d, h00));
      sums[4] += hn::GetLane(hn::SumOfLanes(d, h01));
      sums[5] += hn::GetLane(hn::SumOfLanes(d, h11));
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace apsyn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {

HWY_EXPORT(phase_sums_lanes);

void phase_sums(const float* baselines, std::size_t n_antennas, const double* phasors, const double* slopes,
                const double* use, bool observed, double* sums) {
  HWY_DYNAMIC_DISPATCH(phase_sums_lanes)(baselines, n_antennas, phasors, slopes, use, observed, sums);
}

}  // namespace apsyn
#endif
