// SPDX-License-Identifier: GPL-3.0-or-later
// Loops over lanes are the innermost ones and of constant length: the compiler makes vectors of them for each
// instruction set.
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

/// m = g_p conj(g_q).
HWY_INLINE void product(const double* HWY_RESTRICT p, const double* HWY_RESTRICT q, double* HWY_RESTRICT m) {
  for (std::size_t i = 0; i < kLanes; ++i) {
    m[i] = p[i] * q[i] + p[kLanes + i] * q[kLanes + i];
    m[kLanes + i] = p[kLanes + i] * q[i] - p[i] * q[kLanes + i];
  }
}

/// C_de of a baseline.
HWY_INLINE void cross(const float* HWY_RESTRICT sums, std::size_t n, std::size_t d, std::size_t e,
                      double* HWY_RESTRICT c) {
  if (d == e) {
    const float* own = sums + own_component(d, n) * kLanes;
    for (std::size_t i = 0; i < kLanes; ++i) {
      c[i] = own[i];
      c[kLanes + i] = 0;
    }
    return;
  }
  const float* pair = sums + pair_component(std::min(d, e), std::max(d, e), n) * kLanes;
  const double sign = d < e ? 1 : -1;
  for (std::size_t i = 0; i < kLanes; ++i) {
    c[i] = pair[i];
    c[kLanes + i] = sign * pair[kLanes + i];
  }
}

void begin(const float* HWY_RESTRICT sums, std::size_t n_antennas, std::size_t n, double* HWY_RESTRICT rest) {
  const std::size_t n_components = n_product_components(n) * kLanes;
  for (std::size_t b = 0; b < n_antennas * (n_antennas - 1) / 2;
       ++b, sums += n_components, rest += rest_values(n)) {
    for (std::size_t i = 0; i < 2 * n * kLanes; ++i) rest[i] = sums[i];
    for (std::size_t i = 0; i < kLanes; ++i) rest[2 * n * kLanes + i] = sums[power_component(n) * kLanes + i];
  }
}

void change(const float* sums, std::size_t n_antennas, std::size_t n, std::size_t d, const double* before,
            const double* after, double* rest) {
  double m[2 * kLanes], old[2 * kLanes], c[2 * kLanes];
  for (std::size_t p = 0; p < n_antennas; ++p)
    for (std::size_t q = p + 1; q < n_antennas;
         ++q, sums += n_product_components(n) * kLanes, rest += rest_values(n)) {
      product(before + p * 2 * kLanes, before + q * 2 * kLanes, old);
      product(after + p * 2 * kLanes, after + q * 2 * kLanes, m);
      double* power = rest + 2 * n * kLanes;
      const double* own = rest + 2 * d * kLanes;
      const float* s = sums + own_component(d, n) * kLanes;
      for (std::size_t i = 0; i < kLanes; ++i) {
        m[i] -= old[i];
        m[kLanes + i] -= old[kLanes + i];
        power[i] += (m[i] * m[i] + m[kLanes + i] * m[kLanes + i]) * s[i] -
                    2 * (m[i] * own[i] + m[kLanes + i] * own[kLanes + i]);
      }
      for (std::size_t e = 0; e < n; ++e) {
        cross(sums, n, d, e, c);
        double* to = rest + 2 * e * kLanes;
        for (std::size_t i = 0; i < kLanes; ++i) {
          to[i] -= m[i] * c[i] - m[kLanes + i] * c[kLanes + i];
          to[kLanes + i] -= m[i] * c[kLanes + i] + m[kLanes + i] * c[i];
        }
      }
    }
}

void single(const float* sums, std::size_t n_antennas, std::size_t n, std::size_t d, const double* gains,
            const double* rest, float* HWY_RESTRICT to) {
  double m[2 * kLanes];
  for (std::size_t p = 0; p < n_antennas; ++p)
    for (std::size_t q = p + 1; q < n_antennas;
         ++q, sums += n_product_components(n) * kLanes, rest += rest_values(n), to += 5 * kLanes) {
      product(gains + p * 2 * kLanes, gains + q * 2 * kLanes, m);
      const double *own = rest + 2 * d * kLanes, *power = rest + 2 * n * kLanes;
      const float *s = sums + own_component(d, n) * kLanes, *count = sums + count_component(n) * kLanes;
      for (std::size_t i = 0; i < kLanes; ++i) {
        const double size = (m[i] * m[i] + m[kLanes + i] * m[kLanes + i]) * s[i];
        to[i] = static_cast<float>(own[i] + m[i] * s[i]);
        to[kLanes + i] = static_cast<float>(own[kLanes + i] + m[kLanes + i] * s[i]);
        to[2 * kLanes + i] = s[i];
        to[3 * kLanes + i] =
            static_cast<float>(power[i] + 2 * (m[i] * own[i] + m[kLanes + i] * own[kLanes + i]) + size);
        to[4 * kLanes + i] = count[i];
      }
    }
}

HWY_INLINE double sum_of(const double* values) {
  double sum = 0;
  for (std::size_t i = 0; i < kLanes; ++i) sum += values[i];
  return sum;
}

void equations(const float* sums, std::size_t n, const double* g_p, const double* g_q, const double* slopes,
               std::size_t k, double* right, double* matrix) {
  constexpr std::size_t most = 64;  // directions whose products are kept on the stack
  double kept[most * 2 * kLanes];
  std::vector<double> many(n > most ? n * 2 * kLanes : 0);
  double* m = n > most ? many.data() : kept;
  for (std::size_t d = 0; d < n; ++d) product(g_p + 2 * d * kLanes, g_q + 2 * d * kLanes, m + 2 * d * kLanes);
  double c[2 * kLanes], rest_re[kLanes], rest_im[kLanes], value[kLanes];
  for (std::size_t d = 0; d < n; ++d) {
    const float* a = sums + 2 * d * kLanes;
    const double* m_d = m + 2 * d * kLanes;
    for (std::size_t i = 0; i < kLanes; ++i) {
      rest_re[i] = a[i];
      rest_im[i] = a[kLanes + i];
    }
    for (std::size_t e = 0; e < n; ++e) {
      const double* m_e = m + 2 * e * kLanes;
      cross(sums, n, e, d, c);
      double g[kLanes];
      for (std::size_t i = 0; i < kLanes; ++i) {
        const double re = m_e[i] * c[i] - m_e[kLanes + i] * c[kLanes + i];
        const double im = m_e[i] * c[kLanes + i] + m_e[kLanes + i] * c[i];
        rest_re[i] -= re;
        rest_im[i] -= im;
        g[i] = re * m_d[i] + im * m_d[kLanes + i];
      }
      if (e > d) continue;
      for (std::size_t x = 0; x < k; ++x)
        for (std::size_t y = 0; y < k; ++y) {
          for (std::size_t i = 0; i < kLanes; ++i)
            value[i] = g[i] * slopes[x * kLanes + i] * slopes[y * kLanes + i];
          matrix[((d * n + e) * k + x) * k + y] += sum_of(value);
        }
    }
    for (std::size_t x = 0; x < k; ++x) {
      for (std::size_t i = 0; i < kLanes; ++i)
        value[i] = (rest_im[i] * m_d[i] - rest_re[i] * m_d[kLanes + i]) * slopes[x * kLanes + i];
      right[d * k + x] += sum_of(value);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace apsyn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {

HWY_EXPORT(begin);
HWY_EXPORT(change);
HWY_EXPORT(single);
HWY_EXPORT(equations);

void begin_rest(const float* sums, std::size_t n_antennas, std::size_t n_directions, double* rest) {
  HWY_DYNAMIC_DISPATCH(begin)(sums, n_antennas, n_directions, rest);
}

void change_rest(const float* sums, std::size_t n_antennas, std::size_t n_directions, std::size_t direction,
                 const double* before, const double* after, double* rest) {
  HWY_DYNAMIC_DISPATCH(change)(sums, n_antennas, n_directions, direction, before, after, rest);
}

void single_direction(const float* sums, std::size_t n_antennas, std::size_t n_directions,
                      std::size_t direction, const double* gains, const double* rest, float* single_sums) {
  HWY_DYNAMIC_DISPATCH(single)(sums, n_antennas, n_directions, direction, gains, rest, single_sums);
}

void direction_equations(const float* sums, std::size_t n_directions, const double* g_p, const double* g_q,
                         const double* slopes, std::size_t k, double* right, double* matrix) {
  HWY_DYNAMIC_DISPATCH(equations)(sums, n_directions, g_p, g_q, slopes, k, right, matrix);
}

}  // namespace apsyn
#endif
