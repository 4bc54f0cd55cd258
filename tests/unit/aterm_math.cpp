// SPDX-License-Identifier: GPL-3.0-or-later
// The pixel equations of A-terms against plain complex matrices.
#include "kernels/idg/aterm_math.h"

#include <array>
#include <boost/test/unit_test.hpp>
#include <complex>
#include <random>

using namespace apsyn;

namespace {

using Value = std::complex<double>;
using Plain = std::array<std::array<Value, 2>, 2>;

Plain product(const Plain& a, const Plain& b) {
  Plain c{};
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      for (int k = 0; k < 2; ++k) c[i][j] += a[i][k] * b[k][j];
  return c;
}
Plain hermitian(const Plain& a) {
  return {{{std::conj(a[0][0]), std::conj(a[1][0])}, {std::conj(a[0][1]), std::conj(a[1][1])}}};
}
Plain inverse(const Plain& a) {
  const Value d = a[0][0] * a[1][1] - a[0][1] * a[1][0];
  return {{{a[1][1] / d, -a[0][1] / d}, {-a[1][0] / d, a[0][0] / d}}};
}
double frobenius(const Plain& a) {
  double sum = 0;
  for (const auto& row : a)
    for (const Value& value : row) sum += std::norm(value);
  return std::sqrt(sum);
}
AtermMatrix<double> packed(const Plain& a) {
  return {{a[0][0].real(), a[0][0].imag()},
          {a[0][1].real(), a[0][1].imag()},
          {a[1][0].real(), a[1][0].imag()},
          {a[1][1].real(), a[1][1].imag()}};
}
void check_equal(const AtermMatrix<double>& got, const Plain& want) {
  const AtermMatrix<double> w = packed(want);
  for (auto member : {&AtermMatrix<double>::xx, &AtermMatrix<double>::xy, &AtermMatrix<double>::yx,
                      &AtermMatrix<double>::yy}) {
    BOOST_CHECK_SMALL((got.*member).re - (w.*member).re, 1e-12 * (1 + frobenius(want)));
    BOOST_CHECK_SMALL((got.*member).im - (w.*member).im, 1e-12 * (1 + frobenius(want)));
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(equations) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> gauss;
  auto draw = [&] {
    Plain a;
    for (auto& row : a)
      for (Value& value : row) value = {gauss(random), gauss(random)};
    return a;
  };
  for (int i = 0; i < 100; ++i) {
    const Plain p = draw(), v = draw(), q = draw();
    check_equal(aterm_forward(packed(p), packed(v), packed(q)), product(product(p, v), hermitian(q)));
    check_equal(aterm_adjoint(packed(p), packed(v), packed(q)), product(product(hermitian(p), v), q));
    const double n = frobenius(product(inverse(p), hermitian(inverse(q)))) / std::sqrt(2.0);
    Plain normalised = product(product(inverse(p), v), hermitian(inverse(q)));
    for (auto& row : normalised)
      for (Value& value : row) value /= n;
    check_equal(aterm_normalised(packed(p), packed(v), packed(q)), normalised);
    BOOST_CHECK_SMALL(aterm_normalised_response(packed(p), packed(q)) * n - 1, 1e-12);
    const Plain seen = product(product(hermitian(p), product(p, hermitian(q))), q);
    BOOST_CHECK_SMALL(aterm_adjoint_response(packed(p), packed(q)) - (seen[0][0] + seen[1][1]).real() / 2,
                      1e-12 * frobenius(seen));
  }
}

BOOST_AUTO_TEST_CASE(identity_and_nulls) {
  const AtermMatrix<double> one{{1, 0}, {}, {}, {1, 0}}, none{}, value{{1, 2}, {3, 4}, {5, 6}, {7, 8}};
  const AtermMatrix<double> same = aterm_normalised(one, value, one);
  BOOST_CHECK_SMALL(same.xy.im - 4, 1e-15 * 8);
  BOOST_CHECK_SMALL(aterm_normalised_response(one, one) - 1, 1e-15 * 8);
  BOOST_CHECK_EQUAL(aterm_normalised(none, value, one).xx.re, 0);
  BOOST_CHECK_EQUAL(aterm_normalised_response(none, one), 0);
  // Of rank one: no response, and nothing that is no number.
  const AtermMatrix<double> blind{{1, 0}, {}, {}, {}};
  BOOST_CHECK(std::isfinite(aterm_normalised(blind, value, one).yy.re));
  BOOST_CHECK_EQUAL(aterm_normalised_response(blind, one), 0);
}
