// SPDX-License-Identifier: GPL-3.0-or-later
// Circular feeds on their way through the correlations that A-terms act on, against matrices written out.
#include "libcore/visibility/stokes.h"

#include <boost/test/unit_test.hpp>
#include <map>

#include "libcore/base/error.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(stokes)

namespace {

using Complex = std::complex<double>;
constexpr Complex i{0, 1};

/// Rows XX XY YX YY, columns RR RL LR LL. With E_R = (E_X + i E_Y) / sqrt 2 and E_L = (E_X - i E_Y) / sqrt 2,
/// which is what RR - LL = 2 V = -i (XY - YX) asks for, E_X = (E_R + E_L) / sqrt 2 and E_Y = -i (E_R - E_L) /
/// sqrt 2: XY = <E_X E_Y*> = i/2 <(E_R + E_L) (E_R - E_L)*> = i/2 (RR - RL + LR - LL), and so on.
const Complex linear_of_circular[4][4] = {{0.5, 0.5, 0.5, 0.5},
                                          {0.5 * i, -0.5 * i, 0.5 * i, -0.5 * i},
                                          {-0.5 * i, -0.5 * i, 0.5 * i, 0.5 * i},
                                          {0.5, -0.5, -0.5, 0.5}};
/// Rows I Q U V, columns RR RL LR LL.
const Complex stokes_of_circular[4][4] = {
    {0.5, 0, 0, 0.5}, {0, 0.5, 0.5, 0}, {0, -0.5 * i, 0.5 * i, 0}, {0.5, 0, 0, -0.5}};
/// Rows RR RL LR LL, columns I Q U V.
const Complex circular_of_stokes[4][4] = {{1, 0, 0, 1}, {0, 1, i, 0}, {0, 1, -i, 0}, {1, 0, 0, -1}};

const std::vector<Product> circular{Product::RR, Product::RL, Product::LR, Product::LL};

/// [plane][product]
std::vector<std::vector<Complex>> matrix_of(const std::vector<PlaneRecipe>& planes, std::size_t n_products) {
  std::vector<std::vector<Complex>> matrix;
  for (const PlaneRecipe& plane : planes) {
    auto& row = matrix.emplace_back(n_products, 0.0);
    for (std::size_t k = 0; k < plane.index.size(); ++k) row[plane.index[k]] += plane.coefficient[k];
  }
  return matrix;
}

void check(const Complex& got, const Complex& want) {
  BOOST_TEST(std::abs(got - want) < 1e-15, got << " instead of " << want);
}

}  // namespace

BOOST_AUTO_TEST_CASE(circular_products_make_stokes_parameters) {
  const auto planes = matrix_of(parse_planes("IQUV", circular), 4);
  for (std::size_t s = 0; s < 4; ++s)
    for (std::size_t p = 0; p < 4; ++p) check(planes[s][p], stokes_of_circular[s][p]);
  for (std::size_t p = 0; p < 4; ++p)
    for (std::size_t s = 0; s < 4; ++s) {
      std::array<double, 4> unit{};
      unit[s] = 1;
      check(coherency(unit, circular[p]), circular_of_stokes[p][s]);
    }
}

BOOST_AUTO_TEST_CASE(circular_products_make_linear_correlations) {
  const std::vector<PlaneRecipe> recipes = correlation_planes(circular);
  const auto planes = matrix_of(recipes, 4);
  const char* names[] = {"XX", "XY", "YX", "YY"};
  for (std::size_t c = 0; c < 4; ++c) {
    BOOST_TEST(recipes[c].name == names[c]);
    for (std::size_t p = 0; p < 4; ++p) check(planes[c][p], linear_of_circular[c][p]);
  }
  // Stokes parameters of these are those of the products.
  const auto stokes =
      matrix_of(parse_planes("IQUV", {Product::XX, Product::XY, Product::YX, Product::YY}), 4);
  for (std::size_t s = 0; s < 4; ++s)
    for (std::size_t p = 0; p < 4; ++p) {
      Complex sum = 0;
      for (std::size_t c = 0; c < 4; ++c) sum += stokes[s][c] * planes[c][p];
      check(sum, stokes_of_circular[s][p]);
    }
}

BOOST_AUTO_TEST_CASE(linear_correlations_make_circular_products) {
  // The matrix is unitary: its inverse is its adjoint.
  const auto back = products_of_correlations(circular);
  for (std::size_t p = 0; p < 4; ++p)
    for (std::size_t c = 0; c < 4; ++c) check(back(p, c), std::conj(linear_of_circular[c][p]));
}

BOOST_AUTO_TEST_CASE(matrices_follow_the_order_of_the_data) {
  const std::vector<Product> other{Product::LL, Product::RL, Product::LR, Product::RR};
  const std::size_t place[] = {3, 1, 2, 0};
  const auto planes = matrix_of(correlation_planes(other), 4);
  const auto back = products_of_correlations(other);
  for (std::size_t p = 0; p < 4; ++p)
    for (std::size_t c = 0; c < 4; ++c) {
      check(planes[c][place[p]], linear_of_circular[c][p]);
      check(back(place[p], c), std::conj(linear_of_circular[c][p]));
    }
}

BOOST_AUTO_TEST_CASE(cross_hands_may_be_missing_and_parallel_ones_may_not) {
  const auto planes = matrix_of(correlation_planes({Product::RR, Product::LL}), 2);
  for (std::size_t c = 0; c < 4; ++c) {
    check(planes[c][0], linear_of_circular[c][0]);
    check(planes[c][1], linear_of_circular[c][3]);
  }
  BOOST_CHECK_THROW(correlation_planes({Product::RR, Product::RL}), UsageError);
  BOOST_CHECK_THROW(correlation_planes({Product::XX, Product::LL}), UsageError);
}

// A plane of some of the products mixes them at their places.
BOOST_AUTO_TEST_CASE(mixes_stand_at_the_places_of_their_products) {
  const std::complex<double> a{0.5, 0}, b{0, -0.5}, none{};
  const std::array<std::complex<double>, 4> expected{none, b, none, a};
  BOOST_TEST((correlation_mix({"V", {3, 1}, {a, b}}) == expected));
}

BOOST_AUTO_TEST_SUITE_END()
