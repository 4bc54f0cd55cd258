// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/calibrate/phases/step.h"

#include <algorithm>

#include "kernels/calibrate/sums.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/calibrate/phases/step.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/common/simd/turns-inl.h"

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

void phasors_lanes(std::size_t n_antennas, const double* numbers, const double* sizes, const double* slopes,
                   const double* use, std::size_t stride, double* e) {
  const hn::CappedTag<double, kLanes> d;
  using V = hn::Vec<decltype(d)>;
  constexpr double kTurn = 0.15915494309189533576888376337251;
  for (std::size_t p = 0; p < n_antennas; ++p, numbers += 2, e += stride)
    for (std::size_t i = 0; i < kLanes; i += hn::Lanes(d)) {
      const V phase = hn::MulAdd(hn::LoadU(d, slopes + i), hn::Set(d, numbers[0]),
                                 hn::Mul(hn::LoadU(d, slopes + kLanes + i), hn::Set(d, numbers[1])));
      V cosine, sine;
      cos_sin_turns<double>(d, hn::Mul(phase, hn::Set(d, kTurn)), cosine, sine);
      // Numbers of antennas without a solution need not be finite.
      const V size = hn::Mul(hn::LoadU(d, use + i), hn::Set(d, sizes[p]));
      const auto any = hn::Ne(size, hn::Zero(d));
      hn::StoreU(hn::IfThenElseZero(any, hn::Mul(size, cosine)), d, e + i);
      hn::StoreU(hn::IfThenElseZero(any, hn::Mul(size, sine)), d, e + kLanes + i);
    }
}

void antenna_sums_lanes(const float* baselines, std::size_t n_antennas, std::size_t p, const double* e,
                        const double* sizes, double* sums) {
  const hn::CappedTag<double, kLanes> d;
  const hn::Rebind<float, decltype(d)> f;
  using V = hn::Vec<decltype(d)>;
  for (std::size_t i = 0; i < kLanes; i += hn::Lanes(d)) {
    V re = hn::Zero(d), im = re;
    for (std::size_t q = 0; q < n_antennas; ++q) {
      if (q == p || sizes[q] == 0) continue;
      const float* b = baselines + 3 * kLanes * baseline_index(std::min(p, q), std::max(p, q), n_antennas);
      const V size = hn::Set(d, sizes[q]), a_re = hn::Mul(size, hn::PromoteTo(d, hn::LoadU(f, b + i)));
      V a_im = hn::Mul(size, hn::PromoteTo(d, hn::LoadU(f, b + kLanes + i)));
      if (q < p) a_im = hn::Neg(a_im);  // A_pq = conj(A_qp)
      const V e_re = hn::LoadU(d, e + 2 * q * kLanes + i), e_im = hn::LoadU(d, e + (2 * q + 1) * kLanes + i);
      re = hn::NegMulAdd(a_im, e_im, hn::MulAdd(a_re, e_re, re));
      im = hn::MulAdd(a_im, e_re, hn::MulAdd(a_re, e_im, im));
    }
    hn::StoreU(re, d, sums + i);
    hn::StoreU(im, d, sums + kLanes + i);
  }
}

void model_sums_lanes(const float* baselines, std::size_t n_baselines, const double* use, double* sums) {
  const hn::CappedTag<double, kLanes> d;
  const hn::Rebind<float, decltype(d)> f;
  for (std::size_t b = 0; b < n_baselines; ++b, baselines += 3 * kLanes) {
    auto sum = hn::Zero(d);
    for (std::size_t i = 0; i < kLanes; i += hn::Lanes(d))
      sum =
          hn::MulAdd(hn::LoadU(d, use + i), hn::PromoteTo(d, hn::LoadU(f, baselines + 2 * kLanes + i)), sum);
    sums[b] += hn::GetLane(hn::SumOfLanes(d, sum));
  }
}

long best_turn_lanes(std::size_t n_channels, long n, double* first, const double* turn) {
  const hn::CappedTag<double, kLanes> d;
  using V = hn::Vec<decltype(d)>;
  double *re = first, *im = first + n_channels;
  const double *turn_re = turn, *turn_im = turn + n_channels;
  const std::size_t lanes = hn::Lanes(d), n_vectors = n_channels / lanes * lanes;
  long best = -n;
  double greatest = -1e300;
  for (long k = -n; k <= n; ++k) {
    V sums = hn::Zero(d);
    for (std::size_t c = 0; c < n_vectors; c += lanes) {
      const V a_re = hn::LoadU(d, re + c), a_im = hn::LoadU(d, im + c);
      const V t_re = hn::LoadU(d, turn_re + c), t_im = hn::LoadU(d, turn_im + c);
      sums = hn::Add(sums, a_re);
      hn::StoreU(hn::NegMulAdd(a_im, t_im, hn::Mul(a_re, t_re)), d, re + c);
      hn::StoreU(hn::MulAdd(a_im, t_re, hn::Mul(a_re, t_im)), d, im + c);
    }
    double sum = hn::GetLane(hn::SumOfLanes(d, sums));
    for (std::size_t c = n_vectors; c < n_channels; ++c) {
      const double own = re[c];
      sum += own;
      re[c] = own * turn_re[c] - im[c] * turn_im[c];
      im[c] = own * turn_im[c] + im[c] * turn_re[c];
    }
    if (sum > greatest) {
      greatest = sum;
      best = k;
    }
  }
  return best;
}

}  // namespace HWY_NAMESPACE
}  // namespace apsyn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {

HWY_EXPORT(phase_sums_lanes);
HWY_EXPORT(phasors_lanes);
HWY_EXPORT(antenna_sums_lanes);
HWY_EXPORT(model_sums_lanes);
HWY_EXPORT(best_turn_lanes);

void phase_sums(const float* baselines, std::size_t n_antennas, const double* phasors, const double* slopes,
                const double* use, bool observed, double* sums) {
  HWY_DYNAMIC_DISPATCH(phase_sums_lanes)(baselines, n_antennas, phasors, slopes, use, observed, sums);
}

void phase_phasors(std::size_t n_antennas, const double* numbers, const double* sizes, const double* slopes,
                   const double* use, std::size_t stride, double* e) {
  HWY_DYNAMIC_DISPATCH(phasors_lanes)(n_antennas, numbers, sizes, slopes, use, stride, e);
}

void antenna_sums(const float* baselines, std::size_t n_antennas, std::size_t p, const double* e,
                  const double* sizes, double* sums) {
  HWY_DYNAMIC_DISPATCH(antenna_sums_lanes)(baselines, n_antennas, p, e, sizes, sums);
}

void model_sums(const float* baselines, std::size_t n_baselines, const double* use, double* sums) {
  HWY_DYNAMIC_DISPATCH(model_sums_lanes)(baselines, n_baselines, use, sums);
}

long best_turn(std::size_t n_channels, long n, double* first, const double* turn) {
  return HWY_DYNAMIC_DISPATCH(best_turn_lanes)(n_channels, n, first, turn);
}

}  // namespace apsyn
#endif
