// SPDX-License-Identifier: GPL-3.0-or-later
// The pixel equations of A-terms against plain complex matrices.
#include "kernels/idg/aterms/aterm_math.h"

#include <array>
#include <boost/test/unit_test.hpp>
#include <complex>
#include <random>
#include <vector>

#include "kernels/idg/aterms/beam_response.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(aterm_math)

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

/// Random values that float32 can hold.
Plain draw(std::mt19937_64& random) {
  std::normal_distribution<float> gauss;
  Plain a;
  for (auto& row : a)
    for (Value& value : row) value = {gauss(random), gauss(random)};
  return a;
}

/// The factor that takes the noise's level out of A_p^-1 V A_q^-H.
double normalisation(const Plain& p, const Plain& q) {
  return frobenius(product(inverse(p), hermitian(inverse(q)))) / std::sqrt(2.0);
}

std::vector<std::complex<float>> row_of(const std::vector<Plain>& pixels) {
  std::vector<std::complex<float>> row;
  for (const Plain& a : pixels)
    for (const auto& elements : a)
      for (const Value& value : elements) row.emplace_back(value);
  return row;
}

}  // namespace

BOOST_AUTO_TEST_CASE(products_of_matrices_are_those_of_the_equations) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100; ++i) {
    const Plain p = draw(random), v = draw(random), q = draw(random);
    check_equal(aterm_forward(packed(p), packed(v), packed(q)), product(product(p, v), hermitian(q)));
    check_equal(aterm_adjoint(packed(p), packed(v), packed(q)), product(product(hermitian(p), v), q));
    const double n = normalisation(p, q);
    Plain normalised = product(product(inverse(p), v), hermitian(inverse(q)));
    for (auto& row : normalised)
      for (Value& value : row) value /= n;
    check_equal(aterm_normalised(packed(p), packed(v), packed(q)), normalised);
  }
}

BOOST_AUTO_TEST_CASE(average_responses_are_those_of_the_equations) {
  // Vectors of pixels and what is left of them.
  std::mt19937_64 random(2);
  for (const std::size_t side : {1, 8, 21}) {
    std::vector<Plain> p(side), q(side);
    for (std::size_t x = 0; x < side; ++x) p[x] = draw(random), q[x] = draw(random);
    for (const BeamResponse response : {BeamResponse::normalised, BeamResponse::adjoint}) {
      StationBeams beams(response, side);
      beams.set(3, row_of(p).data());
      beams.set(1, row_of(q).data());
      std::vector<double> sum(side, 5.0);
      beams.add(3, 1, 2.0, sum.data());
      for (std::size_t x = 0; x < side; ++x) {
        const Plain seen = product(product(hermitian(p[x]), product(p[x], hermitian(q[x]))), q[x]);
        const double want = response == BeamResponse::normalised ? 1 / normalisation(p[x], q[x])
                                                                 : (seen[0][0] + seen[1][1]).real() / 2;
        BOOST_CHECK_SMALL(sum[x] - 5 - 2 * want, 1e-12 * (1 + frobenius(seen)));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(identities_change_nothing_and_nulls_stay_finite) {
  const AtermMatrix<double> one{{1, 0}, {}, {}, {1, 0}}, none{}, value{{1, 2}, {3, 4}, {5, 6}, {7, 8}};
  const AtermMatrix<double> same = aterm_normalised(one, value, one);
  BOOST_CHECK_SMALL(same.xy.im - 4, 1e-15 * 8);
  BOOST_CHECK_EQUAL(aterm_normalised(none, value, one).xx.re, 0);
  // Of rank one: no response, and nothing that is no number.
  const AtermMatrix<double> blind{{1, 0}, {}, {}, {}};
  BOOST_CHECK(std::isfinite(aterm_normalised(blind, value, one).yy.re));
  StationBeams beams(BeamResponse::normalised, 3);
  beams.set(0, row_of({Plain{}, Plain{{{1, 0}, {0, 0}}}, Plain{{{1, 0}, {0, 1}}}}).data());
  beams.set(1, row_of(std::vector<Plain>(3, Plain{{{1, 0}, {0, 1}}})).data());
  std::vector<double> sum(3, 0.0);
  beams.add(0, 1, 1.0, sum.data());
  BOOST_CHECK_EQUAL(sum[0], 0);
  BOOST_CHECK_EQUAL(sum[1], 0);
  BOOST_CHECK_SMALL(sum[2] - 1, 1e-15 * 8);
}

BOOST_AUTO_TEST_SUITE_END()
