// SPDX-License-Identifier: GPL-3.0-or-later
// Loops over lanes are the innermost ones and of constant length: the compiler makes vectors of them for each
// instruction set.
#include "kernels/calibrate/jones/step.h"

#include <algorithm>

#include "kernels/calibrate/accumulate/sum_components.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/calibrate/jones/step.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn {
namespace HWY_NAMESPACE {

/// Adds product (own row, other's row) of a baseline to the equations of one row of one antenna: `a` and `s`
/// are the product's components, `other` the other antenna's row [column][re, im][kLanes]. Seen from q,
/// everything is that of V_qp = V_pq^H: sums are conjugated, and of four elements the model's rows and
/// columns exchanged.
template <std::size_t n_elements, bool from_q, class T>
HWY_INLINE void add_product(const float* HWY_RESTRICT sums, const T* HWY_RESTRICT other,
                            T* HWY_RESTRICT own) {
  constexpr T sign = from_q ? -1 : 1;
  // Components of element (column of the own row, column of the other's).
  constexpr auto element = [](std::size_t c, std::size_t d) -> std::size_t {
    return from_q ? 2 * d + c : 2 * c + d;
  };
  for (std::size_t i = 0; i < kLanes; ++i) {
    const T j0_re = other[i], j0_im = other[kLanes + i], j1_re = other[2 * kLanes + i],
            j1_im = other[3 * kLanes + i];
    const T p0 = j0_re * j0_re + j0_im * j0_im, p1 = j1_re * j1_re + j1_im * j1_im;
    // conj(J_0) J_1.
    const T x_re = j0_re * j1_re + j0_im * j1_im, x_im = j0_re * j1_im - j0_im * j1_re;
    const auto at = [&](std::size_t c) -> T { return sums[c * kLanes + i]; };
    const auto add = [&](std::size_t c, T value) { own[c * kLanes + i] += value; };
    if constexpr (n_elements < 4) {
      constexpr std::size_t last = n_elements - 1;
      const T a0_re = at(0), a0_im = sign * at(1), a1_re = at(2 * last), a1_im = sign * at(2 * last + 1);
      add(0, a0_re * j0_re - a0_im * j0_im);
      add(1, a0_re * j0_im + a0_im * j0_re);
      add(2, a1_re * j1_re - a1_im * j1_im);
      add(3, a1_re * j1_im + a1_im * j1_re);
      add(4, at(own_component(0, n_elements)) * p0);
      add(5, at(own_component(last, n_elements)) * p1);
      if constexpr (n_elements == 1) {
        const T s = at(own_component(0, 1));
        add(6, s * x_re);
        add(7, s * x_im);
      } else {
        const T s_re = at(pair_component(0, 1, 2)), s_im = sign * at(pair_component(0, 1, 2) + 1);
        add(6, s_re * x_re - s_im * x_im);
        add(7, s_re * x_im + s_im * x_re);
      }
    } else {
      for (std::size_t c = 0; c < 2; ++c) {
        const T a0_re = at(2 * element(c, 0)), a0_im = sign * at(2 * element(c, 0) + 1);
        const T a1_re = at(2 * element(c, 1)), a1_im = sign * at(2 * element(c, 1) + 1);
        add(2 * c, a0_re * j0_re - a0_im * j0_im + a1_re * j1_re - a1_im * j1_im);
        add(2 * c + 1, a0_re * j0_im + a0_im * j0_re + a1_re * j1_im + a1_im * j1_re);
        const std::size_t pair = pair_component(element(c, 0), element(c, 1), 4);
        add(4 + c, at(own_component(element(c, 0), 4)) * p0 + at(own_component(element(c, 1), 4)) * p1 +
                       2 * (at(pair) * x_re - sign * at(pair + 1) * x_im));
      }
      const std::size_t both_0 = pair_component(element(0, 0), element(1, 0), 4);
      const std::size_t both_1 = pair_component(element(0, 1), element(1, 1), 4);
      const T s03_re = at(pair_component(0, 3, 4)), s03_im = sign * at(pair_component(0, 3, 4) + 1);
      // S of elements 1 and 2, which are each other's transposes: the same from both sides.
      const T s12_re = at(pair_component(1, 2, 4)), s12_im = at(pair_component(1, 2, 4) + 1);
      add(6,
          at(both_0) * p0 + at(both_1) * p1 + s03_re * x_re - s03_im * x_im + s12_re * x_re + s12_im * x_im);
      add(7, sign * at(both_0 + 1) * p0 + sign * at(both_1 + 1) * p1 + s03_re * x_im + s03_im * x_re -
                 s12_re * x_im + s12_im * x_re);
    }
  }
}

template <std::size_t n_elements, class T>
void all_equations(const float* baselines, std::size_t n_antennas, const T* gains, T* equations) {
  constexpr std::size_t n_own = n_product_components(n_elements) * kLanes;
  std::fill(equations, equations + n_antennas * kJonesEquations, T{0});
  const float* b = baselines;
  for (std::size_t p = 0; p < n_antennas; ++p) {
    const T* g_p = gains + p * kJonesValues;
    T* of_p = equations + p * kJonesEquations;
    for (std::size_t q = p + 1; q < n_antennas; ++q, b += 4 * n_own) {
      const T* g_q = gains + q * kJonesValues;
      T* of_q = equations + q * kJonesEquations;
      for (std::size_t row_p = 0; row_p < 2; ++row_p)
        for (std::size_t row_q = 0; row_q < 2; ++row_q) {
          const float* product = b + (2 * row_p + row_q) * n_own;
          add_product<n_elements, false>(product, g_q + row_q * 4 * kLanes, of_p + row_p * 8 * kLanes);
          add_product<n_elements, true>(product, g_p + row_p * 4 * kLanes, of_q + row_q * 8 * kLanes);
        }
    }
  }
}

template <class T>
void equations_of_kind(std::size_t n_elements, const float* baselines, std::size_t n_antennas, const T* gains,
                       T* equations) {
  if (n_elements == 1) all_equations<1>(baselines, n_antennas, gains, equations);
  if (n_elements == 2) all_equations<2>(baselines, n_antennas, gains, equations);
  if (n_elements == 4) all_equations<4>(baselines, n_antennas, gains, equations);
}

/// chi^2 of a product less R: with T_cd = J_p,ac conj(J_q,bd), -2 Re sum A_e conj(T_e) + sum T_e S_ef
/// conj(T_f).
template <std::size_t n_elements>
HWY_INLINE double product_chi2(const float* HWY_RESTRICT own, const double* t_re, const double* t_im,
                               std::size_t i) {
  const auto at = [&](std::size_t c) -> double { return own[c * kLanes + i]; };
  double sum = 0;
  for (std::size_t e = 0; e < n_elements; ++e) {
    sum -= 2 * (t_re[e] * at(2 * e) + t_im[e] * at(2 * e + 1));
    sum += (t_re[e] * t_re[e] + t_im[e] * t_im[e]) * at(own_component(e, n_elements));
    for (std::size_t f = e + 1; f < n_elements; ++f) {
      const std::size_t pair = pair_component(e, f, n_elements);
      const double re = t_re[e] * t_re[f] + t_im[e] * t_im[f], im = t_im[e] * t_re[f] - t_re[e] * t_im[f];
      sum += 2 * (re * at(pair) - im * at(pair + 1));
    }
  }
  return sum;
}

template <std::size_t n_elements>
void fit_of(const float* baselines, std::size_t n_antennas, const double* gains, const double* active,
            std::size_t n_lanes, double* HWY_RESTRICT fit, double* of_baselines) {
  constexpr std::size_t n_own = n_product_components(n_elements) * kLanes;
  std::fill(fit, fit + 4 * kLanes, 0.0);
  const float* b = baselines;
  for (std::size_t p = 0; p < n_antennas; ++p)
    for (std::size_t q = p + 1; q < n_antennas; ++q, b += 4 * n_own) {
      double chi2[kLanes] = {}, count[kLanes] = {};
      for (std::size_t row_p = 0; row_p < 2; ++row_p)
        for (std::size_t row_q = 0; row_q < 2; ++row_q) {
          const float* HWY_RESTRICT own = b + (2 * row_p + row_q) * n_own;
          const double* HWY_RESTRICT g_p = gains + p * kJonesValues + row_p * 4 * kLanes;
          const double* HWY_RESTRICT g_q = gains + q * kJonesValues + row_q * 4 * kLanes;
          const double* HWY_RESTRICT use_p = active + (p * 2 + row_p) * kLanes;
          const double* HWY_RESTRICT use_q = active + (q * 2 + row_q) * kLanes;
          for (std::size_t i = 0; i < kLanes; ++i) {
            const double use = use_p[i] * use_q[i];
            double t_re[n_elements] = {}, t_im[n_elements] = {}, one_re[n_elements] = {};
            const double zeros[n_elements] = {};
            for (std::size_t c = 0; c < 2; ++c)
              for (std::size_t d = 0; d < 2; ++d) {
                if (n_elements < 4 && c != d) continue;
                const std::size_t e = n_elements == 1 ? 0 : n_elements == 2 ? c : 2 * c + d;
                const double p_re = g_p[2 * c * kLanes + i], p_im = g_p[(2 * c + 1) * kLanes + i];
                const double q_re = g_q[2 * d * kLanes + i], q_im = g_q[(2 * d + 1) * kLanes + i];
                t_re[e] += p_re * q_re + p_im * q_im;
                t_im[e] += p_im * q_re - p_re * q_im;
                if (c == row_p && d == row_q) one_re[e] += 1;
              }
            const double power = own[power_component(n_elements) * kLanes + i];
            const double after = power + product_chi2<n_elements>(own, t_re, t_im, i);
            fit[i] += use * (power + product_chi2<n_elements>(own, one_re, zeros, i));
            fit[kLanes + i] += use * after;
            const double n = use * own[count_component(n_elements) * kLanes + i];
            fit[2 * kLanes + i] += n;
            fit[3 * kLanes + i] += use * power;
            chi2[i] += use * after;
            count[i] += n;
          }
        }
      if (of_baselines == nullptr) continue;
      for (std::size_t i = 0; i < n_lanes; ++i) {
        of_baselines[0] += chi2[i];
        of_baselines[1] += count[i];
      }
      of_baselines += 2;
    }
}

void jones_fit_lanes(std::size_t n_elements, const float* baselines, std::size_t n_antennas,
                     const double* gains, const double* active, std::size_t n_lanes, double* fit,
                     double* of_baselines) {
  if (n_elements == 1) fit_of<1>(baselines, n_antennas, gains, active, n_lanes, fit, of_baselines);
  if (n_elements == 2) fit_of<2>(baselines, n_antennas, gains, active, n_lanes, fit, of_baselines);
  if (n_elements == 4) fit_of<4>(baselines, n_antennas, gains, active, n_lanes, fit, of_baselines);
}

void jones_equations_float(std::size_t n_elements, const float* baselines, std::size_t n_antennas,
                           const float* gains, float* equations) {
  equations_of_kind(n_elements, baselines, n_antennas, gains, equations);
}
void jones_equations_double(std::size_t n_elements, const float* baselines, std::size_t n_antennas,
                            const double* gains, double* equations) {
  equations_of_kind(n_elements, baselines, n_antennas, gains, equations);
}

}  // namespace HWY_NAMESPACE
}  // namespace apsyn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {

HWY_EXPORT(jones_equations_float);
HWY_EXPORT(jones_equations_double);
HWY_EXPORT(jones_fit_lanes);

void jones_equations(SumKind kind, const float* baselines, std::size_t n_antennas, const float* gains,
                     float* equations) {
  HWY_DYNAMIC_DISPATCH(jones_equations_float)
  (n_model_elements(kind), baselines, n_antennas, gains, equations);
}
void jones_equations(SumKind kind, const float* baselines, std::size_t n_antennas, const double* gains,
                     double* equations) {
  HWY_DYNAMIC_DISPATCH(jones_equations_double)
  (n_model_elements(kind), baselines, n_antennas, gains, equations);
}
void jones_fit(SumKind kind, const float* baselines, std::size_t n_antennas, const double* gains,
               const double* active, std::size_t n_lanes, double* fit, double* of_baselines) {
  HWY_DYNAMIC_DISPATCH(jones_fit_lanes)
  (n_model_elements(kind), baselines, n_antennas, gains, active, n_lanes, fit, of_baselines);
}

}  // namespace apsyn
#endif
