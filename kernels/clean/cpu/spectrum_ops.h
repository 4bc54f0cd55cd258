// SPDX-License-Identifier: GPL-3.0-or-later
// Products of transforms along one column, SIMD chosen at run time.
#pragma once

#include <complex>
#include <cstddef>

namespace apsyn {

/// to[k] = a[k] even[min(k, n - k)], k = 0 ... n - 1; `to` may be `a`. `even` [n / 2 + 1].
void multiply_even(std::complex<float>* to, const std::complex<float>* a, const float* even, std::size_t n);

/// to[k] = a[k] b[k].
void multiply_complex(std::complex<float>* to, const std::complex<float>* a, const std::complex<float>* b,
                      std::size_t n);

}  // namespace apsyn
