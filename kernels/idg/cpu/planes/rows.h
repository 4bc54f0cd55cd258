// SPDX-License-Identifier: GPL-3.0-or-later
// What images.h does between its transforms, in vectors.
#pragma once

#include <complex>
#include <cstddef>

namespace apsyn {

/// n cells [even, odd] apart.
void split_terms(std::size_t n, const float* cells, std::complex<float>* even, std::complex<float>* odd);

/// sum[x] = even[-x] + odd[-x] and difference[x] = conj(even[-x] - odd[-x]) for n values, of which the first
/// are those behind the pointers.
void combine_terms(std::size_t n, const std::complex<float>* even, const std::complex<float>* odd,
                   std::complex<float>* sum, std::complex<float>* difference);

/// pixel += even Re value + odd Im value.
void add_terms(std::size_t n, const std::complex<float>* value, const float* even, const float* odd,
               float* pixel);

}  // namespace apsyn
