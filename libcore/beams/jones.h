// SPDX-License-Identifier: GPL-3.0-or-later
// 2 x 2 complex matrices in double precision.
#pragma once

#include <array>
#include <complex>

namespace apsyn {

/// [X north, X east, Y north, Y east] of a beam: rows are receptors, columns the sky's axes.
using Jones = std::array<std::complex<double>, 4>;

inline constexpr Jones kUnitJones{1.0, 0.0, 0.0, 1.0};

inline Jones product(const Jones& a, const Jones& b) {
  return {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
          a[2] * b[1] + a[3] * b[3]};
}

inline Jones scaled(const Jones& a, std::complex<double> factor) {
  return {a[0] * factor, a[1] * factor, a[2] * factor, a[3] * factor};
}

inline Jones sum(const Jones& a, const Jones& b) {
  return {a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]};
}

/// Squared Frobenius norm.
inline double squared_norm(const Jones& a) {
  return std::norm(a[0]) + std::norm(a[1]) + std::norm(a[2]) + std::norm(a[3]);
}

/// Zero for a matrix that is singular to rounding.
inline Jones inverse_or_zero(const Jones& a) {
  const std::complex<double> determinant = a[0] * a[3] - a[1] * a[2];
  if (!(std::abs(determinant) > 1e-14 * squared_norm(a))) return {};
  return {a[3] / determinant, -a[1] / determinant, -a[2] / determinant, a[0] / determinant};
}

}  // namespace apsyn
