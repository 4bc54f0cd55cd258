// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes of channels: their tables, and the products that take values to them and back.
#include "kernels/idg/tracks/channel_nodes.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "kernels/idg/tracks/channel_product.h"

using namespace apsyn;

using precisions = std::tuple<float, double>;

BOOST_AUTO_TEST_SUITE(channel_nodes)

// A table is found again, and is not mistaken for that of other channels.
BOOST_AUTO_TEST_CASE(tables_are_those_of_their_channels) {
  ChannelNodes<double> nodes;
  std::vector<double> wavenumber(16);
  for (int round = 0; round < 3; ++round)
    for (int set = 0; set < 300; ++set) {
      for (std::size_t c = 0; c < 16; ++c)
        wavenumber[c] = 0.5 + 0.001 * static_cast<double>(c) * (1 + 0.01 * set) + (c == 7 ? 1e-4 : 0);
      const ChannelTable<double>& table = nodes.table(wavenumber, 6);
      // Interpolation of fifth powers is exact.
      for (std::size_t c = 0; c < 16; ++c) {
        double sum = 0;
        for (std::size_t k = 0; k < 6; ++k)
          sum += table.to_nodes[c * product_places(6) + k] * std::pow((table.node[k] - 0.5) * 100, 5);
        BOOST_REQUIRE_SMALL(sum - std::pow((wavenumber[c] - 0.5) * 100, 5), 1e-9);
      }
    }
}

// Against plain sums; what lies between rows may be anything.
BOOST_AUTO_TEST_CASE_TEMPLATE(products_over_channels_are_plain_sums, T, precisions) {
  for (std::size_t n_values : {2, 4, 8})
    for (std::size_t n_from : {1, 5, 64})
      for (std::size_t n_to : {1, 3, 11, 32, 64})
        for (std::size_t n_rows : {1, 4, 7}) {
          const std::size_t from_stride = n_from * n_values, to_stride = product_values(n_to, n_values),
                            share_stride = product_places(n_to);
          std::vector<T> from(n_rows * from_stride + 64 / sizeof(T), std::numeric_limits<T>::quiet_NaN()),
              share(n_from * share_stride, 0), to(n_rows * to_stride, std::numeric_limits<T>::quiet_NaN());
          for (std::size_t i = 0; i < n_rows * from_stride; ++i)
            from[i] = static_cast<T>(std::sin(0.7 * double(i)));
          for (std::size_t i = 0; i < n_from; ++i)
            for (std::size_t o = 0; o < n_to; ++o)
              share[i * share_stride + o] = static_cast<T>(std::cos(double(i) + 0.3 * double(o)));
          ChannelProduct<T> product{n_rows, n_from, n_to, n_values, share.data(), share_stride};
          product.from = from.data();
          product.from_stride = from_stride;
          product.to = to.data();
          product.to_stride = to_stride;
          channel_product(product);
          double worst = 0;
          for (std::size_t row = 0; row < n_rows; ++row)
            for (std::size_t o = 0; o < n_to; ++o)
              for (std::size_t value = 0; value < n_values; ++value) {
                double want = 0;
                for (std::size_t i = 0; i < n_from; ++i)
                  want += double(share[i * share_stride + o]) *
                          double(from[row * from_stride + i * n_values + value]);
                worst = std::max(worst, std::abs(want - double(to[row * to_stride + o * n_values + value])));
                BOOST_REQUIRE(!std::isnan(to[row * to_stride + o * n_values + value]));
              }
          BOOST_REQUIRE_LT(worst, 64 * double(std::numeric_limits<T>::epsilon()));
        }
}

BOOST_AUTO_TEST_SUITE_END()
