// SPDX-License-Identifier: GPL-3.0-or-later
// What A-terms do to one pixel of a subgrid, the same on CPU and GPU. Matrices are 2 x 2, rows then columns:
// XX XY YX YY. A_p and A_q are the Jones matrices of the stations of V_pq; for folded visibilities callers
// exchange them and give V^H (apsyn::SubgridTask).
//
//   forward      B -> A_p B A_q^H
//   adjoint      V -> A_p^H V A_q
//   normalised   V -> A_p^-1 V A_q^-H / N,  N = |A_p^-1 A_q^-H|_F / sqrt(2)   (Hodgson 2025, section 3.3)
//
// An inverse is an adjugate over a determinant, and the determinants' magnitudes cancel in the last:
//
//   A_p^-1 V A_q^-H / N = sqrt(2) P V Q^H / |P Q^H|_F * conj(det A_p) det A_q / |det A_p det A_q|,
//
// with P = adj A_p and Q = adj A_q, so that nothing is divided by a null of the beam.
#pragma once

#include <cmath>

#include "kernels/common/host_device.h"

namespace apsyn {

template <class T>
struct AtermValue {
  T re = 0, im = 0;
};

template <class T>
APSYN_HOST_DEVICE AtermValue<T> operator+(const AtermValue<T>& a, const AtermValue<T>& b) {
  return {a.re + b.re, a.im + b.im};
}
template <class T>
APSYN_HOST_DEVICE AtermValue<T> operator*(const AtermValue<T>& a, const AtermValue<T>& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
/// a conj(b).
template <class T>
APSYN_HOST_DEVICE AtermValue<T> times_conj(const AtermValue<T>& a, const AtermValue<T>& b) {
  return {a.re * b.re + a.im * b.im, a.im * b.re - a.re * b.im};
}
template <class T>
APSYN_HOST_DEVICE AtermValue<T> negative(const AtermValue<T>& a) {
  return {-a.re, -a.im};
}
template <class T>
APSYN_HOST_DEVICE T power(const AtermValue<T>& a) {
  return a.re * a.re + a.im * a.im;
}

template <class T>
struct AtermMatrix {
  AtermValue<T> xx, xy, yx, yy;
};

template <class T>
APSYN_HOST_DEVICE AtermMatrix<T> multiply(const AtermMatrix<T>& a, const AtermMatrix<T>& b) {
  return {a.xx * b.xx + a.xy * b.yx, a.xx * b.xy + a.xy * b.yy, a.yx * b.xx + a.yy * b.yx,
          a.yx * b.xy + a.yy * b.yy};
}
/// a b^H.
template <class T>
APSYN_HOST_DEVICE AtermMatrix<T> times_adjoint(const AtermMatrix<T>& a, const AtermMatrix<T>& b) {
  return {times_conj(a.xx, b.xx) + times_conj(a.xy, b.xy), times_conj(a.xx, b.yx) + times_conj(a.xy, b.yy),
          times_conj(a.yx, b.xx) + times_conj(a.yy, b.xy), times_conj(a.yx, b.yx) + times_conj(a.yy, b.yy)};
}
/// a^H b.
template <class T>
APSYN_HOST_DEVICE AtermMatrix<T> adjoint_times(const AtermMatrix<T>& a, const AtermMatrix<T>& b) {
  return {times_conj(b.xx, a.xx) + times_conj(b.yx, a.yx), times_conj(b.xy, a.xx) + times_conj(b.yy, a.yx),
          times_conj(b.xx, a.xy) + times_conj(b.yx, a.yy), times_conj(b.xy, a.xy) + times_conj(b.yy, a.yy)};
}
template <class T>
APSYN_HOST_DEVICE AtermMatrix<T> adjugate(const AtermMatrix<T>& a) {
  return {a.yy, negative(a.xy), negative(a.yx), a.xx};
}
template <class T>
APSYN_HOST_DEVICE AtermValue<T> determinant(const AtermMatrix<T>& a) {
  return a.xx * a.yy + negative(a.xy * a.yx);
}
template <class T>
APSYN_HOST_DEVICE T power(const AtermMatrix<T>& a) {
  return power(a.xx) + power(a.xy) + power(a.yx) + power(a.yy);
}

template <class T>
APSYN_HOST_DEVICE AtermMatrix<T> aterm_forward(const AtermMatrix<T>& p, const AtermMatrix<T>& brightness,
                                               const AtermMatrix<T>& q) {
  return times_adjoint(multiply(p, brightness), q);
}

template <class T>
APSYN_HOST_DEVICE AtermMatrix<T> aterm_adjoint(const AtermMatrix<T>& p, const AtermMatrix<T>& visibility,
                                               const AtermMatrix<T>& q) {
  return multiply(adjoint_times(p, visibility), q);
}

/// 0 where the response is.
template <class T>
APSYN_HOST_DEVICE AtermMatrix<T> aterm_normalised(const AtermMatrix<T>& p, const AtermMatrix<T>& visibility,
                                                  const AtermMatrix<T>& q) {
  const AtermMatrix<T> left = adjugate(p), right = adjugate(q);
  const T norm2 = power(times_adjoint(left, right));
  AtermValue<T> turn = times_conj(determinant(q), determinant(p));
  const T size2 = power(turn);
  if (!(norm2 > 0)) return {};
  const T scale = std::sqrt(T(2) / norm2);
  turn = size2 > 0 ? AtermValue<T>{turn.re * scale / std::sqrt(size2), turn.im * scale / std::sqrt(size2)}
                   : AtermValue<T>{scale, 0};
  const AtermMatrix<T> result = times_adjoint(multiply(left, visibility), right);
  return {result.xx * turn, result.xy * turn, result.yx * turn, result.yy * turn};
}

}  // namespace apsyn
