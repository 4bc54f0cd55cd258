// SPDX-License-Identifier: GPL-3.0-or-later
// Planes to products, against sums of complex numbers in float64.
#include "tools/imaging/plane_mix.h"

#include <boost/test/unit_test.hpp>
#include <complex>
#include <limits>
#include <random>
#include <vector>

using namespace apsyn;
using namespace apsyn::imaging;

BOOST_AUTO_TEST_SUITE(plane_mix)

namespace {

using Mix = Buffer<std::complex<double>, 2>;

Mix mix_of(std::initializer_list<std::vector<std::complex<double>>> rows) {
  Mix mix({rows.size(), rows.begin()->size()});
  std::size_t product = 0;
  for (const auto& row : rows) {
    for (std::size_t plane = 0; plane < row.size(); ++plane) mix(product, plane) = row[plane];
    ++product;
  }
  return mix;
}

const std::complex<double> i(0, 1);
const Mix kLinear = mix_of({{1, 1, 0, 0}, {0, 0, 1, i}, {0, 0, 1, -i}, {1, -1, 0, 0}});
const Mix kIntensity = mix_of({{1}, {0}, {0}, {1}});
const Mix kDense = mix_of({{1. + i, .3, 2. * i, -1}, {.1, .2, .3, .4 * i}});

void compare(const Mix& mix, double factor, bool add) {
  constexpr std::size_t n = 37;
  const std::size_t n_products = mix.extent(0), n_planes = mix.extent(1);
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<std::complex<float>> planes(n * n_planes), values(n * n_products);
  for (auto* all : {&planes, &values})
    for (auto& value : *all) value = {normal(random), normal(random)};
  const std::vector<std::complex<float>> before = values;
  const PlaneMix tested(mix, factor);
  BOOST_TEST(tested.n_products() == n_products);
  BOOST_REQUIRE(tested.apply(planes.data(), n, add, values.data()));
  double worst = 0;
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t p = 0; p < n_products; ++p) {
      std::complex<double> sum = 0;
      for (std::size_t q = 0; q < n_planes; ++q)
        sum += mix(p, q) * std::complex<double>(planes[k * n_planes + q]);
      sum *= factor;
      if (add) sum += std::complex<double>(before[k * n_products + p]);
      worst = std::max(worst, std::abs(std::complex<double>(values[k * n_products + p]) - sum));
    }
  BOOST_TEST(worst < 8 * std::numeric_limits<float>::epsilon());  // measured: 6.9e-7
}

}  // namespace

BOOST_AUTO_TEST_CASE(products_are_sums_of_planes) {
  for (const Mix* mix : {&kLinear, &kIntensity, &kDense})
    for (const double factor : {1., -1.})
      for (const bool add : {false, true}) compare(*mix, factor, add);
}

BOOST_AUTO_TEST_CASE(what_is_not_finite_is_told_where_it_takes_part) {
  std::vector<std::complex<float>> planes(8, {1, 2}), values(8);
  planes[6] = {0, std::numeric_limits<float>::infinity()};  // U of the second
  BOOST_TEST(!PlaneMix(kLinear, 1).apply(planes.data(), 2, false, values.data()));
  BOOST_TEST(PlaneMix(kLinear, 1).apply(planes.data(), 1, false, values.data()));
  planes[6] = {std::numeric_limits<float>::max(), 0};
  planes[7] = {0, std::numeric_limits<float>::max()};  // U + iV = max + i (i max) = 0; U - iV overflows
  BOOST_TEST(!PlaneMix(kLinear, 1).apply(planes.data(), 2, false, values.data()));
  BOOST_TEST(PlaneMix(mix_of({{1, 1, 0, 0}}), 1).apply(planes.data(), 2, false, values.data()));
}

BOOST_AUTO_TEST_SUITE_END()
