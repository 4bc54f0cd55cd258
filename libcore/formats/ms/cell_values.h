// SPDX-License-Identifier: GPL-3.0-or-later
// What becomes of the values of cells between a set and weights, where most of them stay as they are: loops
// that look for the few that do not, for processors with and without AVX2. For libcore/formats/ms only.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

namespace apsyn {

/// Whether none of n floats is infinite or not a number.
bool are_finite(const float* values, std::size_t n);

/// Whether each of n weights is finite and above 0, or 0 without a sign.
bool are_weights(const float* weight, std::size_t n);

/// Sets weights to 0 that are flagged, or that are not finite and above 0. flag [n]: 0 = good.
void mask_weights(const std::uint8_t* flag, std::size_t n, float* weight);

/// Copies n cells, of which those that are flagged, whose weight is none or whose value is not finite get the
/// value 0 and the weight 0. `values` and `weight` may be the very arrays that are written.
void mask_cells(const std::complex<float>* values, const std::uint8_t* flag, const float* weight,
                std::size_t n, std::complex<float>* to, float* to_weight);
/// The same, but values that are finite stay, whatever their weight.
void mask_cells_keeping_values(const std::complex<float>* values, const std::uint8_t* flag,
                               const float* weight, std::size_t n, std::complex<float>* to, float* to_weight);

/// 1 where the weight is 0, else 0. Of weights that are finite.
void flag_zeros(const float* weight, std::size_t n, std::uint8_t* flag);

}  // namespace apsyn
