// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/cpu/planes/rows.h"

#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/idg/cpu/planes/rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Complex numbers of floats as lanes of 64 bits, at most 8.
using Complexes = hn::CappedTag<double, 8>;

void split_of(std::size_t n, const float* cells, float* HWY_RESTRICT even, float* HWY_RESTRICT odd) {
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const Complexes d;
  const std::size_t lanes = hn::Lanes(d);
  for (; i + lanes <= n; i += lanes) {
    hn::Vec<Complexes> e, o;
    hn::LoadInterleaved2(d, reinterpret_cast<const double*>(cells + 4 * i), e, o);
    hn::StoreU(e, d, reinterpret_cast<double*>(even + 2 * i));
    hn::StoreU(o, d, reinterpret_cast<double*>(odd + 2 * i));
  }
#endif
  for (; i < n; ++i)
    for (std::size_t part = 0; part < 2; ++part) {
      even[2 * i + part] = cells[4 * i + part];
      odd[2 * i + part] = cells[4 * i + 2 + part];
    }
}

void combine_of(std::size_t n, const float* even, const float* odd, float* HWY_RESTRICT sum,
                float* HWY_RESTRICT difference) {
  std::size_t x = 0;
#if HWY_TARGET != HWY_SCALAR
  const Complexes d;
  const hn::Repartition<float, Complexes> f;
  const std::size_t lanes = hn::Lanes(d);
  const auto conjugate = hn::OddEven(hn::Set(f, -1.0f), hn::Set(f, 1.0f));
  for (; x + lanes <= n; x += lanes) {
    const auto reversed = [&](const float* from) HWY_ATTR {
      const float* last = from - 2 * (x + lanes - 1);
      return hn::BitCast(f, hn::Reverse(d, hn::LoadU(d, reinterpret_cast<const double*>(last))));
    };
    const auto e = reversed(even), o = reversed(odd);
    hn::StoreU(hn::Add(e, o), f, sum + 2 * x);
    hn::StoreU(hn::Mul(hn::Sub(e, o), conjugate), f, difference + 2 * x);
  }
#endif
  for (; x < n; ++x) {
    const float *e = even - 2 * x, *o = odd - 2 * x;
    sum[2 * x] = e[0] + o[0];
    sum[2 * x + 1] = e[1] + o[1];
    difference[2 * x] = e[0] - o[0];
    difference[2 * x + 1] = -(e[1] - o[1]);
  }
}

void add_of(std::size_t n, const float* value, const float* even, const float* odd,
            float* HWY_RESTRICT pixel) {
  std::size_t y = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::CappedTag<float, 16> d;
  const std::size_t lanes = hn::Lanes(d);
  for (; y + lanes <= n; y += lanes) {
    hn::Vec<decltype(d)> re, im;
    hn::LoadInterleaved2(d, value + 2 * y, re, im);
    const auto sum = hn::MulAdd(hn::LoadU(d, even + y), re, hn::LoadU(d, pixel + y));
    hn::StoreU(hn::MulAdd(hn::LoadU(d, odd + y), im, sum), d, pixel + y);
  }
#endif
  for (; y < n; ++y) pixel[y] += even[y] * value[2 * y] + odd[y] * value[2 * y + 1];
}

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {
HWY_EXPORT(split_of);
HWY_EXPORT(combine_of);
HWY_EXPORT(add_of);

namespace {
float* floats(std::complex<float>* values) {
  return reinterpret_cast<float*>(values);
}
const float* floats(const std::complex<float>* values) {
  return reinterpret_cast<const float*>(values);
}
}  // namespace

void split_terms(std::size_t n, const float* cells, std::complex<float>* even, std::complex<float>* odd) {
  HWY_DYNAMIC_DISPATCH(split_of)(n, cells, floats(even), floats(odd));
}
void combine_terms(std::size_t n, const std::complex<float>* even, const std::complex<float>* odd,
                   std::complex<float>* sum, std::complex<float>* difference) {
  HWY_DYNAMIC_DISPATCH(combine_of)(n, floats(even), floats(odd), floats(sum), floats(difference));
}
void add_terms(std::size_t n, const std::complex<float>* value, const float* even, const float* odd,
               float* pixel) {
  HWY_DYNAMIC_DISPATCH(add_of)(n, floats(value), even, odd, pixel);
}
}  // namespace apsyn
#endif
