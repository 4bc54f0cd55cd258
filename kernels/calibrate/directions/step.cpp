// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/calibrate/directions/step.h"

#include <algorithm>
#include <vector>

#include "kernels/calibrate/accumulate/sum_components.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/calibrate/directions/step.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<double, kLanes>;
using V = hn::Vec<D>;

/// A vector of complex numbers.
struct ComplexVector {
  V re, im;
};

HWY_INLINE V load(const float* from) {
  return hn::PromoteTo(D(), hn::LoadU(hn::Rebind<float, D>(), from));
}
HWY_INLINE void store(V value, float* to) {
  hn::StoreU(hn::DemoteTo(hn::Rebind<float, D>(), value), hn::Rebind<float, D>(), to);
}
HWY_INLINE ComplexVector load_sum(const float* from) {
  return {load(from), load(from + kLanes)};
}

/// m = g_p conj(g_q).
HWY_INLINE ComplexVector product(const double* p, const double* q) {
  const V p_re = hn::LoadU(D(), p), p_im = hn::LoadU(D(), p + kLanes);
  const V q_re = hn::LoadU(D(), q), q_im = hn::LoadU(D(), q + kLanes);
  return {hn::MulAdd(p_re, q_re, hn::Mul(p_im, q_im)), hn::NegMulAdd(p_re, q_im, hn::Mul(p_im, q_re))};
}

/// sum + a b.
HWY_INLINE ComplexVector multiply_add(ComplexVector a, ComplexVector b, ComplexVector sum) {
  return {hn::NegMulAdd(a.im, b.im, hn::MulAdd(a.re, b.re, sum.re)),
          hn::MulAdd(a.im, b.re, hn::MulAdd(a.re, b.im, sum.im))};
}
/// sum + a conj(b).
HWY_INLINE ComplexVector multiply_conj_add(ComplexVector a, ComplexVector b, ComplexVector sum) {
  return {hn::MulAdd(a.im, b.im, hn::MulAdd(a.re, b.re, sum.re)),
          hn::NegMulAdd(a.re, b.im, hn::MulAdd(a.im, b.re, sum.im))};
}
/// Re(conj(a) b).
HWY_INLINE V dot(ComplexVector a, ComplexVector b) {
  return hn::MulAdd(a.re, b.re, hn::Mul(a.im, b.im));
}

/// sum_(e != d) m_e C_ed of a few lanes, sums and gains from their first one.
HWY_INLINE ComplexVector others(const float* sums, std::size_t n, std::size_t d, const double* g_p,
                                const double* g_q) {
  ComplexVector sum{hn::Zero(D()), hn::Zero(D())};
  for (std::size_t e = 0; e < d; ++e)
    sum = multiply_add(product(g_p + 2 * e * kLanes, g_q + 2 * e * kLanes),
                       load_sum(sums + pair_component(e, d, n) * kLanes), sum);
  if (d + 1 == n) return sum;
  const float* pair = sums + pair_component(d, d + 1, n) * kLanes;
  for (std::size_t e = d + 1; e < n; ++e, pair += 2 * kLanes)
    sum = multiply_conj_add(product(g_p + 2 * e * kLanes, g_q + 2 * e * kLanes), load_sum(pair), sum);
  return sum;
}

void single(const float* sums, std::size_t n_antennas, std::size_t n, std::size_t d, const double* gains,
            const double* power, float* HWY_RESTRICT to) {
  const std::size_t lanes = hn::Lanes(D()), of_antenna = 2 * n * kLanes;
  const V two = hn::Set(D(), 2.0);
  for (std::size_t p = 0; p < n_antennas; ++p)
    for (std::size_t q = p + 1; q < n_antennas;
         ++q, sums += n_product_components(n) * kLanes, power += kLanes, to += 5 * kLanes)
      for (std::size_t i = 0; i < kLanes; i += lanes) {
        const double *g_p = gains + p * of_antenna + i, *g_q = gains + q * of_antenna + i;
        const float* own = sums + i;
        const ComplexVector other = others(own, n, d, g_p, g_q), a = load_sum(own + 2 * d * kLanes);
        const ComplexVector alone{hn::Sub(a.re, other.re), hn::Sub(a.im, other.im)};
        const ComplexVector m = product(g_p + 2 * d * kLanes, g_q + 2 * d * kLanes);
        const V s = load(own + own_component(d, n) * kLanes);
        const V rest = hn::NegMulAdd(dot(m, m), s, hn::MulAdd(two, dot(m, alone), hn::LoadU(D(), power + i)));
        store(alone.re, to + i);
        store(alone.im, to + kLanes + i);
        store(s, to + 2 * kLanes + i);
        store(rest, to + 3 * kLanes + i);
        store(load(own + count_component(n) * kLanes), to + 4 * kLanes + i);
      }
}

void change(const float* single, std::size_t n_antennas, const double* before, const double* after,
            double* power) {
  const std::size_t lanes = hn::Lanes(D());
  const V two = hn::Set(D(), 2.0);
  for (std::size_t p = 0; p < n_antennas; ++p)
    for (std::size_t q = p + 1; q < n_antennas; ++q, power += kLanes, single += 5 * kLanes)
      for (std::size_t i = 0; i < kLanes; i += lanes) {
        const std::size_t at_p = 2 * p * kLanes + i, at_q = 2 * q * kLanes + i;
        const ComplexVector a = load_sum(single + i), old = product(before + at_p, before + at_q),
                            m = product(after + at_p, after + at_q);
        const V s = load(single + 2 * kLanes + i);
        const ComplexVector step{hn::Sub(m.re, old.re), hn::Sub(m.im, old.im)};
        const V value = hn::MulAdd(s, hn::Sub(dot(m, m), dot(old, old)), hn::LoadU(D(), power + i));
        hn::StoreU(hn::NegMulAdd(two, dot(step, a), value), D(), power + i);
      }
}

void fit(const float* sums, std::size_t n_antennas, std::size_t n, const double* gains, double* power,
         double* total) {
  const std::size_t lanes = hn::Lanes(D()), of_antenna = 2 * n * kLanes;
  const V two = hn::Set(D(), 2.0);
  std::vector<double> products(2 * n * kLanes);  // [direction][re, im][a vector's lanes]
  V chi2 = hn::Zero(D()), count = chi2;
  for (std::size_t p = 0; p < n_antennas; ++p)
    for (std::size_t q = p + 1; q < n_antennas; ++q, sums += n_product_components(n) * kLanes) {
      for (std::size_t i = 0; i < kLanes; i += lanes) {
        const double *g_p = gains + p * of_antenna + i, *g_q = gains + q * of_antenna + i;
        const float* own = sums + i;
        V any = hn::Zero(D()), sum = load(own + power_component(n) * kLanes);
        for (std::size_t d = 0; d < n; ++d) {
          // Re conj(m_d) (m_d C_dd - 2 a_d + 2 sum_(e < d) m_e C_ed)
          const ComplexVector m = product(g_p + 2 * d * kLanes, g_q + 2 * d * kLanes);
          const ComplexVector a = load_sum(own + 2 * d * kLanes);
          const V s = load(own + own_component(d, n) * kLanes);
          ComplexVector lower{hn::Zero(D()), hn::Zero(D())};
          for (std::size_t e = 0; e < d; ++e) {
            const double* m_e = products.data() + 2 * e * kLanes;
            lower = multiply_add({hn::LoadU(D(), m_e), hn::LoadU(D(), m_e + kLanes)},
                                 load_sum(own + pair_component(e, d, n) * kLanes), lower);
          }
          hn::StoreU(m.re, D(), products.data() + 2 * d * kLanes);
          hn::StoreU(m.im, D(), products.data() + (2 * d + 1) * kLanes);
          const V size = dot(m, m);
          any = hn::Add(any, size);
          sum = hn::MulAdd(size, s, sum);
          sum = hn::MulAdd(two, dot(m, {hn::Sub(lower.re, a.re), hn::Sub(lower.im, a.im)}), sum);
        }
        if (power != nullptr) hn::StoreU(sum, D(), power + i);
        const auto used = hn::Gt(any, hn::Zero(D()));
        chi2 = hn::Add(chi2, hn::IfThenElseZero(used, sum));
        count = hn::Add(count, hn::IfThenElseZero(used, load(own + count_component(n) * kLanes)));
      }
      if (power != nullptr) power += kLanes;
    }
  total[0] += hn::GetLane(hn::SumOfLanes(D(), chi2));
  total[1] += hn::GetLane(hn::SumOfLanes(D(), count));
}

/// Adds value times the slopes of both kinds, over all lanes.
HWY_INLINE void add_slopes(const double* value, const double* slopes, std::size_t k, double* matrix) {
  for (std::size_t x = 0; x < k; ++x)
    for (std::size_t y = 0; y < k; ++y) {
      V sum = hn::Zero(D());
      for (std::size_t i = 0; i < kLanes; i += hn::Lanes(D()))
        sum = hn::MulAdd(
            hn::LoadU(D(), value + i),
            hn::Mul(hn::LoadU(D(), slopes + x * kLanes + i), hn::LoadU(D(), slopes + y * kLanes + i)), sum);
      matrix[x * k + y] += hn::GetLane(hn::SumOfLanes(D(), sum));
    }
}

void equations(const float* sums, std::size_t n, const double* g_p, const double* g_q, const double* slopes,
               std::size_t k, double* right, double* matrix) {
  constexpr std::size_t most = 64;  // directions whose products are kept on the stack
  double kept[most * 4 * kLanes];
  std::vector<double> many(n > most ? n * 4 * kLanes : 0);
  double* m = n > most ? many.data() : kept;  // [direction][re, im][kLanes]
  double* rest = m + 2 * n * kLanes;          // the same shape
  const std::size_t lanes = hn::Lanes(D());
  double g[kLanes];
  for (std::size_t d = 0; d < n; ++d) {
    const std::size_t at = 2 * d * kLanes;
    for (std::size_t i = 0; i < kLanes; i += lanes) {
      const ComplexVector own = product(g_p + at + i, g_q + at + i), a = load_sum(sums + at + i);
      const V s = load(sums + own_component(d, n) * kLanes + i);
      hn::StoreU(own.re, D(), m + at + i);
      hn::StoreU(own.im, D(), m + at + kLanes + i);
      hn::StoreU(hn::NegMulAdd(own.re, s, a.re), D(), rest + at + i);
      hn::StoreU(hn::NegMulAdd(own.im, s, a.im), D(), rest + at + kLanes + i);
      hn::StoreU(hn::Mul(s, dot(own, own)), D(), g + i);
    }
    add_slopes(g, slopes, k, matrix + (d * n + d) * k * k);
    for (std::size_t e = 0; e < d; ++e) {
      const float* pair = sums + pair_component(e, d, n) * kLanes;
      const std::size_t at_e = 2 * e * kLanes;
      for (std::size_t i = 0; i < kLanes; i += lanes) {
        const ComplexVector c = load_sum(pair + i);
        const ComplexVector m_d{hn::LoadU(D(), m + at + i), hn::LoadU(D(), m + at + kLanes + i)};
        const ComplexVector m_e{hn::LoadU(D(), m + at_e + i), hn::LoadU(D(), m + at_e + kLanes + i)};
        const ComplexVector zero{hn::Zero(D()), hn::Zero(D())};
        const ComplexVector of_e = multiply_add(m_e, c, zero), of_d = multiply_conj_add(m_d, c, zero);
        hn::StoreU(dot(m_d, of_e), D(), g + i);
        const auto take = [&](ComplexVector model, double* from) {
          hn::StoreU(hn::Sub(hn::LoadU(D(), from), model.re), D(), from);
          hn::StoreU(hn::Sub(hn::LoadU(D(), from + kLanes), model.im), D(), from + kLanes);
        };
        take(of_e, rest + at + i);
        take(of_d, rest + at_e + i);
      }
      add_slopes(g, slopes, k, matrix + (d * n + e) * k * k);
    }
  }
  for (std::size_t d = 0; d < n; ++d)
    for (std::size_t x = 0; x < k; ++x) {
      V sum = hn::Zero(D());
      for (std::size_t i = 0; i < kLanes; i += lanes) {
        const double *own = m + 2 * d * kLanes + i, *left = rest + 2 * d * kLanes + i;
        const V slope = hn::NegMulAdd(hn::LoadU(D(), left), hn::LoadU(D(), own + kLanes),
                                      hn::Mul(hn::LoadU(D(), left + kLanes), hn::LoadU(D(), own)));
        sum = hn::MulAdd(slope, hn::LoadU(D(), slopes + x * kLanes + i), sum);
      }
      right[d * k + x] += hn::GetLane(hn::SumOfLanes(D(), sum));
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace apsyn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {

HWY_EXPORT(change);
HWY_EXPORT(single);
HWY_EXPORT(fit);
HWY_EXPORT(equations);

void single_direction(const float* sums, std::size_t n_antennas, std::size_t n_directions,
                      std::size_t direction, const double* gains, const double* power, float* single_sums) {
  HWY_DYNAMIC_DISPATCH(single)(sums, n_antennas, n_directions, direction, gains, power, single_sums);
}

void change_power(const float* single_sums, std::size_t n_antennas, const double* before, const double* after,
                  double* power) {
  HWY_DYNAMIC_DISPATCH(change)(single_sums, n_antennas, before, after, power);
}

void directions_fit(const float* sums, std::size_t n_antennas, std::size_t n_directions, const double* gains,
                    double* power, double* total) {
  HWY_DYNAMIC_DISPATCH(fit)(sums, n_antennas, n_directions, gains, power, total);
}

void direction_equations(const float* sums, std::size_t n_directions, const double* g_p, const double* g_q,
                         const double* slopes, std::size_t k, double* right, double* matrix) {
  HWY_DYNAMIC_DISPATCH(equations)(sums, n_directions, g_p, g_q, slopes, k, right, matrix);
}

}  // namespace apsyn
#endif
