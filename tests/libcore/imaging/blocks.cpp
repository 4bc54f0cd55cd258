// SPDX-License-Identifier: GPL-3.0-or-later
// Planes out of products, to the last bit of sums of doubles that are rounded once.
#include "libcore/imaging/blocks.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <numeric>
#include <random>

#include "libcore/visibility/stokes.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(blocks)

namespace {

constexpr std::size_t kRows = 3, kChannels = 11, kProducts = 4;

struct Cells {
  Buffer<std::complex<float>, 3> data;
  Buffer<float, 3> weight;
};

/// Values of all sizes, zeros of both signs among them, a fifth of which have no weight.
Cells observe() {
  Cells cells{Buffer<std::complex<float>, 3>({kRows, kChannels, kProducts}),
              Buffer<float, 3>({kRows, kChannels, kProducts})};
  std::mt19937 random(3);
  std::normal_distribution<float> normal, exponent(0, 8);
  std::uniform_int_distribution<int> fifth(0, 4);
  const auto value = [&] {
    return fifth(random) == 0 ? -0.0f : normal(random) * std::exp2(exponent(random));
  };
  for (auto& each : cells.data) each = {value(), value()};
  for (float& each : cells.weight) each = fifth(random) == 0 ? 0.0f : std::exp2(normal(random));
  return cells;
}

template <class T>
bool same_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

/// Of one plane; +0 is what a sum begins with.
std::complex<float> sum_of(const PlaneRecipe& plane, const std::complex<float>* products) {
  double re = 0, im = 0;
  for (std::size_t i = 0; i < plane.index.size(); ++i) {
    const std::complex<double> by = plane.coefficient[i];
    const std::complex<float> value = products[plane.index[i]];
    if (by.imag() == 0) {
      re += by.real() * double{value.real()};
      im += by.real() * double{value.imag()};
    } else {
      re += -by.imag() * double{value.imag()};
      im += by.imag() * double{value.real()};
    }
  }
  return {static_cast<float>(re), static_cast<float>(im)};
}

void check_planes(const std::vector<PlaneRecipe>& planes, const std::vector<std::size_t>& channels) {
  const Cells cells = observe();
  ImagingBlock block;
  resize_planes(block, kRows, channels.size(), planes.size());
  make_planes(std::as_const(cells.data), std::as_const(cells.weight), channels, planes, block);
  int n_wrong = 0, n_used = 0;
  for (std::size_t row = 0; row < kRows; ++row)
    for (std::size_t c = 0; c < channels.size(); ++c)
      for (std::size_t p = 0; p < planes.size(); ++p) {
        const std::complex<float>* values = &cells.data.view()(row, channels[c], 0);
        float least = cells.weight.view()(row, channels[c], planes[p].index[0]);
        for (const std::size_t i : planes[p].index)
          least = std::min(least, cells.weight.view()(row, channels[c], i));
        const std::complex<float> expected = least > 0 ? sum_of(planes[p], values) : 0;
        n_used += least > 0;
        n_wrong += !same_bits(block.weight(row, c, p), least) || !same_bits(block.data(row, c, p), expected);
      }
  BOOST_TEST(n_used > 0);
  BOOST_TEST(n_wrong == 0);
}

}  // namespace

BOOST_AUTO_TEST_CASE(planes_are_sums_of_doubles_rounded_once) {
  using enum Product;
  const std::vector<Product> linear{XX, XY, YX, YY}, circular{RR, RL, LR, LL};
  std::vector<std::size_t> all(kChannels);
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (const std::vector<std::size_t>& channels : {all, {2, 3, 7}})
    for (const auto& products : {linear, circular})
      for (const char* names : {"IQUV", "VUQI", "I", "I,Q", "U,V", "Q,I,V"})
        check_planes(parse_planes(names, products), channels);
  check_planes(parse_planes("XX,YY", linear), all);
  for (const auto& products : {linear, {XX, YX, XY, YY}})
    check_planes(correlation_planes(products), {2, 3, 7});
}

BOOST_AUTO_TEST_SUITE_END()
