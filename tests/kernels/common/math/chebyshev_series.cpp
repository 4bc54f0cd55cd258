// SPDX-License-Identifier: GPL-3.0-or-later
// Functions as sums of Chebyshev polynomials against the functions themselves.
#include "kernels/common/math/chebyshev_series.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(chebyshev_series)

BOOST_AUTO_TEST_CASE(an_entire_function_is_met_to_rounding) {
  const auto f = [](double x) { return std::exp(1.5 * x) * std::cos(4 * x + 1); };
  const ChebyshevSeries series(f, 28);
  double worst = 0;
  for (int i = -1000; i <= 1000; ++i) worst = std::max(worst, std::abs(series(i / 1000.0) - f(i / 1000.0)));
  BOOST_TEST(worst < 3e-14);  // 6e-15; of values up to 4.5
}

BOOST_AUTO_TEST_CASE(several_places_are_what_each_is_by_itself) {
  const ChebyshevSeries series([](double x) { return 1 / (2 + x); }, 9);
  const double x[3] = {-1, 0.3, 1};
  double together[3] = {NAN, NAN, NAN};
  series.at(x, together);
  for (int i = 0; i < 3; ++i) BOOST_TEST(together[i] == series(x[i]));
}

/// A polynomial is met with as many terms as its degree and one, and not with one fewer.
BOOST_AUTO_TEST_CASE(terms_count_from_the_constant) {
  const auto cube = [](double x) { return 4 * x * x * x - 3 * x; };
  BOOST_TEST(std::abs(ChebyshevSeries(cube, 4)(0.7) - cube(0.7)) < 1e-15);
  BOOST_TEST(std::abs(ChebyshevSeries(cube, 3)(0.7) - cube(0.7)) > 0.1);
}

BOOST_AUTO_TEST_SUITE_END()
